"""The user's settings of pip, from variables and files: which of them stands in the way of an installation of ours."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

_SETTING = re.compile(r"(?P<section>global|install)\.(?P<key>[\w-]+)='?(?P<value>.*?)'?")
_SECRET = re.compile(r"(?<=//)[^/@\s]+(?=@)")
_NOT_FOUND = r"from versions|No matching distribution|Connection|ProxyError|SSLError"
_ELSEWHERE = r"combine|together|installed nothing"
_OTHER_WHEELS = (
    r"not a supported wheel|from versions|No matching distribution|only-binary|only_binary|installed nothing"
)
_IN_THE_WAY = {
    "require-hashes": r"[Hh]ash",
    "require-virtualenv": r"virtualenv",
    "no-index": _NOT_FOUND,
    "index-url": _NOT_FOUND,
    "proxy": _NOT_FOUND,
    "cert": r"SSLError|CERTIFICATE|CA certificate|TLS",
    "client-cert": r"SSLError|CERTIFICATE|certificate",
    "user": _ELSEWHERE,
    "prefix": _ELSEWHERE,
    "root": _ELSEWHERE,
    "dry-run": r"installed nothing",
    "constraint": r"conflicting|ResolutionImpossible",
    "requirement": r"conflicting|ResolutionImpossible",
    "platform": _OTHER_WHEELS,
    "python-version": _OTHER_WHEELS,
    "implementation": _OTHER_WHEELS,
    "abi": _OTHER_WHEELS,
}
"""By setting: what pip says, in part, where it may be the cause. So may be any whose value pip names."""
_OFF = frozenset({"0", "false", "no", "off", "n", "f", ""})
_TELLING = 5
"""Characters of a value from which on it is no accident that pip names it."""


@dataclass(frozen=True)
class _Setting:
    key: str
    value: str
    section: str = ""
    """Of a file; empty for a variable."""

    @property
    def name(self) -> str:
        return f"{self.section}.{self.key}" if self.section else "PIP_" + self.key.upper().replace("-", "_")

    def __str__(self) -> str:
        return f"{self.name}={_SECRET.sub('***', self.value)}"

    def blamed(self, said: str) -> bool:
        """Whether it may be the cause of what pip has said."""
        if self.value.lower() in _OFF:
            return False
        told = _IN_THE_WAY.get(self.key)
        errors = "\n".join(line for line in said.splitlines() if line.startswith("ERROR"))  # other lines name indexes
        named = len(self.value) >= _TELLING and self.value in errors
        refused = self.key in said and "valid" in said
        return named or refused or bool(told and re.search(told, said))


def blamed(said: str) -> str:
    """What of the user's settings is likely why pip failed, and the next step; empty where none is.

    `said` is all that pip has printed. Passwords in addresses are left out.
    """
    files = _of_files()
    if isinstance(files, str):
        return f"pip cannot read its settings ({files}). Next step: pip config debug, which names their files"
    causes = [one for one in {**files, **_of_variables()}.values() if one.blamed(said)]
    if not causes:
        return ""
    which = "your setting of pip" if len(causes) == 1 else "one of your settings of pip:"
    steps = [f"{'pip config unset' if one.section else 'unset'} {one.name}" for one in causes]
    once = ", or PIP_CONFIG_FILE=/dev/null for once" if any(one.section for one in causes) else ""
    return f"The cause is likely {which} {', '.join(map(str, causes))}. Next step: {'; '.join(steps)}{once}"


def _of_variables() -> dict[str, _Setting]:
    names = [name for name in os.environ if name.startswith("PIP_") and name != "PIP_CONFIG_FILE"]
    found = [_Setting(name[4:].lower().replace("_", "-"), os.environ[name]) for name in names]
    return {one.key: one for one in found}


def _of_files() -> Mapping[str, _Setting] | str:
    """What the files say for an installation, by key; in words why they cannot be read."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    own = {name: value for name, value in os.environ.items() if not name.startswith("PIP_") or name.endswith("_FILE")}
    quiet = {"PIP_QUIET": "0", "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env={**own, **quiet})
    except (OSError, subprocess.SubprocessError):
        return {}
    if ran.returncode:
        return {} if "No module named pip" in ran.stderr else " ".join(ran.stderr.split())[-300:]
    found = [_Setting(match["key"], match["value"], match["section"]) for match in _matches(ran.stdout)]
    return {one.key: one for one in sorted(found, key=lambda one: one.section)}  # what is for `install` comes last


def _matches(listed: str) -> list[re.Match[str]]:
    return [match for line in listed.splitlines() if (match := _SETTING.fullmatch(line))]
