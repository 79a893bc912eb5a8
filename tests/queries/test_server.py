"""The server of the Model Context Protocol, by the protocol's own client, and `--json`."""

import asyncio
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

import irwidget
from irwidget import UsageError, cli
from irwidget.experiments.comparison import compare
from irwidget.queries import bounds, comparing, server
from irwidget.queries.session import Session

MODEL = """import torch
print("what a program prints is not the protocol's")
class Net(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2
net, x = Net(), torch.ones(2)
"""
ADD = """func.func @f(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  %1 = arith.addi %a, %a : i32
  %2 = arith.muli %0, %1 : i32
  return %2 : i32
}
"""
GLOBAL = """@count = global i32 0
define i32 @f(i32 %a) {
  %b = add i32 %a, 0
  ret i32 %b
}
"""
IRWIDGET = [sys.executable, "-m", "irwidget"]


def conversation(talk):
    """What a function answers that talks to a server of its own."""

    async def run():
        async with Client(
            stdio_client(StdioServerParameters(command=sys.executable, args=[*IRWIDGET[1:], "mcp"]))
        ) as it:

            async def call(tool, **arguments):
                answer = await it.call_tool(tool, arguments)
                said = answer.content[0].text
                return said if answer.is_error else json.loads(said)

            return await talk(it, call)

    with ThreadPoolExecutor(1) as thread:  # a browser's test may have left a loop running on this one
        return thread.submit(asyncio.run, asyncio.wait_for(run(), 300)).result()


def test_a_program_is_lowered_and_asked_about(tmp_path):
    file = tmp_path / "model.py"
    file.write_text(MODEL)

    async def talk(it, call):
        made = await call("lower", file=str(file), to="linalg_on_tensors_mlir", arguments=["--check"])
        (name,) = made["lowerings"]
        page = await it.read_resource(f"irwidget://{name}/page.html")
        found = await call("search", lowering=name, text="linalg.generic")
        at = found["items"][0]["pass"]
        line = (await call("search", lowering=name, text="linalg.generic", which=at))["items"][0].split(":")[0]
        return made, name, page.contents[0].text, at, await call("line", lowering=name, which=at, number=int(line))

    made, name, page, at, line = conversation(talk)
    assert name == "net-linalg_on_tensors_mlir"
    assert made["lowerings"][name]["check"].startswith("equal to eager PyTorch")
    assert page.startswith("<!doctype html>")
    assert at == "convert-torch-to-linalg"
    assert line["source"] == {"place": f"{file}:5:22", "code": "return torch.relu(x) * 2"}
    assert line["last_changed_by"] == "convert-torch-to-linalg"


def test_failures_are_answers_and_mistakes_are_told(tmp_path):
    file = tmp_path / "bad.mlir"
    file.write_text(ADD.replace("arith.muli", "arith.mulx"))

    async def talk(it, call):
        kept = await call("lower_text", text=ADD, arguments=["--pipeline", "mlir-opt --cse"])
        other = await call("lower_text", text=ADD, arguments=["--pipeline", "mlir-opt --canonicalize"])
        (left,), (right,) = kept["lowerings"], other["lowerings"]
        return (
            sorted(tool.name for tool in (await it.list_tools()).tools),
            await call("lower", file=str(file), arguments=["--pipeline", "mlir-opt --cse"]),
            await call("compare", left=left, right=right),
            await call("passes", lowering="nett"),
            await call("lower", file="no/such.py"),
            await call("lower_text", text=ADD, arguments=["--save=x"]),
            await call("lower_text", text=GLOBAL, arguments=["--pipeline", "opt -passes=instcombine"]),
            await call("lower_text", text=ADD, arguments=["--pipelin", "x"]),
            await call("lowerings"),
            await mistakes(call, left),
            await call("text", lowering=left, which=1),
            await call("reduce", lowering=left, contains="arith.muli"),
        )

    async def mistakes(call, name):
        said = {
            "text has no argument 'frist'. Did you mean first": ("text", {"which": "cse", "frist": 2}),
            "counting begins at 1": ("text", {"which": "cse", "first": 0}),
            "first is -1: counting begins at 0": ("diff", {"which": "cse", "first": -1}),
            "count is 0: leave it out": ("passes", {"count": 0}),
            "there is no line 0": ("made_of", {"line": 0}),
            "has no pass '999": ("text", {"which": "9" * 5000}),
            "is complete: say by `contains`": ("reduce", {}),
            "line: number: Field required": ("line", {"which": "cse"}),
            "passes: first: Input should be a valid integer": ("passes", {"first": "x"}),
            "does not contain 'zzz': nothing to look for": ("reduce", {"contains": "zzz"}),
        }
        for begins, (tool, more) in said.items():
            answer = await call(tool, lowering=name, **more)
            assert begins in answer, answer[:1000]
            assert len(answer) < 4000
        begun = {"x" * 5000: "File name too long", "": ". is a folder", str(tmp_path): "is a folder"}
        for path, begins in begun.items():
            answer = await call("lower", file=path)
            assert begins in answer, answer[:1000]
            assert len(answer) < 4000
        for seconds in (0, 1e300):
            assert "seconds is a number above 0" in await call("lower", file=str(file), seconds=seconds)
        assert "name a file or a folder" in await call("open", path="")
        assert "first is -1" in await call("lowerings", first=-1)
        for word in ("-ofile", "--help", "--load"):
            assert "is for the command line" in await call("lower", file=str(file), arguments=[word])

    answers = conversation(talk)
    tools, failed, compared, unknown, missing, refused, llvm, misspelt, kept, _, by_number, smaller = answers
    assert (by_number["pass"], by_number["total"]) == ("cse", 7)
    assert smaller["operations"] == [5, 3]
    assert smaller["report"].startswith("The last dump contains 'arith.muli'\nReduced from ")
    assert "compare diff line lower lower_text lowerings made_of open operations" in " ".join(tools)
    (broken,) = failed["lowerings"].values()
    assert broken["failure"]["pass"] == "parse"
    assert "custom op 'arith.mulx' is unknown" in failed["said"]
    assert compared["first_difference"] is None
    assert [row["state"] for row in compared["not_the_same"]["items"]] == ["only left", "only right"]
    assert "There is no lowering 'nett'" in unknown
    assert "There is no file no/such.py" in missing
    assert "--save=x is for the command line" in refused
    assert [one["failure"] for one in llvm["lowerings"].values()] == [None]
    assert "--pipelin" in misspelt["said"]
    assert list(kept["items"]) == ["ir-raw_ir", "ir-raw_ir-2", "bad.mlir-raw_ir", "ir-raw_ir-3"]


@pytest.mark.parametrize("more", [["--diff", "cse"], ["--text"]])
def test_the_command_line_prints_data(tmp_path, more):
    file = tmp_path / "add.mlir"
    file.write_text(ADD)
    command = [*IRWIDGET, "lower", str(file), "--pipeline", "mlir-opt --cse", "--json", *more]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    (low,) = json.loads(ran.stdout)["lowerings"]
    assert [(row["pass"], row.get("gone")) for row in low["dumps"]] == [("input", None), ("cse", 2)]
    if "--text" in more:
        assert [text.count("arith.addi") for text in low["texts"]] == [2, 1]
    else:
        changed = [line.split(":")[0] for line in low["diff"]["items"] if line[0] in "+-"]
        assert changed[0] == "-    %1 = arith.addi %arg0, %arg0 "


def test_the_ir_is_written_beside_the_data(tmp_path):
    (tmp_path / "add.mlir").write_text(ADD)
    command = [*IRWIDGET, "lower", "add.mlir", "--pipeline", "mlir-opt --cse", "--json", "-o"]
    ran = subprocess.run([*command, "out.mlir"], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert json.loads(ran.stdout)["lowerings"][0]["passes"] == 1
    assert (tmp_path / "out.mlir").read_text().count("arith.addi") == 1
    both = subprocess.run([*command, "-"], capture_output=True, text=True, cwd=tmp_path)
    assert both.returncode == 2
    assert "--json and -o - print both" in json.loads(both.stderr)["error"]["message"]


def test_what_a_reduction_prints_is_data_alone(tmp_path, capsys):
    file = tmp_path / "add.mlir"
    file.write_text(ADD)
    command = ["reduce", str(file), "--pipeline", "mlir-opt --cse", "--json"]
    for more, said in (["-o", "-"], "--json and -o - print both"), ([], "does not fail on .*--contains TEXT"):
        assert cli.main([*command, *more]) == 2
        out, err = capsys.readouterr()
        assert not out
        assert re.search(said, json.loads(err)["error"]["message"])
    assert cli.main([*command, "--contains", "arith.muli"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["before"], found["operations"], "arith.muli" in found["text"]) == (5, 3, True)


def test_errors_are_data_too(tmp_path):
    ran = subprocess.run([*IRWIDGET, "lower", "nothing.py", "--json"], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert json.loads(ran.stderr) == {
        "error": {"type": "UsageError", "message": "There is no file nothing.py.", "notes": [], "location": None}
    }


def test_a_file_of_many_lowerings_is_told_in_part():
    session = Session()
    low = irwidget.lower(ADD, to="raw_ir", pipeline="mlir-opt --cse")
    names = [session.add(low) for _ in range(60)]
    answer = session._made(names, "")
    told = len(answer["lowerings"])
    assert 1 < told < 60
    assert (list(answer["lowerings"]), answer["more"]) == (names[:told], {"items": names[told:], "total": 60})
    assert len(json.dumps(answer)) < 2 * bounds.MOST
    first = session.kept(1)
    shown = len(first["items"])
    assert (list(first["items"]), first["total"]) == (names[1 : shown + 1], 60)
    assert ("next" in first) == (shown < 59)
    assert len(json.dumps(first)) < 1.5 * bounds.MOST
    assert list(session.kept(58)["items"]) == names[58:]
    assert session._made(names[:1], "") == {"lowerings": {names[0]: answer["lowerings"][names[0]]}}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({}, "needs the package mcp: pip install"),
        ({"__init__.py": "", "server.py": ""}, "does not load (ImportError: cannot import name 'MCPServer'"),
        (
            {"__init__.py": "1 / 0"},
            "does not load (ZeroDivisionError: division by zero): pip install -U 'irwidget[mcp]'",
        ),
    ],
)
def test_a_package_that_does_not_serve_is_said(found, said, tmp_path, monkeypatch):
    """None at all, one of another major version, one that is broken."""
    for name in [one for one in sys.modules if one.partition(".")[0] == "mcp"]:
        monkeypatch.delitem(sys.modules, name)
    for name, text in found.items():
        (tmp_path / "mcp").mkdir(exist_ok=True)
        (tmp_path / "mcp" / name).write_text(text)
    site = [one for one in sys.path if (Path(one) / "mcp").is_dir()]
    monkeypatch.setattr(sys, "path", [str(tmp_path), *(one for one in sys.path if one not in site)])
    with pytest.raises(UsageError) as raised:
        server.server()
    assert said in str(raised.value)


def test_two_kept_lowerings_are_compared(tmp_path, capsys):
    for name, pipeline in (("left", "--canonicalize --cse"), ("right", "--cse")):
        irwidget.lower(ADD, to="raw_ir", pipeline=f"mlir-opt {pipeline}").save(str(tmp_path / f"{name}.irtrace"))
    left, right = (str(tmp_path / f"{name}.irtrace") for name in ("left", "right"))
    assert cli.main(["compare", left, right, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = compare(irwidget.load(left), irwidget.load(right))
    assert found == json.loads(json.dumps(comparing.answer(expected, sys.maxsize)))
    assert [row["state"] for row in found["not_the_same"]["items"]] == ["only left"]
    assert cli.main(["compare", left, right]) == 0
    assert capsys.readouterr().out.rstrip() == str(expected).rstrip()
    for words, said in (
        ([left], "takes two lowerings; --to and --model choose of these 1:\n  "),
        ([left, "no.irtrace"], "There is no file no.irtrace"),
    ):
        assert cli.main(["compare", *words, "--json"]) == 2
        assert said in json.loads(capsys.readouterr().err)["error"]["message"]
