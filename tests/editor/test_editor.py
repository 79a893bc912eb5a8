"""The pipeline widget without a browser: editing, running, stopping, and what a page may not do."""

from __future__ import annotations

import shlex
import threading
import time

import pytest
import torch

import irwidget
from irwidget.editor import catalogue, chain, requests
from irwidget.editor.outcome import RunPlan
from irwidget.editor.widget import Pipeline
from irwidget.errors import UsageError

NET = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU())
X = torch.ones(2, 4)
TWO = "mlir-opt --linalg-generalize-named-ops --cse"


def make() -> Pipeline:
    made = Pipeline(NET, X, to="linalg_on_tensors_mlir", pipeline=TWO, allow_tools=["mlir-opt", "user-tool cat -u"])
    said: list[dict[str, object]] = []
    made.send = lambda content, buffers=None: said.append(content)
    made.said = said
    return made


@pytest.fixture
def pipeline():
    made = make()
    yield made
    made.close()


@pytest.fixture(scope="module")
def target():
    """A pipeline that nothing gets through to."""
    made = make()
    yield made
    made.close()


def ask(pipeline: Pipeline, **request: object) -> dict[str, object]:
    pipeline._handle_custom_msg({"id": 7, **request}, [])
    return pipeline.said[-1]


def states(pipeline: Pipeline) -> list[str]:
    return [link.state for link in pipeline.steps]


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("mlir-opt --canonicalize --cse | opt -O2", ["canonicalize", "cse", "O2"]),
        ("mlir-opt '--canonicalize=max-iterations=3 top-down=false'", ["canonicalize"]),
        ("mlir-opt '--pass-pipeline=any(cse)' | mlir-opt --cse", ["--pass-pipeline=any(cse)", "cse"]),
        ("mlir-opt '--canonicalize={top-down=false}'", ["--canonicalize={top-down=false}"]),
        ("opt -O2 -mtriple=nvptx64-nvidia-cuda | llc -O3 -mcpu=sm_80", ["O2", "codegen"]),
        ("opt -passes=sroa", ["sroa"]),
        ("mlir-translate --mlir-to-llvmir | user-tool ./mine --flag", ["mlir-to-llvmir", "./mine --flag"]),
        ("", []),
    ],
)  # fmt: skip
def test_a_pipeline_is_taken_apart_and_put_together_again(text, labels):
    links = chain.parse(text)
    assert [" ".join(shlex.split(link.label)) for link in links] == labels
    assert chain.parse(chain.text(links)) == links
    assert len(chain.steps(links)) == len(links)
    assert [step.program for step in chain.steps(links, True)] == [True] * len(links)


def test_of_equal_steps_the_one_that_runs_is_marked():
    steps = chain.steps(
        chain.parse("mlir-opt '--pass-pipeline=any(cse)' | mlir-opt '--pass-pipeline=any(cse)' | opt -O2")
    )
    plan = RunPlan((), steps, (1, 2, 3))
    seen = [(plan.advance(i, step), [plan.state(place) for place in range(4)]) for i, step in enumerate(steps)]
    assert seen == [
        (1, ["done", "running", "waiting", "waiting"]),
        (2, ["done", "done", "running", "waiting"]),
        (3, ["done", "done", "done", "running"]),
    ]
    assert plan.advance(2, steps[2]) is None


def test_the_passes_are_those_that_the_tools_have():
    found = catalogue.catalogue()
    canonicalize = found["mlir-opt"]["canonicalize"]
    options = {option.name: option for option in canonicalize.options}
    assert canonicalize.help
    assert (options["max-iterations"].kind, options["max-iterations"].default) == ("integer", "10")
    assert options["region-simplify"].choices == ("disabled", "normal", "aggressive")
    assert "one-shot-bufferize" in found["mlir-opt"]
    assert "convert-torch-to-tosa" in found["torch-mlir-opt"]
    assert "stablehlo-aggressive-simplification" in found["torch-mlir-opt"]
    assert {"O0", "O2"} <= found["opt"].keys()
    assert len(found["mlir-opt"]) > 250


def test_nothing_that_names_a_file_or_a_program_is_offered():
    offered = [
        (one.name, option.name)
        for passes in catalogue.catalogue().values()
        for one in passes.values()
        for option in one.options
    ]
    bad = ("path", "file", "librar", "toolkit", "cmd", "command", "plugin")
    assert [pair for pair in offered if any(word in pair[1] for word in bad)] == []
    assert "gpu-module-to-binary" not in catalogue.catalogue()["mlir-opt"]


def test_it_runs_and_tells_what_came_of_each_step(pipeline):
    seen: list[str] = []
    pipeline.observe(lambda change: seen.append(change.new), "status")
    lowering = pipeline.run()
    assert seen == ["running", "done"]
    assert lowering is pipeline.lowering
    assert states(pipeline) == ["done", "done"]
    assert [link.state for link in pipeline.route] == ["done"] * 3
    assert [lowering.dumps[link.stage].name for link in pipeline.steps] == ["linalg-generalize-named-ops", "cse"]
    assert lowering.text == irwidget.lower(NET, X, to="linalg_on_tensors_mlir", pipeline=TWO).text
    assert pipeline.diff.traces == (lowering.trace,)


def test_running_to_a_step_leaves_the_others(pipeline):
    pipeline.run(0)
    assert states(pipeline) == ["done", ""]
    assert pipeline.lowering.dumps[-1].name == "linalg-generalize-named-ops"
    assert ask(pipeline, do="run", step=-1) == {"id": 7, "ok": True}  # what leads to the pipeline alone
    assert pipeline.wait().dumps[-1].step == len(pipeline.route) - 2
    assert states(pipeline) == ["", ""]


def test_results_stay_with_the_steps_before_an_edit(pipeline):
    pipeline.run()
    pipeline.pipeline = TWO.replace("--cse", "--canonicalize")
    assert states(pipeline) == ["done", ""]
    pipeline.run()
    pipeline.pipeline = "mlir-opt --cse --canonicalize"
    assert states(pipeline) == ["", ""]  # the second is as it was, on another input


def test_what_reproduces_it_does(pipeline):
    model, x = NET, X
    made = eval(pipeline.call, {"irwidget": irwidget, "model": model, "x": x})
    assert made.text == pipeline.run().text
    assert pipeline.magic == f"%%lower --to linalg_on_tensors_mlir --model model --inputs x --pipeline '{TWO}'"


def test_a_failure_names_its_step_and_keeps_the_dumps(pipeline):
    pipeline.pipeline = "mlir-opt --cse --canonicalize=max-iterations=many --cse"
    with pytest.raises(UsageError, match="max-iterations"):
        pipeline.run()
    assert (pipeline.status, states(pipeline)) == ("failed", ["done", "failed", ""])
    assert "max-iterations" in pipeline.message
    assert pipeline.lowering.dumps[-1].name == "cse"


def test_it_stops_while_it_runs_and_runs_again(pipeline):
    pipeline.pipeline = "mlir-opt --cse | user-tool sleep 60"
    started = threading.Event()
    pipeline.observe(lambda _: started.set() if "running" in states(pipeline) else None, "steps")
    assert ask(pipeline, do="run", step=0) == {"id": 7, "ok": True}
    assert started.wait(30)
    assert "running" in ask(pipeline, do="run", step=0)["error"]
    assert ask(pipeline, do="stop") == {"id": 7, "ok": True}
    with pytest.raises(irwidget.LoweringInterrupted):
        pipeline.wait(30)
    assert pipeline.status == "stopped"
    pipeline.pipeline = TWO
    assert pipeline.run().failure is None
    assert pipeline.status == "done"


def test_the_page_edits_what_is_allowed(pipeline):
    first, second = (link.id for link in pipeline.steps)
    ok = {"id": 7, "ok": True}
    options = {"max-iterations": "3"}
    assert ask(pipeline, do="add", tool="mlir-opt", **{"pass": "canonicalize"}, options=options, after=first) == ok
    assert ask(pipeline, do="move", step=second, to=-1) == ok
    assert [link.id for link in pipeline.steps][:2] == [second, first]
    assert ask(pipeline, do="enable", step=first, on=False) == ok
    assert pipeline.pipeline == "mlir-opt --cse --canonicalize=max-iterations=3"
    assert ask(pipeline, do="add", tool="user-tool", **{"pass": "cat -u"}, options={}, after=0) == ok
    assert ask(pipeline, do="remove", step=second) == ok
    assert pipeline.pipeline == "user-tool cat -u | mlir-opt --canonicalize=max-iterations=3"
    edited = pipeline.steps[-1].id
    assert ask(pipeline, do="enable", step=edited, on=False) == ok
    assert ask(pipeline, do="edit", step=edited, tool="mlir-opt", **{"pass": "cse"}, options={}) == ok
    assert pipeline.pipeline == "user-tool cat -u"
    assert ask(pipeline, do="enable", step=edited, on=True) == ok
    full = requests.EditorRequest("add", {"tool": "mlir-opt", "pass": "cse", "options": {}, "after": 0})
    with pytest.raises(UsageError, match="at most 200 steps"):
        requests.edited((pipeline.steps * 100)[:200], full, {}, int)
    assert ask(pipeline, do="target", name="tosa_mlir") == ok
    assert pipeline.call == "irwidget.lower(model, x, to='tosa_mlir', pipeline='user-tool cat -u | mlir-opt --cse')"


def test_what_only_python_may_set_stays_when_the_page_edits(pipeline):
    pipeline.pipeline = "mlir-opt --one-shot-bufferize='secret=1 allow-unknown-ops=true'"
    step = pipeline.steps[0].id
    ask(pipeline, do="edit", step=step, tool="mlir-opt", **{"pass": "one-shot-bufferize"}, options={})
    assert pipeline.steps[0].options == (("secret", "1"),)


ADD = {"do": "add", "tool": "mlir-opt", "pass": "canonicalize", "options": {}, "after": 0}
HOSTILE = [
    None, [], "run", 7, {}, {"do": None}, {"do": "__class__"}, {"do": ["run"]}, {"do": "run"},
    {"do": "run", "step": "0"},
    {"do": "run", "step": True}, {"do": "run", "step": 10**30}, {"do": "stop", "signal": 9},
    {"do": "target", "name": "/bin/sh"}, {"do": "target", "name": "spyre_fx"}, {"do": "target", "name": ["tosa_mlir"]},
    {**ADD, "tool": "user-tool", "pass": "sh -c id"}, {**ADD, "tool": "user-tool", "pass": "cat -u; id"},
    {**ADD, "tool": "/bin/sh"}, {**ADD, "tool": "opt", "pass": "O2"}, {**ADD, "tool": "mlir-opt | user-tool sh"},
    {**ADD, "pass": "cse --load-pass-plugin=/tmp/x.so"}, {**ADD, "pass": "load-pass-plugin"}, {**ADD, "pass": "o"},
    {**ADD, "pass": "pass-pipeline"}, {**ADD, "pass": "gpu-module-to-binary"}, {**ADD, "pass": "__init__"},
    {**ADD, "options": {"max-iterations": "3} | user-tool id"}}, {**ADD, "options": {"max-iterations": 3}},
    {**ADD, "options": {"max-iterations": "9" * 10_000}}, {**ADD, "options": {"no-such": "1"}},
    {**ADD, "options": {1: "x"}},
    {**ADD, "options": {"disable-patterns": "a b"}}, {**ADD, "options": {"disable-patterns": "/etc/passwd"}},
    {**ADD, "options": {"disable-patterns": "a'b"}}, {**ADD, "options": {"disable-patterns": "a\n"}},
    {**ADD, "options": {str(i): "1" for i in range(1000)}}, {**ADD, "after": -5}, {**ADD, "after": 99_999},
    {**ADD, "arguments": "--x"}, {"do": "move", "step": 12345, "to": 0}, {"do": "remove", "step": -1},
    {"do": "edit", "step": 1, "tool": "mlir-opt", "pass": "cse", "options": {}, "program": "/bin/sh"},
]  # fmt: skip


@pytest.mark.parametrize("content", HOSTILE, ids=lambda content: str(content)[:60])
def test_a_hostile_message_changes_nothing_and_is_answered(target, content):
    target.said.clear()
    before = (target.pipeline, target.target, target.status)
    message = {**content, "id": 7} if isinstance(content, dict) else content
    target._handle_custom_msg(message, [])
    assert (target.pipeline, target.target, target.status) == before
    answers = [answer for answer in target.said if "error" in answer]
    assert len(answers) == (1 if isinstance(content, dict) else 0)
    assert all(answer["id"] == 7 and answer["error"] for answer in answers)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max-iterations": 3}, "Options are texts"),
        ({1: "x"}, "Options are texts"),
        ({str(i): "1" for i in range(101)}, "Too many options"),
        ({str(i): "1" for i in range(100)}, "canonicalize has no option '0' to set here"),
    ],
)
def test_options_of_a_page_are_texts_and_a_hundred_at_most(target, options, said):
    assert ask(target, **{**ADD, "options": options})["error"].startswith(said)


def test_the_page_gets_what_it_shows():
    assert set(Pipeline.class_own_traits(sync=True)) == {
        *("name", "target", "targets", "pipeline", "steps", "route", "status", "message", "call", "magic"),
        *("passes", "diff"),
    }


@pytest.mark.parametrize("number", [True, -1, "7", 2**60, 1.5, None, [1]])
def test_a_message_without_a_number_is_not_answered(number):
    assert requests.number({"id": number, "do": "run"}) is None


def test_a_page_cannot_set_a_trait(target, monkeypatch):
    pipeline = target
    steps = [{"id": 1, "tool": "user-tool", "pass": "", "text": "sh -c id"}]
    hostile = {"pipeline": "user-tool sh -c id", "target": "tosa_mlir", "steps": steps, "status": "done", "_esm": "x"}
    data = {"method": "update", "state": hostile}
    before = (pipeline.pipeline, pipeline.target, pipeline.steps, pipeline.status, pipeline._esm)
    put_back: list[list[str]] = []
    monkeypatch.setattr(pipeline, "send_state", put_back.append)
    pipeline._handle_msg({"content": {"data": data}, "buffers": []})
    assert (pipeline.pipeline, pipeline.target, pipeline.steps, pipeline.status, pipeline._esm) == before
    assert put_back == [["pipeline", "target", "steps", "status", "_esm"]]


@pytest.mark.parametrize("tools", [["sh"], ["user-tool"], ["/usr/bin/opt"], ["user-tool "]])
def test_only_tools_and_whole_commands_can_be_allowed(tools):
    with pytest.raises(UsageError, match="allow_tools"):
        Pipeline("module {}", allow_tools=tools)


def test_what_cannot_be_is_refused_in_python():
    with pytest.raises(UsageError, match="tosa_mlir"):
        Pipeline("module {}", to="tosa_mlir")
    made = Pipeline("module {}")
    for trait, value in (("pipeline", "mlir-opt |"), ("target", "tosa_mlir"), ("steps", ("cse",))):
        with pytest.raises(UsageError):
            setattr(made, trait, value)
    for given in ({"dumps": False}, {"check": True}, {"route": "robust"}, {"toolchain": "x==1"}, {"progress": print}):
        with pytest.raises(UsageError, match=f"leave out {next(iter(given))}"):
            Pipeline("module {}", **given)
    with pytest.raises(UsageError, match="not run yet"):
        made.wait()
    made.close()


def test_text_starts_a_pipeline_too():
    made = Pipeline("func.func @f() { return }", pipeline="mlir-opt --cse")
    assert made.run().dumps[-1].name == "cse"
    assert made.magic == "%%lower --to raw_ir --pipeline 'mlir-opt --cse'"
    made.close()


def test_the_fallbacks_are_short_and_repeat(pipeline):
    pipeline.run()
    first = pipeline._repr_mimebundle_()
    pipeline.run()
    again = pipeline._repr_mimebundle_()
    bundles = [data[0] if isinstance(data, tuple) else data for data in (first, again)]
    for kind in ("text/plain", "text/html"):
        assert bundles[0][kind] == bundles[1][kind]
        assert "linalg-generalize-named-ops" in bundles[0][kind]
    assert "(done)" in bundles[0]["text/plain"]


def test_it_lies_beside_other_widgets(pipeline):
    import ipywidgets

    pipeline.layout.width = "50%"
    ipywidgets.VBox([pipeline, ipywidgets.Label("below")])
    chosen: list[str] = []
    pipeline.observe(lambda change: chosen.append(change.new), "pipeline")
    pipeline.steps = pipeline.steps[:1]
    assert chosen == ["mlir-opt --linalg-generalize-named-ops"]


def test_waiting_has_a_limit(pipeline):
    pipeline.pipeline = "user-tool sleep 60"
    pipeline.start()
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        pipeline.wait(0.3)
    assert time.monotonic() - began < 30
    pipeline.stop()
    with pytest.raises(irwidget.LoweringInterrupted):
        pipeline.wait(30)


@pytest.fixture
def shell():
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "irwidget")
    shell.user_ns.update(net=NET, x=X, NET=NET, X=X)
    yield shell
    shell.run_line_magic("unload_ext", "irwidget")
    InteractiveShell.clear_instance()


def test_the_magic_makes_one(shell, capsys):
    shell.run_line_magic("lower", "--interactive net x --to llvm_ir --arch sm_80 --pipeline 'opt -O2' --out made")
    made = shell.user_ns["made"]
    assert made is shell.user_ns["_pipeline"]
    assert (made.name, made.target, made.pipeline) == ("net", "llvm_ir", "opt -O2")
    assert made.magic == "%%lower --to llvm_ir --model net --inputs x --arch sm_80 --pipeline 'opt -O2'"
    assert made.call == "irwidget.lower(net, x, to='llvm_ir', arch='sm_80', pipeline='opt -O2')"
    made.close()


RAW = "func.func @f(%a: i32) -> i32 {\n  return %a : i32\n}\n"


@pytest.mark.parametrize(
    ("line", "cell", "sign"),
    [
        ("--to torch_mlir", "m = torch.nn.Tanh()\ny = torch.ones(3, 4)", "torch.aten.tanh"),
        ("--to tosa_mlir --model m --inputs z", "m = torch.nn.Tanh()\ny, z = torch.ones(3, 4), X", "tensor<2x4xf32>"),
        ("--to tosa_mlir", "irwidget.explore(torch.nn.Tanh(), torch.ones(3, 4))", "tosa.tanh"),
        ("--to tosa_mlir", "f = lambda a, *, b: a * b\nm = torch.ones(2)\nf(m, b=m)", "tosa.mul"),
        ("--to raw_ir", RAW, "func.func @f"),
    ],
)
def test_a_cell_opens_on_what_it_defines(shell, line, cell, sign):
    shell.user_ns.update(torch=torch, irwidget=irwidget)
    shell.run_cell_magic("lower", f"--interactive {line}", cell)
    made = shell.user_ns["_pipeline"]
    assert made.magic == f"%%lower {line}"
    assert sign in made.run().text
    shell.run_cell_magic("lower", f"{line} --text", cell)
    assert shell.user_ns["_lowering"].text == made.lowering.text
    made.close()


def test_a_cell_with_several_models_opens_them_all(shell, capsys):
    shell.run_cell_magic("lower", "--interactive --to tosa_mlir", "a, b, x = NET[0], NET[1], X")
    made = shell.user_ns["_pipeline"]
    assert {name: one.target for name, one in made.items()} == {"a": "tosa_mlir", "b": "tosa_mlir"}
    for one in made.values():
        one.close()


@pytest.mark.parametrize("line", ["--check", "--html page.html", "--text", "--all", "--to tosa", "--route explorer"])
def test_a_cell_is_not_run_for_what_cannot_be_edited(shell, line):
    with pytest.raises(UsageError):
        shell.run_cell_magic("lower", f"--interactive {line}", "ran = True")
    assert "ran" not in shell.user_ns


@pytest.mark.parametrize("line", ["net x --check", "nut x", "net x --to spyre_fx", "net x --no-dumps"])
def test_the_magic_refuses_what_it_cannot_do(shell, line):
    with pytest.raises(UsageError):
        shell.run_line_magic("lower", f"--interactive {line}")
