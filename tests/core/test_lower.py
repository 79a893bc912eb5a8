"""irwidget.lower on the models that people write."""

import json
import os
import re
import signal
from collections.abc import Iterator

import pytest
import torch
from torch import nn

import irwidget
from irwidget.trace import Dump

MLIR_TARGETS = ["torch_mlir", "tosa_mlir", "linalg_on_tensors_mlir", "stablehlo_mlir"]
DIALECT = {
    "torch_mlir": "torch.aten.",
    "tosa_mlir": "tosa.",
    "linalg_on_tensors_mlir": "linalg.",
    "stablehlo_mlir": "stablehlo.",
}


class TwoInputs(nn.Module):
    def forward(self, x, y, scale=1.0, *, shift=None):
        z = x @ y * scale
        return z if shift is None else z + shift


class NonPersistentBuffer(nn.Module):
    """As Hugging Face's rotary embeddings have them, with an argument that is no tensor."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.arange(8.0), persistent=False)

    def forward(self, x, use_cache=False):
        return {"out": x * self.table, "again": x} if use_cache else {"out": x * self.table}


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(3))

    def forward(self, x):
        self.count.add_(x)
        return x * self.count


def gelu_sum(a, b):
    return nn.functional.gelu(a) + b


PROGRAMS = {
    "function": (gelu_sum, (torch.randn(2, 3), torch.randn(3)), {}),
    "two inputs": (TwoInputs(), (torch.randn(2, 3), torch.randn(3, 4)), {}),
    "keywords": (TwoInputs(), (torch.randn(2, 3), torch.randn(3, 4), 2.0), {"shift": torch.randn(4)}),
    "buffer, dict, bool": (NonPersistentBuffer(), (torch.randn(2, 8),), {"use_cache": True}),
    "mutated buffer": (Counter(), (torch.randn(3),), {}),
    "bf16": (nn.Linear(4, 4).bfloat16(), (torch.randn(2, 4).bfloat16(),), {}),
    "fp16": (nn.Linear(4, 4).half(), (torch.randn(2, 4).half(),), {}),
    "encoder layer": (nn.TransformerEncoderLayer(32, 4, 64, batch_first=True).eval(), (torch.randn(2, 8, 32),), {}),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_reaches_every_mlir_target(program):
    model, inputs, kwargs = PROGRAMS[program]
    made = irwidget.lower(model, *inputs, to=MLIR_TARGETS, kwargs=kwargs)
    for target, low in made.items():
        assert DIALECT[target] in low.text
        assert target == "torch_mlir" or "torch.aten" not in low.text
        assert low.failure is None
        assert low.dumps[-1].text == low.text


def test_dumps_are_the_passes_of_the_pipeline(mlp):
    low = irwidget.lower(mlp, torch.randn(2, 4), to="tosa_mlir")
    names = [d.name for d in low.dumps]
    assert names[0] == "torch.export"
    assert names[8:] == [
        "torch-fuse-quantized-ops",
        "convert-torch-to-tosa",
        "tosa-layerwise-constant-fold",
        "tosa-reduce-transposes",
        "tosa-make-broadcastable",
        "canonicalize",
        "cse",
        "torch-func-backend-type-conversion",
        "canonicalize",
        "torch-finalizing-backend-type-conversion",
        "torch-verify-tosa-backend-contract",
    ]
    convert = low.dumps[9]
    assert (convert.language, str(convert.scope), convert.changed) == ("mlir", "func.func", True)
    assert convert.options == "require-full-tosa-conversion=true"
    assert all(d.seconds > 0 for d in low.dumps)
    assert {d.step for d in low.dumps[1:]} == set(range(len(low.steps)))
    for before, after in zip(low.dumps, low.dumps[1:], strict=False):
        assert after.changed == (after.text != before.text)


def test_stablehlo_dumps_the_passes_that_have_no_registered_name(mlp):
    names = [d.name for d in irwidget.lower(mlp, torch.randn(2, 4), to="stablehlo_mlir").dumps]
    assert "chlo-legalize-to-stablehlo" in names
    assert names.count("stablehlo-canonicalize-dynamism") == 2


def test_the_result_is_that_of_torch_mlir(mlp):
    from torch_mlir import fx

    theirs = fx.export_and_import(mlp, torch.randn(2, 4), output_type="tosa")
    ours = irwidget.lower(mlp, torch.randn(2, 4), to="tosa_mlir")
    limits = {"large_elements_limit": 10, "large_resource_limit": 64}
    assert str(theirs.operation.get_asm(**limits)).startswith(ours.text)


def test_dynamic_shapes(mlp):
    batch = torch.export.Dim("batch", min=2)
    low = irwidget.lower(mlp, torch.randn(3, 4), to="linalg_on_tensors_mlir", dynamic_shapes=({0: batch},))
    assert "tensor<?x4xf32>" in low.text


def test_exported_program(mlp):
    program = torch.export.export(mlp, (torch.randn(2, 4),))
    assert "tosa.matmul" in irwidget.lower(program, to="tosa_mlir").text


def test_an_exported_program_brings_its_inputs():
    class Scaled(torch.nn.Module):
        def forward(self, x, by=None):
            return x * 2 if by is None else x * by

    program = torch.export.export(Scaled(), (torch.randn(3),), {"by": torch.randn(3)})
    for to in ("tosa_mlir", "inductor_fx"):
        assert irwidget.lower(program, to=to, check=True).check.state == "equal"
    with pytest.raises(irwidget.UsageError, match="There is no dump 99: this lowering has the dumps 0 to"):
        irwidget.lower(program, to="torch_mlir").expand(99)


def test_constant_arguments_are_baked_in():
    low = irwidget.lower(TwoInputs(), torch.randn(2, 3), torch.randn(3, 4), 3.0, to="tosa_mlir")
    assert "func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>)" in low.text


def test_a_mutated_buffer_is_explained():
    low = irwidget.lower(Counter(), torch.randn(3), to="torch_mlir")
    assert "result 0 of @main is the new value of buffer 'count'" in [d.message for d in low.diagnostics]


def test_every_line_knows_the_users_line(mlp):
    low = irwidget.lower(mlp, torch.randn(2, 4), to="linalg_on_tensors_mlir")
    (matmul,) = [i for i, line in enumerate(low.text.splitlines()) if "linalg.matmul" in line]
    place = low.dumps[-1].locations[matmul]
    assert place is not None
    assert low.trace.sources[place.file].splitlines()[place.line - 1].strip() == "return torch.relu(self.fc(x))"
    assert len(low.dumps[-1].locations) == len(low.text.splitlines())


class OneLine(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x, y):
        return torch.softmax(self.a(torch.relu(x) * y), -1).cos().sin() - twice(y)[0]


def twice(y):
    return y + y


def operations(low, dump) -> list[tuple[str, str]]:
    """Each operation of the torch dialect, and the text from where its user's line has it."""
    lines = low.dumps[dump].text.splitlines()
    found = []
    for place, line in zip(low.dumps[dump].locations, lines, strict=True):
        if name := re.search(r"= torch\.aten\.(\w+)", line):
            said = low.trace.sources[place.file].splitlines()[place.line - 1][place.column - 1 :]
            found.append((name[1], re.match(r"[\w.]+|\S", said)[0]))
    return found


def test_every_operation_of_a_line_knows_where_in_it_it_is():
    low = irwidget.lower(OneLine(), torch.randn(2, 4), torch.randn(2, 4), to="nvptx")
    assert operations(low, 1) == [
        ("relu", "relu"), ("mul", "*"), ("permute", "a"), ("mm", "a"), ("mul", "a"), ("mul", "a"), ("add", "a"),
        ("_softmax", "softmax"), ("cos", "cos"), ("sin", "sin"), ("add", "+"), ("select", "["), ("sub", "-"),
    ]  # fmt: skip
    (helper,) = {place.caller for place in low.dumps[1].locations if place and place.caller}
    source = low.trace.sources[helper.file].splitlines()
    assert source[helper.line - 1][helper.column - 1 :] == "twice(y)[0]"
    columns = [{(p.line, p.column) for p in dump.locations if p and p.column} for dump in low.dumps]
    assert columns[-1] < columns[1]
    assert len(columns[-1]) > len(columns[1]) // 2


def test_every_line_of_a_function_knows_its_line():
    low = irwidget.lower(gelu_sum, torch.randn(2, 3), torch.randn(3), to="tosa_mlir")
    places = [place for place in low.dumps[-1].locations if place]
    assert {low.trace.sources[p.file].splitlines()[p.line - 1].strip() for p in places} == {
        "return nn.functional.gelu(a) + b"
    }


class Helped(nn.Module):
    def forward(self, x):
        return self.helper(x) + 1

    def helper(self, x):
        return torch.tanh(x)


def test_a_line_knows_the_lines_that_called_it():
    low = irwidget.lower(Helped(), torch.randn(2), to="linalg_on_tensors_mlir")
    lines = {path: text.splitlines() for path, text in low.trace.sources.items()}
    final = zip(low.dumps[-1].locations, low.text.splitlines(), strict=True)
    place = next(place for place, text in final if "math.tanh" in text)
    assert lines[place.file][place.line - 1].strip() == "return torch.tanh(x)"
    assert lines[place.file][place.caller.line - 1].strip() == "return self.helper(x) + 1"
    assert place.caller.caller is None


def test_in_process_gives_the_same_dumps(mlp):
    x = torch.randn(2, 4)
    apart, inside = (irwidget.lower(mlp, x, to="tosa_mlir", isolate=isolate) for isolate in (True, False))
    assert [_key(d) for d in apart.dumps] == [_key(d) for d in inside.dumps]


def test_targets_share_the_steps_they_have_in_common(mlp):
    made = irwidget.lower(mlp, torch.randn(2, 4), to=["tosa_mlir", "linalg_on_tensors_mlir"])
    tosa, linalg = made.values()
    assert tosa.dumps[:8] == linalg.dumps[:8]
    assert tosa.dumps[7] is linalg.dumps[7]
    alone = irwidget.lower(mlp, torch.randn(2, 4), to="linalg_on_tensors_mlir")
    assert [_key(d) for d in alone.dumps] == [_key(d) for d in linalg.dumps]


def test_an_ir_type_that_fails_does_not_cost_the_others() -> None:
    with pytest.raises(irwidget.PassError, match="linalg_det") as caught:
        irwidget.lower(Volume(), torch.randn(3), to=["tosa_mlir", "torch_script_graph_ir"])
    made = caught.value.lowerings
    assert {name: bool(low.failure) for name, low in made.items()} == {
        "tosa_mlir": True, "torch_script_graph_ir": False,
    }  # fmt: skip


def test_without_dumps_only_the_ends_are_kept(mlp):
    low = irwidget.lower(mlp, torch.randn(2, 4), to="tosa_mlir", dumps=False)
    assert [d.name for d in low.dumps] == ["torch.export", "torch-verify-tosa-backend-contract"]
    assert "tosa.matmul" in low.text


def test_without_dumps_a_failure_keeps_the_input():
    with pytest.raises(irwidget.PassError) as caught:
        irwidget.lower(Volume(), torch.randn(3), to="tosa_mlir", dumps=False)
    assert [d.name for d in caught.value.lowering.dumps] == ["torch.export"]
    assert "linalg_det" in caught.value.lowering.text


def test_llvm_passes_are_there_when_they_are_looked_at(mlp):
    low = irwidget.lower(mlp, torch.randn(2, 4), to="llvm_ir", pipeline="opt -O2")
    inside = low.expand(len(low.dumps) - 1)
    assert len(inside) > 3
    assert inside[-1].text == low.text
    with pytest.raises(irwidget.UsageError, match="dumps of opt, llc and"):
        low.expand(1)


def test_large_constants_are_elided_unless_asked_for():
    model = nn.Linear(64, 64)
    short = irwidget.lower(model, torch.randn(1, 64), to="torch_mlir").text
    whole = irwidget.lower(model, torch.randn(1, 64), to="torch_mlir", elide=False).text
    assert len(short) < 3000
    assert len(whole) > 64 * 64 * 8


def test_saved_and_serialised(mlp, tmp_path):
    low = irwidget.lower(mlp, torch.randn(2, 4), to="tosa_mlir")
    assert low.save(tmp_path / "out.mlir").read_text() == low.text
    data = json.loads(json.dumps(low.to_dict()))
    assert data["dumps"][-1]["text"] == low.text
    assert low.tools == {"torch-mlir": "20261001"}


def _key(d: Dump):
    return d.name, d.step, d.options, d.scope, d.text, d.changed


class Branches(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        return -x


class ToNumpy(nn.Module):
    def forward(self, x):
        return torch.from_numpy(x.numpy())


class Volume(nn.Module):
    def forward(self, x):
        return torch.linalg.det(x[..., None] * x[..., None, :])


class WrongShape(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 8)

    def forward(self, x):
        return self.fc(x)


BAD = {
    "branch on data": (Branches(), irwidget.ExportError, "if x.sum() > 0:", "torch.where or torch.cond"),
    "numpy": (ToNumpy(), irwidget.ExportError, "x.numpy()", "keep the computation in torch"),
    "unsupported op": (Volume(), irwidget.PassError, "torch.linalg.det(x", "torch.aten.linalg_det"),
    "shapes": (WrongShape(), irwidget.ExportError, "return self.fc(x)", "shapes do not fit"),
    "no forward": (nn.ModuleList([nn.Linear(2, 2)]), irwidget.ExportError, "no forward", "lower its parts"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_models_give_the_users_line_and_the_next_step(case, capfd):
    model, kind, line, advice = BAD[case]
    with pytest.raises(kind) as caught:
        irwidget.lower(model, torch.randn(3, 5), to="tosa_mlir")
    assert line in str(caught.value)
    assert advice in str(caught.value)
    assert len(str(caught.value)) < 1500
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: irwidget.lower(nn.ReLU(), torch.ones(1), to="tosa"), "Did you mean tosa_mlir"),
        (lambda: irwidget.lower(nn.ReLU(), torch.ones(1), to="tosa_mlir", elid=False), "Did you mean elide"),
        (lambda: irwidget.lower(nn.ReLU(), to="tosa_mlir"), "missing a required argument"),
        (lambda: irwidget.lower(nn.ReLU(), 1, 2, to="tosa_mlir"), "too many positional arguments"),
        (lambda: irwidget.lower(42, to="tosa_mlir"), "not int"),
        (lambda: irwidget.explore(nn.ReLU(), torch.ones(1)), "inside a %%lower cell"),
    ],
)
def test_bad_calls_are_usage_errors(call, expected):
    with pytest.raises(irwidget.UsageError, match=expected.replace("?", r"\?")):
        call()


POOL = """
func.func @forward(%x: !torch.vtensor<[1,2,4,4,4],si64>) -> !torch.vtensor<[1,2,2,2,2],si64> {
  %two = torch.constant.int 2
  %twos = torch.prim.ListConstruct %two, %two, %two : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %zero = torch.constant.int 0
  %zeros = torch.prim.ListConstruct %zero, %zero, %zero : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %one = torch.constant.int 1
  %ones = torch.prim.ListConstruct %one, %one, %one : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %no = torch.constant.bool false
  %y = torch.aten.max_pool3d %x, %twos, %twos, %zeros, %ones, %no : !torch.vtensor<[1,2,4,4,4],si64>,
    !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool
    -> !torch.vtensor<[1,2,2,2,2],si64>
  return %y : !torch.vtensor<[1,2,2,2,2],si64>
}
"""
"""A program that torch-mlir's pass to linalg crashes on."""


def test_a_crash_costs_the_lowering_not_the_process(mlp):
    passes = "builtin.module(canonicalize,func.func(convert-torch-to-linalg))"
    with pytest.raises(irwidget.ToolError, match="convert-torch-to-linalg crashed .*SIGSEGV") as caught:
        irwidget.lower(POOL, to="raw_ir", pipeline=f"torch-mlir-opt --pass-pipeline='{passes}'")
    kept = caught.value.lowering.dumps
    assert "torch.aten.max_pool3d" in kept[-1].text
    assert "convert-torch-to-linalg" in caught.value.reproducer
    assert "linalg.matmul" in irwidget.lower(mlp, torch.randn(2, 4), to="linalg_on_tensors_mlir").text


def test_out_of_memory_costs_the_lowering_not_the_process():
    model = nn.Linear(6000, 6000)
    with pytest.raises(irwidget.ToolError) as caught:
        irwidget.lower(model, torch.ones(1, 6000), to="tosa_mlir", memory=0.5)
    assert "tosa.transpose" in caught.value.lowering.text
    with pytest.raises(irwidget.ToolError) as caught:
        irwidget.lower(model, torch.ones(1, 6000), to="tosa_mlir", memory=0.5, elide=False)
    with pytest.raises(irwidget.ToolError, match="give it more memory"):
        _ = caught.value.lowering.text
    assert irwidget.lower(gelu_sum, torch.ones(2), torch.ones(2), to="torch_mlir").text


UP_TO_THE_LARGEST = """func.func @main(%x: !torch.vtensor<[8,8],f32>, %y: !torch.vtensor<[4,8],f32>) -> !torch.vtensor<[8,8],f32> {
  %end = torch.constant.int 9223372036854775807
  %four = torch.constant.int 4
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %0 = torch.aten.slice_scatter %x, %y, %zero, %four, %end, %one : !torch.vtensor<[8,8],f32>, !torch.vtensor<[4,8],f32>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[8,8],f32>
  return %0 : !torch.vtensor<[8,8],f32>
}
"""  # noqa: E501


def test_the_pass_that_runs_out_of_memory_is_named():
    pipeline = "torch-mlir-opt --canonicalize --convert-torch-to-stablehlo"
    with pytest.raises(irwidget.ToolError, match="convert-torch-to-stablehlo ran out of memory") as caught:
        irwidget.lower(UP_TO_THE_LARGEST, to="raw_ir", pipeline=pipeline, memory=0.5)
    failure = caught.value.lowering.trace.failure
    assert failure.pass_name == "convert-torch-to-stablehlo"
    assert failure.reproducer.startswith("torch-mlir-opt --pass-pipeline='builtin.module(func.func(convert-torch")
    assert [dump.name for dump in caught.value.lowering.dumps] == ["input", "canonicalize"]


@pytest.fixture
def encoder():
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    return nn.TransformerEncoder(layer, 12, enable_nested_tensor=False).eval(), torch.randn(1, 16, 64)


def test_a_timeout_keeps_the_dumps_before_it(mlp):
    irwidget.lower(mlp, torch.randn(2, 4), to="tosa_mlir")
    limit = r"sleep timed out \(after 15 s, the limit of this lowering\)"
    with pytest.raises(irwidget.ToolError, match=limit) as caught:
        irwidget.lower(mlp, torch.randn(2, 4), to="tosa_mlir", pipeline="user-tool sleep 60", timeout=15)
    dumps = caught.value.lowering.dumps
    assert "torch.aten" in dumps[0].text
    assert "tosa.matmul" in dumps[-1].text


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, also where the shell ran the tests in the background and had it ignored."""
    kept = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, kept)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_keeps_the_dumps_before_it_and_the_process(encoder):
    model, x = encoder

    def interrupt(started, step, seconds):
        if started.name == "convert-torch-to-linalg":
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(irwidget.LoweringInterrupted) as caught:
        irwidget.lower(model, x, to="linalg_on_tensors_mlir", progress=interrupt)
    kept = caught.value.lowering.dumps
    assert kept[1].name == "torch-match-quantized-custom-ops"
    assert kept[-1].name == "canonicalize"
    assert all(d.text for d in kept)
    assert irwidget.lower(gelu_sum, torch.ones(2), torch.ones(2), to="torch_mlir").text


def test_dumps_survive_a_worker_that_dies_before_they_were_printed(mlp):
    from irwidget.toolchain import client

    x = torch.randn(2, 4)
    expected = [d.text for d in irwidget.lower(mlp, x, to="tosa_mlir").dumps]
    low = irwidget.lower(mlp, x, to="tosa_mlir")
    client.shutdown()
    assert [d.text for d in low.dumps] == expected


def test_a_pass_that_changes_only_locations_leaves_its_own(mlp):
    low = irwidget.lower(mlp, torch.randn(2, 4), to="torch_mlir", pipeline="mlir-opt --strip-debuginfo --cse")
    before, stripped, after = low.dumps[-3:]
    assert [stripped.name, stripped.text, stripped.changed] == ["strip-debuginfo", before.text, False]
    assert any(before.locations)
    assert not any(stripped.locations)
    assert not any(after.locations)
