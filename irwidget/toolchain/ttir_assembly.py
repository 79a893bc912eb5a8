"""Inline assembly of a kernel (`tl.inline_asm_elementwise`), executed: PTX without branches and memory, by NumPy.

A register is an array of bits, one for each call of the code; instructions say what the bits are. What is not known
here is refused by its name.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from irwidget.toolchain import ttir_ptx
from irwidget.toolchain.ttir_numbers import Poison, from_bits, to_bits
from irwidget.toolchain.ttir_program import Operation, Type

_ESCAPED = re.compile(r"\\([0-9A-F]{2}|.)")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_STATEMENT = re.compile(r"(?:@(!?)([\w%]+)\s+)?([a-z][\w.:]*)\s*(.*)", re.DOTALL)
_OPERANDS = re.compile(r"\{[^}]*\}|[^,{}]+")
_WITHOUT_EFFECT = ("bar", "barrier", "griddepcontrol", "membar", "fence", "nanosleep")
"""What only orders a program's threads and launches: operations are executed one after the other anyway."""

_NOT_SET = "what inline assembly has not set"
Registers = dict[str, Any]


def assembly(op: Operation, poison: Poison) -> Callable[..., Any]:
    """What executes `tt.elementwise_inline_asm`, of arrays of the operands. Raises NotImplementedError."""
    texts = re.findall(r'"((?:[^"\\]|\\.)*)"', op.text)
    statements = list(_statements(_ESCAPED.sub(_character, texts[0])))
    match = re.search(r"packed_element = (\d+)", op.text)
    pack = int(match[1]) if match else 1

    def compute(*given: Any) -> Any:
        shape = given[0].shape if given else op.made[0].shape
        flat = [np.broadcast_to(one, shape).reshape(-1) for one in given]
        count = flat[0].size if flat else int(np.prod(shape))
        if count % pack:
            raise NotImplementedError(f"inline assembly of {pack} elements is not executed for {count}")
        made = _run(statements, flat, op, count, pack, poison)
        if pack > 1:  # which elements go together, the layout decides
            order = np.arange(count).reshape(pack, -1).T.reshape(-1)
            back = np.argsort(order)
            again = [one[back] for one in _run(statements, [one[order] for one in flat], op, count, pack, poison)]
            if any(one.tobytes() != two.tobytes() for one, two in zip(made, again, strict=True)):
                poison.met["inline assembly of several elements, which ones the layout decides"] = None
                made = again if poison.other else made
        shaped = [one.reshape(shape) for one in made]
        return shaped[0] if len(shaped) == 1 else shaped

    return compute


def _character(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if len(match[1]) == 2 else match[1]


def _statements(text: str) -> Iterator[tuple[str, str, str, list[str]]]:
    """Whether and by which predicate, the instruction, the operands. Raises NotImplementedError."""
    for one in _COMMENT.sub(" ", text).split(";"):
        line = one.strip().lstrip("{} \t\n")
        if not line or line.startswith(".reg"):
            continue
        match = _STATEMENT.fullmatch(line)
        if match is None or match[3].endswith(":"):
            what = f"the label {line.split()[0]}" if re.match(r"\w+:", line) else line.split()[0]
            raise NotImplementedError(f"inline assembly is not executed: {what}")
        operands = [found.strip() for found in _OPERANDS.findall(match[4]) if found.strip()]
        yield match[1], match[2] or "", match[3], operands


def _run(statements: Any, flat: list[Any], op: Operation, count: int, pack: int, poison: Poison) -> list[Any]:
    """The results of all calls, as flat arrays."""
    registers: Registers = {}
    sizes = [_registers(kind, pack) for kind in op.made]
    number = sum(amount for amount, _ in sizes)
    for value, kind in zip(flat, op.types, strict=True):
        amount, together = _registers(kind, pack)
        bits = to_bits(value, kind).astype(np.uint64).reshape(-1, amount, together)
        shifts = np.arange(together, dtype=np.uint64) * np.uint64(kind.bits)
        for one in range(amount):
            registers[f"${number}"] = np.bitwise_or.reduce(bits[:, one] << shifts, axis=-1)
            number += 1
    calls = count // pack
    for negated, predicate, name, operands in statements:
        _execute(registers, calls, (negated, predicate), name, operands, poison)
    made: list[Any] = []
    at = 0
    for kind, (amount, together) in zip(op.made, sizes, strict=True):
        missing = [f"${one}" for one in range(at, at + amount) if f"${one}" not in registers]
        if missing:
            poison.met[_NOT_SET] = None
            made.append(np.full(count, poison.value(kind)))
        else:
            shifts = np.arange(together, dtype=np.uint64) * np.uint64(kind.bits)
            bits = np.stack([registers[f"${one}"] for one in range(at, at + amount)], axis=-1)[..., None] >> shifts
            made.append(from_bits(ttir_ptx.low(bits, kind.bits).astype(kind.bits_dtype).reshape(-1), kind))
        at += amount
    return made


def _registers(kind: Type, pack: int) -> tuple[int, int]:
    """How many registers the elements of a call fill, and how many elements are in each."""
    together = min(max(32 // kind.bits, 1), pack)
    return pack // together, together


def _execute(
    registers: Registers, calls: int, guard: tuple[str, str], name: str, operands: list[str], poison: Poison
) -> None:
    """One instruction for all calls. Raises NotImplementedError."""
    plain, *how = name.split(".")
    if plain in _WITHOUT_EFFECT and "red" not in how:
        return
    if any(one.startswith("[") for one in operands):
        raise NotImplementedError(f"inline assembly is not executed: {name} reaches memory")
    if plain == "mov":
        made = _moved(registers, calls, how[-1], operands)
    else:
        sources = [_value(registers, calls, one, how) for one in operands[1:]]
        made = ttir_ptx.instruction(name, plain, how, sources)
    targets = re.split(r"[|,]", operands[0].strip("{}"))
    for target, value in zip((one.strip() for one in targets), made, strict=False):
        if target == "_":
            continue
        if guard[1]:
            holds = _known(registers, guard[1]) ^ bool(guard[0])
            if target not in registers and not np.all(holds):
                poison.met[_NOT_SET] = None
            value = np.where(holds, value, registers.get(target, poison.value(Type("i32")).astype(value.dtype)))
        registers[target] = value


def _moved(registers: Registers, calls: int, kind: str, operands: Sequence[str]) -> list[Any]:
    """Of `mov`: a value, several that are put together, or one that is taken apart."""
    target, source = operands
    if kind == "pred":
        return [_known(registers, source)]
    bits = ttir_ptx.width(kind)
    if source.startswith("{"):
        parts = [_value(registers, calls, one.strip(), [kind]) for one in source.strip("{}").split(",")]
        each = bits // len(parts)
        whole = np.zeros(calls, np.uint64)
        for at, one in enumerate(parts):
            whole |= ttir_ptx.low(one, each) << np.uint64(each * at)
        return [whole]
    value = ttir_ptx.low(_value(registers, calls, source, [kind]), bits)
    if not target.startswith("{"):
        return [value]
    count = target.count(",") + 1
    return [ttir_ptx.low(value >> np.uint64(bits // count * at), bits // count) for at in range(count)]


def _known(registers: Registers, name: str) -> Any:
    if name.startswith("!"):
        return ~_known(registers, name[1:])
    if name not in registers:
        raise NotImplementedError(f"inline assembly is not executed: it reads {name}")
    return registers[name]


def _value(registers: Registers, calls: int, text: str, how: Sequence[str]) -> Any:
    """The bits of an operand: a register, or a constant. Raises NotImplementedError."""
    if match := re.fullmatch(r"(-?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0([0-7]+)|(\d+))U?", text):
        sign, *digits = match.groups()
        base, known = next((base, one) for base, one in zip((16, 2, 8, 10), digits, strict=True) if one)
        number = int(sign + known, base)
        if how and ttir_ptx.is_float(how[-1]) and base not in (16, 2):
            raise NotImplementedError(f"inline assembly is not executed: the float {text}")
        return np.full(calls, number % (1 << 64), np.uint64)
    if match := re.fullmatch(r"0[fF]([0-9a-fA-F]{8})|0[dD]([0-9a-fA-F]{16})", text):
        return np.full(calls, int(match[1] or match[2], 16), np.uint64)
    if re.fullmatch(r"-?\d+\.\d*(e[+-]?\d+)?", text):
        form = "<d" if how[-1] == "f64" else "<f"
        return np.full(calls, int.from_bytes(struct.pack(form, float(text)), "little"), np.uint64)
    return _known(registers, text)
