"""What a report of a reduction says, word for word."""

from __future__ import annotations

import re
import sys

import pytest

import irwidget
from irwidget import cli
from irwidget.reducing import installed
from irwidget.reducing.failing import kind_of
from irwidget.reducing.report import Reduced, Tried
from irwidget.trace import Failure, Step

KIND = kind_of(Failure(0, "cse", "failed to legalize operation 'a.b'"))
CSE = (Step("mlir-opt", "--cse"),)


@pytest.mark.parametrize(
    ("name", "text", "pipeline", "said"),
    [
        (
            "call.mlir",
            "func.func @f() {\n  call @g(%2) : (i32) -> ()\n  return\n}\n",
            "mlir-opt --canonicalize",
            ["parse at func.call of %2: the IR does not parse", "```mlir\n", "mlir-opt --canonicalize input.mlir"],
        ),
        (
            "one.mlir",
            '%0 = "foo.bar"() : () -> i32\n',
            "mlir-opt --canonicalize",
            ["Reduced from 1 operation to 1.", "```mlir\n", "mlir-opt --canonicalize input.mlir"],
        ),
        (
            "undefined.ll",
            "define i32 @f(i32 %n) {\n  %a = add i32 %n, %zz\n  ret i32 %a\n}\n",
            "opt -O2",
            ["```llvm\n", "opt -O2 input.ll"],
        ),
        (
            "copied.ll",
            "define i32 @f(i32 %n) {\n  %a = add i32 %n, X\n  ret i32 %a\n}\n",
            "llc -mtriple=spirv64",
            ["parse: the IR does not parse: expected value token\n", "llc -mtriple=spirv64 input.ll"],
        ),
    ],
)
@pytest.mark.parametrize("more", [[], ["--to", "raw_ir"]])
def test_what_does_not_parse(tmp_path, capsys, name, text, pipeline, said, more):
    (tmp_path / name).write_text(text)
    assert cli.main(["reduce", str(tmp_path / name), *more, "--pipeline", pipeline]) == 0
    report = capsys.readouterr().out
    assert [one for one in said if one not in report] == []


def test_constants_of_a_file_are_kept_where_what_is_wrong_is_about_them(tmp_path, capsys):
    numbers = ", ".join(map(str, range(12)))
    (tmp_path / "in.mlir").write_text(
        "func.func @f(%a: i32) -> (i32, tensor<12xi32>) {\n  %0 = arith.addi %a, %a : i32\n"
        f"  %1 = arith.constant dense<[{numbers}]> : tensor<12xi32>\n  return %0, %1 : i32, tensor<12xi32>\n}}\n"
    )
    assert cli.main(["reduce", str(tmp_path / "in.mlir"), "--pipeline", "mlir-opt --cse", "--contains", "10, 11]"]) == 0
    report = capsys.readouterr().out
    assert report.startswith("The last dump contains '10, 11]'\nReduced from 4 operations to ")
    assert f"dense<[{numbers}]>" in report


def test_ways_that_took_nothing_are_not_said_to_have_helped():
    text = "func.func @f(%a: i32) -> i32 {\n  %0 = arith.addi %a, %a : i32\n  return %0 : i32\n}\n"
    low = irwidget.lower(text, to="raw_ir", pipeline="mlir-opt --cse")
    account = low.reduce(lambda last: "addi" in last).account
    assert account.startswith("Tried: ")
    assert "; taken of those: " in account


def test_all_of_a_report():
    found = Reduced(
        "a\n\n", 1, 20, KIND, CSE, 1, complete=False, tools={"mlir-opt": "22.1", "opt": "23"}, message=" said \n",
        ways={"lines": Tried(3, 1) + Tried(4, 1), "values": Tried(5)}, seconds=2.4,
        raised=(ValueError("first"), ValueError("next"), KeyError("last\nline")),
    )  # fmt: skip
    assert (
        str(found)
        == found.report
        == (
            "cse at a.b: failed to legalize operation 'a.b'\nsaid\n"
            "Reduced from 20 operations to 1 (stopped before nothing more could be taken out).\n\n"
            "```mlir\na\n```\n\n```sh\nmlir-opt --cse input.mlir\n```\nVersions: mlir-opt 22.1, opt 23\n"
            "Tried: 1 candidate in 2 s; taken of those: lines 2 of 7, values 0 of 5\n"
            "Not taken: 3 candidates of which the predicate raised an error (KeyError: 'last\\nline')"
        )
    )
    least = Reduced("a", 1, 1, None, CSE, 2, complete=True)
    assert least.report == (
        "The predicate holds\nReduced from 1 operation to 1.\n\n"
        "```mlir\na\n```\n\n```sh\nmlir-opt --cse input.mlir\n```"
    )
    assert least.of_text("a\nb").report == least.report.replace("The predicate holds", r"The last dump contains 'a\nb'")
    assert least.account == ""


@pytest.mark.parametrize(
    ("language", "steps", "words", "shown"),
    [
        ("llvm", (Step("opt", "-O1"),), (), ("llvm", "opt -O1 input.ll")),
        ("text", (Step("opt", "-O1"), Step("llc", "-O2")), (), ("llvm", "opt -O1 input.ll | llc -O2")),
        ("text", (Step("llc", "-O2"),), (), ("llvm", "llc -O2 input.ll")),
        ("text", CSE, (), ("mlir", "mlir-opt --cse input.mlir")),
        ("mlir", (), (), ("mlir", "mlir-opt input.mlir")),
        ("text", (), (), ("text", "mlir-opt input.txt")),
        ("python", CSE, ("--to", "x y"), ("python", "python -m irwidget lower program.py --to 'x y'")),
        (
            "mlir",
            (Step("user-tool", "false"),),
            ("--toolchain", "a==1"),
            (
                "mlir",
                "python -m irwidget lower input.mlir --to raw_ir --pipeline 'user-tool false' --toolchain a==1",
            ),
        ),
        (
            "mlir",
            (Step("mlir-opt", "", program=True), Step("user-tool", "false", program=True)),
            (),
            (
                "mlir",
                "python -m irwidget lower input.mlir --to raw_ir --pipeline 'mlir-opt | user-tool false' --external",
            ),
        ),
    ],
)
def test_the_command_that_shows_the_failure_again(language, steps, words, shown):
    found = Reduced("a", 1, 2, KIND, steps, 3, complete=True, language=language, words=words)
    assert f"```{shown[0]}\na\n```\n\n```sh\n{shown[1]}\n```" in found.report
    assert found.command == shown[1]


@pytest.mark.parametrize(
    ("ir", "name", "language"), [("module {\n}", "input.mlir", "mlir"), ("define void @f() {", "input.ll", "llvm")]
)
def test_of_a_program_the_pass_that_fails_stands_alone_below_it(ir, name, language):
    found = Reduced("f()", 1, 2, KIND, CSE, 3, complete=True, language="python", ir=ir)
    assert found.report.endswith(
        "```sh\npython -m irwidget lower program.py\n```\n\nThe pass that fails, alone:\n\n"
        f"```{language}\n{ir}\n```\n\n```sh\nmlir-opt --cse {name}\n```"
    )


POINTERS = "define <2 x ptr> @f(i32 %n) {\n  %a = add i32 %n, 1\n  ret <2 x ptr> zeroinitializer\n}\n"
PAIR = "define { i32, i32 } @f() {\n  ret { i32, i32 } poison\n}\n"
PROGRAM = r"llc \d+\.\d+\.\d+ \(/\S+/llc\)"


def reduced(text, pipeline, **options):
    with pytest.raises(irwidget.IRWidgetError) as raised:
        irwidget.lower(text, to="raw_ir", pipeline=pipeline, **options)
    return raised.value.lowering.reduce()


@pytest.mark.external
def test_a_program_of_the_command_that_does_not_fail_is_told_with_the_command_that_does():
    found = reduced(POINTERS, "llc -mtriple=spirv64")
    assert "Assertion" in found.message  # which released programs do not have
    assert found.again
    assert not found.again.fails
    ours = "python -m irwidget lower input.ll --to raw_ir --pipeline 'llc -mtriple=spirv64'"
    said = f"{PROGRAM} does not fail on it; what does is of the versions below:\n\n```sh\n{re.escape(ours)}\n```\n"
    assert re.search(f"```sh\nllc -mtriple=spirv64 input.ll\n```\n{said}Versions: ", found.report)


@pytest.mark.external
@pytest.mark.parametrize(
    ("pipeline", "said"),
    [
        ("llc -mtriple=bpf", "llc exited with 1: error: .*aggregate returns are not supported"),
        ("opt -O1 | llc -mtriple=bpf", "llc exited with 1: error: .*aggregate returns are not supported"),
    ],
)
def test_what_the_programs_of_the_command_say_is_told(pipeline, said):
    found = reduced(PAIR, pipeline)
    assert found.again
    assert found.again.fails
    assert re.search(f"\nRun as {PROGRAM}: {said}\nVersions: ", found.report)
    assert reduced(PAIR, pipeline, external=True).again is None


@pytest.mark.external
def test_programs_run_again_unless_it_was_they_that_ran():
    one, program = Step("opt", "-O1"), Step("llc", "", program=True)
    text = "define void @f() {\n  ret void\n}\n"
    found = [installed.run(text, steps, 20) for steps in ((one, program), (program,))]
    assert [again and again.fails for again in found] == [False, None]


def test_a_command_that_the_program_does_not_take_shows_no_failure():
    step = Step("torch-mlir-opt", "--pass-pipeline='builtin.module(func.func(chlo-legalize-to-stablehlo))'")
    again = installed.run("module {}", (step,), 20)
    assert again
    assert not again.fails
    assert re.search("^torch-mlir-opt .* does not take the command: .*not refer to a registered pass", again.said)


def test_a_pass_that_never_ends_is_limited_and_made_small_on_the_command_line(tmp_path, capsys):
    tool, text = tmp_path / "tool.py", tmp_path / "in.mlir"
    tool.write_text("import sys\n\ntext = sys.stdin.read()\nwhile 'arith.divsi' in text:\n    pass\nprint(text)\n")
    text.write_text("func.func @f(%a: i32) -> i32 {\n  %0 = arith.divsi %a, %a : i32\n  return %0 : i32\n}\n")
    pipeline = f"user-tool {sys.executable} {tool}"
    assert cli.main(["reduce", str(text), "--pipeline", pipeline, "--timeout", "4"]) == 0
    report = capsys.readouterr().out
    assert "timed out (after 4 s)" in report
    assert "Reduced from 3 operations to " in report


@pytest.mark.external
def test_what_only_the_installed_program_fails_on_is_told_with_the_next_step(tmp_path, capsys):
    path = tmp_path / "in.mlir"
    path.write_text("func.func @f(%a: !torch.int) -> !torch.int {\n  return %a : !torch.int\n}\n")
    assert cli.main(["reduce", str(path), "--pipeline", "mlir-opt --cse"]) == 2
    assert re.search(
        rf"The pipeline does not fail on {re.escape(str(path))} in \d runs as it runs here\. "
        r"Run as mlir-opt \S+ \(\S+\): mlir-opt exited with 1: .*torch.*\n.*"
        r"Next step: --external makes it small with the installed programs",
        capsys.readouterr().err,
    )
    path.write_text("func.func @f(%a: i32) -> i32 {\n  return %a : i32\n}\n")
    assert cli.main(["reduce", str(path), "--pipeline", "mlir-opt --cse"]) == 2
    said = rf"The pipeline does not fail on {re.escape(str(path))} in \d runs: --contains TEXT says what is wrong"
    assert re.search(said, capsys.readouterr().err)


def test_what_is_left_of_triton_ir_is_shown_as_mlir():
    pytest.importorskip("triton")
    line = "    %0 = tt.make_range {end = 100 : i32, start = 0 : i32} : tensor<100xi32>\n"
    text = f"module {{\n  tt.func public @f(%a: i32) {{\n{line}    tt.return\n  }}\n}}\n"
    found = reduced(text, "triton-opt --cse")
    assert found.operations == 2
    assert (
        f"```mlir\n  tt.func public @f(%a: i32) {{\n{line}  }}\n```\n\n```sh\ntriton-opt --cse input.mlir\n"
        in found.report
    )
