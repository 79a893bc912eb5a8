"""Layouts of tensors."""

from __future__ import annotations

from typing import TypedDict


class TensorLayout(TypedDict):
    """The layout of one type of a dump."""

    type: str
    encoding: str
    """The layout's attribute, written out."""
    memory: str
    """`shared` or `tensor` for memory; "" for registers."""
    bits: int
    """Of an element."""
    banks: int
    """Of the GPU's shared memory, of 32 bits; 0 where that is not known."""
    shape: list[int]
    """What is laid out, in elements."""
    bases: dict[str, list[list[int]]]
    """By the name of an input (`register`, `lane`, `offset` ...): the element that each bit leads to, by xor."""
    padding: list[list[int]]
    """Of shared memory: after each interval of so many elements, so many are left out."""
    why: str
    """Why there are no bases; "" where there are."""


class LayoutValue(TypedDict):
    """A value with a layout at a line."""

    name: str
    """"" where a line names a type without a value."""
    layout: int


class LayoutMove(TypedDict):
    """An operation that takes a tensor from one layout to another."""

    line: int
    source: int
    result: int
    summary: str


class LayoutLine(TypedDict):
    """A line of the dump."""

    text: str
    values: list[LayoutValue]
    move: int
    """The number of the move that the line is; -1 for none."""


class LayoutsData(TypedDict):
    """A dump with the layouts of its tensors."""

    title: str
    lines: list[LayoutLine]
    layouts: list[TensorLayout]
    moves: list[LayoutMove]
