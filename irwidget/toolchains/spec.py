"""What a toolchain is called: `triton==3.6.0`, several releases, or the path of an environment."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from irwidget.errors import UsageError
from irwidget.toolchain import lock

_RELEASE = re.compile(r"(?P<package>[A-Za-z][\w.-]*)\s*==\s*(?P<version>\w[\w.+!-]*)")
_SAYS = (
    "a toolchain is a release, as in 'triton==3.6.0', several with spaces between them, or the path of an environment"
)


@dataclass(frozen=True, order=True)
class Release:
    """A package of one version."""

    package: str
    """In lower case, words joined by `-`."""
    version: str

    def __str__(self) -> str:
        return f"{self.package}=={self.version}"

    @property
    def is_here(self) -> bool:
        """Whether it is what this process imports."""
        return lock.installed(self.package) == self.version.partition("+")[0]


@dataclass(frozen=True)
class Spec:
    """Either releases, or a path."""

    releases: tuple[Release, ...] = ()
    path: Path | None = None

    def __str__(self) -> str:
        return str(self.path) if self.path else " ".join(map(str, self.releases))

    @property
    def is_here(self) -> bool:
        """Whether it names only what this process imports anyway."""
        return self.path is None and all(one.is_here for one in self.releases)


def normal(package: str) -> str:
    """A package's name as pip compares it."""
    return re.sub(r"[-_.]+", "-", package).lower()


def parse(text: str) -> Spec:
    """Read the name of a toolchain. Raises UsageError."""
    said = text.strip()
    if said.startswith(("/", "./", "../", "~")) or (said and "=" not in said and Path(said).exists()):
        path = Path(os.path.abspath(Path(said).expanduser()))
        if not path.exists():
            raise UsageError(f"There is no environment {said}: {path} does not exist")
        return Spec(path=path)
    words = [word for word in re.split(r"\s*,\s*|\s+(?!==)(?<!==\s)", said) if word]
    found = [_RELEASE.fullmatch(word) for word in words]
    if not words or not all(found):
        wrong = next((word for word, match in zip(words, found, strict=True) if not match), said)
        if re.fullmatch(r"[A-Za-z][\w.-]*", wrong) and os.sep not in wrong:
            raise UsageError(f"{wrong!r} names no release: say which, '{wrong}==1.2.3'; {_SAYS}")
        raise UsageError(f"{wrong!r} is no toolchain: {_SAYS}")
    releases = [Release(normal(one["package"]), one["version"]) for one in found if one]
    if twice := next((one.package for one in releases if sum(o.package == one.package for o in releases) > 1), ""):
        raise UsageError(f"{text!r} names {twice} twice")
    return Spec(tuple(sorted(releases)))
