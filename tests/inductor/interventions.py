"""Answers to why, tested by intervention: what an answer names is changed, and the outcome must flip.

    python -m tests.inductor.interventions [--samples 210] [--first N]

A sample is a program made of its number, compiled twice, for sm_90 (no GPU is needed) or the CPU: as it is, and after
what the answer says would have to change. It holds when the first answer gives the expected reason and the second is
the other outcome.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
import torch._dynamo

from irwidget.frontends.base import Given
from irwidget.inductor import lowering
from irwidget.inductor.data import CapturedCompilation
from irwidget.inductor.why import Compilation

ARCH = "sm_90"
UNARY: tuple[Callable[[Any], Any], ...] = (
    torch.relu, torch.sin, torch.cos, torch.exp, torch.tanh, torch.sigmoid, torch.abs, torch.neg, torch.square,
    lambda x: x * 2.5, lambda x: x + 1, lambda x: x - x.abs() / 3, torch.nn.functional.gelu,
)  # fmt: skip
SIZES = (16, 24, 32, 48, 64, 96, 128)


@dataclass(frozen=True)
class Compiled:
    """A program and how it is compiled."""

    function: Callable[..., Any]
    inputs: tuple[Any, ...]
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    arch: str | None = ARCH
    dynamo: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Settings of torch._dynamo.config."""

    def captured(self) -> CapturedCompilation:
        """What torch.compile does to it."""
        with torch._dynamo.config.patch(**self.dynamo) if self.dynamo else contextlib.nullcontext():
            return lowering.captured(Given(self.function, self.inputs, options=self.options), self.arch)


Outcome = Callable[[CapturedCompilation], str]
"""What came of a program, in a word, and the reason that is given."""


@dataclass(frozen=True)
class Sample:
    """A program before and after an intervention, and what is expected of both."""

    kind: str
    before: Compiled
    after: Compiled
    outcome: Outcome
    expected: str
    """How the outcome before begins."""
    flipped: str
    """How it begins afterwards."""


def pair(first: str = "op0", second: str = "op1") -> Outcome:
    """Whether two operations are one kernel, with the reasons."""

    def outcome(captured: CapturedCompilation) -> str:
        why = Compilation(captured).why(first, second)
        return f"{why.answer}: {'; '.join(why.reasons)}"

    return outcome


def _of_graphs(captured: CapturedCompilation) -> str:
    """The same of the first operations of two graphs, or the first two of one."""
    last = max(op.graph for op in captured.ops)
    ops = captured.ops
    first = [op for op in ops if op.graph == 0][:1]
    second = [op for op in ops if op.graph == last][-1:]
    why = Compilation(captured).between(first, second)
    return f"{why.answer}: {'; '.join(why.reasons)}"


def _again(captured: CapturedCompilation) -> str:
    found = captured.recompilations
    return f"compiled again: {found[0].cause}; {found[0].cure}" if found else "once"


def _rewritten(captured: CapturedCompilation) -> str:
    names = sorted({one.pattern for one in captured.rewrites})
    return f"rewritten by {', '.join(names)}" if names else "as it was"


def _cures(first: str, second: str) -> Outcome:
    """Whether two operations are one kernel, with what would have to change."""

    def outcome(captured: CapturedCompilation) -> str:
        why = Compilation(captured).why(first, second)
        return f"{why.answer}: {'; '.join(why.cures)}"

    return outcome


def _ends(captured: CapturedCompilation) -> str:
    """The same of the first and the last loops of a program, with one kernel where there are no others."""
    loops = [op.name for op in captured.ops if op.kind == "loops"]
    return _cures(loops[0], loops[-1])(captured) if len(loops) > 1 else "fused: "


def _broken(captured: CapturedCompilation) -> str:
    return f"{captured.breaks[0].cause}; {captured.breaks[0].cure}" if captured.breaks else "whole"


def _kind(captured: CapturedCompilation) -> str:
    kinds = {op.kind for op in captured.ops}
    return "called" if kinds <= {"extern", "fallback"} else "generated"


class _Maker:
    """Makes the programs of one sample."""

    def __init__(self, number: int) -> None:
        self.random = random.Random(number)
        self.f, self.g, self.h = self.random.sample(UNARY, 3)
        self.n, self.m = self.random.choice(SIZES), self.random.choice(SIZES)
        torch.manual_seed(number)
        self.x = torch.randn(self.n, self.m)

    def size(self) -> Sample:
        f, g = self.f, self.g

        def both(x: Any) -> Any:
            a = f(x)
            return a, g(a)

        whole = Compiled(both, (self.x,))
        cut = Compiled(both, (self.x,), {"patches": {"max_fusion_size": 1}})
        if self.random.random() < 0.5:
            return Sample("fused, until it may not", whole, cut, pair(), "fused", "not fused: exceeds max fusion")
        return Sample("exceeds max fusion", cut, whole, pair(), "not fused: exceeds max fusion", "fused")

    def apart(self) -> Sample:
        f, g = self.f, self.g
        y = torch.randn_like(self.x)
        before = Compiled(lambda x, y: (f(x), g(y)), (self.x, y))
        after = Compiled(lambda x, y: (f(x), g(x)), (self.x, y))
        return Sample("share no buffer", before, after, pair(), "not compared", "fused")

    def reductions(self) -> Sample:
        f, g, x = self.f, self.g, torch.randn(self.n, self.n + 16)
        before = Compiled(lambda x: (f(x).sum(0), g(x).sum(1)), (x,))
        after = Compiled(lambda x: (f(x).sum(1), g(x).sum(1)), (x,))
        return Sample("reduce over other dimensions", before, after, pair(), "not fused: no shared data", "fused")

    def extents(self) -> Sample:
        f, g, n = self.f, self.g, self.n // 2
        before = Compiled(lambda x: (f(x), g(x[:n])), (self.x,))
        after = Compiled(lambda x: (f(x[:n]), g(x[:n])), (self.x,))
        return Sample("other extents", before, after, pair(), "not fused", "fused")

    def product(self) -> Sample:
        f, w = self.f, torch.randn(self.m, self.n)
        run = lambda x, w: f(x @ w)  # noqa: E731
        before = Compiled(run, (self.x, w))
        after = Compiled(run, (self.x, w), {"patches": {"max_autotune": True}})
        return Sample("a library's product", before, after, pair(), "not fused", "fused")

    def between(self) -> Sample:
        f, g, h = self.f, self.g, self.h
        x, w = torch.randn(self.n, self.n), torch.randn(self.n, self.n)

        def through(x: Any, w: Any) -> Any:
            a = f(x)
            return a, g(a) * (a @ w)

        def beside(x: Any, w: Any) -> Any:
            a = f(x)
            return a, g(a) + h(a) * w

        before, after = Compiled(through, (x, w)), Compiled(beside, (x, w))

        def outcome(captured: CapturedCompilation) -> str:
            last = [op.name for op in captured.ops if op.kind == "loops"][-1]
            return pair("op0", last)(captured)

        return Sample("what lies between", before, after, outcome, "not fused: intermediate nodes between", "fused")

    def broken(self) -> Sample:
        f, g = self.f, self.g

        def breaks(x: Any) -> Any:
            a = f(x)
            torch._dynamo.graph_break()
            return a, g(a)

        def whole(x: Any) -> Any:
            a = f(x)
            return a, g(a)

        before, after = Compiled(breaks, (self.x,)), Compiled(whole, (self.x,))
        return Sample("a graph break", before, after, _of_graphs, "not fused: they are in different graphs", "fused")

    def shapes(self) -> Sample:
        f, x, more = self.f, self.x.clone(), torch.randn(self.n + 8, self.m)
        again = {"again": [(more,)]}
        before = Compiled(lambda x: f(x), (self.x,), again)
        cure: dict[str, Any] = {"dynamic": True}
        if self.n == self.m:  # dynamic=True takes both for one
            cure = {}
            torch._dynamo.mark_dynamic(x, 0)
        after = Compiled(lambda x: f(x), (x,), {**again, **cure})
        return Sample("another shape", before, after, _again, f"compiled again: dimension 0 of x was {self.n}", "once")

    def numbers(self) -> Sample:
        f, k = self.f, self.random.randint(2, 50)
        again = {"again": [(self.x, k + 1)]}
        before = Compiled(lambda x, k: f(x) * k, (self.x, k), again)
        after = Compiled(lambda x, k: f(x) * k, (self.x, k), {**again, "dynamic": True})
        return Sample("another number", before, after, _again, f"compiled again: k is {k}", "once")

    def converted(self) -> Sample:
        f = self.f
        run = lambda x: f(x.half().float())  # noqa: E731
        before = Compiled(run, (self.x,))
        after = Compiled(run, (self.x,), {"patches": {"pattern_matcher": False}})
        return Sample("a pattern", before, after, _rewritten, "rewritten by pointless_convert", "as it was")

    def random_numbers(self) -> Sample:
        x = self.x
        before = Compiled(lambda x: torch.rand_like(x), (x,), {"patches": {"fallback_random": True}})
        after = Compiled(lambda x: torch.rand_like(x), (x,))
        return Sample("a fallback", before, after, _kind, "called", "generated")

    def threshold(self) -> Sample:
        f, g = self.f, self.g
        run = lambda x: (f(x), g(x))  # noqa: E731
        before = Compiled(run, (self.x,), {"patches": {"score_fusion_memory_threshold": 10**9}})
        return Sample(
            "a threshold", before, Compiled(run, (self.x,)), pair(), "not fused: score_fusion_memory_threshold", "fused"
        )

    def either(self) -> str | None:
        return self.random.choice((ARCH, None))

    def independent(self) -> Sample:
        f, g, y, arch = self.f, self.g, torch.randn_like(self.x), self.either()
        run = lambda x, y: (f(x), g(y))  # noqa: E731
        given = {"aggressive_fusion": True, "score_fusion_memory_threshold": 0}
        before, after = (Compiled(run, (self.x, y), options, arch) for options in ({}, {"patches": given}))
        expected = "not compared: have them read or write a common tensor, or aggressive_fusion=True with score_fusion"
        return Sample("independent loops", before, after, _cures("op0", "op1"), expected, "fused")

    def combined(self) -> Sample:
        f, g, x = self.f, self.g, torch.randn(self.n, self.m + 8)
        run = lambda x: (f(x).sum(0), g(x).sum(1))  # noqa: E731
        before, after = (Compiled(run, (x,), options) for options in ({}, {"patches": {"combo_kernels": True}}))
        expected = (
            "not fused: have both read or write the same elements of a buffer, in the same order, or combo_kernels"
        )
        return Sample("one launch", before, after, _cures("op0", "op1"), expected, "fused")

    def joined(self) -> Sample:
        f, g, y = self.f, self.g, torch.randn_like(self.x)
        run = lambda x, y: torch.cat([f(x), g(y), x - y], 1) * 3  # noqa: E731
        before, after = (Compiled(run, (self.x, y), options, None) for options in
                         ({}, {"patches": {"force_pointwise_cat": True}}))  # fmt: skip
        return Sample(
            "parts of a concatenation", before, after, _ends, "not compared: force_pointwise_cat=True", "fused"
        )

    def split(self) -> Sample:
        f, x = self.f, torch.randn(self.random.choice((512, 640, 768)), 512)
        run = lambda x: f(x).sum()  # noqa: E731
        before, after = (Compiled(run, (x,), options) for options in ({}, {"patches": {"split_reductions": False}}))
        return Sample("a reduction in two steps", before, after, _ends, "not fused: split_reductions=False", "fused")

    def unlike(self) -> Sample:
        f, g, x = self.f, self.g, torch.randn(self.n)
        before = Compiled(lambda x: (f(x[:, None] * x[None]), g(x)), (x,), arch=None)
        after = Compiled(lambda x: (f(x * x.flip(0)), g(x)), (x,), arch=None)
        return Sample("loops in C++ that differ", before, after, pair(), "not fused: the loops do not match", "fused")

    def whole(self) -> Sample:
        f = self.f
        before = Compiled(lambda x: f(x).sum() + 1, (self.x,), arch=None)
        after = Compiled(lambda x: f(x).sum(1) + 1, (self.x,), arch=None)
        expected = "not fused: keep an outer dimension that both have"
        return Sample("a whole reduction", before, after, _ends, expected, "fused")

    def outputs(self) -> Sample:
        f, count, arch = self.f, self.random.randint(6, 9), self.either()
        xs = [torch.randn_like(self.x) for _ in range(count)]
        run = lambda x, *xs: [f(x) + one for one in xs]  # noqa: E731
        before, after = (Compiled(run, (self.x, *xs), options, arch) for options in
                         ({"patches": {"max_fusion_unique_io_buffers": 4}}, {}))  # fmt: skip
        return Sample("many buffers", before, after, _ends, "not fused: raise max_fusion_unique_io_buffers", "fused")

    def beside(self) -> Sample:
        f, count = self.f, self.random.randint(18, 30)
        run = lambda x: [f(x) + i for i in range(count)]  # noqa: E731
        before, after = (Compiled(run, (self.x,), options, None) for options in
                         ({}, {"patches": {"cpp.max_horizontal_fusion_size": 64}}))  # fmt: skip
        return Sample("many loops", before, after, _ends, "not fused: raise cpp.max_horizontal_fusion_size", "fused")

    def tiled(self) -> Sample:
        b, n, m = self.random.randint(5, 9), self.random.choice((3, 5, 7)), self.random.choice((4, 6, 9))
        x, y = torch.randn(b, n, m), torch.randn(b, m, n)

        def run(x: Any, y: Any) -> Any:
            z = x @ y
            return z.sum(), z.transpose(1, 2).contiguous()

        before, after = (Compiled(run, (x, y), options) for options in
                         ({}, {"patches": {"triton.tiling_prevents_reduction_fusion": False}}))  # fmt: skip
        expected = "not fused: triton.tiling_prevents_reduction_fusion=False"
        return Sample("tiles and a reduction", before, after, _cures("op1", "op2"), expected, "fused")

    def batch(self) -> Sample:
        f, x, y = self.f, torch.randn(4, self.n, self.n), torch.randn(4, self.n, self.n)
        run = lambda x, y: f(torch.bmm(x, y))  # noqa: E731
        before, after = (Compiled(run, (x, y), options) for options in ({}, {"patches": {"max_autotune": True}}))
        return Sample("a batch of products", before, after, pair(), "not fused", "fused")

    def scalar(self) -> Sample:
        f = self.f
        run = lambda x: f(x) * x.sum().item()  # noqa: E731
        before = Compiled(run, (self.x,))
        after = Compiled(run, (self.x,), dynamo={"capture_scalar_outputs": True})
        expected = "Unsupported Tensor.item() call with capture_scalar_outputs=False"
        return Sample("a number of Python's", before, after, _broken, expected, "whole")

    def shaped(self) -> Sample:
        f = self.f
        run = lambda x: f(x[x > 0])  # noqa: E731
        before = Compiled(run, (self.x,))
        after = Compiled(run, (self.x,), dynamo={"capture_dynamic_output_shape_ops": True})
        return Sample("a shape made of values", before, after, _broken, "Dynamic shape operator", "whole")

    def branch(self) -> Sample:
        f, g = self.f, self.g

        def jumps(x: Any) -> Any:
            y = f(x)
            if y.sum() > 0:
                return g(y)
            return y

        def calls(x: Any) -> Any:
            y = f(x)
            return torch.cond(y.sum() > 0, lambda y: g(y), lambda y: y.clone(), (y,))

        before, after = Compiled(jumps, (self.x,), arch=None), Compiled(calls, (self.x,), arch=None)
        return Sample("a branch", before, after, _broken, "Data-dependent branching", "whole")

    def floats(self) -> Sample:
        f, k = self.f, self.random.randint(1, 50) + 0.5
        again = {"again": [(self.x, k + 1)]}
        run = lambda x, k: f(x) * k  # noqa: E731
        before, after = (Compiled(run, (self.x, k), {**again, **more}) for more in ({}, {"dynamic": True}))
        return Sample("another fraction", before, after, _again, f"compiled again: k is {k}", "once")

    def laid_out(self) -> Sample:
        f, x, other = self.f, torch.randn(self.n, self.m), torch.randn(self.m, self.n).t()
        before = Compiled(lambda x: f(x), (x,), {"again": [(other,)]})
        after = Compiled(lambda x: f(x), (x,), {"again": [(other.contiguous(),)]})
        expected = "once" if self.n == self.m == 1 else "compiled again: x: stride mismatch"
        return Sample("another layout", before, after, _again, expected, "once")

    def single(self) -> Sample:
        f, columns = self.f, self.n + 8  # dynamic=True takes equal sizes for one
        marked = [torch.randn(self.n, columns), torch.randn(1, columns)]
        for one in marked:
            torch._dynamo.decorators.mark_unbacked(one, 0)
        plain = [one.clone() for one in marked]
        before = Compiled(lambda x: f(x), (plain[0],), {"again": [(plain[1],)], "dynamic": True})
        after = Compiled(lambda x: f(x), (marked[0],), {"again": [(marked[1],)]})
        return Sample("a size of one", before, after, _again, "compiled again: dimension 0 of x is 2 or more", "once")

    def module(self) -> Sample:
        counting, again = _Counting(self.f), {"again": [(self.x,)] * 2, "dynamic": True}
        before = Compiled(counting, (self.x,), again)
        after = Compiled(counting, (self.x,), again, dynamo={"allow_unspec_int_on_nn_module": True})
        expected = "compiled again: self.calls is 2: a value of Python's is compiled in; torch._dynamo.config.allow"
        return Sample("a module's number", before, after, _again, expected, "once")

    def imaginary(self) -> Sample:
        z = torch.randn(self.n, self.m, dtype=torch.complex64)

        def parts(z: Any) -> Any:
            real = torch.view_as_real(z)
            return (real * real).sum(-1) + 1

        def calls(captured: CapturedCompilation) -> str:
            found = [op for op in captured.ops if op.refused == "complex" and "aten.mul.Tensor" in op.targets]
            return Compilation(captured).why(found[0].name).text.split(": ", 1)[-1] if found else "generated"

        before = Compiled(lambda z: (z * z.conj()).real + 1, (z,), arch=None)
        after = Compiled(parts, (z,), arch=None)
        expected = "Inductor has no loops of complex numbers; to change it: compute with the real and imaginary parts"
        return Sample("complex numbers", before, after, calls, expected, "generated")


class _Counting(torch.nn.Module):
    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function, self.calls = function, 2

    def forward(self, x: Any) -> Any:
        self.calls += 1
        return self.function(x) * self.calls


KINDS = ("size", "apart", "reductions", "extents", "product", "between", "broken", "shapes", "numbers", "converted",
         "random_numbers", "threshold",
         "independent", "combined", "joined", "split", "unlike", "whole", "outputs", "beside", "tiled", "batch",
         "scalar", "shaped", "branch", "floats", "laid_out", "single", "module", "imaginary")  # fmt: skip


def sample(number: int) -> Sample:
    """The sample of a number: its kind, its operations and its sizes."""
    return getattr(_Maker(number), KINDS[number % len(KINDS)])()


def holds(one: Sample) -> tuple[bool, str, str]:
    """Whether the reason is as expected and the outcome flips; with both outcomes."""
    first = one.outcome(one.before.captured())
    second = one.outcome(one.after.captured())
    return first.startswith(one.expected) and second.startswith(one.flipped), first, second


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=210)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    counts: collections.Counter[tuple[str, bool]] = collections.Counter()
    began = time.perf_counter()
    for number in range(given.first, given.first + given.samples):
        one = sample(number)
        good, first, second = holds(one)
        counts[one.kind, good] += 1
        if not good:
            print(f"{number} {one.kind}: {first!r}, then {second!r}", flush=True)
    right = sum(count for (_, good), count in counts.items() if good)
    for kind in sorted({kind for kind, _ in counts}):
        print(f"{kind}: {counts[kind, True]} of {counts[kind, True] + counts[kind, False]}")
    print(f"{right} of {given.samples} hold, {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
