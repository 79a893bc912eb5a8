"""The names of Triton's that it does not document and we use, in one place for the kernel's process and the worker.

Both import this module: it needs neither PyTorch nor, before a name is asked for, Triton. What each name must do is
in `tests/triton/test_contract.py`, so that a change in Triton is answered here.
"""

from __future__ import annotations

import ast
import gc
import importlib
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from irwidget.toolchain.triton_archs import Arch

STAGE_PREFIXES = ("make_", "gluon_")
"""How the stage functions of a backend class are called: `make_ttir`, `make_ttgir`, `make_llir`, `make_ptx` ..."""
IR, LLVM, SUBPROCESS, TEMPFILE = "ir", "llvm", "subprocess", "tempfile"
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


_NEEDED = {
    "knobs": ("runtime", "compilation", "nvidia", "amd", "language"),
    "_C.libtriton": ("ir", "passes", "llvm", "nvidia", "amd", "get_cache_invalidating_env_vars"),
    "compiler.compiler": ("make_backend", "ASTSource", "filter_traceback"),
    "backends.compiler": ("GPUTarget", "Language"),
    "runtime.jit": ("JITFunction", "KernelInterface", "create_function_from_signature"),
    "runtime.autotuner": ("Autotuner",),
    "runtime.driver": ("driver",),
}
"""What a lowering cannot do without, by module."""


def missing() -> list[str]:
    """Of the names that a lowering cannot do without, those that the installed Triton does not have."""
    found: list[str] = []
    for name, wanted in _NEEDED.items():
        try:
            module = _module(name)
        except ModuleNotFoundError as error:
            if not str(error.name).startswith("triton"):
                raise
            found.append(f"triton.{name}")
            continue
        found += [f"triton.{name}.{one}" for one in wanted if not hasattr(module, one)]
    return found


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
        _added(amd.add_allocate_shared_memory, manager, arch.name)
        amd.add_to_llvmir(manager, arch.name, True)
    else:
        nvidia = libtriton("nvidia").passes
        newest_ptx = 90
        nvidia.ttgpuir.add_allocate_shared_memory_nv(manager, arch.capability, newest_ptx)
        _added(nvidia.ttgpuir.add_to_llvmir, manager, arch.capability, newest_ptx, False)
        nvidia.ttnvgpuir.add_nvgpu_to_llvm(manager)
    passes.common.add_canonicalizer(manager)
    passes.common.add_cse(manager)


def _added(add: Any, *arguments: object) -> None:
    """Add a pass with as many of the arguments as its binding takes: since 3.8 some have one more."""
    add(*arguments[: add.__doc__.count("arg")])


# --- kernels and launches -----------------------------------------------------------------


def is_kernel(obj: object) -> bool:
    """Whether an object is a kernel, under decorators too; never imports Triton."""
    kind = getattr(sys.modules.get("triton.runtime.jit"), "KernelInterface", None)  # none while it is being imported
    return kind is not None and isinstance(obj, kind)


def bound(obj: object) -> tuple[Any, Any] | None:
    """The kernel and the grid that `kernel[grid]` holds; None for other objects."""
    if not inspect.isfunction(obj) or obj.__module__ != "triton.runtime.jit":
        return None
    held = inspect.getclosurevars(obj).nonlocals
    return (held["self"], held["grid"]) if is_kernel(held.get("self")) and "grid" in held else None


def jit_function() -> Any:
    """The class of `@triton.jit` functions, whose `run` launches."""
    return _module("runtime.jit").JITFunction


def autotuner() -> Any:
    """The class of `@triton.autotune` kernels, whose `run` chooses a configuration and launches."""
    return _module("runtime.autotuner").Autotuner


def jit_functions() -> Iterator[Any]:
    """Every JIT function of the process, those defined last first; before 3.7, which keeps no list, in no order."""
    known: Mapping[str, Any] | None = vars(_module("runtime.jit")).get("_triton_jit_function_registry")
    if known is None:
        yield from (one for one in gc.get_objects() if isinstance(one, jit_function()))
    else:
        yield from reversed(list(known.values()))


def definition(function: Any) -> tuple[str, int]:
    """The file of a JIT function, and the line of its `def`."""
    if hasattr(function, "def_file_line_number"):  # since 3.8
        return function.file_name, function.def_file_line_number
    return _module("runtime.jit").get_jit_fn_file_line(function)


def names_looked_up(error: BaseException) -> list[tuple[Any, ast.AST]]:
    """Where an error struck while Triton looked up what a kernel names: each function, outermost first, and the node of
    its syntax tree, which is where it calls the next.
    """
    found: list[tuple[Any, ast.AST]] = []  # no dict: the hash of a function is that of all that it names
    function: Any = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        own, node = frame.f_locals.get("self"), frame.f_locals.get("node")
        if is_jit_callable(own):
            function = own
        elif function is not None and isinstance(node, ast.expr | ast.stmt):
            found[-1:] = [*(one for one in found[-1:] if one[0] is not function), (function, node)]
    return found


def is_jit_callable(obj: object) -> bool:
    """Whether an object is Python that Triton compiles, or runs meanwhile: of `jit`, `constexpr_function`, Gluon."""
    return isinstance(obj, _callable(_module("runtime.jit")))


def _callable(jit: Any) -> Any:
    """The class of all that Triton compiles; before 3.5 that of `jit` is the only one."""
    return getattr(jit, "JITCallable", getattr(jit, "JITFunction", ()))


def decorator(function: Any) -> str:
    """What makes such an object of a function, by the name that it is imported by."""
    if isinstance(function, getattr(_module("runtime.jit"), "ConstexprFunction", ())):
        return "triton.constexpr_function"
    return "triton.experimental.gluon.jit" if function.is_gluon() else "triton.jit"


def carried(obj: object) -> tuple[Any, ...] | None:
    """How pickle makes an object of Triton's anew in a process that has another release; None for other objects."""
    jit, language = (sys.modules.get(f"triton.{name}") for name in ("runtime.jit", "language"))
    if isinstance(obj, _callable(jit)):
        function: Any = obj
        if str(function.fn.__module__).startswith("triton."):
            return _of_module, (function.fn.__module__, function.fn.__qualname__)
        return _decorated, (decorator(function), function.fn, jit_arguments(function))
    if isinstance(obj, getattr(language, "constexpr", ())):
        return _of_language, ("constexpr", getattr(obj, "value", None))
    if type(obj) is getattr(language, "dtype", None):
        return _of_language, ("dtype", str(obj))
    return None


_OF_JIT = ("do_not_specialize", "do_not_specialize_on_alignment", "debug", "noinline")
"""The arguments of `triton.jit` that a function keeps."""


def jit_arguments(function: Any) -> dict[str, Any]:
    """What `triton.jit` was given beside the function, where it is no function itself."""
    given = {name: getattr(function, name, None) for name in _OF_JIT}
    return {name: value for name, value in given.items() if value}


def names_itself(function: Any) -> bool:
    """Whether the user's own function (`repr=` of `triton.jit`) names what is compiled."""
    return getattr(function, "_repr", None) is not None


def _of_module(module: str, name: str) -> Any:
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _of_language(name: str, value: Any) -> Any:
    return getattr(_module("language"), name)(value)


def _decorated(decorator: str, function: Any, given: Mapping[str, Any]) -> Any:
    home, _, name = decorator.rpartition(".")
    made = getattr(importlib.import_module(home), name)
    return made(function, **given) if given else made(function)


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
    if hasattr(kernel, "_pack_args"):
        return kernel._pack_args(backend, keywords, bound, found, rest)  # pyright: ignore[reportPrivateUsage]
    jit = _module("runtime.jit")  # Triton 3.4 does this inside `JITFunction.run`
    options, names = backend.parse_options(keywords), [param.name for param in kernel.params]
    kinds, attributes = [one[0] for one in found], [one[1] for one in found]
    if unknown := next((name for name in keywords if name not in vars(options) and name not in names), ""):
        raise KeyError(f"Keyword argument {unknown} was specified but unrecognised")
    constants = jit.find_paths_if(kinds, lambda _, kind: kind == "constexpr")
    described = jit.find_paths_if(attributes, lambda _, one: isinstance(one, str))
    return (
        options,
        dict(zip(names, kinds, strict=False)),
        {path: jit.get_iterable_path(list(bound.values()), path) for path in constants},
        {path: backend.parse_attr(jit.get_iterable_path(attributes, path)) for path in described},
    )


def memory_key(found: Any) -> None:
    """What a launch is found again by, made of what a binder found. Raises TypeError for constants without a hash."""
    if hasattr(_module("runtime.jit"), "compute_cache_key"):  # before that, all of it as text
        hash(tuple(found))


def launch_settings(kernel: Any, *, debug: Any) -> dict[str, Any]:
    """The options of a launch that `JITFunction.run` adds: `debug`, and what is to be instrumented (since 3.6)."""
    mode = getattr(knobs().compilation, "instrumentation_mode", None)
    found = {"debug": bool(debug or kernel.debug or knobs().runtime.debug)}
    return found if mode is None else {**found, "instrumentation_mode": mode}


# --- the front end ------------------------------------------------------------------------


def ast_source(kernel: Any, signature: Any, constants: Any, attributes: Any) -> Any:
    """A kernel to be compiled, of Triton's or of Gluon's; `make_ir` gives its module."""
    home, name = ("compiler.compiler", "ASTSource")
    if kernel.is_gluon():
        home, name = ("experimental.gluon._runtime", "GluonASTSource")
    return getattr(_module(home), name)(kernel, signature, constants, attributes)


def module_of(source: Any, backend: Any, options: Any, generators: Any, context: Any) -> Any:
    """The module that Triton's front end makes of a source; it asks for the target since 3.5."""
    target = (backend.target,) if "target" in inspect.signature(source.make_ir).parameters else ()
    return source.make_ir(*target, options, generators, backend.get_module_map(), context)


def run_passes(manager: Any, module: Any, name: str) -> None:
    """Run a pass manager of the bindings, which is told since 3.6 what it runs for."""
    manager.run(module, name) if "str" in str(manager.run.__doc__) else manager.run(module)


def printed(module: Any) -> str:
    """The text of a module with its locations; before Triton 3.5 the bindings crash on those of the LLVM dialect."""
    if not hasattr(_module("runtime.jit"), "JITCallable") and "llvm.func" in (plain := module.str_nodebug()):
        return plain
    return module.str()


def filter_traceback(error: BaseException) -> None:
    """Take the frames of Triton's own visitor out of an error's traceback."""
    _module("compiler.compiler").filter_traceback(error)


def failed_assertion() -> Any:
    """The class of what `tl.static_assert` raises, by which the autotuner skips a configuration."""
    return _module("compiler.errors").CompileTimeAssertionFailure


def vendor_libraries() -> list[tuple[Any, str]]:
    """Where Triton's bindings of cuBLAS and hipBLAS (since 3.6) are: modules, and the names of classes in them."""
    known = (("nvidia", "cublas", "CublasLt"), ("amd", "hipblas", "HipblasLt"))
    found = [(getattr(libtriton(maker), module, None), name) for maker, module, name in known]
    return [(module, name) for module, name in found if module is not None]


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
