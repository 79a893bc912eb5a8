"""Two programs side by side: the SuperDSC fields that differ are the ones that do."""

from __future__ import annotations

from irwidget.spyre import TensorSpec, compare, compile
from irwidget.spyre.comparison import Field, differing
from irwidget.views.spyre import SpyreView
from tests.spyre.test_view import unpacked


def add(a, b):
    return a + b


def program(cores: int = 32, rows: int = 64):
    return compile(add, [TensorSpec((rows, 128)), TensorSpec((rows, 128))], cores=cores)


def test_equal_programs_have_no_field_that_differs():
    found = compare(program(), program())
    assert found.equal
    assert found.fields == {"buf0 = add": ()}
    assert "1 ops have equal SuperDSC files" in str(found)


def test_a_split_is_seen_in_every_field_that_it_decides():
    found = compare(program(2), program(1))
    fields = {f.path: f for f in found.fields["buf0 = add"]}
    assert (fields["numCoresUsed_"].before, fields["numCoresUsed_"].after) == (2, 1)
    assert fields["numWkSlicesPerDim_.mb"] == Field("numWkSlicesPerDim_.mb", 2, 1)
    tile = fields["dscs_.0.add.dataStageParam_.0.ss_.mb_"]
    assert (tile.before, tile.after) == (32, 64)
    address = "dscs_.0.add.scheduleTree_.allocate-Tensor0_hbm.startAddressCoreCorelet_.data_"
    assert fields[address].before == "4096"  # of core 1, which there is no more
    assert fields[address].after is None
    assert not any("N_" in path.split(".") for path in fields)
    assert "numCoresUsed_: 2 -> 1" in str(found)


def test_fields_that_differ_core_by_core_are_one():
    old = {"coreIdToWkSlice_": {str(c): {"mb": c} for c in range(4)}}
    new = {"coreIdToWkSlice_": {str(c): {"mb": 3 - c} for c in range(4)}}
    assert list(differing(old, new)) == [Field("coreIdToWkSlice_.mb", 0, 3, 4)]


def test_ops_that_only_one_has_are_named():
    def more(a, b):
        return (a + b) * b

    found = compare(program(), compile(more, [TensorSpec((64, 128)), TensorSpec((64, 128))]))
    assert (found.gone, found.new) == ((), ("buf1 = mul",))
    assert not found.equal


def test_the_view_has_the_fields_beside():
    view = SpyreView(program())
    view.recompile(cores=2)
    sent = unpacked(view.former)["fields"]["buf0 = add"]
    assert {"path": "numCoresUsed_", "before": "32", "after": "2", "cores": 1} in sent
    view.close()
