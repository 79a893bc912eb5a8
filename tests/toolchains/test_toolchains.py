"""Lowerings with other releases: real processes and real packages, of which one file says something else."""

from __future__ import annotations

import copy
import dataclasses
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch

import irwidget
from irwidget import bisecting, cli, imports
from irwidget.errors import LoweringInterrupted, ToolError, UnsupportedError, UsageError
from irwidget.queries import comparing
from irwidget.toolchain import triton_private
from irwidget.toolchains import carry, environments, fitting, process, releases
from irwidget.toolchains.spec import Release, parse
from tests.toolchains.kernels import column

X, OUT = torch.ones(32, 32), torch.empty(32, 32)
LAUNCH = {"BLOCK": 32, "to": "triton_gpu_ir", "arch": "sm_90"}


@pytest.fixture(scope="module")
def here():
    return irwidget.lower(column, X, OUT, 1024, 32, **LAUNCH)


@pytest.fixture(scope="module")
def there(other_triton):
    return irwidget.lower(column, X, OUT, 1024, 32, toolchain=str(other_triton), **LAUNCH)


# --- what they are called


@pytest.mark.parametrize(
    ("text", "releases"),
    [
        ("triton==3.6.0", (Release("triton", "3.6.0"),)),
        (" Torch_MLIR == 1.0+cpu ", (Release("torch-mlir", "1.0+cpu"),)),
        ("triton==3.6.0, llvmlite==0.46.0", (Release("llvmlite", "0.46.0"), Release("triton", "3.6.0"))),
        ("triton==3.6.0 llvmlite==0.46.0", (Release("llvmlite", "0.46.0"), Release("triton", "3.6.0"))),
    ],
)
def test_releases(text, releases):
    assert parse(text).releases == releases


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("triton", "'triton' names no release: say which, 'triton==1.2.3'"),
        ("triton>=3.6", "'triton>=3.6' is no toolchain: a toolchain is a release"),
        ("triton==3.6.0 triton==3.7.0", "names triton twice"),
        ("", "'' is no toolchain"),
        ("--index-url==x", "is no toolchain"),
        ("/no/such/folder", "There is no environment /no/such/folder"),
    ],
)
def test_what_names_none(text, said):
    with pytest.raises(UsageError, match=said):
        parse(text)


def test_what_this_process_has_is_lowered_here(here):
    spec = f"triton=={here.tools['triton']}"
    low = irwidget.lower(column, X, OUT, 1024, 32, toolchain=spec, **LAUNCH)
    assert (low.toolchain, low.text) == ("", here.text)
    assert environments.cached() == []
    assert not parse(f"{spec} nothing-of-this-name==1.0").is_here


# --- lowering and comparing


def test_a_kernel_crosses_to_another_release(here, there, other_triton):
    assert there.toolchain == str(other_triton)
    assert (here.tools["triton"], there.tools["triton"]) == (here.tools["triton"], "3.8.99")
    assert there.dumps[0].text == here.dumps[0].text  # the constexpr, the callee and the argument of the decorator, too
    places = [one.line for one in there.dumps[0].locations if one]
    assert places == [one.line for one in here.dumps[0].locations if one]
    assert any(places)


def test_the_first_pass_that_differs(here, there):
    found = irwidget.compare(here, there)
    gone = [pair.name for pair in found.passes if pair.state == "only left"]
    assert gone == ["tritongpu-coalesce"]
    assert (here.name, there.name) == (
        "column",
        f"column, {there.toolchain.rpartition('/')[2]}",
    )  # told apart on the screen
    assert found.first.name == "tritongpu-F32DotTC"
    assert [(pair.name, pair.state) for pair in found.inserted] == [("tritongpu-coalesce", "only left")]
    assert "first differ after tritongpu-F32DotTC" in found.summary
    assert "after tritongpu-coalesce (only left)" in found.summary
    answer = comparing.answer(found)
    assert answer["tools"] == {"triton": [here.tools["triton"], "3.8.99"]}
    changed = [line for line in answer["first_difference"]["diff"]["items"] if line[0] in "+-"]
    assert any("#ttg.blocked" in line for line in changed)
    assert str(found).splitlines()[-len(changed) :]
    assert changed[0] in str(found)


@pytest.mark.parametrize(
    ("name", "renamed"),
    [("triton-gpu-coalesce", True), ("tritongpu-coalesce-nv", True), ("tritongpu-pipeline", False)],
)
def test_a_pass_with_a_new_name(here, name, renamed):
    dumps = list(here.dumps)
    at = next(i for i, dump in enumerate(dumps) if dump.name == "tritongpu-coalesce")
    dumps[at] = dataclasses.replace(dumps[at], name=name)
    other = irwidget.Lowering(dataclasses.replace(here.trace, dumps=tuple(dumps)))
    assert irwidget.compare(here, other).passes[at].state == "only left", "one release has no pass under two names"
    other.trace = dataclasses.replace(other.trace, tools={**here.tools, "triton": "3.8.99"})
    found = irwidget.compare(here, other)
    pair = found.passes[at]
    assert (pair.name, pair.renamed, pair.left, pair.right, pair.state) == (
        "tritongpu-coalesce",
        name if renamed else "",
        at,
        at if renamed else None,
        "same" if renamed else "only left",
    )
    assert found.ends_the_same


def test_experiments_go_on_with_the_toolchain(here, there, other_triton):
    again = there.edit(0).run()  # the whole stage, as that release has it
    assert [dump.name for dump in again.dumps[1:]] == [dump.name for dump in there.dumps[1:]]
    assert irwidget.compare(there, again).ends_the_same
    assert (again.toolchain, again.tools["triton"]) == (str(other_triton), "3.8.99")
    assert "tritongpu-coalesce" in [dump.name for dump in here.edit(0).run().dumps]  # and this process's does not
    further = again.edit(0).without("triton-combine").run()
    assert (further.toolchain, further.tools["triton"]) == (str(other_triton), "3.8.99")


def test_an_edited_text_is_read_and_run_by_the_toolchain(there, other_triton, tmp_path):
    edited = there.edit(2, there.dumps[2].text.replace("arith.mulf", "arith.addf"))
    assert edited.problems() == ()
    assert edited.run().tools["triton"] == "3.8.99"
    (problem,) = there.edit(2, there.dumps[2].text.replace("arith.mulf", "arith.mulg")).problems()
    assert "Did you mean arith.mul" in problem.message
    edited.save(tmp_path)
    assert f"--toolchain {other_triton}" in (tmp_path / "run.sh").read_text()


def test_layouts_and_the_steps_inside_are_the_toolchains(here, there, other_triton, monkeypatch):
    asked = []
    run = process.run
    monkeypatch.setattr(process, "run", lambda environment, *more: asked.append(environment) or run(environment, *more))
    layouts = there.layouts().by_type
    assert {text: one.linear for text, one in layouts.items()} == {
        text: one.linear for text, one in irwidget.layouts.of(there.trace).by_type.items()
    }  # of one library, which another file of the package has changed
    assert [environment.name for environment in asked] == [str(other_triton)]
    at = next(i for i, dump in enumerate(there.dumps) if dump.name == "tritongpu-pipeline")
    same = next(i for i, dump in enumerate(here.dumps) if dump.name == "tritongpu-pipeline")
    assert [dump.name for dump in there.expand(at)] == [dump.name for dump in here.expand(same)]
    with pytest.raises(UsageError, match="dumps of opt, llc and Triton's pipeliner have passes inside"):
        there.expand(1)


def test_a_toolchain_that_is_gone_is_not_taken_for_what_is_installed(there):
    gone = irwidget.Lowering(there.trace)
    gone.origin = dataclasses.replace(
        there.origin, options=dataclasses.replace(there.origin.options, folders=("/no/such/folder",))
    )
    with pytest.raises(ToolError, match="the toolchain is gone from /no/such/folder"):
        gone.edit(0).run()
    with pytest.raises(ToolError, match="the toolchain is gone from /no/such/folder"):
        gone.reduce(lambda text: "tt.store" in text)


def test_what_is_no_dump_stays_in_the_other_process(there, other_triton):
    with pytest.raises(UsageError, match=rf"run\(\) takes what the compiler made besides dumps.*{other_triton}"):
        there.run(X)


def test_a_failure_of_the_toolchain_becomes_small_by_it(other_triton):
    body = "    %a = arith.constant 1.0 : f32\n    %b = arith.addf %a, %a : f32\n    tt.store %x, %b : !tt.ptr<f32>\n"
    text = f"module {{\n  tt.func public @f(%x: !tt.ptr<f32>) {{\n{body}    tt.return\n  }}\n}}\n"
    how = {"to": "raw_ir", "pipeline": "triton-opt --tritongpu-coalesce"}
    with pytest.raises(irwidget.IRWidgetError) as caught:
        irwidget.lower(text, toolchain=str(other_triton), **how)
    reduced = caught.value.lowering.reduce()
    assert reduced.operations < reduced.before
    assert reduced.tools["triton"] == "3.8.99"


def test_a_program_becomes_small_by_the_toolchain(there, other_triton):
    reduced = there.reduce(lambda text: "tt.store" in text, program=True, seconds=3)
    assert reduced.tools["triton"] == "3.8.99"
    assert reduced.command.endswith(f"--toolchain {other_triton}")
    assert "tl.store" in reduced.text


def test_models_functions_and_programs_cross(other_triton):
    class Net(torch.nn.Module):  # of no module that the other process could import
        def forward(self, x):
            return torch.relu(x) * 3

    def double(x):
        return x * 2

    for given in (Net(), double, torch.export.export(Net(), (X,))):
        inputs = () if isinstance(given, torch.export.ExportedProgram) else (X,)
        low = irwidget.lower(given, *inputs, to="linalg_on_tensors_mlir", toolchain=str(other_triton), check=True)
        assert low.text == irwidget.lower(given, *inputs, to="linalg_on_tensors_mlir", elide=True).text
        assert str(low.check).startswith("equal") if inputs else True


def test_several_types_of_ir_and_a_failure_keep_their_dumps(other_triton):
    text = "func.func @f(%a: i32) -> i32 {\n  %0 = arith.addi %a, %a : i32\n  return %0 : i32\n}\n"
    with pytest.raises(irwidget.IRWidgetError) as caught:
        irwidget.lower(text, to="raw_ir", pipeline="mlir-opt --cse | user-tool false", toolchain=str(other_triton))
    assert [dump.name for dump in caught.value.lowering.dumps] == ["input", "cse"]
    assert caught.value.lowering.toolchain == str(other_triton)
    assert caught.value.__notes__ == [f"The toolchain is {other_triton}"]


def test_a_release_whose_names_moved_says_so(bare_triton):
    with pytest.raises(
        UnsupportedError, match=r"triton 3\.3\.99 cannot be imported.*knobs.*works with triton 3\.4 to 3\.9"
    ):
        irwidget.lower(column, X, OUT, 1024, 32, toolchain=str(bare_triton), **LAUNCH)


def test_what_the_triton_here_refuses_is_for_the_toolchain_to_refuse(other_triton, tmp_path, capsys):
    file = tmp_path / "refused.py"
    file.write_text(
        "import torch, triton, triton.language as tl\n@triton.jit\ndef refused(x):\n    tl.store(x, tl.nothing(1))\n"
        "x = torch.ones(4)\nrefused[(1,)](x)\nprint('it goes on')\n"
    )
    words = ["lower", str(file), "--to", "triton_gpu_ir", "--arch", "sm_90"]
    assert cli.main([*words, "--toolchain", str(other_triton)]) == 1
    out, said = capsys.readouterr()
    assert "it goes on" in out
    assert f"  at {file}:4:17\n    tl.store(x, tl.nothing(1))\nThe toolchain is {other_triton}" in said
    assert cli.main(words) == 1
    out, said = capsys.readouterr()
    assert ("it goes on" in out, "The toolchain is" in said) == (False, False)


def test_the_names_that_a_release_lacks(monkeypatch):
    needed = {"knobs": ("runtime", "gone"), "no_such.module": ("x",)}
    assert triton_private.missing() == []
    monkeypatch.setattr(triton_private, "_NEEDED", needed)
    assert triton_private.missing() == ["triton.knobs.gone", "triton.no_such.module"]
    with pytest.raises(UnsupportedError, match=r"has no triton\.knobs\.gone, triton\.no_such\.module; irwidget works"):
        fitting.require(["torch", "Triton"])


def test_what_cannot_be_sent_is_told(other_triton):
    lock = threading.Lock()
    with pytest.raises(UsageError, match=r"cannot be sent to the process of the toolchain.*lock"):
        irwidget.lower(lambda x: x * lock.locked(), X, to="torch_mlir", toolchain=str(other_triton))


def test_the_process_that_lowers_is_the_toolchains_alone(other_triton):
    imports.wait(imports.TORCH + imports.OURS)  # as PyTorch is imported, it names the folder of Inductor's cache
    before = dict(os.environ), os.getcwd(), torch.get_default_dtype()
    parcel = carry.packed((1, 2))
    assert parcel.directory == os.getcwd()
    irwidget.lower(column, X, OUT, 1024, 32, toolchain=str(other_triton), **LAUNCH)
    said = "user-tool sh -c 'printenv LLVMLITE_ENABLE_OPAQUE_POINTERS >&2; cat'"
    told = irwidget.lower("define void @f(ptr %p)", to="raw_ir", pipeline=said, toolchain=str(other_triton))
    assert told.diagnostics[0].message == "sh: 1", "or llvmlite 0.44 reads no ptr"
    assert before == (dict(os.environ), os.getcwd(), torch.get_default_dtype())


# --- bisecting


def _made(here, there, version):
    return there if version >= "3.4" else here


def test_bisect_finds_the_release_that_changed_it(here, there, monkeypatch):
    asked = []

    def lower(*_, toolchain, **__):
        version = toolchain.partition("==")[2]
        asked.append(version)
        if version == "3.3":
            raise UnsupportedError("triton 3.3 has no triton.knobs")
        return _made(here, there, version)

    monkeypatch.setattr(bisecting, "lower", lower)
    heard = []
    versions = ["3.0", "3.1", "3.2", "3.3", "3.4", "3.5"]
    found = irwidget.bisect(
        column, to="triton_gpu_ir", package="triton", versions=versions, progress=lambda *said: heard.append(said[0])
    )
    assert (found.good, found.bad) == ("3.2", "3.4")
    assert "triton 3.4 is the first that is another than 3.2 (3.3 cannot be told)" in found.summary
    assert found.tried["3.3"] == "not tried: triton 3.3 has no triton.knobs"
    assert len(asked) == len(set(asked)) == len(heard) == len(found.tried)
    assert found.comparison.first.name == "tritongpu-F32DotTC"
    assert found.to_dict()["comparison"]["first_difference"]["pass"] == "tritongpu-F32DotTC"
    asked.clear()
    again = irwidget.bisect(
        column,
        to="triton_gpu_ir",
        package="triton",
        versions=versions,
        known=found.lowerings,
        predicate=lambda low: "3.8.99" in low.tools.values(),
    )
    assert (again.bad, asked) == ("3.4", ["3.3"])
    none = irwidget.bisect(column, to="triton_gpu_ir", package="triton", versions=["3.0", "3.1"])
    assert (none.good, none.bad, none.comparison) == (None, None, None)
    assert none.summary == "No change from triton 3.0 to 3.1, of those that were tried"


def test_a_predicate_that_raises_costs_its_release(here, there, monkeypatch):
    """What was lowered was lost with it. One that holds of every release had found no change, and did not say why."""
    asked = []

    def lower(*_, toolchain, **__):
        asked.append(toolchain.partition("==")[2])
        return _made(here, there, asked[-1])

    def of(raising):
        def predicate(low):
            version = next(one for one, made in kept.items() if made is low)
            if version in raising:
                raise ValueError(f"cannot read {version}")
            return "3.8.99" in low.tools.values()

        return predicate

    monkeypatch.setattr(bisecting, "lower", lower)
    how = {"to": "triton_gpu_ir", "package": "triton", "versions": ["3.0", "3.1", "3.2", "3.3", "3.4", "3.5"]}
    kept = {version: copy.copy(_made(here, there, version)) for version in how["versions"]}
    found = irwidget.bisect(column, **how, known=kept, predicate=of({"3.0", "3.2", "3.5"}))
    assert (found.good, found.bad, found.ends, asked) == ("3.3", "3.4", ("3.1", "3.4"), [])
    assert found.tried == {
        "3.0": "not told: the predicate raised ValueError: cannot read 3.0",
        "3.1": "good",
        "3.2": "not told: the predicate raised ValueError: cannot read 3.2",
        "3.3": "good",
        "3.4": "bad",
        "3.5": "not told: the predicate raised ValueError: cannot read 3.5",
    }
    with pytest.raises(ToolError, match=r"^No release of triton can be tried\n  3\.0: not told") as raised:
        irwidget.bisect(column, **how, predicate=lambda low: 1 / 0)
    assert list(raised.value.lowerings) == asked == how["versions"]
    always = irwidget.bisect(column, **how, known=kept, predicate=lambda low: True)
    assert always.summary == "No change from triton 3.0 to 3.5, of those that were tried (both are bad)"
    for known in ([here], {"3.0": "text"}):
        with pytest.raises(UsageError, match="known is lowerings by version"):
            irwidget.bisect(column, **how, known=known)


def test_another_failure_is_a_change_and_what_is_not_compared_is_told(monkeypatch):
    def failed(operation):
        with pytest.raises(irwidget.PassError) as raised:
            irwidget.lower(f"func.func @f() {{\n  {operation}\n  return\n}}", to="raw_ir")
        return raised.value.lowering

    elided = irwidget.lower(
        "func.func @f() {\n  %0 = arith.constant dense_resource<__elided__> : tensor<4xf32>\n  return\n}", to="raw_ir"
    )
    made = {"1": failed("a.b"), "2": failed("arith.x"), "3": failed("arith.x"), "4": elided, "5": elided}
    monkeypatch.setattr(bisecting, "lower", lambda *_, toolchain, **__: made[toolchain.partition("==")[2]])

    def found(*versions):
        return irwidget.bisect(column, to="raw_ir", package="x", versions=versions)

    assert [found("1", last).bad for last in "24"] == ["2", "4"]
    assert found("1", "2").tried["1"].startswith("what the others are compared with; fails: the IR does not parse")
    made["5"] = irwidget.lower(elided.text, to="raw_ir")
    summaries = [
        "No change from x 2 to 3, of those that were tried",
        "No change from x 4 to 5, of those that were tried",
    ]
    summaries[1] += "; values that texts leave out are not compared"
    assert [found("2", "3").summary, found("4", "5").summary] == summaries


def test_an_interrupted_search_keeps_what_it_found(here, there, monkeypatch):
    asked = []

    def lower(*_, toolchain, **__):
        version = toolchain.partition("==")[2]
        asked.append(version)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return _made(here, there, version)

    monkeypatch.setattr(bisecting, "lower", lower)
    how = {"to": "triton_gpu_ir", "package": "triton", "versions": ["3.0", "3.1", "3.3", "3.4", "3.5"]}
    with pytest.raises(LoweringInterrupted) as raised:
        irwidget.bisect(column, **how)
    assert set(raised.value.lowerings) == {"3.0", "3.5"}
    assert str(raised.value).startswith(
        "interrupted after 2 of 5 releases of triton; bisect(..., known=error.lowerings) goes on from there\n"
        "  3.0: what the others are compared with\n  3.5: "
    )
    found = irwidget.bisect(column, known=raised.value.lowerings, **how)
    assert (found.good, found.bad, asked) == ("3.3", "3.4", ["3.0", "3.5", "3.3", "3.3", "3.4"])


@pytest.mark.parametrize("versions", [[], ["3.6.0"], ["3.6.0", "3.6.0"], "3.6.0"])
def test_a_search_takes_two_different_releases(versions):
    with pytest.raises(UsageError, match=r"name two or more of triton|versions is a list of releases"):
        irwidget.bisect(column, to="triton_gpu_ir", package="triton", versions=versions)


@pytest.mark.parametrize(
    ("there_is", "said"),
    [
        ("", "No release of x can be tried\n  1: not tried: x==1 is nothing\n  3: not tried: x==3 is nothing"),
        ("1", "Of x only 1 can be tried, and there is none to compare it with\n  1: what the others are compared with"),
        ("3", "Of x only 3 can be tried, and there is none to compare it with\n  1: not tried: x==1 is nothing"),
        ("12", "No change from x 1 to 2, of those that were tried"),
    ],
)
def test_where_less_than_two_releases_can_be_tried_each_says_why(here, monkeypatch, there_is, said):
    def lower(*_, toolchain, **__):
        if toolchain[-1] in there_is:
            return here
        raise UnsupportedError(f"{toolchain} is nothing")

    def search(*versions):
        return irwidget.bisect(column, to="triton_gpu_ir", package="x", versions=versions)

    monkeypatch.setattr(bisecting, "lower", lower)
    if there_is == "12":
        assert search("1", "2", "3").summary == said
        return
    with pytest.raises(ToolError) as raised:
        search("1", "3")
    assert str(raised.value).startswith(said)
    assert all(f"\n  {version}: " in str(raised.value) for version in "13")


def test_the_order_of_releases():
    assert sorted(["0.10.0", "0.9.1", "0.9"], key=releases.number) == ["0.9", "0.9.1", "0.10.0"]
    assert fitting.oldest("triton") == "3.4"


# --- environments


def test_an_environment_of_the_users_by_its_python(other_triton, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True)
    site = next((tmp_path / "env" / "lib").glob("python*/site-packages"))
    (site / "other.pth").write_text(f"{other_triton}\n")
    for path in (tmp_path / "env", tmp_path / "env" / "bin" / "python"):
        assert environments.of_path(path).folders == (str(site), str(other_triton))
    assert environments.of_path(tmp_path / "env").versions() == {"triton": "3.8.99"}
    assert environments.of_path(other_triton).versions() == {"triton": "3.8.99"}


def test_what_is_no_environment(tmp_path):
    with pytest.raises(UsageError, match="is no environment: it has neither bin/python nor packages"):
        environments.of_path(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").write_text("#!/bin/sh\necho '[[2, 7], []]'\n")
    (tmp_path / "bin" / "python").chmod(0o755)
    with pytest.raises(UsageError, match=r"is Python 2\.7 and this is"):
        environments.of_path(tmp_path)
    (tmp_path / "bin" / "python").write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
    with pytest.raises(UsageError, match="is no Python that can be asked what it imports: broken"):
        environments.of_path(tmp_path)


def _pip(monkeypatch, body):
    """Have pip be a script: what a network gives is no test of ours."""

    def command(spec, into):
        return [sys.executable, "-c", f"import pathlib, sys, time\ninto = pathlib.Path({str(into)!r})\n{body}"]

    monkeypatch.setattr(environments, "_command", command)


MAKES = "(into / 'x').mkdir(parents=True)\n(into / 'x' / '__init__.py').write_text('y = 1')"


def test_an_environment_is_made_once_and_deleted(monkeypatch, capsys):
    _pip(monkeypatch, MAKES)
    told = []
    half = environments.folder() / environments.cache_name(parse("x==1.0"))
    (half / "site-packages").mkdir(parents=True)  # as one that was copied here and not whole
    made = environments.find("x==1.0", told.append)
    assert Path(made.folders[0], "x", "__init__.py").read_text() == "y = 1"
    assert told[0].startswith("pip installs x==1.0 into ")
    assert told[-1].endswith(" MB")
    _pip(monkeypatch, "sys.exit(1)")
    assert environments.find("x==1.0") == made
    (one,) = environments.cached()
    assert (one.releases, one.path) == ("x==1.0", str(Path(made.folders[0]).parent))
    assert one.bytes > 0
    assert cli.main(["toolchains", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["toolchains"] == [dataclasses.asdict(one)]
    with pytest.raises(UsageError, match="There is no environment 'y==1'"):
        environments.delete(["y==1"])
    assert cli.main(["toolchains", "--delete", "x==1.0"]) == 0
    assert capsys.readouterr().out.startswith(f"deleted {one.name}")
    assert environments.cached() == []
    assert not Path(one.path).exists()
    with pytest.raises(UsageError, match=r"There is no environment 'y==1' in .*\. There are none\."):
        environments.delete(["y==1"])


def test_a_half_made_environment_is_none(monkeypatch):
    killed = environments.folder() / f".{environments.cache_name(parse('x==2.0'))}.making-by-one-that-was-killed"
    killed.mkdir(parents=True)
    _pip(monkeypatch, f"{MAKES}\nsys.exit('ERROR: No matching distribution (from versions: 0.1, 0.2)')")
    with pytest.raises(ToolError, match=r"pip has no x==2\.0 for this machine.*The last that it has: 0\.1, 0\.2"):
        environments.find("x==2.0")
    assert [path.name for path in environments.folder().iterdir() if "x-2.0" in path.name] == [
        f".{environments.cache_name(parse('x==2.0'))}.lock"
    ]
    _pip(monkeypatch, "sys.exit('ERROR: Could not find it: NewConnectionError')")
    with pytest.raises(ToolError, match="(?s)pip reaches no package index.*named by its path"):
        environments.find("x==2.0")


def test_what_is_being_made_is_not_deleted(monkeypatch, tmp_path):
    monkeypatch.setenv(environments.WHERE, str(tmp_path))
    for name in ("p-1", "p-2"):
        (tmp_path / name).mkdir()
        note = {"releases": name.replace("-", "=="), "python": "3.11", "bytes": 5, "made": 0}
        (tmp_path / name / "toolchain.json").write_text(json.dumps(note))
    with environments._alone(tmp_path / "p-2"), pytest.raises(UsageError, match="p-2 is being made by another process"):
        environments.delete(["p-2"])
    assert [one.name for one in environments.cached()] == ["p-1", "p-2"]
    assert [one.name for one in environments.delete(["p==2"])] == ["p-2"]
    assert [one.name for one in environments.cached()] == ["p-1"]


def test_two_makers_make_one(monkeypatch):
    _pip(monkeypatch, f"time.sleep(0.5)\n{MAKES}")
    made, told = [], []
    makers = [threading.Thread(target=lambda: made.append(environments.find("x==3.0", told.append))) for _ in range(3)]
    for one in makers:
        one.start()
    for one in makers:
        one.join(90)
    assert len(set(made)) == 1
    assert sum(said.startswith("pip installs") for said in told) == 1
    assert any(said.startswith("waiting for another process") for said in told)
    environments.delete()


# --- with a network


@pytest.mark.skipif("IRWIDGET_NETWORK" not in os.environ, reason="IRWIDGET_NETWORK is not set: pip installs a release")
def test_a_release_of_pips(here):
    low = irwidget.lower(column, X, OUT, 1024, 32, toolchain="triton==3.6.0", **LAUNCH)
    assert low.tools["triton"] == "3.6.0"
    assert irwidget.compare(low, here).first is not None


def test_what_is_no_predicate_is_refused_before_a_release_is_tried(monkeypatch):
    monkeypatch.setattr(bisecting, "lower", lambda *_, **__: pytest.fail("a release was tried"))
    with pytest.raises(irwidget.UsageError, match="A predicate is a function of a lowering, .* not 'x'"):
        irwidget.bisect(column, to="raw_ir", package="x", versions=["1", "2"], predicate="x")
