"""The Spyre view without a browser: its data, its fallbacks, its traits, and compiling again."""

from __future__ import annotations

import gzip
import json
from math import prod

import pytest
import torch
import torch.nn.functional as F

import irwidget
from irwidget import UsageError
from irwidget.spyre import TensorSpec, compile, spyre_hint
from irwidget.spyre.picture import picture, texts
from irwidget.spyre.reasons import in_words
from irwidget.spyre.recompile import changes, recompile
from irwidget.spyre.sent import shared
from irwidget.views import spyre_fallbacks
from irwidget.views.spyre import Lowered, SpyreView, show
from tests.spyre import models

X, W = TensorSpec((256, 512)), TensorSpec((512, 1024))


def attention(x, w):
    y = x @ w
    return torch.softmax(y, -1)


@pytest.fixture(scope="module")
def program():
    return compile(attention, [X, W])


def unpacked(data: bytes):
    return json.loads(gzip.decompress(data))


def test_the_picture_says_what_the_program_says(program):
    made = picture(program)
    ops = {op["op"]: op for op in made["ops"]}
    facts = program.to_dict()
    for kernel in facts["kernels"]:
        for spec, op in zip(kernel["ops"], made["ops"], strict=True):
            assert op["func"] == spec["opspec_op"]
            assert op["unit"] == spec["sdsc"]["exUnit"]
            assert op["cores"] == spec["sdsc"]["cores_used"]
            assert {d["label"]: d["split"] for d in op["dims"]} == spec["sdsc"]["splits"]
            for i, (tensor, addresses) in enumerate(
                zip(op["tensors"], spec["sdsc"]["start_addr_core0_1"].values(), strict=True)
            ):
                for core in (0, 1):
                    tile = next(t for t in tensor["tiles"] if core in t["cores"])
                    assert str(tile["address"]) == addresses[core], (op["op"], i)
    assert len(ops) == len(made["ops"]) == 6
    placed = {b["name"]: b["address"] for b in made["lx"]["blocks"]}
    assert placed == dict(program.scratchpad.addresses)
    assert {m["name"]: m["why"] for m in made["lx"]["missed"]} == {
        name: in_words(why) for name, why in program.scratchpad.reasons.items()
    }
    best = ops["op0"]["division"]["candidates"][0]
    terms = program.divisions[0].candidates[0].terms
    assert (best["compute"], best["memory"]) == (round(terms.compute, 3), round(terms.memory, 3))
    assert made["moved"]["device"] == sum(op["moved"]["device"] for op in made["ops"])
    json.dumps(made)


def test_what_runs_elsewhere_is_marked():
    made = picture(compile(lambda a: torch.exp(torch.cumsum(a, 1)), [X]))
    assert [(op["func"], op["mark"]) for op in made["ops"]] == [("cumsum", "fallback"), ("exp", "")]
    assert "host" in made["ops"][0]["why"][0]["text"]
    made = picture(compile(F.linear, [TensorSpec((64, 128)), TensorSpec((256, 128))]))
    copy = made["ops"][0]
    assert copy["mark"] == "restickify"
    why = next(w["text"] for w in copy["why"] if w["about"] == "restickify")
    assert "sticks along dim 1" in why
    assert "along dim 0" in why
    assert "32768 device elements" in why


def test_a_call_on_the_host_says_why_and_what_is_copied():
    made = picture(compile(lambda a: torch.exp(torch.erf(a)), [X]))
    assert [(op["func"], op["mark"]) for op in made["ops"]] == [("erf", "substitute"), ("exp", "")]
    why = (
        "erf runs on the host: no OpFunc; upstream makes its kernel a stub that raises when it is run."
        f" {prod(X.shape) * 2:,} bytes are copied to the host, {prod(X.shape) * 2:,} back"
    )
    assert [one["text"] for one in made["ops"][0]["why"]] == [why]
    assert why in spyre_fallbacks.text(made)
    assert why in spyre_fallbacks.html(made)


def test_texts_have_every_file(program):
    made = texts(program)
    files = {f["name"]: json.loads(f["text"]) for f in made["files"]}
    assert files == dict(program.kernels[0].files())
    assert "sdsc_0.json" in made["bundle"][program.kernels[0].name]
    assert "OpSpec(op='batchmatmul'" in made["opspec"]["op0"]


def test_fallbacks_have_the_tables_and_are_the_same_again(program):
    bundle = show(program)._repr_mimebundle_()
    bundle = bundle[0] if isinstance(bundle, tuple) else bundle
    text, html = bundle["text/plain"], bundle["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in bundle
    for said in (
        "batchmatmul",
        "mb/4 out/8",
        "lx 1024",
        "it comes from matmul",
        "0x400000000",
        "11.691 us",
        "0-63 x 0-511",
    ):
        assert said in text, said
        assert said in html, said
    again = picture(compile(attention, [X, W]))
    assert spyre_fallbacks.text(again) == text
    assert spyre_fallbacks.html(again) == html


def test_names_in_html_are_only_text():
    program = compile(attention, [X, W], name="<img src=x onerror=alert(1)>")
    assert "<img" not in spyre_fallbacks.html(picture(program))
    assert "<img" not in program.to_html().split("<body>")[1].split('<script type="text/plain"')[0]


def test_a_page_holds_the_program_its_texts_and_its_passes(program, tmp_path):
    page = program.to_html(tmp_path / "p.html")
    assert (tmp_path / "p.html").read_text() == page
    assert 'data-bundle="spyre"' in page
    assert 'data-bundle="viewer"' in page
    assert "http" not in page.split("<body>")[1].split('<script type="text/plain"')[0].replace("http://www.w3.org", "")


def test_it_opens_with_an_op_that_has_tiles():
    opened = [SpyreView(compile(made, [X])) for made in (lambda a: torch.exp(torch.cumsum(a, 1)), torch.exp)]
    assert [(view.op, view.saved()[0]["state"]["op"]) for view in opened] == [(1, 1), (0, 0)]
    assert '"op":1' in opened[0].program.to_html().replace(" ", "")
    only = SpyreView(compile(lambda a: torch.cumsum(a, 1), [X]))
    assert only.op == 0


def test_the_selection_is_checked(program):
    view = SpyreView(program, op=1, core=3)
    view.op = -1
    assert view.ops[view.op] == "buf5 = realdiv"
    view.tensor = "buf1"
    for name, value in {"op": 6, "core": 32, "tensor": "buf99", "iteration": -1}.items():
        with pytest.raises(UsageError, match="There is no"):
            setattr(view, name, value)
    with pytest.raises(UsageError, match="has no cores"):
        SpyreView(program, cores=3)
    view.close()


@pytest.mark.parametrize(
    ("change", "want"),
    [
        ({"cores": 8}, lambda p: p.options.cores == 8),
        ({"layout_solver": "bestfit"}, lambda p: p.options.layout_solver == "bestfit"),
        ({"lx_planning": False}, lambda p: not p.scratchpad.addresses),
        ({"divisions": {"buf0": {"d0": 8, "d1": 4}}}, lambda p: dict(p.divisions[0].splits)["d0"] == 8),
        ({"orders": {"arg1_1": [1, 0]}}, lambda p: any(s.op == "ReStickifyOpHBM" for s in p.kernels[0].specs)),
    ],
)
def test_compiling_again_changes_what_was_asked_for(program, change, want):
    assert not want(program)
    made = recompile(program, change)
    assert want(made)
    assert program.options != made.options or "orders" in change
    again = recompile(
        made,
        {
            "cores": 32,
            "layout_solver": "greedy",
            "lx_planning": True,
            "divisions": {"buf0": None},
            "orders": {"arg1_1": [0, 1]},
        },
    )
    assert spyre_fallbacks.text(picture(again)) == spyre_fallbacks.text(picture(program))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cores": 33}, "from 1 to 32"),
        ({"cores": True}, "from 1 to 32"),
        ({"cores": "8"}, "from 1 to 32"),
        ({"semantics": "x"}, "cannot be changed in 'semantics'"),
        ({"lx_bytes": 1}, "cannot be changed"),
        ({"layout_solver": "os.system"}, "not known"),
        ({"layout_solver": ["greedy"]}, "not known"),
        ({"lx_planning": 1}, "true or false"),
        ({"divisions": [1]}, "by buffer"),
        ({"divisions": {"buf0": {"d0": 0}}}, "from 1 to 32"),
        ({"divisions": {"buf77": {"d0": 2}}}, "buf77"),
        ({"divisions": {"buf0": {"q": 2}}}, "no loop variable 'q'"),
        ({"orders": {"nobody": [0, 1]}}, "no input 'nobody'"),
        ({"orders": {"arg0_1": "01"}}, "list of dims"),
        ({"orders": {"arg0_1": [0, 9]}}, "from -1 to 5"),
    ],
)
def test_what_may_not_be_changed_is_refused(program, change, message):
    with pytest.raises(UsageError, match=message):
        recompile(program, change)


def test_a_modules_layout_and_a_users_hint_survive():
    module = torch.nn.Linear(256, 512).half()
    program = compile(module, [TensorSpec((128, 256))])
    bad = recompile(program, {"orders": {"weight": [0, 1]}})
    assert bad.kernels[0].specs[0].op == "ReStickifyOpHBM"
    assert recompile(bad, {"orders": {"weight": None}}).kernels[0].specs[0].op == "batchmatmul"

    def hinted(a, b):
        with spyre_hint(work_div={"M": 2}):
            return a @ b

    specs = [TensorSpec((64, 256), dims=["M", "K"]), TensorSpec((256, 128), dims=["K", "N"])]
    program = compile(hinted, specs)
    assert program.divisions[0].source == "hint"
    assert recompile(program, {"ignore_hints": True}).divisions[0].source != "hint"


def test_changes_name_splits_places_and_bytes(program):
    before, after = picture(program), picture(recompile(program, {"cores": 4, "orders": {"arg1_1": [1, 0]}}))
    found = changes(before, after)
    rows = {row["op"]: row for row in found["rows"]}
    assert rows["buf0 = batchmatmul"]["before"]["splits"] == "mb/4 out/8"
    assert rows["buf0 = batchmatmul"]["after"]["cores"] == 4
    assert rows["buf6 = ReStickifyOpHBM"]["before"] is None
    assert {o["name"] for o in found["options"]} == {"cores", "orders"}
    totals = {t["name"]: t for t in found["totals"]}
    assert totals["elements restickified"]["after"] == 512 * 1024
    assert totals["bytes that the cores take and give, each for itself"]["before"] == program_bytes(before)
    same = changes(before, before)
    assert not any(row["changed"] for row in same["rows"])
    assert not same["options"]


def program_bytes(made):
    return sum(
        t["bytes"] * len(t["cores"])
        for op in made["ops"]
        for tensor in op["tensors"]
        if tensor["place"] != "lx"
        for t in tensor["tiles"]
    )


def test_what_is_sent_is_the_picture_with_equal_parts_once(program):
    made = picture(program)
    sent = json.loads(json.dumps(shared(made)))
    table = sent.pop("shared")
    for op in sent["ops"]:
        op["slices"] = table[op["slices"]]
        for tensor in op["tensors"]:
            tensor["tiles"] = table[tensor["tiles"]]
    assert sent == json.loads(json.dumps(made))
    assert len(table) < sum(1 + len(op["tensors"]) for op in made["ops"])


def test_messages_are_answered_errors_included(program):
    view = SpyreView(program)
    sent = []
    view.send = sent.append
    view._asked(view, {"id": 1, "kind": "texts"}, [])
    sent_texts = unpacked(view.texts)
    pieces = sent_texts.pop("pieces")
    for file in sent_texts["files"]:
        file["text"] = "".join(pieces[i] for i in file["text"])
    assert sent_texts == texts(program)
    view._asked(view, {"id": 2, "kind": "recompile", "change": {"cores": 99}}, [])
    view._asked(view, {"id": 3, "kind": "run", "program": "/bin/sh"}, [])
    view._asked(view, {"id": 4, "kind": "recompile", "change": "cores"}, [])
    assert [answer["id"] for answer in sent] == [1, 2, 3, 4]
    assert "error" not in sent[0]
    assert "from 1 to 32" in sent[1]["error"]
    assert "does not answer 'run'" in sent[2]["error"]
    assert view.program is program
    view._asked(view, {"id": 5, "kind": "recompile", "change": {"cores": 4}}, [])
    assert view.program.options.cores == unpacked(view.data)["cores"] == 4
    assert unpacked(view.former)["picture"]["cores"] == 32
    assert view.texts == b""
    view.close()
    assert view.data == b""


def test_lowering_to_spyre_shows_the_program_above_its_passes():
    x, w = torch.zeros(256, 512, dtype=torch.float16), torch.zeros(512, 1024, dtype=torch.float16)
    low = irwidget.lower(attention, x, w, to=["spyre_superdsc", "spyre_host"])
    one, two = low.values()
    assert one.program is two.program is not None
    bundle = one._repr_mimebundle_()
    bundle = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "batchmatmul" in bundle["text/plain"]
    assert "propagate_spyre_tensor_layouts" in bundle["text/plain"]
    assert 'data-bundle="spyre"' in one.to_html()
    from irwidget.display import shown

    both = shown([one, two], "a")
    assert isinstance(both, Lowered)
    assert len(both.views) == 1
    assert irwidget.lower(one.program, to="spyre_opspec").program is one.program
    assert one.run(x, w).shape == (256, 1024)


def test_a_llama_block_is_a_picture():
    block = models.LlamaBlock().half()
    turn = TensorSpec((1, 1, 64, 64))
    made = picture(compile(block, (TensorSpec((1, 64, 128)), turn, turn)))
    assert len(made["kernels"]) > 3
    assert all(op["why"] for op in made["ops"])
    assert {op["unit"] for op in made["ops"]} >= {"pt", "sfp"}
    assert len(spyre_fallbacks.text(made).splitlines()) < 400
