"""Memory with fences: what compiled code writes beside a buffer, or frees that is none, is noticed."""

import ctypes

import pytest

from irwidget.toolchain.fenced import FencedMemory


@pytest.mark.parametrize("place", [-256, -1, 8, 263])
@pytest.mark.parametrize("freed", [False, True])
def test_what_is_written_beside_a_buffer_is_noticed(place, freed):
    memory = FencedMemory()
    free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(dict(memory.symbols())["free"])
    address, other = memory.hold(b"12345678"), memory.allocate(8)
    assert (ctypes.string_at(address, 8), ctypes.string_at(other, 8)) == (b"12345678", b"\xa5" * 8)
    assert memory.check()
    ctypes.memset(address + place, 1, 1)
    if freed:
        free(address)
        assert memory.broken
    assert not memory.check()


def test_only_what_was_allocated_is_freed_and_once():
    for wrong in (False, True):
        memory = FencedMemory()
        malloc, free = (address for _, address in memory.symbols())
        address = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(malloc)(16)
        ctypes.memset(address, 7, 16)
        free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(free)
        for one in (address, None, *([address] if wrong else [])):
            free(one)
        assert memory.check() is not wrong
