"""The .irtrace format: exact, cut off, damaged, hostile. `python -m tests.format.test_file` writes the golden file."""

from __future__ import annotations

import gzip
import json
import random
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irwidget.errors import ToolError, UsageError
from irwidget.trace import Location, Trace, chunks, decode, dump, file, reading
from irwidget.views import packing
from irwidget.views.packing import Packer
from tests.format import reader, traces

GOLDEN = Path(__file__).parent / "trace-3.irtrace"


@given(st.lists(traces.TRACES, min_size=1, max_size=2))
@settings(max_examples=40, deadline=None)
def test_everything_comes_back_exactly(made):
    found = reading.unpacked(file.packed(made))
    assert found.complete
    assert [traces.plain(one) for one in found.traces] == [traces.plain(one) for one in made]
    assert file.packed(found.traces) == file.packed(made)


def test_a_number_that_is_not_one_and_what_json_cannot_hold_are_kept_as_docs_say():
    class Odd:
        def __str__(self) -> str:
            return "odd one"

    made = Trace("t", (), facts={"nan": float("nan"), "odd": Odd()})
    (found,) = reading.unpacked(file.packed([made])).traces
    assert found.facts["nan"] != found.facts["nan"]
    assert found.facts["odd"] == "odd one"


def test_a_place_outside_of_any_file_is_the_nearest_in_one():
    made = Trace("t", (dump("a", "x", step=0, locations=(Location("f", -1, 2**40),)),))
    (found,) = reading.unpacked(file.packed([made])).traces
    assert found.dumps[0].locations == (Location("f", 0, 2**32 - 1),)


def test_attachments_larger_than_a_chunk_come_back(monkeypatch):
    monkeypatch.setattr(file, "CHUNK", 1000)
    data = {"a": random.Random(1).randbytes(3500), "b": b"", "c": bytes(10)}
    made = Trace("t", (dump("a", "x\n" * 700, step=0), dump("b", "y", step=0)), attachments=data)
    assert reading.unpacked(file.packed([made])).traces[0].attachments == data


def read_by_the_page(data: bytes) -> list[list[tuple[str | None, list]]]:
    """Texts and places as a reader that knows nothing of irwidget has them."""
    return [
        [(one["text"], [place and list(place) for place in one.get("at", [])]) for one in trace["dumps"]]
        for trace in reader.read(data)["traces"]
    ]


def flat(place: Location | None) -> list | None:
    if place is None:
        return None
    caller = flat(place.caller)
    return [place.file, place.line, place.column, caller and tuple(caller), place.name]


@given(st.lists(traces.TRACES, min_size=1, max_size=2))
@settings(max_examples=20, deadline=None)
def test_a_reader_written_from_the_docs_reads_it(made):
    found = reader.read(file.packed(made))
    assert found["end"]
    for trace, one in zip(found["traces"], made, strict=True):
        assert (trace["name"], trace["target"]) == (one.name, one.target)
        assert trace["bytes"] == list(one.attachments.values())
        assert {tuple(found["sources"][i]) for i in trace["sources"]} == set(one.sources.items())
        for read, written in zip(trace["dumps"], one.dumps, strict=True):
            assert (read["name"], read["text"], read["changed"]) == (written.name, written.text, written.changed)
            assert [place and list(place) for place in read["at"]] == [flat(place) for place in written.locations]


def test_the_golden_file_is_still_read():
    found = reading.read(GOLDEN)
    assert found.complete
    assert [traces.plain(one) for one in found.traces] == [traces.plain(traces.whole())] * 2
    assert [traces.plain(one) for one in reading.unpacked(golden()).traces] == [traces.plain(traces.whole())] * 2
    assert read_by_the_page(GOLDEN.read_bytes()) == read_by_the_page(golden()), "python -m tests.format.test_file"


def golden() -> bytes:
    return file.packed([traces.whole(), traces.whole()])


def test_what_a_view_gets_is_a_file_too():
    made = replace(traces.whole(), dumps=tuple(one for one in traces.whole().dumps if one.name != "late"))
    packer = Packer([made])
    while packer.add():
        pass
    packer.finish()
    assert traces.plain(reading.unpacked(packer.data).traces[0]) == traces.plain(made)


def test_a_view_gets_the_attachments_that_fit_and_names_the_others(monkeypatch):
    monkeypatch.setattr(packing, "ATTACHED", 10)
    attached = {"large": bytes(8), "larger": bytes(11), "small": bytes(2), "too much": b"x"}
    made = Trace("t", (dump("a", "x", step=0),), attachments=attached)
    (found,) = reading.unpacked(packing.pack([made])).traces
    assert found.attachments == {"large": bytes(8), "small": bytes(2)}
    assert found.diagnostics[-1].message == "Attachments that the file does not have: larger, too much"


def test_who_writes_a_file_is_told_of_every_byte():
    heard: list[bytes] = []
    packer = Packer([traces.whole()], heard.append)
    packer.add([(0, 3), (0, 3)])  # both sides of a view that opens on one dump
    assert b"".join(heard) == packer.data
    packer.finish()
    assert b"".join(heard) == packer.data


def pieces() -> bytes:
    """A file of one chunk per dump."""
    writer = file.Writer([traces.whole()])
    for i in (3, 0, 1):
        writer.add({(0, i)})
    writer.finish()
    return writer.data


def test_a_file_cut_off_anywhere_opens_up_to_there_or_says_what_is_wrong():
    data = pieces()
    opened = 0
    refused: list[str] = []
    for length in range(len(data)):
        try:
            found = reading.unpacked(data[:length])
        except UsageError as error:
            assert opened == 0, "what could be read with less can be read with more"
            refused.append(str(error))
            continue
        opened += 1
        assert not found.complete
        assert "ends early" in found.traces[0].diagnostics[-1].message
        there = [i for i, one in enumerate(found.traces[0].dumps) if one.ready]
        assert there == sorted([3, 0, 1][: len(there)])
        for i in there:
            assert traces.content(found.traces[0].dumps[i]) == traces.content(traces.whole().dumps[i])
        for i in {0, 1, 2, 3} - {*there}:
            with pytest.raises(ToolError, match="ends before it"):
                _ = found.traces[0].dumps[i].content
    assert opened > 100
    assert all("stopped at once" in one or "no .irtrace file" in one for one in refused)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_damage_is_an_error_of_ours_or_harmless(data):
    bad = bytearray(pieces())
    for _ in range(data.draw(st.integers(1, 3))):
        bad[data.draw(st.integers(0, len(bad) - 1))] = data.draw(st.integers(0, 255))
    survives(bytes(bad))


def survives(bad: bytes) -> None:
    """It is refused with an error of ours, or all that it has can be read."""
    try:
        found = reading.unpacked(bad, meter=decode.Meter(2**26))
    except UsageError:
        return
    for trace in found.traces:
        for one in trace.dumps:
            traces.content(one)
        repr(trace)
    file.packed(found.traces)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**33) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


def places(value: object, path: tuple = ()) -> list[tuple]:
    """The way to each value inside JSON."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, one in inner for found in places(one, (*path, key)))]


def forged(frame: dict[str, bytes]) -> bytes:
    return chunks.pack(frame)


@pytest.mark.parametrize("count", [0, 1, *range(329, 334)])
def test_a_section_in_many_pieces_is_the_section(count):
    made = chunks.pack({"a": chunks.array_of([b"[%d" % i, b"]"] for i in range(count)), "b": b"x", "c": []})
    (frame,) = chunks.frames(chunks.HEAD + made)
    assert chunks.sections(frame, decode.Meter(2**26)) == {"a": chunks.to_json([[i] for i in range(count)]), "b": b"x"}


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_a_forged_description_or_section_is_an_error_of_ours_or_harmless(data):
    frames = list(reader.chunks(pieces()))
    which = data.draw(st.integers(0, len(frames) - 1))
    name = data.draw(st.sampled_from(sorted(frames[which])))
    if name == "meta":
        meta = json.loads(frames[which]["meta"].decode("utf-8", "surrogatepass"))
        *path, last = data.draw(st.sampled_from(places(meta)[1:]))
        inside = meta
        for key in path:
            inside = inside[key]
        inside[last] = data.draw(JSON)
        frames[which]["meta"] = json.dumps(meta).encode()
    elif data.draw(st.booleans()):
        frames[which][name] = data.draw(st.binary(max_size=40))
    else:
        section = bytearray(frames[which][name])
        section[data.draw(st.integers(0, len(section) - 1))] = data.draw(st.integers(0, 255))
        frames[which][name] = bytes(section)
    survives(chunks.HEAD + b"".join(map(forged, frames)))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no .irtrace file"),
        (b"module {}\n", "no .irtrace file.*raw_ir"),
        (chunks.MAGIC, "stopped at once"),
        (chunks.HEAD, "stopped at once"),
        (chunks.MAGIC + struct.pack("<I", 4), "format 4.*reads up to 3.*upgrade"),
        (chunks.HEAD + struct.pack("<I", 3) + b"abc", "damaged"),
        (chunks.HEAD + chunks.pack({"meta": b"{}"}), "damaged: there is no sources"),
        (chunks.HEAD + chunks.pack({"meta": b"[" * 100_000}), "damaged"),
        (chunks.HEAD + chunks.pack({"meta": b'{"a":' + b"9" * 5000 + b"}"}), "damaged"),
        (golden() + golden()[12:], "goes on after its end"),
    ],
)
def test_what_is_no_file_says_so(data, message):
    with pytest.raises(UsageError, match=message):
        reading.unpacked(data)


@pytest.mark.parametrize("data", [b"\x03", b"\x0e", b"\x0e\x00"], ids=["negative", "behind", "far behind"])
def test_a_line_that_is_not_there_is_damage(data):
    with pytest.raises(decode.Damaged, match="a line that is not there"):
        decode.sequence(data, 0, 2, decode.Meter(10**6))


def test_an_unknown_section_is_passed_over():
    frames = [{"line.future": b"\x00\xff", **one} for one in reader.chunks(golden())]
    found = reading.unpacked(chunks.HEAD + b"".join(map(forged, frames)))
    assert traces.plain(found.traces[0]) == traces.plain(traces.whole())


def bomb(name: str, body: bytes) -> bytes:
    """A file that becomes a thousand times as large in memory."""
    frames = list(reader.chunks(pieces()))
    frames[0][name] = body
    return chunks.HEAD + b"".join(map(forged, frames))


def text_bomb() -> bytes:
    """A line of a megabyte, a hundred thousand times in one dump."""
    writer = file.Writer([Trace("t", (dump("a", "x" * 10**6, step=0),))])
    writer.add()
    frames = list(reader.chunks(writer.data))
    meta = json.loads(frames[0]["meta"])
    meta["dumps"][0]["lines"] = 10**5
    # Code 2 is the same line again.
    return chunks.HEAD + forged(
        {**frames[0], "meta": json.dumps(meta).encode(), "sequence": b"\x00" + b"\x02" * (10**5 - 1)}
    )


def zip_bomb(says: int | None = None) -> bytes:
    """Three hundred megabytes of zeros, or what says that it is less."""
    body = gzip.compress(bytes(3 * 10**8))
    body = body if says is None else body[:-4] + struct.pack("<I", says)
    return chunks.HEAD + struct.pack("<I", len(body)) + body


@pytest.mark.parametrize(
    "make",
    [
        zip_bomb,
        lambda: zip_bomb(1000),
        lambda: bomb("shape-of", bytes(10**8)),
        lambda: bomb("meta", b"[" + b"[]," * 10**7 + b"[]]"),
        lambda: bomb("places", bytes(10**8)),
        lambda: bomb("attachments", bytes(10**8)),
        text_bomb,
    ],
    ids=["body", "lie", "lines", "json", "places", "attachments", "text"],
)
def test_a_bomb_is_refused_in_little_memory(make, tmp_path):
    data = make()
    assert len(data) < 3_000_000
    path = tmp_path / "bomb.irtrace"
    path.write_bytes(data)
    script = f"""
import resource
from irwidget.errors import UsageError
from irwidget.trace import reading
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    reading.read({str(path)!r}, most=2**26)
except UsageError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    message, taken = ran.stdout.rsplit("\n", 2)[:2]
    assert "0.0625 GiB" in message or "damaged" in message
    assert int(taken) < 200


if __name__ == "__main__":
    GOLDEN.write_bytes(golden())
