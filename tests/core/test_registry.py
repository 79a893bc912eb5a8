"""The doors: what comes in, what is left out and why, and that options are written once."""

from __future__ import annotations

import dataclasses
import re
import runpy
import subprocess
import sys
import tomllib
import types
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

import irwidget
from irwidget import arguments, display, registry, routes
from irwidget.errors import UsageError
from irwidget.frontends import base, pairing
from irwidget.registry import check, described, option

ROOT = Path(__file__).resolve().parents[2]


def test_pyproject_declares_what_the_table_has():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    ours = {group: entries for group, entries in declared.items() if group.startswith("irwidget.")}
    assert ours == {group: dict(entries) for group, entries in registry.BUILT_IN.items() if entries}


def test_the_stub_for_editors_is_that_of_the_dataclasses():
    generate = runpy.run_path(str(ROOT / "docs" / "generate.py"))
    assert (ROOT / "irwidget" / "signatures.pyi").read_text() == generate["signatures"]()


def test_every_ir_type_has_a_front_end_that_is_there_and_packages_that_it_needs():
    for target in irwidget.targets().values():
        assert registry.frontends.get(target.front_end), target
        assert routes.needs(target), target


def test_every_option_is_explained():
    for target in irwidget.targets().values():
        assert not [one.name for one in described(target.options).values() if one.flag and not one.help]


@dataclass(frozen=True, kw_only=True)
class Options:
    level: int = option(2, "how much", says="0 to 3", allows=lambda level: level in range(4))
    style: Literal["round", "square"] | None = option(None, "how")
    fast: bool = option(True, "take its time")
    scale: float = option(1.0, "by what", metavar="F")
    table: dict[str, int] = option(dict, "a table")


def test_a_dataclass_says_what_its_options_are():
    found = described(Options)
    assert {name: (one.flag, one.default) for name, one in found.items()} == {
        "level": ("--level", 2),
        "style": ("--style", None),
        "fast": ("--no-fast", True),
        "scale": ("--scale", 1.0),
        "table": ("", None),
    }
    assert found["style"].known == ("round", "square")
    assert found["fast"].bare is False
    assert found["level"].from_word("3") == 3
    assert Options().table == {}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"level": 4}, "level is 0 to 3, not 4."),
        ({"level": "x"}, "level is 0 to 3, not 'x'."),
        ({"style": "sqare"}, "style is 'round' or 'square', not 'sqare'. Did you mean square?"),
        ({"fast": "no"}, "fast is True or False, not 'no'."),
        ({"scale": True}, "scale is a number, not True."),
    ],
)
def test_a_wrong_value_is_refused(given, message):
    with pytest.raises(UsageError) as caught:
        check(Options, given)
    assert str(caught.value) == message


@pytest.mark.parametrize("given", [{"level": 0}, {"style": None}, {"scale": 3}, {"fast": False}, {"unknown": 1}])
def test_a_right_value_is_not(given):
    check(Options, given)


def test_an_option_is_read_as_the_ir_type_that_is_wanted_reads_it():
    names = registry.Target("by_name", "raw", "any", options=_options("arch", str))
    numbers = registry.Target("by_number", "raw", "any", options=_options("arch", int))
    with registry.targets.trying(names, numbers):
        parsed = arguments.parse("x --arch 80", "%lower", objects=True)
        assert arguments.target_options(parsed, ["by_name"]) == {"arch": "80"}
        assert arguments.target_options(parsed, ["by_number"]) == {"arch": 80}
    assert "by_name" not in irwidget.targets()


def _options(name: str, kind: type) -> type:
    return dataclasses.make_dataclass("Made", [(name, kind, option(kind(), "an option"))], frozen=True)


BROKEN = {
    "irwidget-broken": {"irwidget.targets": {"broken": "no_such_module:TARGETS"}},
    "irwidget-thief": {"irwidget.targets": {"mine": "thief:TARGETS"}, "irwidget.frontends": {"x": "thief:NOTHING"}},
    "irwidget-whole": {"irwidget.targets": {"whole": "whole:TARGETS"}, "irwidget.tools": {"t": "whole:Nothing"}},
}
MODULES = {
    "thief.py": "from dataclasses import dataclass\nfrom irwidget.registry import Target\nNOTHING = 5\n"
    "@dataclass(frozen=True)\nclass Lost:\n    one: 'Nowhere'\n"
    "TARGETS = (Target('tosa_mlir', 'raw', 'any'), Target('thief_ir', 'raw', 'any'), "
    "Target('melting', 'raw', 'any', options=dict), Target('lost', 'raw', 'any', options=Lost))\n",
    "whole.py": "from irwidget.registry import Target\nTARGETS = Target('thief_ir', 'raw', 'any')\n",
}
SCRIPT = """
import warnings
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    import irwidget
    print(list(irwidget.targets())[-2:], irwidget.targets()["tosa_mlir"].source)
print(*[one.message for one in said], sep="\\n")
from irwidget import reports
print("doctor:", reports.doctor().split("\\n\\n", 2)[2])
"""


def test_a_broken_package_costs_only_itself(tmp_path):
    for package, groups in BROKEN.items():
        folder = tmp_path / f"{package.replace('-', '_')}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        sections = ["\n".join([f"[{group}]", *(f"{k} = {v}" for k, v in e.items())]) for group, e in groups.items()]
        (folder / "entry_points.txt").write_text("\n".join(sections) + "\n")
    for name, text in MODULES.items():
        (tmp_path / name).write_text(text)
    code = f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(tmp_path)!r}]\n{SCRIPT}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    said, _, doctor = ran.stdout.partition("doctor:")
    assert said.startswith("['raw_ir', 'thief_ir'] pytorch\n")
    left = [
        "irwidget.targets: 'broken' of irwidget-broken is left out: no_such_module:TARGETS cannot be imported "
        "(ModuleNotFoundError: No module named 'no_such_module')",
        "irwidget.targets: 'mine' of irwidget-thief is left out: irwidget-thief brings 'tosa_mlir', which irwidget has "
        "already",
        "irwidget.targets: 'mine' of irwidget-thief is left out: thief:TARGETS has options that are no frozen "
        "dataclass: <class 'dict'>",
        "irwidget.targets: 'mine' of irwidget-thief is left out: thief:TARGETS has options whose types cannot be read "
        "(NameError: name 'Nowhere' is not defined)",
        "irwidget.targets: 'whole' of irwidget-whole is left out: irwidget-whole brings 'thief_ir', which "
        "irwidget-thief has already",
    ]
    assert said.splitlines()[1:] == left
    assert "irwidget-thief  1.0   targets: thief_ir" in doctor
    others = [
        "irwidget.frontends: 'x' of irwidget-thief is left out: thief:NOTHING gives a int without name, recognises, "
        "begin, plan",
        "irwidget.tools: 't' of irwidget-whole is left out: whole:Nothing cannot be imported (AttributeError: module "
        "'whole' has no attribute 'Nothing')",
    ]
    assert all(line in doctor for line in [*left, *others])


def test_import_of_irwidget_looks_for_no_plugin():
    code = "import irwidget, sys; print('importlib.metadata' in sys.modules, 'irwidget.registry' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False False\n"


def test_a_worker_looks_for_no_plugin_to_find_our_tools():
    code = (
        "import warnings\nfrom irwidget import registry\n"
        "registry.doors._declared = lambda group: 1 / 0\n"
        "assert registry.tools.get('mlir-opt')\n"
        "assert registry.targets.get('tosa_mlir')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_a_page_shows_is_the_first_view_that_fits(mlp):
    import torch

    from irwidget.registry import View

    low = irwidget.lower(mlp, torch.ones(2, 4), to="torch_mlir")
    shown: list[Any] = []
    view = View("mine", lambda results: True, lambda results, key: shown.append(key), lambda *_: "a page", lambda _: "")
    with registry.views.trying(view):
        assert low.to_html() == "a page"
        display.shown([low], "the cell")
    assert shown == ["the cell"]
    assert "irw-bundle-viewer" in low.to_html()


def _blocks() -> list[str]:
    """The Python of docs/extending.md."""
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "extending.md").read_text(), re.S)


def test_the_ir_type_of_the_docs_lowers(mlp):
    import torch

    space: dict[str, Any] = {"irwidget": irwidget, "model": mlp, "x": torch.ones(2, 4)}
    for block in _blocks()[:2]:
        exec(compile(block, "extending.md", "exec", dont_inherit=True), space)
    assert "affine.for" in space["low"].text
    assert [step.name for step in space["low"].steps][-2:] == ["bufferize", "affine"]
    assert routes.needs(space["AFFINE"]) == ["torch", "torch-mlir"]


def test_its_options_are_refused_and_taken(mlp):
    import torch

    space: dict[str, Any] = {"irwidget": irwidget}
    for block in [_blocks()[0], _blocks()[2]]:
        exec(compile(block, "extending.md", "exec", dont_inherit=True), space)
    with registry.targets.trying(space["AFFINE"]):
        with pytest.raises(UsageError, match=r"^tile is a number from 1 to 256, not 300\.$"):
            irwidget.lower(mlp, torch.ones(2, 4), to="affine_mlir", tile=300)
        with pytest.raises(UsageError, match=r"has no option 'til'. Did you mean tile\?"):
            irwidget.lower(mlp, torch.ones(2, 4), to="affine_mlir", til=3)
        low = irwidget.lower(mlp, torch.ones(2, 4), to="affine_mlir", tile=16)
        assert low.steps[-1].arguments == "--affine-loop-tile=tile-size=16"


def test_an_option_that_every_lowering_has_is_nobodys_own():
    target = registry.Target("greedy", "raw", "any", options=_options("name", str))
    with registry.targets.trying(target), pytest.raises(UsageError, match="has an option 'name', which every lowering"):
        irwidget.lower("module {}", to="greedy")


class Fails(base.FrontEnd):
    """Whatever it is asked, it fails."""

    name = "fails"

    def recognises(self, obj):
        raise TypeError("no idea")

    takes_over = kernels = watched = claims = recognises


def test_a_front_end_and_a_view_that_fail_cost_only_themselves(mlp):
    import torch

    def fits(results):
        raise TypeError("no idea")

    view = registry.View("fails", fits, lambda *_: None, lambda *_: "", lambda _: "")
    with registry.frontends.trying(Fails()), registry.views.trying(view), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", RuntimeWarning)
        low = irwidget.lower(mlp, torch.ones(2, 4), to="torch_mlir")
        assert display.text([low]).startswith("MLP -> torch_mlir")
        with pairing.collected("x = 1"):
            assert pairing.find("m = 1\nx = 1", {"m": mlp, "x": torch.ones(2, 4)})
    assert "irwidget.frontends: 'fails' of a package that is tried out is not asked: " in str(said[0].message)
    assert {str(one.message).partition(":")[0] for one in said} >= {"irwidget.frontends", "irwidget.views"}


@pytest.mark.parametrize("name", ["irwidget.frontends.triton.launch", "triton.runtime.jit"])
def test_an_object_is_nobodys_while_a_module_is_being_imported(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    assert base.of_kind(object()) is None


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("ptx", "nvptx or triton_nvptx or inductor_ptx"),
        ("TTIR", "triton_ir"),
        ("llir", "triton_llvm_ir"),
        ("amdgcn", "amdgpu or triton_amdgpu or inductor_amdgcn"),
        ("linalg", "linalg_on_tensors_mlir"),
        ("tosa_mlr", "tosa_mlir"),
    ],
)
def test_an_ir_type_is_found_by_what_others_call_it(wrong, meant):
    with pytest.raises(UsageError) as raised:
        registry.targets.find(wrong, "IR type")
    said = str(raised.value).removeprefix(f"Unknown IR type {wrong!r}. Did you mean ")
    assert said.startswith(meant)
    assert said == f"{meant}?" or wrong == "tosa_mlr"
