"""The .irtrace format against Arrow IPC with zstd: bytes, and time to write and to read, of real lowerings.

python -m benchmarks.format [--rounds 5] [--browser FOLDER]

Arrow gets the same design: every distinct line once, dumps and places as lists of numbers, the rest as JSON. FOLDER has
node_modules with apache-arrow and fzstd: then the readers are bundled for the browser and their sizes printed, too.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch
from pyarrow import ipc

import irwidget
from irwidget.trace import Trace, file, plain, reading
from irwidget.views.packing import pack

JS = Path(__file__).parents[1] / "js"


def encoder() -> Trace:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).eval()
    return irwidget.lower(model, torch.randn(2, 10, 64), to="llvm_ir", name="encoder").trace


def triton_kernel() -> Trace:
    from irwidget.frontends import triton
    from tests.triton.kernels import TUTORIALS

    (launch,) = triton.select(triton.capture(TUTORIALS["matmul"], "sm_80"))
    return triton.lower(launch, to="triton_nvptx")


def helion_kernel() -> Trace:
    from tests.helion import kernels_pointwise as kernels

    x = torch.randn(64, 64)
    return irwidget.lower(kernels.add, x, x, to="llvm_ir", name="add").trace


def to_arrow(trace: Trace) -> bytes:
    ids: dict[str, int] = {}
    places: dict[Any, int] = {}
    rows: list[dict[str, Any]] = []
    for dump in trace.dumps:
        content = dump.content
        lines = [ids.setdefault(line, len(ids)) for line in file.lines_of(content.text)]
        where = [-1 if one is None else places.setdefault((one, one.name), len(places)) for one in content.locations]
        rows.append({"lines": lines, "places": where, "end": content.text.endswith("\n"), "changed": content.changed})
    about = {**plain.frame_to_json(trace), "sources": dict(trace.sources)}
    about["dumps"] = [plain.dump_to_json(dump) for dump in trace.dumps]
    about["places"] = [asdict(place) for place, _ in places]
    listed = pa.list_(pa.int32())
    numbers = pa.schema([("lines", listed), ("places", listed), ("end", pa.bool_()), ("changed", pa.bool_())])
    files = {"about": json.dumps(about).encode(), **trace.attachments}
    sink = pa.BufferOutputStream()
    options = ipc.IpcWriteOptions(compression="zstd")
    for table in (
        pa.table({"line": pa.array(list(ids), pa.string())}),
        pa.Table.from_pylist(rows, schema=numbers),
        pa.table({"name": list(files), "data": list(files.values())}),
    ):
        with ipc.new_stream(sink, table.schema, options=options) as writer:
            writer.write_table(table)
    return sink.getvalue().to_pybytes()


def from_arrow(data: bytes) -> Trace:
    source = pa.BufferReader(data)
    lines, dumps, rest = (ipc.open_stream(source).read_all() for _ in range(3))
    files = dict(zip(rest["name"].to_pylist(), rest["data"].to_pylist(), strict=True))
    about = json.loads(files.pop("about"))
    places = [*map(plain.location_of, about["places"]), None]
    table = lines["line"].to_pylist()
    made = []
    for described, row in zip(about["dumps"], dumps.to_pylist(), strict=True):
        text = "\n".join(table[i] for i in row["lines"]) + ("\n" if row["end"] else "")
        content = irwidget.trace.Content(text, row["changed"], tuple(places[i] for i in row["places"]))
        made.append(plain.dump_of(described, irwidget.trace.Kept((content,)), 0))
    return Trace(**plain.frame_of(about), dumps=tuple(made), sources=about["sources"], attachments=files)


def from_own(data: bytes) -> Trace:
    trace = reading.unpacked(data).traces[0]
    for dump in trace.dumps:
        _ = dump.content
    return trace


def timed(rounds: int, make: Callable[[], Any]) -> tuple[float, Any]:
    """Median milliseconds of processor time, which other programs do not lengthen, and what was made."""
    times: list[float] = []
    made: Any = None
    for _ in range(rounds):
        started = time.process_time()
        made = make()
        times.append(1000 * (time.process_time() - started))
    return statistics.median(times), made


def bundled(folder: Path, code: str) -> tuple[int, int]:
    """Bytes of the code as esbuild minifies it for a browser, and gzipped."""
    entry = folder / "entry.ts"
    entry.write_text(code)
    command = [JS / "node_modules/.bin/esbuild", entry, "--bundle", "--minify", "--format=esm", "--target=es2022"]
    made = subprocess.run(command, check=True, capture_output=True, cwd=folder).stdout
    return len(made), len(gzip.compress(made))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--browser", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    print(f"{'lowering':10}{'dumps':>6}{'lines':>9}{'text MB':>9}   {'':8}{'kB':>8}{'write ms':>10}{'read ms':>9}")
    for make in (encoder, triton_kernel, helion_kernel):
        trace = make()
        texts = [dump.content.text for dump in trace.dumps]
        lines, size = sum(text.count("\n") for text in texts), sum(map(len, texts)) / 1e6
        first = f"{make.__name__.split('_')[0]:10}{len(texts):>6}{lines:>9,}{size:>9.2f}"
        for name, write, read in (
            ("irtrace", lambda trace: file.packed([trace]), from_own),
            ("Arrow", to_arrow, from_arrow),
            ("a view's", lambda trace: pack([trace]), from_own),
        ):
            write_ms, data = timed(options.rounds, lambda write=write, trace=trace: write(trace))
            read_ms, again = timed(options.rounds, lambda read=read, data=data: read(data))
            assert [dump.content for dump in again.dumps] == [dump.content for dump in trace.dumps]
            print(f"{first}   {name:8}{len(data) / 1000:>8.1f}{write_ms:>10.1f}{read_ms:>9.1f}", flush=True)
            first = " " * 34
    if options.browser:
        own = f'export {{ Unpacker }} from "{JS / "src/unpack"}";'
        arrow = 'export { tableFromIPC } from "apache-arrow"; export { decompress } from "fzstd";'
        for name, code in (("irtrace", own), ("Arrow, zstd", arrow)):
            whole, zipped = bundled(options.browser, code)
            print(f"reader in the browser, {name}: {whole / 1000:.1f} kB, gzipped {zipped / 1000:.1f} kB")


if __name__ == "__main__":
    main()
