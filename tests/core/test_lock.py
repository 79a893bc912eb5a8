"""What toolchain.lock says: requirements for pip, and what is installed beside them."""

import platform
import sys
from importlib import metadata

import pytest

from irwidget import reports
from irwidget.toolchain import lock
from irwidget.toolchain.lock import LockedTool
from irwidget.trace import Step

TAG = f"cp{sys.version_info.major}{sys.version_info.minor}"
MACHINE = platform.machine()
LOCK = f"""\
# The tools that lowerings depend on. Rewritten by `make lock` from what is installed;
# compared with a machine by `%lower --doctor`; installed by `make venv`.

[[tool]]
name = "torch"
version = "0.1"
kind = "embedded"

[[tool]]
name = "absent-tool"
version = "3.0"
kind = "optional"
llvm = "23"
[tool.wheels]
"absent_tool-3.0-{TAG}-{TAG}-linux_{MACHINE}.whl" = "a1"
"absent_tool-3.0-{TAG}-{TAG}-linux_other.whl" = "a2"
"absent_tool-3.0-cp26-cp26-linux_{MACHINE}.whl" = "a3"
"absent_tool-3.0-py3-none-any.whl" = "a4"

[[tool]]
name = "llvm-22"
version = "22.1"
kind = "external"
llvm = "22"

[python]
absent = "4.0"
pytest = "0.2"
"""


@pytest.fixture
def locked(tmp_path, monkeypatch):
    file = tmp_path / "toolchain.lock"
    file.write_text(LOCK)
    monkeypatch.setattr(lock, "path", lambda: file)
    return file


def test_requirements_for_pip(locked):
    assert lock.pins() == ["torch==0.1", "absent-tool==3.0", "absent==4.0", "pytest==0.2"]
    assert lock.hashed() == [f"absent-tool==3.0 --hash=sha256:{sha256}" for sha256 in ("a1", "a4")]
    assert lock.embedded() == ["torch", "absent-tool"]
    assert [(tool.name, tool.llvm) for tool in lock.read()[0]] == [
        ("torch", ""), ("absent-tool", "23"), ("llvm-22", "22")
    ]  # fmt: skip


def test_what_is_installed_is_written_over_what_was(locked, monkeypatch):
    monkeypatch.setattr(lock, "_wheels", lambda name, version: {f"{name}-{version}-new.whl": "b1"})
    lock.write()
    has = {name: metadata.version(name).partition("+")[0] for name in ("torch", "pytest")}
    new = LOCK.replace("0.1", has["torch"]).replace("0.2", has["pytest"])
    first, rest = new.split("[tool.wheels]\n")
    wheels, others = rest.split("\n\n", 1)
    lines = sorted([*wheels.splitlines(), '"absent-tool-3.0-new.whl" = "b1"'])
    assert locked.read_text() == "\n".join([f"{first}[tool.wheels]", *lines, "", others])


def test_the_version_that_a_folder_has_comes_first(tmp_path):
    for name, text in (("one", '__version__ = "1.5+cpu"\n'), ("two", "")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(text)
    (tmp_path / "pytest-7.0.dist-info").mkdir()
    (tmp_path / "pytest-7.0.dist-info" / "METADATA").write_text("Name: pytest\nVersion: 7.0+git\n")
    found = [lock.in_folder(name, str(tmp_path)) for name in ("one", "two", "pytest", "three")]
    assert found == ["1.5", lock.UNVERSIONED, "7.0", None]
    folders = [str(tmp_path)]
    assert [lock.installed("pytest", folders), lock.installed("pytest")] == ["7.0", metadata.version("pytest")]
    assert [lock.installed("one", folders), lock.installed("one")] == ["1.5", None]
    assert lock.installed("torch", folders) == metadata.version("torch").partition("+")[0]


def test_versions_are_those_of_the_tools_that_run_here():
    steps = [Step("opt", "-O1"), Step("mlir-opt", "--cse", program=True), Step("llc", ""), Step("user-tool", "cat")]
    assert lock.versions(steps) == {"llvmlite": metadata.version("llvmlite")}


def test_what_is_other_here_than_locked_is_told(locked):
    has = metadata.version("pytest")
    tools = [
        LockedTool("pytest", has, "embedded"), LockedTool("pytest", "0.2", "embedded"),
        LockedTool("absent", "3", "optional"), LockedTool("absent", "3", "embedded"),
        LockedTool("absent", "", "optional"),
    ]  # fmt: skip
    assert [reports.problems_of(tool) for tool in tools] == [
        "",
        f"{has} is installed, toolchain.lock has 0.2: results may differ",
        "missing: pip install 'irwidget[absent]'",
        "missing: pip install 'absent==3'",
        "missing: pip install absent",
    ]
    torch = metadata.version("torch").partition("+")[0]
    rows = reports.doctor_as_data()["tools"]
    assert [[*row.values()] for row in rows[:2]] == [
        ["torch", torch, "0.1", "-", "embedded", f"{torch} is installed, toolchain.lock has 0.1: results may differ"],
        ["absent-tool", "-", "3.0", "23", "optional", "missing: pip install 'irwidget[absent-tool]'"],
    ]
