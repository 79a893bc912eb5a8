"""Compile LLVM IR with LLVM's JIT and call its `@main` on the CPU, in a process of its own.

`@main` has MLIR's calling convention: a memref is a pointer twice, an offset, sizes and strides, one argument each,
and the same in a struct as a result; several results are a struct of them. A function put beside it takes all of them
from one array of words and leaves the results in another, so that nothing here depends on how structs are returned.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import mmap
import re
from collections.abc import Callable, Mapping, Sequence
from ctypes import util
from dataclasses import dataclass
from typing import Any

from irwidget.toolchain import fenced, forked, gpu_math, llvm
from irwidget.toolchain.events import Array, Invocation, Value

_ENTRY = "irwidget.call"
_WORD = 8
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
    """What `@main` of a module returns for each of the invocation's inputs.

    `constants` are the bytes of external globals by name. Raises NotExecutable before the code runs, Crashed and
    TookTooLong after it has begun.
    """
    with mmap.mmap(-1, 1) as begun:  # shared with the copy

        def work() -> Calls | str:
            try:
                call = _compile(text, invocation, constants)
            except (NotExecutable, llvm.Rejected, RuntimeError) as error:
                return str(error) or type(error).__name__
            begun[0] = 1
            return call()

        try:
            answer = forked.call(work, seconds=limits.seconds, memory=limits.memory)
        except forked.Died as death:
            if begun[0]:
                raise Crashed(str(death)) from None
            raise NotExecutable(f"LLVM's JIT {death}") from None
        except forked.TimedOut:
            what = "it has not returned" if begun[0] else "LLVM's JIT has not compiled it"
            raise TookTooLong(f"{what} after {limits.seconds:g} s") from None
    if isinstance(answer, str):
        raise NotExecutable(answer)
    return answer


def _compile(text: str, invocation: Invocation, constants: Mapping[str, Any]) -> Callable[[], Calls]:
    """The machine code of a module, ready to be called on each of the inputs."""
    import llvmlite.binding as binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    _load_libraries(binding)
    text = _for_this_machine(text)
    module = llvm.parse(text)
    main = next((function for function in module.functions if function.name == "main"), None)
    if main is None or main.is_declaration:
        raise NotExecutable("there is no function @main in it")
    plan = _plan(main.global_value_type, invocation)
    module.link_in(llvm.parse(plan.wrapper))
    compiler = binding.create_lljit_compiler(_optimized(module, binding))
    library = binding.JITLibraryBuilder().add_ir(str(module)).add_ir(_BFLOAT).add_current_process()
    library.export_symbol(_ENTRY)
    memory = fenced.Memory()
    for name, address in (*memory.symbols(), *_addresses(constants, memory), *_device_math(text)):
        library.import_symbol(name, address)
    linked = library.link(compiler, "irwidget")
    _kept.extend((compiler, linked))
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(linked[_ENTRY])
    sets = [_arguments(plan, values, memory) for values in invocation.inputs]
    return lambda: tuple(_call(function, arguments, plan, memory) for arguments in sets)


def _call(function: Any, arguments: Any, plan: _Plan, memory: fenced.Memory) -> tuple[Value, ...]:
    results = (ctypes.c_int64 * max(1, plan.words))()
    function(ctypes.addressof(arguments), ctypes.addressof(results))
    if not memory.check():
        raise Crashed(OUTSIDE)
    return tuple(_read(result, results) for result in plan.results)


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


def _optimized(module: Any, binding: Any) -> Any:
    """Optimise a little: naive loops are slow, and unrolled ones take minutes to compile. Returns the machine."""
    machine = binding.Target.from_default_triple().create_target_machine(opt=1, jit=True)
    tuning = binding.create_pipeline_tuning_options(1)
    tuning.loop_unrolling = tuning.loop_vectorization = tuning.slp_vectorization = False
    builder = binding.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    return machine


def _addresses(constants: Mapping[str, Any], memory: fenced.Memory) -> list[tuple[str, int]]:
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


@dataclass(frozen=True, slots=True)
class _Result:
    """Where a result is among the words that the wrapper writes."""

    word: int
    rank: int | None
    """Of a tensor; None for a number."""
    itemsize: int
    kind: str
    """LLVM's type of a number."""


@dataclass(frozen=True, slots=True)
class _Plan:
    wrapper: str
    arguments: tuple[str, ...]
    """LLVM's types of `@main`'s arguments."""
    results: tuple[_Result, ...]
    words: int


def _plan(signature: Any, invocation: Invocation) -> _Plan:
    """How to call a function of this type with the inputs, and where its results will be."""
    arguments = tuple(str(kind) for kind in signature.get_function_parameters())
    returned = signature.get_function_return()
    single = [str(returned)] if str(returned) != "void" else []
    parts = list(returned.elements) if returned.is_struct and not _is_memref(returned) else []
    kinds = [str(part) for part in parts] or single
    types = parts or ([returned] if single else [])
    if len(kinds) != len(invocation.results):
        raise NotExecutable(f"@main returns {len(kinds)} results, and eager PyTorch {len(invocation.results)}")
    results: list[_Result] = []
    word = 0
    for part, itemsize in zip(types, invocation.results, strict=True):
        rank = _rank(part) if _is_memref(part) else None
        if (rank is None) != (itemsize is None):
            wanted = "tensor" if itemsize else "number"
            raise NotExecutable(f"@main returns {part} where eager PyTorch returns a {wanted}")
        results.append(_Result(word, rank, itemsize or 0, str(part)))
        word += 1 if rank is None else 3 + 2 * rank
    return _Plan(_wrapper(str(returned), arguments, kinds, results, bool(parts)), arguments, tuple(results), word)


def _is_memref(kind: Any) -> bool:
    elements = [str(element) for element in kind.elements] if kind.is_struct else []
    return elements[:3] == ["ptr", "ptr", "i64"]


def _rank(kind: Any) -> int:
    elements = list(kind.elements)
    return elements[3].element_count if len(elements) > 3 else 0


def _wrapper(
    returned: str, arguments: Sequence[str], kinds: Sequence[str], results: Sequence[_Result], several: bool
) -> str:
    """LLVM IR of a function that loads the arguments from one array of words and stores the results in another."""
    lines = [f"declare {returned} @main({', '.join(arguments)})", f'define void @"{_ENTRY}"(ptr %in, ptr %out) {{']
    for number, kind in enumerate(arguments):
        lines.append(f"  %p{number} = getelementptr i8, ptr %in, i64 {_WORD * number}")
        lines.append(f"  %a{number} = load {kind}, ptr %p{number}")
    passed = ", ".join(f"{kind} %a{number}" for number, kind in enumerate(arguments))
    lines.append(f"  {'%r = ' if kinds else ''}call {returned} @main({passed})")
    for number, (kind, result) in enumerate(zip(kinds, results, strict=True)):
        value = "%r"
        if several:
            value = f"%e{number}"
            lines.append(f"  {value} = extractvalue {returned} %r, {number}")
        lines.append(f"  %o{number} = getelementptr i8, ptr %out, i64 {_WORD * result.word}")
        lines.append(f"  store {kind} {value}, ptr %o{number}")
    return "\n".join([*lines, "  ret void", "}", ""])


def _arguments(plan: _Plan, values: Sequence[Value], memory: fenced.Memory) -> Any:
    """The words that the wrapper loads for a set of inputs."""
    words: list[bytes] = []
    for value in values:
        if isinstance(value, Array):
            address = memory.hold(value.data)
            numbers = (address, address, 0, *value.shape, *_strides(value.shape))
            words += [number.to_bytes(_WORD, "little") for number in numbers]
        elif isinstance(value, float):
            words.append(bytes(ctypes.c_double(value)))
        else:
            words.append(int(value).to_bytes(_WORD, "little", signed=True))
    if len(words) != len(plan.arguments):
        raise NotExecutable(f"@main takes {len(plan.arguments)} words of arguments, and the inputs have {len(words)}")
    data = b"".join(words)
    return ctypes.create_string_buffer(data, max(1, len(data)))


def _strides(shape: Sequence[int]) -> list[int]:
    return [math.prod(shape[i + 1 :]) for i in range(len(shape))]


def _read(result: _Result, words: Any) -> Value:
    """A result: a number, or a tensor's elements, row-major whatever its strides."""
    if result.rank is None:
        return _number(result.kind, int(words[result.word]))
    _, aligned, offset, *rest = words[result.word : result.word + 3 + 2 * result.rank]
    shape, strides = rest[: result.rank], rest[result.rank :]
    size = result.itemsize
    if any(extent < 0 for extent in shape):
        return Array(b"", tuple(shape))
    if strides == _strides(shape):
        return Array(ctypes.string_at(aligned + offset * size, math.prod(shape) * size), tuple(shape))
    data = bytearray()
    for index in itertools.product(*map(range, shape)):
        place = offset + sum(i * stride for i, stride in zip(index, strides, strict=True))
        data += ctypes.string_at(aligned + place * size, size)
    return Array(bytes(data), tuple(shape))


def _number(kind: str, word: int) -> int | float | bool:
    data = word.to_bytes(_WORD, "little", signed=True)
    if kind == "double":
        return ctypes.c_double.from_buffer_copy(data).value
    if kind == "float":
        return ctypes.c_float.from_buffer_copy(data).value
    width = int(kind.removeprefix("i"))
    if width == 1:
        return bool(data[0] & 1)
    return int.from_bytes(data[: width // 8], "little", signed=True)
