"""Our writer of indented JSON beside Python's own."""

from __future__ import annotations

import json

import pytest
import torch

from irwidget.spyre import TensorSpec, compile
from irwidget.spyre.jsontext import indented


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        (),
        {"a": {}, "b": [], "c": [1, [2, {"d": None}]]},
        {'q"uote': "ünï\n\t\\", "": True, "f": [1.5, -0.0, 1e300, float("inf"), float("-inf"), False, -7, 2**70]},
        {7: "a", 2.5: "b", None: "c", True: "d"},
        "text",
        3,
        None,
    ],
)
def test_the_text_is_that_of_pythons_writer(value):
    assert indented(value) == json.dumps(value, indent=1)


def test_a_superdsc_is_written_as_by_pythons_writer():
    (kernel,) = compile(lambda a, b: torch.softmax(a @ b, -1), [TensorSpec((64, 128)), TensorSpec((128, 128))]).kernels
    files = dict(kernel.files())
    assert len(files) > 1
    assert indented(files) == json.dumps(files, indent=1)
