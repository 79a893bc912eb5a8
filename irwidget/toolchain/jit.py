"""Compile LLVM IR with LLVM's JIT and call a function of it on the CPU, in a process of its own.

It works on copies of its inputs, whose fences tell what is written beside them, or in place, on memory that it shares
with whoever asked.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import re
from collections.abc import Callable, Iterable, Mapping
from ctypes import util
from dataclasses import dataclass
from typing import Any

from irwidget.toolchain import calling, fenced, forked, gpu_math, llvm
from irwidget.toolchain.events import Invocation, Value

OUTSIDE = "writes outside of its buffers"
_BFLOAT = """
define bfloat @__truncsfbf2(float %x) {
  %bits = bitcast float %x to i32
  %above = lshr i32 %bits, 16
  %odd = and i32 %above, 1
  %half = add i32 %odd, 32767
  %sum = add i32 %bits, %half
  %rounded = lshr i32 %sum, 16
  %quiet = or i32 %above, 64
  %nan = fcmp uno float %x, 0.0
  %chosen = select i1 %nan, i32 %quiet, i32 %rounded
  %short = trunc i32 %chosen to i16
  %result = bitcast i16 %short to bfloat
  ret bfloat %result
}
define bfloat @__truncdfbf2(double %x) {
  %near = fptrunc double %x to float
  %back = fpext float %near to double
  %bits = bitcast float %near to i32
  %exact = fcmp ueq double %back, %x
  %odd = and i32 %bits, 1
  %even = icmp eq i32 %odd, 0
  %magnitude = call double @llvm.fabs.f64(double %x)
  %reached = call double @llvm.fabs.f64(double %back)
  %over = fcmp ogt double %reached, %magnitude
  %less = sub i32 %bits, 1
  %down = select i1 %over, i32 %less, i32 %bits
  %sticky = or i32 %down, 1
  %chosen = select i1 %exact, i32 %bits, i32 %sticky
  %single = bitcast i32 %chosen to float
  %result = call bfloat @__truncsfbf2(float %single)
  ret bfloat %result
}
declare double @llvm.fabs.f64(double)
"""
"""Conversions to bfloat16, which the C library of few systems has. The second rounds to odd on the way, so once."""


class NotExecutable(Exception):
    """The IR cannot be compiled or called; the message says why."""


class Crashed(Exception):
    """The compiled code ended the process that ran it; the message says how."""

    def __init__(self, how: str, printed: str = "") -> None:
        super().__init__(how)
        self.printed = printed
        """What it printed before that."""


class TookTooLong(Exception):
    """The compiled code did not return in time."""


@dataclass(frozen=True)
class Limits:
    """What one execution may take: seconds, and bytes beyond what this process has."""

    seconds: float
    memory: int | None = None


Calls = tuple[tuple[Value, ...], ...]
"""What each call returned."""


def run(text: str, invocation: Invocation, constants: Mapping[str, Any], limits: Limits) -> Calls:
    """What a function of a module returns for each of the invocation's inputs.

    `constants` are the bytes of external globals by name. Raises NotExecutable before the code runs, Crashed and
    TookTooLong after it has begun.
    """
    import llvmlite.binding as binding  # once here, not in every copy

    with mmap.mmap(-1, 1) as begun:  # shared with the copy

        def work() -> Calls | str:
            _unbuffered()
            try:
                call = _compile(text, invocation, constants, binding)
            except (NotExecutable, calling.NotCallable, llvm.Rejected, RuntimeError) as error:
                return str(error) or type(error).__name__
            begun[0] = 1
            return call()

        try:
            answer = forked.call(work, seconds=limits.seconds, memory=limits.memory)
        except forked.Died as death:
            if begun[0]:
                raise Crashed(str(death), death.printed) from None
            raise NotExecutable(f"LLVM's JIT {death}") from None
        except forked.TimedOut:
            what = "it has not returned" if begun[0] else "LLVM's JIT has not compiled it"
            raise TookTooLong(f"{what} after {limits.seconds:g} s") from None
    if isinstance(answer, str):
        raise NotExecutable(answer)
    return answer


def _unbuffered() -> None:
    """Have C's stdout written at once: what an assertion says there is lost otherwise when it ends the process."""
    library = ctypes.CDLL(None)
    with contextlib.suppress(ValueError):  # a C library that names it in another way
        library.setvbuf(ctypes.c_void_p.in_dll(library, "stdout"), None, 2, 0)


def _compile(text: str, invocation: Invocation, constants: Mapping[str, Any], binding: Any) -> Callable[[], Calls]:
    """The machine code of a module, ready to be called on each of the inputs."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    _load_libraries(binding)
    text = _for_this_machine(text)
    module = llvm.parse(text)
    found = next((function for function in module.functions if function.name == invocation.function), None)
    if found is None or found.is_declaration:
        raise NotExecutable(f"there is no function @{invocation.function} in it")
    call = calling.plan(found.global_value_type, invocation)
    module.link_in(llvm.parse(call.wrapper))
    memory = fenced.FencedMemory()
    symbols = [*_addresses(constants, memory), *_device_math(text)]
    base = 0
    if invocation.memory:
        base = _mapped(invocation.memory)
    else:  # what it allocates has fences, too
        symbols += memory.symbols()
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(
        _linked(_optimized(module, binding, invocation.opt_level), str(module), symbols, binding)
    )
    sets = [calling.arguments(call, values, base, memory.hold) for values in invocation.inputs]
    return lambda: tuple(_call(function, arguments, call, memory) for arguments in sets)


def _linked(machine: Any, text: str, symbols: Iterable[tuple[str, int]], binding: Any) -> int:
    """The address of the entry in the machine code of a module."""
    compiler = binding.create_lljit_compiler(machine)
    library = binding.JITLibraryBuilder().add_ir(text).add_ir(_BFLOAT).add_current_process()
    library.export_symbol(calling.ENTRY)
    for name, address in symbols:
        library.import_symbol(name, address)
    linked = library.link(compiler, "irwidget")
    _kept.extend((compiler, linked))
    return linked[calling.ENTRY]


def _mapped(path: str) -> int:
    """The address of a file's bytes, which are shared with whoever else has mapped it."""
    with open(path, "r+b") as file:
        memory = mmap.mmap(file.fileno(), 0)
    _kept.append(memory)
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def _call(
    function: Any, arguments: Any, call: calling.CallingConvention, memory: fenced.FencedMemory
) -> tuple[Value, ...]:
    results = (ctypes.c_int64 * max(1, call.words))()
    function(ctypes.addressof(arguments), ctypes.addressof(results))
    if not memory.check():
        raise Crashed(OUTSIDE)
    return tuple(calling.read(result, results) for result in call.results)


_OF_A_GPU = re.compile(
    r"@(llvm\.(?:nvvm|amdgcn|spv)\.[\w.]+)|\b(addrspace\([1-9]\d*\)|amdgpu_kernel|ptx_kernel|spir_\w+)"
)
_TARGETED = re.compile(r'^target (?:triple|datalayout) = .*\n|"(?:target-cpu|target-features|tune-cpu)"="[^"]*"', re.M)


def _for_this_machine(text: str) -> str:
    """The IR without the target that it was made for: what it means is the same where it has nothing of a target."""
    if found := _OF_A_GPU.search(text):
        raise NotExecutable(f"it is code for a GPU ({found[1] or found[2]}), which no CPU executes")
    return _TARGETED.sub("", text)


def _load_libraries(binding: Any) -> None:
    """The C library's mathematics, and GCC's conversions of half floats."""
    for name in ("m", "gcc_s"):
        if found := util.find_library(name):
            binding.load_library_permanently(found)


def _optimized(module: Any, binding: Any, level: int | None) -> Any:
    """Optimise a module in place, and return the machine that it is for.

    Without a level a little: naive loops are slow, and unrolled ones take minutes to compile.
    """
    target = binding.Target.from_default_triple()
    if level is None:
        machine = target.create_target_machine(opt=1, jit=True)
    else:
        cpu, features = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
        machine = target.create_target_machine(cpu=cpu, features=features, opt=level, jit=True)
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
    tuning = binding.create_pipeline_tuning_options(1 if level is None else level)
    tuning.loop_unrolling = tuning.loop_vectorization = tuning.slp_vectorization = level is not None and level > 1
    builder = binding.create_pass_builder(machine, tuning)
    few = binding.create_new_module_pass_manager()
    if level is None and str(module).count(" = phi ") > _MANY and hasattr(few, "add_sroa_pass"):
        few.add_sroa_pass()
        few.add_instruction_combine_pass()
        few.add_simplify_cfg_pass()
        few.run(module, builder)
    else:
        builder.getModulePassManager().run(module, builder)
    return machine


_MANY = 300
"""Values that loops carry in a module from which on loops are left as they are: LLVM's passes for loops take time with
the square of that, 5 s for 1,000 and 30 s for 2,000, and then save 15 ms of 45.
"""


def _addresses(constants: Mapping[str, Any], memory: fenced.FencedMemory) -> list[tuple[str, int]]:
    return [(name, memory.hold(bytes(data))) for name, data in constants.items()]


_kept: list[Any] = []
"""What the compiled code needs: the process that runs it ends with it."""


def _device_math(text: str) -> list[tuple[str, int]]:
    """The functions of GPUs' libraries as those of the C library."""
    library = fenced.library("m")
    found: list[tuple[str, int]] = []
    for symbol, name in gpu_math.of_libm(text).items():
        function = getattr(library, name, None)
        if function is not None:
            found.append((symbol, ctypes.cast(function, ctypes.c_void_p).value or 0))
    return found
