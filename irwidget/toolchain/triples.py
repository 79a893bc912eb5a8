"""Target triples as `opt` and `llc` take them from the command line.

They put a triple in order before they use it ("LLVM Language Reference", section Target Triple, has the four parts);
llvmlite, which runs LLVM here, has no call for that. A triple whose parts stand in another order than this one is left
as it is.
"""

from __future__ import annotations

_SYSTEMS = (
    "aix", "amdhsa", "amdpal", "bridgeos", "cuda", "cygwin", "darwin", "dragonfly", "driverkit", "emscripten",
    "freebsd",
    "fuchsia", "haiku", "hermit", "hurd", "ios", "linux", "macos", "mesa3d", "mingw32", "netbsd", "nvcl",
    "openbsd", "ps4", "ps5", "rtems", "serenity", "solaris", "tvos", "uefi", "visionos", "vulkan", "wasi", "watchos",
    "win32", "windows", "xros", "zos",
)  # fmt: skip
_ENVIRONMENTS = ("android", "cygnus", "eabi", "elf", "gnu", "llvm", "macho", "msvc", "musl", "ohos", "openhos")
_WINDOWS = {"windows": "msvc", "win32": "msvc", "mingw32": "gnu", "cygwin": "cygnus"}
"""Windows by its names, with the environment that each stands for."""


def normalised(triple: str) -> str:
    """A triple with `unknown` where a vendor or a system is left out: `arm-linux-gnueabihf` names a system second."""
    if not triple:
        return ""
    arch, *rest = (part or "unknown" for part in triple.split("-"))
    if rest and (rest[0].startswith(_ENVIRONMENTS) or _is_system(rest)):
        rest.insert(0, "unknown")
    if len(rest) > 1 and rest[1].startswith(_ENVIRONMENTS):
        rest.insert(1, "unknown")
    if len(rest) > 1 and rest[1] in _WINDOWS:
        rest[1:] = ["windows", *(rest[2:] or [_WINDOWS[rest[1]]])]
    return "-".join((arch, *rest))


def _is_system(rest: list[str]) -> bool:
    """Whether what follows the architecture begins with a system: `none` is one only before an environment."""
    if rest[0] == "none":
        return len(rest) > 1 and rest[1].startswith(_ENVIRONMENTS)
    return rest[0].startswith(_SYSTEMS)
