"""toolchain.lock: the exact tools that lowerings depend on, and how this machine compares.

Also a script that needs nothing but Python, for installing before irwidget is there:

    python irwidget/toolchain/lock.py hashed > hashed.txt    # pip install --no-deps --require-hashes -r hashed.txt
    python irwidget/toolchain/lock.py pins > pins.txt        # pip install -r pins.txt
    python -m irwidget.toolchain.lock write     # make lock: record what is installed
"""

from __future__ import annotations

import contextlib
import json
import platform
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from irwidget.trace import Step

Kind = Literal["embedded", "optional", "external"]


@dataclass(frozen=True, slots=True)
class LockedTool:
    """A tool as toolchain.lock names it."""

    name: str
    """The package: on PyPI for embedded and optional tools, in Debian for external ones."""
    version: str
    kind: Kind
    """Embedded: always installed. Optional: an extra. External: a program of the system."""
    llvm: str = ""
    """The LLVM inside."""
    wheels: tuple[tuple[str, str], ...] = ()
    """File name and SHA-256; empty when one version has several builds."""


def path() -> Path:
    """toolchain.lock: beside this file in an installed package, at the root of a checkout."""
    here = Path(__file__).resolve()
    beside = here.with_name("toolchain.lock")
    return beside if beside.exists() else here.parents[2] / "toolchain.lock"


def read() -> tuple[list[LockedTool], dict[str, str]]:
    """The tools, and the other Python packages that development pins (name -> version)."""
    data: dict[str, Any] = tomllib.loads(path().read_text(encoding="utf-8"))
    tools = [
        LockedTool(
            name=entry["name"],
            version=entry["version"],
            kind=entry["kind"],
            llvm=entry.get("llvm", ""),
            wheels=tuple(sorted(entry.get("wheels", {}).items())),
        )
        for entry in data["tool"]
    ]
    return tools, data["python"]


def installed(package: str, folders: Iterable[str] = ()) -> str | None:
    """The version of an installed Python package, without a build tag such as `+cpu`; that in `folders` comes first, by
    default in those of the toolchain of this process.
    """
    from irwidget.toolchain import locations

    for folder in [*folders] or locations.toolchain_folders():
        if found := in_folder(package, folder):
            return found
    try:
        return metadata.version(package).partition("+")[0]
    except metadata.PackageNotFoundError:
        return None


def in_folder(package: str, folder: str) -> str | None:
    """The version of a package that is imported from a folder; in words where a build has none. None where it is not
    there.
    """
    apart = next(iter(metadata.distributions(name=package, path=[folder])), None)
    if apart:
        return apart.version.partition("+")[0]
    place = Path(folder) / package.replace("-", "_")
    if not place.is_dir():
        return None
    with contextlib.suppress(OSError):
        said = re.search(r'^__version__ = ["\']([^"\']+)', (place / "__init__.py").read_text(encoding="utf-8"), re.M)
        if said:
            return said[1].partition("+")[0]
    if package == "torch-mlir":
        from irwidget import private_torch_mlir

        return private_torch_mlir.build(Path(folder)) or UNVERSIONED
    return UNVERSIONED


UNVERSIONED = "unversioned"
"""In place of a version: a build that says none."""


def versions(steps: Iterable[Step], folders: Iterable[str] = ()) -> dict[str, str]:
    """Package and version of each embedded tool that the steps name, as what imports from `folders` first has them."""
    from irwidget.registry import tools

    embedded = (tools.get(step.tool) for step in steps if not step.program)
    packages = dict.fromkeys(tool.package for tool in embedded if tool and tool.package)
    return {package: installed(package, folders) or "missing" for package in packages}


def embedded() -> list[str]:
    """The Python packages with compilers that irwidget calls."""
    return [tool.name for tool in read()[0] if tool.kind != "external"]


def pins() -> list[str]:
    """Requirements for pip: every Python package that the lock names, at its exact version."""
    tools, python = read()
    named = {tool.name: tool.version for tool in tools if tool.kind != "external"}
    return [f"{name}=={version}" for name, version in {**named, **python}.items()]


def hashed() -> list[str]:
    """Requirements whose wheel for this Python and machine the lock knows by its hash."""
    tag, machine = f"cp{sys.version_info.major}{sys.version_info.minor}", platform.machine()
    return [
        f"{tool.name}=={tool.version} --hash=sha256:{sha256}"
        for tool in read()[0]
        for file, sha256 in tool.wheels
        if file.endswith("-none-any.whl") or (f"-{tag}-" in file and file.endswith(f"{machine}.whl"))
    ]


def _wheels(name: str, version: str) -> dict[str, str]:
    """The wheel that pip would install here, with its hash."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--dry-run",
        "--quiet",
        "--no-deps",
        "--ignore-installed",
        "--report",
        "-",
        f"{name}=={version}",
    ]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    info = report["install"][0]["download_info"]
    return {info["url"].rsplit("/", 1)[-1]: info["archive_info"]["hashes"]["sha256"]}


def write() -> None:
    """Rewrite the versions and hashes of toolchain.lock from what is installed here."""
    tools, python = read()
    lines = [
        "# The tools that lowerings depend on. Rewritten by `make lock` from what is installed;",
        "# compared with a machine by `%lower --doctor`; installed by `make venv`.",
        "",
    ]
    for tool in tools:
        version = tool.version if tool.kind == "external" else installed(tool.name) or tool.version
        lines += ["[[tool]]", f'name = "{tool.name}"', f'version = "{version}"', f'kind = "{tool.kind}"']
        if tool.llvm:
            lines.append(f'llvm = "{tool.llvm}"')
        # torch has a CPU and several CUDA builds of one version: its hash is not demanded
        if tool.kind != "external" and tool.name != "torch":
            wheels = (
                {**dict(tool.wheels), **_wheels(tool.name, version)}
                if version == tool.version
                else _wheels(tool.name, version)
            )
            lines.append("[tool.wheels]")
            lines += [f'"{file}" = "{sha256}"' for file, sha256 in sorted(wheels.items())]
        lines.append("")
    lines.append("[python]")
    lines += [f'{name} = "{installed(name) or version}"' for name, version in python.items()]
    path().write_text("\n".join(lines) + "\n", encoding="utf-8")


def main(arguments: list[str]) -> None:
    if arguments == ["pins"]:
        print("\n".join(pins()))
    elif arguments == ["hashed"]:
        print("\n".join(hashed()))
    elif arguments == ["write"]:
        write()
    else:
        sys.exit("usage: lock.py pins | hashed | write")


if __name__ == "__main__":
    main(sys.argv[1:])
