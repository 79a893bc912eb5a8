"""IREE's logs of one compilation: of what each pass ran on, put back into the module, against the module itself."""

from __future__ import annotations

import lzma

import pytest

import irwidget

from .test_folders import DATA


def opened(name):
    (low,) = irwidget.open(lzma.decompress((DATA / name).read_bytes()))
    return low.dumps


@pytest.fixture(scope="module")
def both():
    return opened("iree-parts.log.xz"), opened("iree-modules.log.xz")


def test_what_a_pass_changed_is_told_from_its_part(both):
    parts, modules = both
    assert [one.name for one in parts] == [one.name for one in modules]
    pairs = list(enumerate(zip(parts, modules, strict=True)))
    # What a pass on a function does to the module's attributes shows in the next dump of the module, only.
    unseen = {number: part.name for number, (part, module) in pairs if module.changed and not part.changed}
    assert set(unseen) == {106, 221, 317, 609, 641, 673}
    late = {number: part.name for number, (part, module) in pairs if part.changed and not module.changed}
    assert set(late.values()) == {"iree-op-pipeline-adaptor"}
    assert len(late) == 7


def test_put_back_a_part_is_the_module(both):
    parts, modules = both
    same = [part.text == module.text for part, module in zip(parts, modules, strict=True)]
    # The rest: a function that was inlined, attributes of the module that passes on functions change, and names for
    # IREE's own attributes.
    assert sum(same) == 598
    assert all(same[:41])


def test_how_much_of_the_log_each_dump_is_is_known_without_reading_it(both):
    _, modules = both
    sizes = [dump.texts.size(dump.index) for dump in modules]
    assert all(len(dump.text) - 1 <= size for dump, size in zip(modules, sizes, strict=True))
    assert sum(sizes) <= len(lzma.decompress((DATA / "iree-modules.log.xz").read_bytes()))


def test_each_part_has_its_place(both):
    """Operations without a name, too: they are told apart by what they name."""
    parts, _ = both
    assert [(number, str(one.scope)) for number, one in enumerate(parts) if not one.scope.whole] == []
    assert sum(one.scope.anchor.startswith("util.initializer") for one in parts) == 100


def test_what_is_compiled_after_another_of_the_same_names_is_another_lowering():
    """The functions of the second are those deep inside of the module that the first has become."""
    log = lzma.decompress((DATA / "iree-parts.log.xz").read_bytes()).decode()
    (once,) = irwidget.open(log)
    for second in (log, log.replace("tensor<8x4xf32>", "tensor<8x9xf32>")):
        found = irwidget.open(log + second)
        assert [[dump.name for dump in low.dumps] for low in found] == [[dump.name for dump in once.dumps]] * 2
        assert not any("in turn" in one.message for low in found for one in low.diagnostics)
