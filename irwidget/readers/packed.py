"""Archives of folders, zip and tar in all their compressions, unpacked to where they can be read as folders."""

from __future__ import annotations

import lzma
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from irwidget.errors import UsageError
from irwidget.readers.folders import MOST_FILES

_KEPT: list[tempfile.TemporaryDirectory[str]] = []
"""What has been unpacked, as long as the process lives: texts are read when somebody looks at them."""
_DAMAGED = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError, OSError, ValueError
)  # fmt: skip
_AT_ONCE = 1 << 20


def unpacked(path: Path, most: int) -> Path | None:
    """The folder that an archive holds, of `most` bytes at most; None for a file that is none.

    Raises UsageError for one that is damaged or holds more.
    """
    if not (is_zip := _is_zip(path)) and not _is_tar(path):
        return None
    kept = tempfile.TemporaryDirectory(prefix="irwidget-", ignore_cleanup_errors=True)
    count = 0
    try:
        for number, (name, file) in enumerate(_zipped(path) if is_zip else _tarred(path)):
            target = Path(kept.name, *_parts(name))
            target.parent.mkdir(parents=True, exist_ok=True)
            with file, open(target, "wb") as made:
                while part := file.read(_AT_ONCE):
                    count += len(part)
                    if count > most or number > MOST_FILES:
                        raise UsageError(
                            f"{path} holds more than {most / 2**20:.0f} MB or {MOST_FILES} files (most= is the limit, "
                            "in bytes): unpack it yourself"
                        )
                    made.write(part)
    except _DAMAGED as error:
        raise UsageError(f"{path} cannot be unpacked: {type(error).__name__}: {error}") from None
    _KEPT.append(kept)
    folder = Path(kept.name)
    inside = list(folder.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else folder


def _is_zip(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == b"PK\x03\x04"


def _is_tar(path: Path) -> bool:
    try:
        with tarfile.open(path) as archive:
            return archive.next() is not None
    except _DAMAGED:
        return False


def _zipped(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(path) as archive:
        for one in archive.infolist():
            if not one.is_dir():
                yield one.filename, archive.open(one)


def _tarred(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(path) as archive:
        for one in archive:
            if one.isfile() and (file := archive.extractfile(one)) is not None:
                yield one.name, file


def _parts(name: str) -> list[str]:
    """The parts of a path below the folder, whatever the archive says."""
    return [part for part in PurePosixPath(name.replace("\\", "/")).parts if part not in ("/", "..")] or ["file"]
