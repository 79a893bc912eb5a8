"""The processes that a test looks for: psutil refuses to tell of one that ends meanwhile, or that nobody waited for."""

from __future__ import annotations

import contextlib
import os

import psutil


def descriptors() -> set[tuple[int, int, str]]:
    """The open ones of this process: number, inode and file of each.

    What is in this after a block and was not before it, the block left open. Fewer are no fault of anybody's: what
    an earlier test leaves to the garbage collector is closed at any time.
    """
    found: set[tuple[int, int, str]] = set()
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the listing's own
            path = f"/proc/self/fd/{number}"
            found.add((int(number), os.stat(path).st_ino, os.readlink(path)))
    return found


def alive(of: int | None = None, *, recursive: bool = False) -> dict[psutil.Process, list[str]]:
    """The children of a process (this one, if none is given) that have not ended, with their command lines."""
    found: dict[psutil.Process, list[str]] = {}
    try:
        children = psutil.Process(of).children(recursive=recursive)
    except psutil.NoSuchProcess:
        return found
    for child in children:
        try:
            found[child] = child.cmdline()
        except psutil.NoSuchProcess:  # a zombie, too
            continue
    return found


def workers(of: int | None = None, *, recursive: bool = False) -> list[psutil.Process]:
    """The workers among them."""
    return [one for one, words in alive(of, recursive=recursive).items() if "irwidget.toolchain.worker" in words]
