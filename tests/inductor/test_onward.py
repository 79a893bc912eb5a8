"""From generated kernels on: the configuration of each, and the passes of all of them as one trace."""

import re

import pytest

from irwidget.errors import UsageError
from irwidget.inductor import onward
from irwidget.inductor.data import InductorText, Kernel
from irwidget.trace import Content, Diagnostic, Failure, Location, Scope, Step, Trace, dump
from tests.inductor.test_answers import at

KERNEL = Kernel(
    "triton_a", "python", InductorText("", (at(3), None)), 1, "backward", (),
    configs=({"X": 32, "num_warps": 4}, {"X": 64, "num_warps": 4}, {"X": 64, "num_warps": 8}),
)  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "number"), [(None, 0), (1, 1), ("2", 2), ("X=64", 1), ("num_warps: 8", 2), ("X = 64, num_warps=8", 2)]
)
def test_the_configuration_that_is_asked_for(wanted, number):
    assert onward.chosen_config(KERNEL, wanted) == KERNEL.configs[number]


@pytest.mark.parametrize("wanted", [3, "3", "", "X", "X=16", "Y=64", "X=64, num_warps=2"])
def test_a_configuration_that_there_is_not(wanted):
    listed = "".join(f"\n  {number}: {one}" for number, one in enumerate(KERNEL.configs))
    with pytest.raises(UsageError, match=re.escape(f"triton_a has no configuration {wanted!r}. It has:{listed}")):
        onward.chosen_config(KERNEL, wanted)


def test_a_kernel_without_configurations_has_an_empty_one():
    assert onward.chosen_config(Kernel("k", "python", InductorText(""), 0, "", ()), None) == {}
    assert onward.chosen_config(Kernel("k", "python", InductorText(""), 0, "", ()), 0) == {}


def of_kernel(kernel, language="ptx", failure=None):
    file = onward.file_of(kernel)
    lines = (Location(file, 1), Location(file, 2), Location(file, 3), Location(file, 0), at(7))
    dumps = (
        dump("input", "a\n", step=-1, locations=(None,)),
        dump("cse", "b\nc\nd\ne\nf\n\n", step=0, language=language, locations=lines, scope=Scope(kernel="own")),
        dump("end", "z\n\n", step=1, language=language, locations=(Location(file, 1),)),
    )
    return Trace(
        "ptx", dumps, (Step("triton", "a"), Step("llc", "")), (Diagnostic("warning", kernel.name),), {"triton": "3"},
        failure, attachments={"k.cubin": b"1"}, facts={"registers": 8, "grid": (1,), "arch": "sm_90"},
    )  # fmt: skip


MADE = Trace(
    "inductor_triton", (dump("input", "x\n", step=-1), dump("code", "y\n", step=0)), (Step("inductor", ""),),
    (Diagnostic("remark", "made"),), {"torch": "2"}, name="f", facts={"device": "sm_90"},
)  # fmt: skip


@pytest.mark.parametrize("language", ["ptx", "amdgcn"])
def test_the_passes_of_all_kernels_then_all_of_their_texts(monkeypatch, language):
    first = Kernel("triton_b", "python", InductorText("", (at(1),)), 0, "", ())
    monkeypatch.setattr(onward, "_of_kernel", lambda kernel, *_: of_kernel(kernel, language))
    made = onward.lowered(MADE, [first, KERNEL], "ptx", "sm_90", None, None)
    own, title = Scope(kernel="triton_b"), Scope(kernel="triton_a, graph 1, backward")
    assert [(one.name, one.step, one.scope, one.text) for one in made.dumps] == [
        ("input", -1, Scope(), "x\n"), ("code", 0, Scope(), "y\n"),
        ("input", 0, own, "a\n"), ("cse", 1, Scope(kernel="own"), "b\nc\nd\ne\nf\n\n"), ("end", 2, own, "z\n\n"),
        ("input", 0, title, "a\n"), ("cse", 1, Scope(kernel="own"), "b\nc\nd\ne\nf\n\n"), ("end", 2, title, "z\n\n"),
        ("all kernels", 2, Scope(), "{0} kernel triton_b\nz\n\n{0} kernel triton_a, graph 1, backward\nz\n\n".format(
            ";" if language == "amdgcn" else "//")),
    ]  # fmt: skip
    assert made.dumps[-1].language == language
    assert [one.content.locations for one in made.dumps[2:]] == [
        (None,), (at(1), None, None, None, at(7)), (at(1),),
        (None,), (at(3), None, None, None, at(7)), (at(3),), (None, at(1), None, None, at(3), None),
    ]  # fmt: skip
    assert (made.steps, made.failure) == ((Step("inductor", ""), Step("triton", "a"), Step("llc", "")), None)
    assert [one.message for one in made.diagnostics] == ["made", "triton_b", "triton_a"]
    assert made.tools == {"torch": "2", "triton": "3"}
    assert made.attachments == {"triton_b.cubin": b"1", "triton_a-graph1-backward.cubin": b"1"}
    assert made.facts == {
        "device": "sm_90",
        "kernels": {"triton_b": {"registers": 8}, "triton_a, graph 1, backward": {"registers": 8}},
    }


@pytest.mark.parametrize(("step", "counted"), [(1, 2), (0, 1), (-1, -1)])
def test_after_a_kernel_that_fails_none_is_lowered(monkeypatch, step, counted):
    failed = Failure(step, "cse", "no")
    monkeypatch.setattr(onward, "_of_kernel", lambda kernel, *_: of_kernel(kernel, failure=failed))
    made = onward.lowered(MADE, [KERNEL, KERNEL], "ptx", "sm_90", None, None)
    assert made.failure == Failure(counted, "cse", "no")
    assert [one.name for one in made.dumps] == ["input", "code", "input", "cse", "end"]


def test_texts_of_kernels_arrive_as_they_did():
    class Arriving:
        def content(self, index):
            return Content(str(index), True, (Location("a", index), None))

        def text(self, index):
            return f"text {index}"

        def ready(self, index):
            return index == 1

        def arrived(self, index):
            return f"here {index}" if index else None

    texts = onward._Relocated(Arriving(), lambda place: place and at(place.line + 1))
    assert texts.content(4) == Content("4", True, (at(5), None))
    assert (texts.text(2), texts.ready(1), texts.ready(2), texts.arrived(0), texts.arrived(3)) == (
        "text 2", True, False, None, "here 3",
    )  # fmt: skip
