"""The names of Triton's that it does not document and we use, in one place for the kernel's process and the worker.

Both import this module: it needs neither PyTorch nor, before a name is asked for, Triton. What each name must do is
in `tests/triton/test_contract.py`, so that a change in Triton is answered here.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from irwidget.toolchain.triton_archs import Arch

STAGE_PREFIXES = ("make_", "gluon_")
"""How the stage functions of a backend class are called: `make_ttir`, `make_ttgir`, `make_llir`, `make_ptx` ..."""
IR, LLVM, SUBPROCESS = "ir", "llvm", "subprocess"
PASSES = ("passes", "nvidia", "amd")
"""The globals of stage functions that stand-ins take the place of, where a function's module has them."""


def _module(name: str) -> Any:
    return importlib.import_module(f"triton.{name}")


def libtriton(name: str) -> Any:
    """A module of Triton's bindings: `ir`, `passes`, `llvm`, `nvidia` or `amd`."""
    return getattr(_module("_C.libtriton"), name)


def knobs() -> Any:
    """Triton's settings: `runtime`, `compilation`, `nvidia`."""
    return _module("knobs")


def knob_groups() -> list[Any]:
    """The groups of settings that code may depend on; each has `knob_descriptors`, by name, with the variable `key`."""
    return [getattr(knobs(), name) for name in ("compilation", "language", "runtime", "nvidia", "amd")]


def code_variables() -> dict[str, str]:
    """The variables of the environment that are set and, as Triton says, change the code that it makes."""
    return dict(_module("_C.libtriton").get_cache_invalidating_env_vars())


def forget_settings() -> None:
    """Have Triton's back ends read anew what they keep of the settings: the version of PTX, say."""
    for name in ("nvidia", "amd"):
        for value in list(vars(_module(f"backends.{name}.compiler")).values()):
            if clear := getattr(value, "cache_clear", None):
                clear()


def testing() -> Any:
    """Triton's module of benchmarks and comparisons: `do_bench`, `do_bench_cudagraph`, `assert_close`."""
    return _module("testing")


# --- back ends ---------------------------------------------------------------------------


def gpu_target(arch: Arch) -> Any:
    """Triton's description of an architecture."""
    return _module("backends.compiler").GPUTarget(arch.backend, arch.id, arch.warp_size)


def make_backend(arch: Arch) -> Any:
    """Triton's backend for an architecture: `parse_options`, `add_stages`, `load_dialects`, `make_ttir` ..."""
    return _module("compiler.compiler").make_backend(gpu_target(arch))


def stages(backend: Any, options: Any, *, gluon: bool = False) -> dict[str, Callable[[Any, dict[str, Any]], Any]]:
    """The stage functions of a backend by their names, in their order; Gluon's begin with `ttgir`."""
    found: dict[str, Callable[[Any, dict[str, Any]], Any]] = {}
    language = _module("backends.compiler").Language
    backend.add_stages(found, options, language.GLUON if gluon else language.TRITON)
    return found


def ptxas_error() -> Any:
    """The class of what is raised where ptxas fails."""
    return _module("runtime.errors").PTXASError


# --- layouts ------------------------------------------------------------------------------


def gluon_layouts() -> Any:
    """The module with the classes of Gluon's layouts, which the bindings make."""
    return _module("experimental.gluon.language")


def gluon_builder(context: Any) -> Any:
    """What knows Gluon's layouts: `get_gluon_layout_from_tensor`, `to_linear_layout`, `get_shared_bank_conflicts`."""
    return libtriton("gluon_ir").GluonOpBuilder(context)


def linear_layout(builder: Any, layout: Any, shape: list[int]) -> Any:
    """The LinearLayout of a layout of Gluon's for a shape, by its builder."""
    return builder.to_linear_layout(layout._to_ir(builder), shape)


def add_lowering_of_layouts(manager: Any, arch: Arch) -> None:
    """Put the passes into a pass manager that lower a function without control flow from TTGIR to the LLVM dialect."""
    passes = libtriton("passes")
    if arch.backend == "hip":
        amd = libtriton("amd").passes.ttgpuir
        passes.convert.add_index_to_llvmir(manager)
        amd.add_allocate_shared_memory(manager, arch.name)
        amd.add_to_llvmir(manager, arch.name, True)
    else:
        nvidia = libtriton("nvidia").passes
        newest_ptx = 90
        nvidia.ttgpuir.add_allocate_shared_memory_nv(manager, arch.capability, newest_ptx)
        nvidia.ttgpuir.add_to_llvmir(manager, arch.capability, newest_ptx, False)
        nvidia.ttnvgpuir.add_nvgpu_to_llvm(manager)
    passes.common.add_canonicalizer(manager)
    passes.common.add_cse(manager)


# --- kernels and launches -----------------------------------------------------------------


def is_kernel(obj: object) -> bool:
    """Whether an object is a kernel, under decorators too; never imports Triton."""
    kind = getattr(sys.modules.get("triton.runtime.jit"), "KernelInterface", None)  # none while it is being imported
    return kind is not None and isinstance(obj, kind)


def jit_function() -> Any:
    """The class of `@triton.jit` functions, whose `run` launches."""
    return _module("runtime.jit").JITFunction


def autotuner() -> Any:
    """The class of `@triton.autotune` kernels, whose `run` chooses a configuration and launches."""
    return _module("runtime.autotuner").Autotuner


def jit_functions() -> Iterator[Any]:
    """Every JIT function of the process, those defined last first."""
    yield from reversed(list(vars(_module("runtime.jit"))["_triton_jit_function_registry"].values()))


def is_jit_callable(obj: object) -> bool:
    """Whether an object is Python that Triton compiles, or runs meanwhile: of `jit`, `constexpr_function`, Gluon."""
    return isinstance(obj, _module("runtime.jit").JITCallable)


def decorator(function: Any) -> str:
    """What makes such an object of a function, by the name that it is imported by."""
    if isinstance(function, _module("runtime.jit").ConstexprFunction):
        return "triton.constexpr_function"
    return "triton.experimental.gluon.jit" if function.is_gluon() else "triton.jit"


def expression(value: Any) -> tuple[str, Any] | None:
    """A value of Triton's own as Python says it: a `constexpr` and its value, or a `dtype` and its name; else None."""
    language = _module("language")
    if isinstance(value, language.constexpr):
        return "constexpr", value.value
    if isinstance(value, language.dtype):
        name = {str(one): name for name, one in vars(language).items() if type(one) is language.dtype}.get(str(value))
        return ("dtype", f"triton.language.{name}") if name else None
    return None


def binder(kernel: Any, backend: Any) -> Callable[..., tuple[Any, Any, Any]]:
    """What binds a launch's arguments: to them by name, what was found of each, and the options."""
    return _module("runtime.jit").create_function_from_signature(kernel.signature, kernel.params, backend)


def packed(kernel: Any, backend: Any, keywords: Mapping[str, Any], bound: Any, found: Any, rest: Any) -> Any:
    """Options, signature, constants and attributes of a launch, of what its binder gave."""
    return kernel._pack_args(backend, keywords, bound, found, rest)  # pyright: ignore[reportPrivateUsage]


# --- the front end ------------------------------------------------------------------------


def ast_source(kernel: Any, signature: Any, constants: Any, attributes: Any) -> Any:
    """A kernel to be compiled, of Triton's or of Gluon's; `make_ir` gives its module."""
    home, name = ("compiler.compiler", "ASTSource")
    if kernel.is_gluon():
        home, name = ("experimental.gluon._runtime", "GluonASTSource")
    return getattr(_module(home), name)(kernel, signature, constants, attributes)


def filter_traceback(error: BaseException) -> None:
    """Take the frames of Triton's own visitor out of an error's traceback."""
    _module("compiler.compiler").filter_traceback(error)


def failed_assertion() -> Any:
    """The class of what `tl.static_assert` raises, by which the autotuner skips a configuration."""
    return _module("compiler.errors").CompileTimeAssertionFailure


def vendor_libraries() -> list[tuple[Any, str]]:
    """Where Triton's bindings of cuBLAS and hipBLAS are: modules, and the names of classes in them."""
    return [(libtriton("nvidia").cublas, "CublasLt"), (libtriton("amd").hipblas, "HipblasLt")]


# --- the interpreter -----------------------------------------------------------------------


def interpret(kernel: Any, arguments: Sequence[Any], keywords: Mapping[str, Any], grid: tuple[int, ...]) -> None:
    """Execute a launch by Triton's interpreter, which changes the process: it is for a copy that ends afterwards.

    The interpreter is made for a process in which all kernels were defined as interpreted ones; here the functions
    that a kernel calls were compiled ones, and become interpreted when they are called.
    """
    interpreted = _module("runtime.interpreter").InterpretedFunction

    def call(function: Any, *args: Any, **kwargs: Any) -> Any:
        return interpreted(function.fn)(*args, **kwargs)

    knobs().runtime.interpret = True
    jit_function().__call__ = call
    interpreted(kernel.fn).run(*arguments, grid=grid, warmup=False, **keywords)


# --- drivers ------------------------------------------------------------------------------

ACTIVE_DRIVER = "_active"
"""The attribute of `driver_config()` that holds the driver in use."""


def driver_config() -> Any:
    """What finds the driver in use: `.active`."""
    return _module("runtime.driver").driver


def driver_base() -> Any:
    """The base class of drivers."""
    return _module("backends.driver").DriverBase


def active_backends() -> int:
    """How many of Triton's back ends find a GPU of theirs."""
    return sum(1 for backend in _module("backends").backends.values() if backend.driver.is_active())
