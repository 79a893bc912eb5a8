"""`python -m benchmarks.questions`: fifty questions with known answers, answered by the tools of the server alone.

Prints each answer that is not the known one, and how many characters the answers took beside the dumps that they are
about. A question may ask several times; all that a tool said counts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.questions.asked import LOWERINGS, QUESTIONS
from irwidget.queries.server import tools
from irwidget.queries.session import Session

PROGRAMS = Path(__file__).parent / "programs"


class Asked:
    """Calls tools, and counts the characters of what they answer."""

    def __init__(self) -> None:
        self.session = Session()
        self.names: dict[str, str] = {}
        self.letters = 0
        self._tools = {tool.__name__: tool for tool in tools(self.session)}

    def lower(self) -> None:
        """Lower every program, under the short names that the questions use."""
        for short, file, to, more in LOWERINGS:
            (self.names[short],) = self("lower", file=str(PROGRAMS / file), to=to, arguments=more)["lowerings"]

    def __call__(self, tool: str, **arguments: Any) -> Mapping[str, Any]:
        named = {
            name: self.names.get(value, value) if name in ("lowering", "left", "right") else value
            for name, value in arguments.items()
        }
        answer = self._tools[tool](**named)
        self.letters += len(json.dumps(answer, ensure_ascii=False))
        return answer

    @property
    def raw(self) -> int:
        """Characters of all dumps of all lowerings, as their tools print them."""
        return sum(len(dump.text) for low in self.session.lowerings.values() for dump in low.dumps)


def main() -> int:
    """Ask everything; 1 when an answer was wrong."""
    asked = Asked()
    asked.lower()
    right = 0
    for question in QUESTIONS:
        try:
            got = question.ask(asked)
        except (IndexError, KeyError, StopIteration) as error:  # an answer without what is asked for
            got = error
        right += got == question.answer
        if got != question.answer:
            print(f"{question.text}\n  answered {got!r}\n  known    {question.answer!r}")
    share = asked.letters / asked.raw
    print(f"{right} of {len(QUESTIONS)} right; {asked.letters} characters beside {asked.raw} of dumps: {share:.3f}")
    return 0 if right == len(QUESTIONS) else 1


if __name__ == "__main__":
    sys.exit(main())
