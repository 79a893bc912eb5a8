"""Environments of other releases, in the user's cache: made by pip, listed, deleted; and those that the user has.

A cached environment is a folder of packages that a process of ours imports before all that this one imports. It is made
under another name and renamed when it is whole, by one process at a time.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from irwidget.errors import ToolError, UsageError, near
from irwidget.toolchain import lock, processes
from irwidget.toolchains import pip_settings
from irwidget.toolchains.spec import Release, Spec, normal, parse

WHERE = "IRWIDGET_TOOLCHAINS"
"""Environment variable: the folder of cached environments."""
_NOTE = "toolchain.json"
_PACKAGES = "site-packages"
_GLANCE = 0.1
_MLIR = "torch_mlir/_mlir_libs"
"""In the folder of packages that a build of torch-mlir makes; there is no `__init__.py`."""
Tell = Callable[[str], object]
"""Told of what goes on, in words."""


@dataclass(frozen=True)
class Environment:
    """Folders to import from before all else."""

    name: str
    """What a lowering in it says: `triton==3.6.0`, or the path."""
    folders: tuple[str, ...]

    def versions(self) -> dict[str, str]:
        """Package and version of all that it brings, of those that irwidget knows also without metadata of theirs."""
        found = {one.metadata["Name"]: one.version for one in metadata.distributions(path=list(self.folders))}
        named = {normal(name) for name in found}
        for package in lock.embedded():
            said = next((said for folder in self.folders if (said := lock.in_folder(package, folder))), None)
            if said and package not in named:
                found[package] = said
        return dict(sorted(found.items(), key=lambda pair: pair[0].lower()))


@dataclass(frozen=True)
class Cached:
    """An environment of the cache, as a list shows it."""

    name: str
    """Of its folder: what `--delete` takes."""
    releases: str
    path: str
    python: str
    """The version of Python that it is for: `3.11`."""
    bytes: int
    """Its size on the disk."""
    made: float
    """When, in seconds since 1970."""

    def __str__(self) -> str:
        day = time.strftime("%Y-%m-%d", time.localtime(self.made))
        return f"{self.name}  {size(self.bytes)}  {day}  {self.path}"


def size(count: int) -> str:
    """Bytes in MB."""
    return f"{count / 1e6:.0f} MB"


def folder() -> Path:
    """Where environments are kept: `irwidget/toolchains` in the user's cache. Raises UsageError without a home."""
    if asked := os.environ.get(WHERE):
        return Path(asked).expanduser().absolute()
    try:
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:
        raise UsageError(f"This user has no home: say where environments go, in the variable {WHERE}") from None
    return Path(cache) / "irwidget" / "toolchains"


def find(spec: Spec | str, tell: Tell = lambda _: None) -> Environment:
    """The environment of a toolchain, made now where it is not there yet.

    Raises UsageError for one that there cannot be, ToolError when pip fails, KeyboardInterrupt: what was made is gone.
    """
    spec = parse(spec) if isinstance(spec, str) else spec
    if spec.path is not None:
        return of_path(spec.path)
    if spec.is_here:
        return Environment(str(spec), ())
    where = folder() / cache_name(spec)
    if not _whole(where):
        with _alone(where, tell):
            if not _whole(where):  # nobody else has made it meanwhile
                _make(spec, where, tell)
    return Environment(str(spec), (str(where / _PACKAGES),))


def cache_name(spec: Spec) -> str:
    """The folder of an environment in the cache."""
    releases = "+".join(f"{one.package}-{one.version}" for one in spec.releases)
    return f"{releases}-py{_python()}"


def _python() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _whole(where: Path) -> bool:
    return (where / _NOTE).is_file()


# Environments of the user's


_ASK = """
import importlib.util, json, os, sys
own = list(sys.path)
import site
site.main()
folders = [entry for entry in sys.path if entry not in own]
for name in sys.argv[1:]:  # one that is being developed may be found by a hook instead of a path
    spec = importlib.util.find_spec(name)
    for place in spec.submodule_search_locations or () if spec else ():
        folder = os.path.dirname(place)
        folders += [folder] if folder not in (*folders, *own) else []
print(json.dumps([list(sys.version_info[:2]), folders]))
"""


def of_path(path: Path) -> Environment:
    """An environment that exists: a folder with `bin/python`, a python, or a folder of packages. Raises UsageError."""
    python = next((one for one in (path, path / "bin/python", path / "Scripts/python.exe") if one.is_file()), None)
    found = Environment(str(path), _folders_of(python) if python else (str(path),))
    if found.versions():
        return found
    if python:
        raise UsageError(f"{python} has no packages: all would be what this process imports")
    known = ", ".join(lock.embedded())
    raise UsageError(
        f"{path} is no environment: it has neither bin/python nor packages, as {known}, beside each other."
        f"{_nearby(path)}"
    )


def _has_mlir(path: Path) -> bool:
    return (path / _MLIR).is_dir()


def _nearby(path: Path) -> str:
    """Where the packages are that a path means: of a build of torch-mlir, a folder above or below."""
    built = ("python_packages/torch_mlir", "tools/torch-mlir/python_packages/torch_mlir", "torch_mlir", "build")
    above = [path.parent] if Environment("", (str(path.parent),)).versions() else []
    tried = [*(path / one for one in built), *(path / "build" / one for one in built)]
    meant = [*filter(_has_mlir, tried), *above]
    return f" Did you mean {meant[0]}?" if meant else ""


def _folders_of(python: Path) -> tuple[str, ...]:
    """What a Python imports from, apart from its own library. Raises UsageError."""
    try:
        ran = subprocess.run(
            [str(python), "-I", "-S", "-c", _ASK, *(name.replace("-", "_") for name in lock.embedded())],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        version, folders = json.loads(ran.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        said = getattr(error, "stderr", "") or str(error)
        raise UsageError(f"{python} is no Python that can be asked what it imports: {said.strip()[-500:]}") from None
    if tuple(version) != sys.version_info[:2]:
        raise UsageError(
            f"{python} is Python {version[0]}.{version[1]} and this is {_python()}: their compiled packages do not fit "
            f"together. Make the environment with {sys.executable}"
        )
    return tuple(folders)


# Made by pip


@contextlib.contextmanager
def _alone(where: Path, tell: Tell = lambda _: None, *, wait: bool = True) -> Generator[None]:
    """Have one environment to itself, among processes too. Raises ToolError where the cache cannot be written."""
    try:
        where.parent.mkdir(parents=True, exist_ok=True)
        lock = open(where.parent / f".{where.name}.lock", "w", encoding="ascii")  # noqa: SIM115
    except OSError as error:
        raise ToolError(
            f"{where.parent} cannot be written ({error.strerror}): {WHERE} names another folder", tool="pip"
        ) from None
    with lock:
        said = False
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not wait:
                    raise UsageError(
                        f"{where.name} is being made by another process: try again when it is done"
                    ) from None
            if not said:
                tell(f"waiting for another process, which makes {where.name}")
                said = True
            time.sleep(_GLANCE)
        yield


def _make(spec: Spec, where: Path, tell: Tell) -> None:
    """Have pip install the releases alone; what they import besides is what this process imports."""
    for left in where.parent.glob(f".{where.name}.making-*"):  # by a process that was killed
        shutil.rmtree(left, ignore_errors=True)
    tell(f"pip installs {spec} into {where}")
    making = Path(tempfile.mkdtemp(dir=where.parent, prefix=f".{where.name}.making-"))
    try:
        _pip(spec, making / _PACKAGES)
        taken = _bytes(making)
        note = {"releases": str(spec), "python": _python(), "bytes": taken, "made": time.time()}
        (making / _NOTE).write_text(json.dumps(note), encoding="utf-8")
        if where.exists():  # a folder without a note is nobody's
            shutil.rmtree(where)
        os.replace(making, where)
    except OSError as error:
        raise ToolError(f"{where} cannot be made: {error.strerror or error}", tool="pip") from None
    finally:
        shutil.rmtree(making, ignore_errors=True)
    tell(f"{spec} is in {where}, {size(taken)}")


def _command(spec: Spec, into: Path) -> list[str]:
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-input", "--disable-pip-version-check"]
    return [*command, "--quiet", "--only-binary", ":all:", "--target", str(into), *map(str, spec.releases)]


def _pip(spec: Spec, into: Path) -> None:
    """Run pip. It ends with an interrupt of ours, and with us. Raises ToolError."""
    command = _command(spec, into)
    with tempfile.TemporaryFile() as log, tempfile.TemporaryDirectory(dir=into.parent) as aside:
        with processes.session(command, log, log, {**os.environ, "TMPDIR": aside}) as process:
            process.wait()
        if process.returncode:
            log.seek(0)
            raise ToolError(_refused(spec, log.read().decode(errors="replace"), " ".join(command[2:])), tool="pip")
    lacking = [str(one) for one in spec.releases if not _is_in(one, into)]
    if lacking:  # with some settings pip does something else, and says that it was done
        cause = pip_settings.blamed("installed nothing")
        raise ToolError(
            f"{', '.join(lacking)} is not installed: pip has ended well and installed nothing of it into its folder. "
            + (cause or f"`{' '.join(command[2:])}` shows more"),
            tool="pip",
        )


def _is_in(release: Release, folder: Path) -> bool:
    return lock.in_folder(release.package, str(folder)) is not None


def _refused(spec: Spec, said: str, command: str) -> str:
    lines = [line.strip() for line in said.splitlines()]
    told = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR:")] or lines[-1:]
    known = next(
        (line.partition("(from versions: ")[2].partition(")")[0] for line in told if "from versions" in line), ""
    )
    versions = [version for version in known.split(", ") if version and version != "none"]
    cause = pip_settings.blamed(said)
    if versions:
        last = ", ".join(versions[-8:])
        told_last = f"pip has no {spec} for this machine and Python {_python()}. The last that it has: {last}"
        return f"{told_last}. {cause}" if cause else told_last
    offline = any(word in said for word in ("NewConnectionError", "Temporary failure", "Connection", "ProxyError"))
    if "No module named pip" in said:
        return f"This Python has no pip, which would install {spec}: python -m ensurepip, or toolchain=PATH"
    reason = (
        "pip reaches no package index, or none that has it"
        if offline or "from versions: none" in said
        else "pip failed"
    )
    more = cause or f"With a network, `{command}` shows more"
    return (
        f"{spec} is not installed: {reason} ({'; '.join(told)[:600]}). {more}; "
        "an environment that has it can be named by its path"
    )


# The cache


def cached() -> list[Cached]:
    """Every whole environment of the cache, by name."""
    return sorted(_cached(), key=lambda one: one.name)


def _cached() -> Iterator[Cached]:
    for note in folder().glob(f"*/{_NOTE}"):
        with contextlib.suppress(OSError, ValueError, KeyError):
            said: dict[str, Any] = json.loads(note.read_text(encoding="utf-8"))
            yield Cached(
                note.parent.name, said["releases"], str(note.parent), said["python"], said["bytes"], said["made"]
            )


def delete(names: Sequence[str] | None = None) -> list[Cached]:
    """Delete environments of the cache by name or by releases, all without names; gives what is gone.

    Raises UsageError for one that is not there, or that is being made.
    """
    known = cached()
    wanted = known
    if names is not None:
        for name in names:
            if not any(name in (one.name, one.releases) for one in known):
                raise UsageError(
                    f"There is no environment {name!r} in {folder()}. {near(name, [o.name for o in known])}"
                )
        wanted = [one for one in known if one.name in names or one.releases in names]
    for one in wanted:
        where = Path(one.path)
        with _alone(where, wait=False):
            (where / _NOTE).unlink(missing_ok=True)  # from here on it is no whole one
            shutil.rmtree(where, ignore_errors=True)
    return wanted


def report(listed: Sequence[Cached]) -> str:
    """The list as text."""
    whole = sum(one.bytes for one in listed)
    if not listed:
        return f"There are no environments in {folder()}"
    return "\n".join([*map(str, listed), f"{len(listed)} in {folder()}, {size(whole)}"])


def as_json(listed: Sequence[Cached]) -> dict[str, Any]:
    """The list as JSON-able data; sizes in bytes, times in seconds since 1970."""
    return {"folder": str(folder()), "toolchains": [asdict(one) for one in listed]}


def _bytes(where: Path) -> int:
    return sum(path.lstat().st_size for path in where.rglob("*"))
