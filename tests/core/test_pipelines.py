"""Custom pipelines, IR text and TorchScript."""

import stat
import subprocess
import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import irwidget
from irwidget import pipelines
from irwidget.errors import ToolError
from irwidget.toolchain import crashes, external
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Step

HAVE_LLVM = not isinstance(external.find("mlir-opt"), str) and not isinstance(external.find("opt"), str)
needs_llvm = [pytest.mark.external, pytest.mark.skipif(not HAVE_LLVM, reason="mlir-22-tools, llvm-22 not installed")]

PARSED = [
    ("mlir-opt --cse", [("mlir-opt", "--cse")]),
    ("mlir-opt --cse|opt -O2", [("mlir-opt", "--cse"), ("opt", "-O2")]),
    ("opt -O2 && -O3 | llc", [("opt", "-O2"), ("opt", "-O3"), ("llc", "")]),
    ("user-tool ./mine --flag", [("user-tool", "./mine --flag")]),
    ("user-tool sed 's/a|b/c && d/'", [("user-tool", "sed 's/a|b/c && d/'")]),
    ("mlir-opt --pass-pipeline='builtin.module(cse)'", [("mlir-opt", "'--pass-pipeline=builtin.module(cse)'")]),
]


@pytest.mark.parametrize(("text", "expected"), PARSED)
def test_a_pipeline_is_its_tools_in_the_users_order(text, expected):
    assert [(step.tool, step.arguments) for step in pipelines.parse(text)] == expected


@pytest.mark.parametrize("target", [name for name, one in irwidget.targets().items() if one.steps])
def test_a_route_can_be_written_down_as_a_pipeline(target):
    steps = irwidget.targets()[target].steps
    assert [step.tool for step in pipelines.parse(pipelines.text(steps))] == [step.tool for step in steps]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Empty step"),
        ("mlir-opt --cse |", "Empty step"),
        ("mliropt --cse", "Did you mean mlir-opt"),
        ("opt 'x", "No closing quotation"),
        ("./mine", "user-tool ./mine"),
    ],
)
def test_a_bad_pipeline_is_a_usage_error(text, message):
    with pytest.raises(irwidget.UsageError, match=message.replace("/", "/")):
        pipelines.parse(text)


@given(st.lists(st.sampled_from(["mlir-opt --cse", "opt -O2", "llc -mcpu=sm_80", "user-tool cat"]), min_size=1))
def test_joining_and_parsing_gives_the_steps_back(parts):
    assert [str(step) for step in pipelines.parse(" | ".join(parts))] == parts


def lowered(mlp, pipeline, to="linalg_on_tensors_mlir", **options):
    low = irwidget.lower(mlp, torch.randn(2, 4), to=to, pipeline=pipeline, **options)
    first = next(i for i, d in enumerate(low.dumps) if str(low.trace.step_of(d)) == str(pipelines.parse(pipeline)[0]))
    return low, [d.name for d in low.dumps[first:]]


EMBEDDED = {
    "mlir-opt --canonicalize --cse": ["canonicalize", "cse"],
    "mlir-opt --linalg-generalize-named-ops | mlir-opt --linalg-fuse-elementwise-ops": [
        "linalg-generalize-named-ops",
        "linalg-fuse-elementwise-ops",
    ],
    "mlir-opt --one-shot-bufferize=bufferize-function-boundaries": ["one-shot-bufferize"],
    "mlir-opt --pass-pipeline='builtin.module(func.func(cse),canonicalize)'": ["cse", "canonicalize"],
    "user-tool cat | mlir-opt --cse": ["cat", "cse"],
}


@pytest.mark.parametrize("pipeline", EMBEDDED)
def test_embedded_tools_dump_every_pass(pipeline, mlp):
    low = irwidget.lower(mlp, torch.randn(2, 4), to="linalg_on_tensors_mlir", pipeline=pipeline)
    first = next(i for i, d in enumerate(low.dumps) if str(low.trace.step_of(d)) == str(pipelines.parse(pipeline)[0]))
    assert [d.name for d in low.dumps[first:]] == EMBEDDED[pipeline]


def test_passes_are_nested_as_mlir_opt_nests_them(mlp):
    low, names = lowered(mlp, "torch-mlir-opt --convert-torch-to-tosa", to="torch_mlir")
    assert names == ["convert-torch-to-tosa"]
    assert low.dumps[-1].scope.anchor == "func.func"
    assert "tosa.matmul" in low.text


@pytest.mark.parametrize(
    "flags",
    [
        "--canonicalize --cse",
        "--linalg-generalize-named-ops --linalg-fuse-elementwise-ops",
        "--convert-linalg-to-loops --lower-affine",
        "--one-shot-bufferize=bufferize-function-boundaries --cse",
    ],
)
@pytest.mark.parametrize("_", [pytest.param("", marks=needs_llvm)])
def test_embedded_and_real_mlir_opt_agree(flags, _, mlp):
    """LLVM 22 and 24 agree on these to the letter; the lines keep their source on both ways."""
    ours, _names = lowered(mlp, f"mlir-opt {flags}")
    theirs, names = lowered(mlp, f"mlir-opt {flags}", external=True)
    assert names == [flag.lstrip("-").partition("=")[0] for flag in flags.split()]
    assert theirs.text == ours.text
    assert theirs.tools["mlir-opt"].startswith("22.")
    assert [p and p.line for p in theirs.dumps[-1].locations] == [p and p.line for p in ours.dumps[-1].locations]


@pytest.mark.parametrize("_", [pytest.param("", marks=needs_llvm)])
def test_a_pass_that_only_the_program_has_runs_there(_, mlp):
    low, names = lowered(mlp, "mlir-opt --pass-pipeline='builtin.module(func.func(linalg-detensorize))'")
    assert names == ["linalg-detensorize"]
    assert "mlir-opt" in low.tools


@pytest.mark.parametrize("_", [pytest.param("", marks=needs_llvm)])
def test_the_program_fails_as_it_does_when_it_prints_nothing_between_passes(_):
    """Printed after the pass that fails, this crashes elsewhere than in the verifier."""
    text = """
        func.func @f(%a: tensor<?x?xi32>, %b: tensor<?x?xi32>, %n: index) -> tensor<?x?xi32> {
          %0 = scf.forall (%i, %j) in (%n, 32) shared_outs(%o = %b) -> (tensor<?x?xi32>) {
            %s = tensor.extract_slice %o[%i, %j] [2, 4] [1, 1] : tensor<?x?xi32> to tensor<2x4xi32>
            scf.forall.in_parallel {
              tensor.parallel_insert_slice %s into %o[%i, %j] [2, 4] [1, 1] : tensor<2x4xi32> into tensor<?x?xi32>
            }
          }
          return %0 : tensor<?x?xi32>
        }"""
    program = external.find("mlir-opt")
    assert isinstance(program, external.FoundProgram)
    words = [program.path, "--cse", "--scf-forall-to-for"]
    alone = subprocess.run(words, input=text.encode(), capture_output=True, check=False)
    assert (place := crashes.place(alone.stderr.decode()))
    for dumps in (True, False):
        with pytest.raises(ToolError) as caught:
            irwidget.lower(text, to="raw_ir", pipeline=" ".join(["mlir-opt", *words[1:]]), external=True, dumps=dumps)
        assert str(caught.value).split("\n")[0] == f"mlir-opt was killed by signal {-alone.returncode} in {place}"
        assert [dump.name for dump in caught.value.lowering.dumps] == (["input", "cse"] if dumps else ["input"])


@pytest.mark.parametrize("_", [pytest.param("", marks=needs_llvm)])
def test_the_passes_before_one_that_fails_in_the_program_are_kept(_):
    text = "func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {\n  return %a : tensor<2xf32>\n}"
    pipeline = "mlir-opt --cse --canonicalize --llvm-target-to-data-layout --symbol-dce"
    for dumps in (False, True):
        with pytest.raises(ToolError) as caught:
            irwidget.lower(text, to="raw_ir", pipeline=pipeline, external=True, dumps=dumps)
        assert caught.value.pass_name == "llvm-target-to-data-layout"
    low = caught.value.lowering
    assert str(caught.value).endswith(f'--pipeline "{pipeline}" --external')
    assert [dump.name for dump in low.dumps] == ["input", "cse", "canonicalize"]
    assert low.reduce(alone=True).steps == low.trace.steps  # which start from the text before the first of them


def test_a_program_that_dies_while_it_prints_what_a_pass_left_is_run_without(monkeypatch, tmp_path):
    program = tmp_path / "mlir-opt"
    program.write_text(
        "#!/bin/sh\ncase $* in *--version*) echo LLVM version 22.1; exit;; *after-failure*)\n"
        "for word; do case $word in *tree-dir=*) mkdir ${word#*=}; touch ${word#*=}/0_cse.mlir;; esac; done\n"
        "kill -SEGV $$;; esac\n"
        "echo error: no >&2\nexit 1\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("LLVM_BIN_PATH", str(tmp_path))
    external.find.cache_clear()
    options = Options(isolate=False, dumps=False)
    failure = Source("module {}", "mlir").run((Step("mlir-opt", "--cse", program=True),), options).failure
    external.find.cache_clear()
    assert failure
    assert failure.message == "mlir-opt exited with 1: error: no"


@pytest.mark.parametrize("_", [pytest.param("", marks=needs_llvm)])
def test_an_analysis_leaves_the_ir_alone_and_is_kept(_):
    text = "define i32 @f(i32 %a) {\n  ret i32 %a\n}\n"
    low = irwidget.lower(text, to="raw_ir", pipeline="opt '-passes=print<domtree>' -disable-output")
    assert low.text == text
    assert not low.dumps[-1].changed
    assert "DominatorTree for function: f" in low.diagnostics[0].message


@pytest.mark.parametrize("_", [pytest.param("", marks=needs_llvm)])
def test_graphs_are_attachments(_):
    low = irwidget.lower("define void @f() {\n  ret void\n}\n", to="raw_ir", pipeline="opt -passes=dot-cfg")
    assert low.trace.attachments["f.dot"].startswith(b"digraph")


def test_an_old_llvm_is_refused_with_its_path(monkeypatch, tmp_path):
    old = tmp_path / "mlir-opt"
    old.write_text("#!/bin/sh\necho 'LLVM version 14.0.6'\n")
    old.chmod(old.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("LLVM_BIN_PATH", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(external.Path, "glob", lambda *_: [])
    external.find.cache_clear()
    why = external.find("mlir-opt")
    external.find.cache_clear()
    assert isinstance(why, str)
    assert f"{old} is LLVM 14.0.6" in why
    assert "apt-get install mlir-22-tools" in why


@pytest.fixture
def script(tmp_path):
    def make(body):
        path = tmp_path / "mine"
        path.write_text(f"#!{sys.executable}\nimport sys\ntext = sys.stdin.read()\n{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return make


def test_a_user_tool_rewrites_the_ir(script, mlp):
    tool = script("print(text.replace('@main', '@renamed'), end='')")
    low, _ = lowered(mlp, f"user-tool {tool}")
    assert "@renamed" in low.text
    assert any(low.dumps[-1].locations)


EXPLORERS_WAY = """#!{python}
import sys
*flags, source, dash, target = sys.argv[1:]
assert dash == "-o", sys.argv
text = open(source).read()
assert source.endswith("{suffix}"), source
if "--fail" in flags:
    sys.exit("error: I do not like " + text.split()[0])
open(target, "w").write(text.replace("@main", "@" + flags[0]))
open("{log}", "a").write("ran\\n")
"""


@pytest.fixture
def explorers(tmp_path):
    """A program that takes `FLAGS INPUT -o OUTPUT`, as PyTorch Explorer calls tools, and notes that it ran."""
    path, log = tmp_path / "theirs", tmp_path / "log"
    path.write_text(EXPLORERS_WAY.format(python=sys.executable, suffix=".mlir", log=log))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path, log


@pytest.mark.parametrize("files", ["", " {in} -o {out}"])
def test_a_user_tool_may_take_files(files, explorers, mlp):
    path, log = explorers
    low, _ = lowered(mlp, f"user-tool {path} renamed{files}")
    assert "@renamed" in low.text
    assert log.read_text() == "ran\n"
    said = ["theirs did not read its input, and was run as theirs FLAGS INPUT -o OUTPUT"]
    assert [one.message for one in low.diagnostics] == ([] if files else said)


def test_a_large_input_that_nobody_reads_does_not_block(explorers, tmp_path):
    path, log = explorers
    ops = "".join(f"  %c{i} = arith.constant {i} : i32\n" for i in range(20_000))
    low = irwidget.lower(f"func.func @main() {{\n{ops}  return\n}}\n", to="raw_ir", pipeline=f"user-tool {path} big")
    assert "func.func @big()" in low.text
    assert log.read_text() == "ran\n"


def test_both_ways_of_running_it_are_told_when_both_fail(explorers, mlp):
    with pytest.raises(irwidget.ToolError) as caught:
        lowered(mlp, f"user-tool {explorers[0]} --fail")
    message = str(caught.value)
    assert "theirs exited with 1: ValueError: not enough values to unpack" in message
    assert "It had not read its input. Run as theirs FLAGS INPUT -o OUTPUT, theirs exited with 1: error: I" in message


@pytest.mark.parametrize("body", ["sys.exit(3)", "print('x'); sys.exit(3)", "import os; os.abort()"])
def test_a_tool_that_has_read_its_input_is_run_once(body, script, tmp_path, mlp):
    log = tmp_path / "ran"
    tool = script(f"open({str(log)!r}, 'a').write('ran\\n')\n{body}")
    with pytest.raises(irwidget.ToolError, match="mine exited with 3|killed by signal 6"):
        lowered(mlp, f"user-tool {tool}")
    assert log.read_text() == "ran\n"


def test_a_tool_that_only_looks_is_run_once(tmp_path, mlp):
    low, _ = lowered(mlp, f"user-tool sh -c 'echo ran >> {tmp_path}/log'")
    assert (tmp_path / "log").read_text() == "ran\n"
    assert not low.dumps[-1].changed


def test_arguments_never_meet_a_shell(script, tmp_path, mlp):
    tool = script("print(sys.argv[1:], file=sys.stderr)")
    low, _ = lowered(mlp, f"user-tool {tool} '$(touch {tmp_path}/pwned)' ';ls'")
    assert "$(touch" in low.diagnostics[-1].message
    assert not (tmp_path / "pwned").exists()


LANGUAGES = [  # before, after, text
    ("json", "json", '{\n  "0.add": {\n    "text": "tt.load, s_endpgm"\n  }\n}'),
    ("json", "json", "[[1.5, 2]]"),
    ("text", "text", "[info] nothing to do"),
    ("text", "mlir", "[info] done\nmodule {\n}"),
    ("text", "mlir", '"test.op"() : () -> ()'),
    ("python", "python", "import torch\nx = 1"),
    ("python", "text", "three kernels found"),
    ("python", "text", "done"),
    ("text", "text", "x = 1"),
]


@pytest.mark.parametrize(("before", "after", "text"), LANGUAGES)
def test_the_language_of_what_a_tool_leaves_is_told_by_its_text(before, after, text, tmp_path):
    (tmp_path / "left").write_text(text)
    source = Source("y = 2", before)
    trace = source.run([Step("user-tool", f"cat {tmp_path}/left"), Step("user-tool", "cat")])
    assert [(dump.language, dump.text.strip()) for dump in trace.dumps[1:]] == [(after, text)] * 2


def test_a_failed_tool_is_seen_again_on_a_file_of_its_language():
    for text, file in (("define void @f() {\n  ret void\n}", "before.ll"), ('{"a.b": 1}', "before.json")):
        with pytest.raises(irwidget.ToolError) as caught:
            irwidget.lower(text, to="raw_ir", pipeline="user-tool cat | user-tool false")
        said = str(caught.value)
        assert f"save('{file}')" in said
        assert f'irwidget lower {file} --to raw_ir --pipeline "user-tool false"' in said


def test_binary_output_is_an_attachment_with_a_readable_view(script, mlp):
    tool = script("sys.stdout.buffer.write(bytes(range(256)))")
    low, _ = lowered(mlp, f"user-tool {tool}")
    assert low.trace.attachments == {"user-tool-0.bin": bytes(range(256))}
    assert "00000030  30 31 32 33" in low.text


@pytest.mark.parametrize(
    ("body", "message"),
    [("sys.exit('no idea')", "mine exited with 1: no idea"), ("import os; os.abort()", "killed by signal 6")],
)
def test_a_user_tool_that_fails_keeps_the_dumps(script, body, message, mlp):
    with pytest.raises(irwidget.ToolError, match=message) as caught:
        lowered(mlp, f"user-tool {script(body)}")
    assert "linalg.matmul" in caught.value.lowering.dumps[-1].text


@pytest.mark.parametrize(
    ("pipeline", "kind", "message"),
    [
        ("user-tool nonesuch", irwidget.ToolError, "no program 'nonesuch'"),
        ("mlir-opt --canonicalize=foo=1", irwidget.UsageError, "canonicalize has no option 'foo'"),
        ("mlir-opt in.mlir", irwidget.UsageError, "files are not read"),
        ("opt -O2", irwidget.UsageError, "reads LLVM IR"),
    ],
)
def test_what_a_tool_cannot_do_is_said(pipeline, kind, message, mlp):
    with pytest.raises(kind, match=message):
        lowered(mlp, pipeline)


def test_mlir_text_is_parsed_and_verified():
    text = "module {\n  func.func @f(%arg0: i32) -> i32 {\n    return %arg0 : i32\n  }\n}\n"
    assert irwidget.lower(text, to="raw_ir").text == text
    with pytest.raises(irwidget.PassError, match="undeclared SSA value"):
        irwidget.lower(text.replace("return %arg0", "return %x"), to="raw_ir")


@pytest.mark.parametrize(
    ("args", "message"),
    [(("",), "the text is empty"), ((torch.nn.ReLU(),), "not from a ReLU")],
)
def test_raw_ir_wants_text(args, message):
    with pytest.raises(irwidget.UsageError, match=message):
        irwidget.lower(*args, to="raw_ir")


def test_text_cannot_start_elsewhere():
    with pytest.raises(irwidget.UsageError, match="raw_ir"):
        irwidget.lower("module {}", to="tosa_mlir")


def test_torchscript_keeps_the_users_lines(mlp):
    low = irwidget.lower(mlp, torch.randn(2, 4), to="torch_script_graph_ir")
    assert "aten::linear" in low.text
    (relu,) = [i for i, line in enumerate(low.text.splitlines()) if "aten::relu" in line]
    place = low.dumps[-1].locations[relu]
    assert "torch.relu(self.fc(x))" in low.trace.sources[place.file].splitlines()[place.line - 1]
    with pytest.raises(irwidget.UsageError, match="mlir-opt reads MLIR, but torch_script_graph_ir is TorchScript"):
        irwidget.lower(mlp, torch.randn(2, 4), to="torch_script_graph_ir", pipeline="mlir-opt --cse")
