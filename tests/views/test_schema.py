"""What is sent to the browser is what the schema says, and TypeScript's types are made of the schema."""

from __future__ import annotations

import gzip
import json
from typing import Any, Literal

import pytest
import torch

import irwidget
from irwidget.editor.catalogue import CataloguedOption, CataloguedPass, to_json
from irwidget.editor.chain import PassInvocation
from irwidget.editor.widget import _steps_json
from irwidget.sweeps.cells import Cell
from irwidget.sweeps.result import Sweep
from irwidget.sweeps.view import _data
from irwidget.views.packing import pack
from irwidget.views.schema.layouts import LayoutsData
from irwidget.views.schema.lowerings import ViewedStage, ViewedTrace
from irwidget.views.schema.pipeline import OfferedPass, PipelineStep
from irwidget.views.schema.spyre import SpyreFormer, SpyreProgram, SpyreReason, SpyreSearch, SpyreTexts
from irwidget.views.schema.sweep import SweepData
from js.schema import OUT, typescript
from tests.views.conforming import faults
from tests.views.lowerings import lower
from tests.views.test_packing import unpack


def conform(data: Any, hint: Any) -> None:
    assert list(faults(data, hint)) == []


def unzipped(data: bytes) -> Any:
    return json.loads(gzip.decompress(data))


def test_typescript_has_the_types_of_the_schema():
    assert {file.name: file.read_text() for file in OUT.iterdir()} == typescript(), "npm --prefix js run schema"


@pytest.mark.parametrize(
    ("value", "hint", "found"),
    [
        ({"about": "x", "text": "y"}, SpyreReason, []),
        ({"about": "x", "more": 1}, SpyreReason, [".text is missing", ".more is not in SpyreReason"]),
        ([1, "x"], tuple[int, str], []),
        ([1], tuple[int, str], [": [1] is not tuple[int, str]"]),
        ([1, "x"], list[int], ["[1]: 'x' is not <class 'int'>"]),
        (True, int, [": True is not <class 'int'>"]),
        (None, int | None, []),
        ("x", int | None, [": 'x' is not int | None"]),
        ("x", Literal["y"], [": 'x' is not one of ('y',)"]),
        ({"a": "b"}, dict[str, int], ["['a']: 'b' is not <class 'int'>"]),
    ],
)
def test_what_is_not_of_its_type_is_found(value, hint, found):
    assert list(faults(value, hint)) == found


def test_a_lowering():
    data = json.loads(json.dumps(unpack(pack([lower()]))[0]))
    for trace in data["traces"]:
        stages = [{name: one[name] for name in ViewedStage.__annotations__} for one in trace["stages"]]
        kept = {name: trace[name] for name in ViewedTrace.__annotations__}
        conform({**kept, "stages": stages}, ViewedTrace)


def test_the_steps_and_passes_of_a_pipeline():
    conform(_steps_json([PassInvocation("opt", "O2", (("mcpu", "x"),))]), list[PipelineStep])
    option = CataloguedOption("mcpu", "text")
    conform(json.loads(to_json({"opt": {"O2": CataloguedPass("O2", "", (option,))}})), dict[str, list[OfferedPass]])


def test_a_program_for_spyre():
    from irwidget.spyre import TensorSpec
    from irwidget.spyre.comparison import compare, told
    from irwidget.spyre.picture import picture, texts
    from irwidget.spyre.recompile import changes, recompile
    from irwidget.spyre.searching import rows, search

    def attention(x, w):
        return torch.softmax(x @ w, -1)

    program = irwidget.spyre.compile(attention, [TensorSpec((256, 512)), TensorSpec((512, 1024))])
    other = recompile(program, {"cores": 8})
    made, again = picture(program), picture(other)
    conform(json.loads(json.dumps(made)), SpyreProgram)
    former = {"picture": made, "changes": changes(made, again), "fields": told(compare(program, other))}
    conform(json.loads(json.dumps(former)), SpyreFormer)
    found = rows(search(program, method="annealing", steps=50))
    conform(json.loads(json.dumps({"method": "annealing", "proven": False, "plans": found})), SpyreSearch)
    conform(json.loads(json.dumps(texts(program))), SpyreTexts)


def test_the_layouts_of_a_dump():
    from irwidget.views.layouts import data_of

    text = """#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:80"} {
  tt.func public @f(%x: tensor<128xf32, #blocked>) {
    %y = ttg.convert_layout %x : tensor<128xf32, #blocked> -> tensor<128xf32, #blocked1>
    tt.return
  }
}
"""
    low = irwidget.lower(text, to="raw_ir", pipeline="triton-opt --cse")
    data = data_of(low.layouts(0))
    conform(json.loads(json.dumps(data)), LayoutsData)
    assert [line["move"] for line in data["lines"] if line["values"]] == [-1, 0]


def test_a_sweep():
    cells = (Cell("a", "tosa_mlir", "ok", seconds=1.5, passes=3, lines=7, dumps=b"x"), Cell("b", "x", "failed", "no"))
    conform(unzipped(_data(Sweep(cells, {"toolchain": {"torch": "2.13"}}))), SweepData)
