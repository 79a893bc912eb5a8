# pyright: reportUnknownParameterType=false, reportMissingParameterType=false
"""Every pass of a Triton matmul, against Triton itself.

    python -m benchmarks.triton [--arch sm_80] [--block 64 64 32] [--warps 4] [--runs 5] [--rounds 5]
    python -m benchmarks.triton --configurations 20 [--arch sm_80] [--rounds 3]

Prints the median seconds and the ratios of
  plain     `triton.compile` with a cold cache
  irwidget  the same kernel, down to the binary, with the text and the source lines of every pass read
  dump      `triton.compile` with MLIR_ENABLE_DUMP=1, stderr read through a pipe
each in a process of its own, in turns, `--rounds` times. `first` is the first compilation of a process, with nothing
cached (Triton then hashes its own libraries), `warm` the median of the others; printed are the medians of the rounds.

The second compiles so many configurations of an autotuner's for the kernel, each once: `triton.compile` one after the
other, and ours down to the binary as `low.results["configurations"]` does, all dumps read. The first compilation is
done before, and not counted. `cpu` is the time of the processor, that of worker processes included.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import triton
import triton.language as tl

from irwidget.frontends.triton.front_end import ttir
from irwidget.frontends.triton.specialization import Specialization, backend_of, specialize
from irwidget.frontends.triton.stand_ins import stand_in
from irwidget.toolchain import client
from irwidget.toolchain.run import Source
from irwidget.toolchain.triton_archs import find

ROOT = Path(__file__).resolve().parents[1]


@triton.jit
def matmul(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    am,
    ak,
    bk,
    bn,
    cm,
    cn,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    m = (tl.program_id(0) * BM + tl.arange(0, BM)) % M
    n = (tl.program_id(1) * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    a_ptrs = a_ptr + m[:, None] * am + k[None, :] * ak
    b_ptrs = b_ptr + k[:, None] * bk + n[None, :] * bn
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BK)):  # noqa: PIE808
        a = tl.load(a_ptrs, mask=k[None, :] < K - step * BK, other=0.0)
        b = tl.load(b_ptrs, mask=k[:, None] < K - step * BK, other=0.0)
        total = tl.dot(a, b, total)
        a_ptrs += BK * ak
        b_ptrs += BK * bk
    c_ptrs = c_ptr + cm * m[:, None] + cn * n[None, :]
    tl.store(c_ptrs, total.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))


def special(arguments: argparse.Namespace, config: dict[str, int] | None = None) -> Specialization:
    pointers = [stand_in("*fp16:16")] * 3
    sizes = [512, 512, 512, 512, 1, 512, 1, 512, 1]
    blocks = dict(zip(("BM", "BN", "BK"), arguments.block, strict=True))
    chosen = config or {**blocks, "num_warps": arguments.warps}
    return specialize(matmul, [*pointers, *sizes], chosen, find(arguments.arch))


def configurations(count: int) -> list[dict[str, int]]:
    """So many configurations of the matmul, no two alike."""
    found = [
        {"BM": m, "BN": n, "BK": k, "num_warps": warps, "num_stages": stages}
        for k in (32, 64)
        for m in (32, 64, 128)
        for n in (32, 64, 128)
        for warps, stages in ((4, 3), (8, 2))
    ]
    return found[:count]


def tuned(mode: str, arguments: argparse.Namespace) -> None:
    """Compile the configurations of one autotuner, and print how long it took."""
    from irwidget.frontends import triton as frontend

    wanted = configurations(arguments.configurations)
    kernel = triton.autotune([triton.Config(dict(one)) for one in map(_split, wanted)], key=["M"])(matmul)
    for config, one in zip(kernel.configs, wanted, strict=True):
        config.num_warps, config.num_stages = one["num_warps"], one["num_stages"]
    pointers = [stand_in("*fp16:16")] * 3
    sizes = [512, 512, 512, 512, 1, 512, 1, 512, 1]
    launches = frontend.capture(lambda: kernel[(1,)](*pointers, *sizes), arguments.arch)
    to = "triton_amdgpu" if find(arguments.arch).backend == "hip" else "triton_nvptx"
    found = frontend.Configurations(launches, arguments.arch, to=to)
    specials = [special(arguments, one) for one in wanted]
    plain(specials[0]) if mode == "plain" else found[0].dumps[-1].text
    began, used = time.perf_counter(), sum(os.times()[:4])
    if mode == "plain":
        for one in specials[1:]:
            plain(one)
    else:
        found.compile()
        for number in range(1, len(found)):
            for dump in found[number].dumps:
                _ = dump.text, dump.locations
    seconds = time.perf_counter() - began
    client.shutdown()  # so that the time of the workers is counted
    print(json.dumps({"first": seconds, "warm": sum(os.times()[:4]) - used, "kernels": len(wanted) - 1}))


def _split(config: dict[str, int]) -> dict[str, int]:
    return {name: value for name, value in config.items() if name.isupper()}


def plain(what: Specialization) -> dict[str, int]:
    from triton.compiler.compiler import ASTSource

    source = ASTSource(what.kernel, what.signature, what.constants, what.attributes)
    done = triton.compile(source, target=backend_of(what.arch).target, options=dict(what.given))
    return {"bytes": sum(len(text) for text in done.asm.values())}


def irwidget(what: Specialization) -> dict[str, int]:
    from irwidget.frontends.triton.compiling import steps

    to = "triton_amdgpu" if what.arch.backend == "hip" else "triton_nvptx"
    trace = Source(ttir(what), "triton").run(steps(to, what))
    if trace.failure:
        raise SystemExit(trace.failure.message)
    lines = [dump.locations for dump in trace.dumps]
    return {
        "dumps": len(lines),
        "changed": sum(d.changed for d in trace.dumps),
        "bytes": sum(len(d.text) for d in trace.dumps),
    }


def child(mode: str, arguments: argparse.Namespace) -> None:
    """Time one way of compiling; the first compilation apart."""
    if arguments.configurations:
        tuned(mode, arguments)
        return
    what = special(arguments)
    compile_once: Callable[[Specialization], dict[str, int]] = irwidget if mode == "irwidget" else plain
    if mode == "irwidget":  # both sides begin with Triton imported: %%lower has the worker do it while the cell runs
        client.worker()
        client.prepare("triton")
        Source("module {}").run(())
    seconds: list[float] = []
    counts: dict[str, int] = {}
    for _ in range(arguments.runs + 1):
        started = time.perf_counter()
        counts = compile_once(what)
        seconds.append(time.perf_counter() - started)
    print(json.dumps({"first": seconds[0], "warm": statistics.median(seconds[1:]), **counts}))


def measure(mode: str, arguments: argparse.Namespace) -> dict[str, Any]:
    environment = {**os.environ, "TRITON_ALWAYS_COMPILE": "1"}
    if mode == "dump":
        environment["MLIR_ENABLE_DUMP"] = "1"
    with tempfile.TemporaryDirectory() as cache:
        environment["TRITON_CACHE_DIR"] = cache
        command = [sys.executable, "-m", "benchmarks.triton", "--child", mode]
        command += ["--arch", arguments.arch, "--runs", str(arguments.runs)]
        command += ["--configurations", str(arguments.configurations)]
        command += ["--warps", str(arguments.warps), "--block", *map(str, arguments.block)]
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    found = json.loads(done.stdout.splitlines()[-1])
    if mode == "dump":
        found["dumps"] = done.stderr.count("IR Dump ") // (arguments.runs + 1)
        found["bytes"] = len(done.stderr) // (arguments.runs + 1)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default="sm_80")
    parser.add_argument("--block", type=int, nargs=3, default=[64, 64, 32])
    parser.add_argument("--warps", type=int, default=4)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--configurations", type=int, default=0)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child, arguments)
        return
    if arguments.configurations:
        turns = [{mode: measure(mode, arguments) for mode in ("plain", "irwidget")} for _ in range(arguments.rounds)]
        for which, name in (("first", "seconds"), ("warm", "cpu")):
            ours, theirs = (statistics.median(one[mode][which] for one in turns) for mode in ("irwidget", "plain"))
            shown = f"Triton {theirs:.1f}, all dumps {ours:.1f}, ratio {ours / theirs:.2f}"
            print(f"{arguments.configurations - 1} configurations, {name}: {shown}")
        return
    modes = ("plain", "irwidget", "dump")
    rounds = [{mode: measure(mode, arguments) for mode in modes} for _ in range(arguments.rounds)]
    found = {
        mode: values | {which: statistics.median(one[mode][which] for one in rounds) for which in ("first", "warm")}
        for mode, values in rounds[0].items()
    }
    for mode, values in found.items():
        shown = "  ".join(f"{name} {value}" for name, value in values.items() if isinstance(value, int))
        print(f"{mode:9} first {values['first']:.2f} s  warm {values['warm']:.2f} s  {shown}")
    for which in ("first", "warm"):
        cost = found["irwidget"][which] / found["plain"][which]
        gain = found["dump"][which] / found["irwidget"][which]
        print(
            f"{which}: all dumps take {cost:.2f} x a plain compilation (at most 1.5 wanted); "
            f"{gain:.1f} x faster than MLIR_ENABLE_DUMP (at least 3 wanted)"
        )


if __name__ == "__main__":
    main()
