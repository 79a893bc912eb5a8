"""A cell that is a command line: real compilers as children, told to print, and what is left when they end badly."""

from __future__ import annotations

import shlex
import stat
import sys
from pathlib import Path

import pytest

import irwidget
from irwidget import running
from irwidget.readers import asking
from tests.readers.test_open import LOG
from tests.readers.test_printed import MODULE, PROGRAM


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"/usr/lib/llvm-22/bin:{tmp_path}:/usr/bin:/bin")
    return tmp_path


def program(folder, body: str) -> str:
    """A compiler of somebody's own, which names MLIR's flag in its help."""
    path = folder / "mine-opt"
    path.write_text(f"#!{sys.executable}\nimport sys, time, os, signal\nLOG = {LOG!r}\n{body}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


HELP = "if '--help' in sys.argv:\n    print('  --mlir-print-ir-after-all - Print IR after each pass')\n    sys.exit()\n"


def test_what_a_program_puts_before_each_line_is_no_part_of_a_dump(here):
    program(here, HELP + "sys.stderr.write(''.join('node0 | ' + line for line in LOG.splitlines(True)))")
    (low,) = running.run("mine-opt x")
    assert [dump.text for dump in low.dumps] == [dump.text for dump in irwidget.open(LOG)[0].dumps]


@pytest.mark.external
def test_the_flags_are_those_that_the_tool_names(here):
    if not (running.shutil.which("mlir-opt") and running.shutil.which("opt")):
        pytest.skip("needs LLVM 22")
    (here / "in.mlir").write_text(MODULE)
    (here / "in.ll").write_text(PROGRAM)
    (low,) = running.run("mlir-opt in.mlir \\\n  --canonicalize --cse")
    assert [dump.name for dump in low.dumps] == ["canonicalize", "cse", "output"]
    assert low.steps[0].arguments == "mlir-opt in.mlir --canonicalize --cse --mlir-print-ir-after-all"
    assert low.text == low.dumps[-2].text  # its maps, too
    assert low.text.startswith("#map = affine_map<(d0) -> (d0)>\nmodule {\n")
    assert low.text.endswith("\n}\n")
    (low,) = running.run("opt -O2 -S in.ll  # a comment")
    assert low.dumps[0].name == "input"
    assert "SROAPass" in [dump.name for dump in low.dumps if dump.changed]
    assert low.steps[0].arguments.endswith(" -print-changed")
    assert running.telling(running.parsed("opt -print-after-all")).added == ()


@pytest.mark.parametrize(
    ("flag", "told"),
    [
        ("--print-all", True),
        ("-print-after-all", True),
        ("--mlir-print-ir-before=cse", True),
        ("--print-all-options", False),
    ],
)
def test_a_program_that_is_told_to_print_is_not_told_again(flag, told):
    assert asking.prints(["mine-opt", flag]) is told


DRIVERS = {  # how each begins its help and its version, of releases 22, 22 and 1.95
    "OVERVIEW: clang LLVM compiler": ("Debian clang version 22.1.8", "-mllvm -print-changed"),
    "OVERVIEW: flang LLVM compiler": (
        "Debian flang version 22.1.8",
        "-mmlir --mlir-print-ir-after-all -mllvm -print-changed",
    ),
    "Usage: rustc [OPTIONS] INPUT": ("rustc 1.95.0 (59807616e 2026-04-14)", "-C llvm-args=-print-changed"),
    "Usage: wrapper of clang": ("wrapper 1.0", ""),
}


@pytest.mark.parametrize("first", DRIVERS)
def test_drivers_hand_the_flags_on(here, first):
    version, flags = DRIVERS[first]
    says = f"sys.stdout.write({first!r} if '--help' in sys.argv else {version!r})"
    assert asking.flags(program(here, says)) == tuple(flags.split())


@pytest.mark.external
@pytest.mark.parametrize("driver", ["clang", "flang", "rustc"])
def test_passes_of_a_driver(here, monkeypatch, driver):
    monkeypatch.setenv("PATH", f"/usr/lib/llvm-22/bin:/usr/bin:{Path.home()}/.cargo/bin:/bin")
    if running.shutil.which(driver) is None:
        pytest.skip(f"needs {driver}")
    ending, text = {
        "clang": ("c", "int f(int x) { int y = x; return y + 1; }\n"),
        "flang": ("f90", "integer function f(x)\n integer :: x\n f = x + 1\nend function\n"),
        "rustc": ("rs", '#![crate_type = "lib"]\n#[no_mangle]\npub fn f(x: i32) -> i32 { x.wrapping_add(1) }\n'),
    }[driver]
    (here / f"x.{ending}").write_text(text)
    low = running.run(f"{driver} -O {'--emit=obj' if driver == 'rustc' else '-c'} x.{ending}")[-1]
    assert ("SROAPass" in [dump.name for dump in low.dumps], low.failure) == (True, None)


@pytest.mark.parametrize(
    ("body", "ended", "dumps"),
    [
        ("sys.stderr.write(LOG); sys.exit(3)", "mine-opt exited with 3; the last dump is 2, b", 3),
        ("sys.stderr.write(LOG); sys.stderr.flush(); os.kill(os.getpid(), signal.SIGSEGV)", "was killed by SIGSEGV", 3),
        ("sys.stderr.write(LOG); sys.stderr.flush(); time.sleep(60)", "timed out (after 2 s, the limit", 3),
    ],
)
def test_what_came_is_kept(here, body, ended, dumps):
    program(here, HELP + body)
    found = running.run("mine-opt x", timeout=2)
    assert len(found[-1].dumps) == dumps
    assert ended in found[-1].failure.message


def test_nothing_to_show_is_an_error(here):
    program(here, HELP + "sys.stderr.write('error: no such file\\n'); sys.exit(1)")
    with pytest.raises(irwidget.ToolError, match="mine-opt exited with 1: error: no such file"):
        running.run("mine-opt x")
    program(here, "sys.stderr.write('hello\\n')")
    with pytest.raises(irwidget.ToolError, match=r"printed no pass: hello. No flag that prints passes.*--open FOLDER"):
        running.run("mine-opt x")
    with pytest.raises(irwidget.ToolError, match="no program 'mine-op'"):
        running.run("mine-op x")


def test_a_script_does_its_work_once(here):
    """Asked for its help it might do it before."""
    path = program(here, "open('ran', 'a').write(f'{sys.argv[1:]}'); sys.stderr.write(LOG)\n")
    (low,) = running.run("mine-opt x")
    assert ([dump.name for dump in low.dumps], (here / "ran").read_text()) == (["a", "c", "b"], "['x']")
    Path(path).write_text(f"#!{sys.executable}\nfrom a import main\nif __name__ == '__main__':\n    sys.exit(main())\n")
    assert asking.may_be_asked(path)  # what pip installs


@pytest.mark.parametrize("text", ["", "# only this", "a | b", "a > b", "a\nb", "a 'b"])
def test_what_is_no_command_is_refused(text):
    with pytest.raises(irwidget.UsageError):
        running.parsed(text)


def test_environment_and_passes_as_they_come(here):
    program(here, HELP + "assert os.environ['MODE'] == 'a b'\nsys.stderr.write(LOG); sys.stderr.flush(); time.sleep(1)")
    heard: list[str] = []
    running.run(f"MODE={shlex.quote('a b')} mine-opt x", heard=heard.append)
    assert heard[-1] == "pass 3 b"


def test_passes_on_standard_output_come_too(here):
    program(here, "print(LOG, flush=True); time.sleep(2); print('error: late', file=sys.stderr); sys.exit(3)")
    came: list[list[str]] = []
    found = running.run("mine-opt x", came=lambda opened: came.append([dump.name for dump in opened[0].dumps]))
    assert came[0] == ["a", "c", "b"]
    assert [dump.text for dump in found[0].dumps] == [dump.text for dump in irwidget.open(LOG)[0].dumps]
    assert found[0].failure.message.startswith("mine-opt exited with 3")


@pytest.mark.external
def test_a_pipeline_has_a_dump_after_each_pass_of_the_users_tool(here):
    if not (running.shutil.which("mlir-opt") and running.shutil.which("opt")):
        pytest.skip("needs LLVM 22")
    pipeline = "user-tool /usr/lib/llvm-22/bin/mlir-opt --canonicalize --cse --symbol-dce | mlir-opt --strip-debuginfo"
    low = irwidget.lower(MODULE, to="raw_ir", pipeline=pipeline, isolate=False)
    names = [dump.name for dump in low.dumps]
    assert names == ["input", "canonicalize", "cse", "symbol-dce", "mlir-opt, output", "strip-debuginfo"]
    assert all(dump.scope.whole and dump.text.startswith(("module", "#map")) for dump in low.dumps[1:])
    assert [dump.changed for dump in low.dumps[1:4]] == [True, False, True]
    optimised = irwidget.lower(
        PROGRAM, to="raw_ir", pipeline="user-tool /usr/lib/llvm-22/bin/opt -O1 -S", isolate=False
    )
    assert "SROAPass" in [dump.name for dump in optimised.dumps if dump.changed]


@pytest.mark.parametrize("asked", [True, False])
def test_a_users_tool_that_fails_keeps_its_passes_and_one_that_says_nothing_is_not_asked(here, asked):
    pytest.importorskip("torch_mlir")
    ran = here / "ran"
    script = "sys.stdin.read(); sys.stderr.write(LOG); sys.stderr.write('error: oops\\n'); sys.exit(2)"
    path = program(
        here, f"open({str(ran)!r}, 'a').write(' '.join(sys.argv[1:]) + ';')\n" + (HELP if asked else "") + script
    )
    with pytest.raises(irwidget.ToolError, match="mine-opt exited with 2") as caught:
        irwidget.lower(MODULE, to="raw_ir", pipeline=f"user-tool {path} x", isolate=False)
    assert "error: oops" in str(caught.value)
    names = [dump.name for dump in caught.value.lowering.dumps]
    assert names[1:] == (["a", "c", "b"] if asked else [])
    assert ran.read_text() == ("--help;x --mlir-print-ir-after-all;" if asked else "x;")
