"""Triton's kernels as irwidget registers them: the front end, the options and the IR types. Does not import Triton."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from irwidget.errors import UsageError
from irwidget.frontends import triton
from irwidget.frontends.base import Begun, FrontEnd, Given, KernelBegun, Made
from irwidget.frontends.cell import Call, Candidate, NotebookCell
from irwidget.frontends.pairing import find_kernels
from irwidget.frontends.triton.kernels import is_bound, unbound
from irwidget.llvm_routes import CodeOptions
from irwidget.registry import Target, frontends, option
from irwidget.toolchain import client, triton_archs
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Trace, Verdict, not_checked

if TYPE_CHECKING:
    from irwidget.frontends.triton.launch import LaunchComparison


@dataclass(frozen=True, kw_only=True)
class TritonOptions(CodeOptions):
    """The options of Triton's IR types; what a launch takes besides (`num_warps`, constexprs) is the kernel's own."""

    config: str | int | None = option(
        None, "which of an autotuner's configurations: its number, or BLOCK=128", read=str, allows=lambda _: True
    )
    grid: Any = option(None, "the grid of the launch", flag="")
    run: bool = option(False, "execute all launches on the CPU, so that tensors have values")
    interpret: bool = option(True, "no launches are executed for what the cell reads")
    signature: Any = option("", "the types of the arguments as text: '*fp32:16, i32, 1024'", flag="")


TARGETS = tuple(
    Target(name, "triton", language, summary=summary, options=TritonOptions, more_options=True)
    for name, language, summary in (
        ("triton_ir", "mlir", "Triton's TTIR"),
        ("triton_gpu_ir", "mlir", "Triton's TTGIR, with layouts"),
        ("triton_llvm_ir", "llvm", "LLVM IR (LLIR) of a Triton kernel"),
        ("triton_nvptx", "ptx", "PTX of a Triton kernel"),
        ("triton_amdgpu", "amdgcn", "AMD assembly (AMDGCN) of a Triton kernel; the .hsaco is an attachment"),
        ("triton_sass", "sass", "SASS of a Triton kernel; the .cubin is an attachment"),
    )
)


class _TritonKernel(KernelBegun):
    """A kernel with its arguments, a launch, or TTIR and TTGIR as text."""

    def make(self, target: Target, options: Options) -> Made:
        obj: Any = self.given.obj
        if not (isinstance(obj, str) or triton.is_kernel(obj) or hasattr(obj, "compiled")):
            kind = type(obj).__name__
            raise UsageError(
                f"{target.name} starts from a Triton kernel (@triton.jit), its launch or text, not from a {kind}"
            )
        said = {**self.given.kwargs, **self.given.options}
        values = bool(said.pop("run", False))
        said.pop("interpret", None)
        if isinstance(obj, str):
            if values:
                raise UsageError("run=True executes the launch of a kernel, and IR text has no arguments")
            return Made(triton.lower(obj, *self.given.inputs, to=target.name, run=options, values=values, **said))
        return self._made(obj, target, options, values, said)

    def _made(self, obj: Any, target: Target, options: Options, values: bool, said: dict[str, Any]) -> Made:
        """Of a kernel or its launch: the trace, the launch as a recipe, and the autotuner's configurations."""
        arch, llvm_passes = said.pop("arch", None), bool(said.pop("llvm_passes", False))
        launch = self._launch(obj, arch or triton.default_arch(target.name), options, values, said)
        trace = triton.lower_launch(launch, target.name, arch, llvm_passes, options)
        results: dict[str, Any] = {"recipe": triton.Recipe(launch, launch.compiled(trace.facts["arch"])[0])}
        if launch.siblings:
            results["configurations"] = triton.Configurations(launch.siblings, trace.facts["arch"])
        return Made(trace, results)

    def _launch(self, obj: Any, arch: str, options: Options, values: bool, said: dict[str, Any]) -> Any:
        given = (*self.given.inputs, *triton.parse_signature(said.pop("signature", "")))
        return triton.launch_of(obj, *given, arch=arch, run=options, values=values, **said)

    def written(self, target: Target, options: Options) -> str:
        obj: Any = self.given.obj
        if isinstance(obj, str):
            return ""
        said = {**self.given.kwargs, **self.given.options}
        left_out = {name: said.pop(name, None) for name in ("arch", "llvm_passes", "run", "interpret")}
        arch = left_out["arch"] or triton.default_arch(target.name)
        launch = self._launch(obj, arch, options, False, {**said, "compiles": False})
        return triton.Recipe(launch, launch.specialised(arch)).reproducer()

    def verdict(self, target: Target, trace: Trace, options: Options, source: Source | None = None) -> Verdict:
        compared = getattr(self.given.obj, "compared", None)
        executed = f"{target.name} is not executed"
        if source is not None:
            return not_checked(
                f"{executed}, and what the cell compares was written by its kernel, not by what was edited"
            )
        outside = getattr(self.given.obj, "outside", ())
        if writes := next((one for one in outside if one.startswith("writes")), ""):
            return _differs("any reference", f"the CPU executes its TTIR, which {writes}")
        if not compared and (ended := getattr(self.given.obj, "ended", "")):
            return not_checked(f"{executed}, and the cell ended before it compared what {trace.name} wrote: {ended}")
        if not compared:
            what = f"what {trace.name} wrote, or what it makes of that"
            return not_checked(f"{executed}, and the cell compares nothing with {what}, by what is followed here")
        wrong = _wrong([one for one in compared if one.exact and not one.open])
        doubt = next((one.doubt for one in compared if one.doubt), "")
        chance = any(one in doubt for one in outside)  # whatever is there, the kernel is wrong if it makes them differ
        if doubt and not (wrong and chance):
            return not_checked(f"{executed}, and {doubt}")
        if wrong is None:
            return not_checked(f"{executed}; {_found(compared)}")
        place = f" at line {wrong.place.line}" if wrong.place else ""
        also = f"; it {outside[0]}" if outside else ""
        said = f"the CPU executes its TTIR, and the cell's own reference{place} says: {wrong.said}{also}"
        return _differs("the cell's own reference", said)


def _differs(reference: str, reason: str) -> Verdict:
    return Verdict("differs", "the kernel's TTIR, before any pass", None, reason, reference=reference)


def _wrong(exact: Sequence[LaunchComparison]) -> LaunchComparison | None:
    """The comparison that shows that results are wrong: one that is printed yields to others that agree.

    To any that the cell ends by, as `assert allclose(y, z, atol=0.1)` after `print(allclose(y, z))`, and where it is
    of bits, to any.
    """
    agree = [one for one in exact if one.equal]
    asked = any(one.asked for one in agree)
    wrong = [one for one in exact if not one.equal and (one.asked or not (asked or (one.bits and agree)))]
    return next(iter(wrong), None)


def _found(compared: Sequence[LaunchComparison]) -> str:
    """What comparisons say of a kernel, none of which shows that it is wrong."""
    exact = [one for one in compared if one.exact]
    agree = [one for one in exact if one.equal]
    its = "the kernel's TTIR, executed on the CPU,"
    said = [f"{its} agrees with the cell's reference{_lines(agree)}"] if agree else []
    made = [one for one in compared if not one.exact]
    what = "what the cell makes of its results, by the CPU,"
    if wrong := [one for one in exact if not one.equal]:
        by = "it differs by another" if agree else f"{its} differs by a comparison"
        said.append(f"{by}, which the cell only shows{_lines(wrong)}: {wrong[0].said}")
    if agree := [one for one in made if one.equal]:
        said.append(f"{what} agrees with its reference{_lines(agree)}")
    if differ := [one for one in made if one.equal is False]:
        said.append(f"{what} differs from its reference{_lines(differ)}: {differ[0].said}")
    if not said:
        far = ", ".join(dict.fromkeys(one.said for one in made))
        read = f"the cell reads how far it is off its reference, {far}{_lines(made)}"
        said.append(f"{read}, and compares that with nothing, by what is followed here")
    return "; ".join(said)


def _lines(compared: Sequence[LaunchComparison]) -> str:
    lines = ", ".join(dict.fromkeys(f"line {one.place.line}" for one in compared if one.place))
    return f" ({lines})" if lines else ""


class Triton(FrontEnd):
    """Takes kernels and their launches."""

    name = "triton"
    starts_from = "a Triton kernel"
    packages = ("triton",)
    needs_torch = True

    def function(self, obj: Any) -> Any:
        kernel = obj.kernel if hasattr(obj, "compiled") else unbound(Given(obj)).obj
        while not inspect.isfunction(kernel) and hasattr(kernel, "fn"):
            kernel = kernel.fn
        return kernel

    def recognises(self, obj: Any) -> bool:
        # The module may be half imported, by the thread that does so in the background.
        launch = getattr(sys.modules.get("irwidget.frontends.triton.launch"), "Launch", None)
        return triton.is_kernel(obj) or is_bound(obj) or (launch is not None and isinstance(obj, launch))

    def plan(self, wanted: Sequence[Target], options: Mapping[str, Any], route: str) -> list[Target]:
        planned = super().plan(wanted, options, route)
        if options.get("arch"):
            triton_archs.find(options["arch"])
        return planned

    def carried(self, given: Given, target: Target, options: Options) -> Given:
        """A kernel as its launch: what an autotuner and heuristics choose, they choose here."""
        given = unbound(given)
        if not triton.is_kernel(given.obj):
            return given
        said = {**given.kwargs, **given.options}
        kept = {name: said.pop(name) for name in ("arch", "llvm_passes") if name in said}
        for name in ("run", "interpret"):
            said.pop(name, None)
        arguments = (*given.inputs, *triton.parse_signature(said.pop("signature", "")))
        arch = kept.get("arch") or triton.default_arch(target.name)
        launch = triton.launch_of(given.obj, *arguments, arch=arch, run=options, compiles=False, **said)
        return replace(given, obj=launch, inputs=(), kwargs={}, options=kept)

    def begin(self, given: Given) -> Begun:
        return _TritonKernel(self, unbound(given))

    def kernels(self, bound: Mapping[str, Any]) -> dict[str, Any]:
        """None: a cell that lowers kernels launches them."""
        return {}

    def candidates(self, cell: NotebookCell) -> list[Candidate] | None:
        """Run the cell and note its launches, without a GPU if there is none."""
        claimed = any(frontends.ask(one, lambda one: one.claims(cell.text), False) for one in frontends)
        if claimed or any(target.front_end != self.name for target in cell.wanted):
            return None
        client.prepare("triton")
        names = [target.name for target in cell.wanted]
        arch = cell.options.get("arch") or (triton.default_arch(names[0]) if len(names) == 1 else None)
        values = bool(cell.options.get("run") or cell.check)
        launches = triton.run_cell(
            cell.shell,
            cell.source,
            arch,
            seconds=cell.timeout,
            memory=cell.memory,
            values=values,
            interpret=bool(cell.options.get("interpret", True)),
            elsewhere=cell.elsewhere,
        )
        if launches.error and (shown := cell.failed(launches.error)) and not launches:
            raise shown
        if problem := launches.problem:
            last = Candidate(problem.kernel or "cell", None, (), refused=problem)
            return [*_before(launches, cell.options.get("config")), last]
        if not launches and (found := find_kernels(cell.text, cell.shell.user_ns)):
            return found
        triton.require_launch(launches, cell.shell.user_ns)
        return _wanted(launches, cell.options.get("config"))


def _before(launches: Sequence[Any], config: str | int | None) -> list[Candidate]:
    """The same of those before the one that ended the cell, which may be the one that has the configuration."""
    try:
        return _wanted(launches, config) if launches else []
    except UsageError:
        return []


def _wanted(launches: Sequence[Any], config: str | int | None) -> list[Candidate]:
    """Those to show, as `select` has them."""
    return [Candidate(launch.name, launch, (Call((), told=True),)) for launch in triton.select(launches, config)]


FRONT_END = Triton()
