"""What Dynamo's graphs hold for, and what was compiled again: each once, by the user's line, with cause and cure."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from irwidget.inductor import private
from irwidget.inductor.data import Guard, Recompilation
from irwidget.private_torch import pytree
from irwidget.toolchain.locations import is_user_file
from irwidget.trace import Location

_FRAME = re.compile(r"\s+# (?:.*  # )?(?P<file>\S.*?):(?P<line>\d+) in \S+.*$", re.S)
_EITHER = "dynamic=True, or "
_WHAT = r"(?P<what>(?!utils_device|torch\b|G\[|\S*__)[A-Za-z_][\w.'\[\]]*)"
"""Something that is given: neither a global nor what Dynamo itself looks at."""
_KEPT = "give it the same each time: it is compiled once for each"
_COMPILED_IN = "{what} is {value}: a value of Python's is compiled in"
_SAID: tuple[tuple[str, str, str], ...] = (
    (
        r"check_tensor\((?P<what>.+?), \w+, .*?(?P<dtype>torch\.\w+),.*size=(?P<size>\[.*?\])",
        "{what} is a {dtype} of size {size}",
        "dynamic=True, or torch._dynamo.mark_dynamic of the dimension that changes",
    ),
    (
        r"tensor '___from_numpy\((?P<what>.+?)\)' size mismatch at index (?P<at>\d+)\. "
        r"expected (?P<old>\d+), actual (?P<new>\d+)",
        "dimension {at} of {what} was {old} and is {new}",
        "dynamic=True",
    ),
    (
        r"tensor '(?P<what>.+?)' size mismatch at index (?P<at>\d+)\. expected (?P<old>\d+), actual (?P<new>\d+)",
        "dimension {at} of {what} was {old} and is {new}",
        _EITHER + "torch._dynamo.mark_dynamic({what}, {at}) before the first call",
    ),
    (
        r"tensor '(?P<what>.+?)' (?P<rest>stride mismatch.*)",
        "{what}: {rest}",
        "lay it out in memory the same way each time, as {what}.contiguous() does",
    ),
    (r"tensor '(?P<what>.+?)' (?P<rest>.*mismatch.*)", "{what}: {rest}", "call it with tensors of one kind"),
    (
        r"expected type of '(?P<what>.+?)' to be a tensor type, .*found <class '(?P<kind>.+?)'>",
        "{what} is a {kind}, and was of another class",
        "call it with tensors of one class",
    ),
    (
        r"(?P<what>[^#]+?)\s+# duck sizing added this equality",
        "{what}: sizes that were equal are taken for one",
        "torch._dynamo.mark_dynamic of each of the dimensions before the first call, or "
        "torch.fx.experimental._config.use_duck_shape=False",
    ),
    (
        r"2 <= (?P<what>[\w.'\[\]]+)\.size\(\)\[(?P<at>\d+)\]$",
        "dimension {at} of {what} is 2 or more: sizes of 0 and 1 are compiled for themselves",
        "torch._dynamo.decorators.mark_unbacked({what}, {at}) before the first call",
    ),
    (
        r"(?P<what>(?!\S*__).*(?:\.(?:size|stride)\(\)|<=|<| % ).*)",
        "{what}",
        "mark_dynamic without bounds, or drop the comparison of sizes",
    ),
    (
        r"len\((?P<what>.+?)\) [!=]= (?P<count>\d+)",
        "{what} has {count} elements",
        "give it as one stacked tensor, or with the same length each time",
    ),
    (
        r"list\(dict\.keys\((?P<what>.+?)\)\)\[(?P<at>\d+)\] == (?P<key>.+)",
        "key {at} of {what} is {key}",
        "give it the same keys in the same order each time",
    ),
    (r"(?P<no>not )?set\.__contains__\((?P<what>.+), (?P<value>.+?)\)$", "whether {value} is in {what}", _KEPT),
    (rf"___check_type_id\({_WHAT}, .*", "the type of {what}", "call it with objects of one class"),
    (
        rf"___check_obj_id\({_WHAT}, .*",
        "{what} is this very object",
        "make it once and keep it, not anew for each call",
    ),
    (rf"{_WHAT} is (?P<value>(?:not )?None)$", "{what} is {value}", "give it each time, or never"),
    (
        rf"{_WHAT} is (?P<other>(?!not )[\w.'\[\]]+)$",
        "{what} and {other} are one object",
        "give two tensors, or one and the same, each time",
    ),
    (
        r"(?:check_no_aliasing\(|Duplicate tensors found: \[)(?P<what>.+)[)\]]",
        "{what} are different tensors",
        "give no tensor twice, or copies",
    ),
    (rf"{_WHAT}\.training == (?P<value>\w+)", "{what}.training is {value}",
     "compile once for train() and once for eval()"),
    (
        r"G\['(?P<what>(?!__)\w+)'\] == (?P<value>-?[\w.']+)$",
        _COMPILED_IN,
        "pass it as an argument, or as a tensor: a global is compiled in also with dynamic=True",
    ),
    (rf"{_WHAT} == (?P<value>-?\d[\d.e+-]*)$", _COMPILED_IN, _EITHER + "pass a tensor"),
    (rf"{_WHAT} == (?P<value>.+)$", _COMPILED_IN, _KEPT),
    (
        r".*(?:grad_mode|___check_global_state|is_grad_enabled).*",
        "the grad mode, autocast and other global settings",
        "call it under the same settings each time",
    ),
)  # fmt: skip
"""How guards and their failures are written, what they say, and what is usually done about them."""
_MODULE_INTEGER = "torch._dynamo.config.allow_unspec_int_on_nn_module=True with dynamic=True, or a buffer"
_SHARED = (
    "; dynamic=True alone first takes sizes that are equal for one, and {old} is the size of another dimension too"
)
"""Dynamo's duck sizing: it leaves out dimensions that are marked."""


class Guards:
    """The guards of one compilation."""

    def __init__(self) -> None:
        self._again: list[tuple[types.CodeType, tuple[str, ...], frozenset[int]]] = []

    def watch(self) -> None:
        """Note what is compiled again from now on, for the rest of this process."""
        private.put("shorten_filename", lambda name, **_: name)
        private.wrap("recompilation_reasons", self._asked)
        private.wrap("compile_frame", self._compiling)

    def _compiling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def compile(*args: Any, **kwargs: Any) -> Any:
            known = len(self._again)
            try:
                return original(*args, **kwargs)
            except Exception:  # it was to be compiled again, and is not: that is a graph break, or the end
                del self._again[known:]
                raise

        return compile

    def _asked(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def reasons(entries: Any, frame: Any, *args: Any, **kwargs: Any) -> Any:
            found = original(entries, frame, *args, **kwargs)
            self._again.append((frame.f_code, tuple(map(str, found)), _sizes(frame.f_locals.values())))
            return found

        return reasons

    def held(self, codes: Iterable[types.CodeType]) -> tuple[Guard, ...]:
        """Each guard once, of functions that were compiled."""
        entries = private.get("cache_entries")
        texts = [part for code in dict.fromkeys(codes) for entry in entries(code) for part in
                 _parts(entry.guard_manager.root)]  # fmt: skip
        return tuple(dict.fromkeys(_guard(text) for text in texts))

    def recompilations(self) -> tuple[Recompilation, ...]:
        """What was compiled again, each once: the last of what it was compiled for before comes first, and of the
        others what they differ in beside.
        """
        found: dict[Recompilation, None] = {}
        for code, reasons, sizes in self._again:
            kinds: dict[str, Recompilation] = {}
            for one in (_again(code, reason, sizes) for reason in reasons):
                kinds.setdefault(_kind(one), one)
            found |= dict.fromkeys(kinds.values())
        return tuple(found)


def _kind(again: Recompilation) -> str:
    """What changed, without from what and to what."""
    return re.sub(r"\bwas \d+ and is \d+|expected \S+, actual \S+|\bis \S+: a value", "", again.cause or again.reason)


def _sizes(values: Iterable[Any]) -> frozenset[int]:
    """The sizes of all tensors among them, and in what they hold."""
    leaves = pytree.tree_leaves(list(values))
    return frozenset(size for one in leaves if isinstance(one, torch.Tensor) for size in one.shape)


def _parts(manager: Any) -> Iterator[str]:
    """The guards of a tree of them, as Dynamo writes them."""
    for leaf in manager.get_leaf_guards():
        yield from leaf.verbose_code_parts()
    for child in manager.get_child_managers():
        yield from _parts(child)
    if hasattr(manager, "get_key_value_managers"):
        for pair in manager.get_key_value_managers().values():
            for one in pair:
                if one is not None:
                    yield from _parts(one)
    if hasattr(manager, "get_epilogue_lambda_guards"):
        for leaf in manager.get_epilogue_lambda_guards():
            yield from leaf.verbose_code_parts()


def _guard(text: str) -> Guard:
    said, place = split(text)
    return Guard(said, place, *_meant(text, said))


def _meant(text: str, said: str) -> tuple[str, str]:
    """What a guard says, with the cure that Dynamo's hint gives for a whole number of a module's."""
    cause, cure = meant(said)
    return cause, _MODULE_INTEGER if cause and "integer attributes of the nn.Module" in text else cure


def _again(code: types.CodeType, reason: str, sizes: frozenset[int]) -> Recompilation:
    """What was compiled again, when tensors of these sizes came."""
    said, place = split(re.sub(r"^\d+/\d+: ", "", reason.strip()))
    here = place or Location(code.co_filename, code.co_firstlineno)
    cause, cure = _meant(reason, said)
    if (old := re.search(r"size mismatch at index \d+\. expected (\d+)", said)) and int(old[1]) in sizes:
        cure = cure.removeprefix(_EITHER) + _SHARED.format(old=old[1])
    return Recompilation(code.co_name, here, said, cause, cure)


def split(text: str) -> tuple[str, Location | None]:
    """A guard as Dynamo writes it, in two: what it says, and the line that it was made for."""
    found = _FRAME.search(text)
    text, found = (text[: found.start()], found) if found else (text, None)
    text = re.sub(r"\s*\(HINT: .*\)\s*$", "", text, flags=re.S)
    said = re.sub(r"0x[0-9a-f]+|\b\d{12,}\b", "...", text).strip()
    if found is None or not is_user_file(found["file"]):
        return said, None
    return said, Location(found["file"], int(found["line"]))


def meant(said: str) -> tuple[str, str]:
    """What a guard, or its failure, says in words, and the usual cure; empty where that is not known."""
    said = _plain(said)
    for pattern, cause, cure in _SAID:
        if found := re.match(pattern, said, re.S):
            words = {name: re.sub(r"G\['(\w+)'\]", r"\1", text or "") for name, text in found.groupdict().items()}
            return cause.format(**words), cure.format(**words)
    return "", ""


def _plain(source: str) -> str:
    """`x` for `L['x']`, `self.norm` for `L['self']._modules['norm']`."""
    source = re.sub(r"L\['(\w+)'\]", r"\1", source)
    return re.sub(
        r"(?:\.__dict__\['_(?:modules|parameters|buffers)'\]|\._(?:modules|parameters|buffers))\['(\w+)'\]",
        r".\1",
        source,
    )
