"""PyTorch's private names that the capture of torch.compile hangs on, in one place.

They are looked up, and replaced, in a copy of the kernel only. `tests/inductor/test_contract.py` names each.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from irwidget.errors import UnsupportedError

_FX = "torch._inductor.compile_fx"
_FAKE = "torch._subclasses.fake_tensor"
_CUDA = "torch.cuda"

SITES: Mapping[str, tuple[str, str]] = {
    # Dynamo
    "register_bytecode_hook": ("torch._dynamo.convert_frame", "register_bytecode_hook"),
    "cache_entries": ("torch._dynamo.eval_frame", "_debug_get_cache_entry_list"),
    "recompilation_reasons": ("torch._dynamo.convert_frame", "get_and_maybe_log_recompilation_reasons"),
    "shorten_filename": ("torch.utils._traceback", "shorten_filename"),
    "dynamo_reset": ("torch._dynamo", "reset"),
    "compile_frame": ("torch._dynamo.convert_frame", "_compile"),
    "Unsupported": ("torch._dynamo.exc", "Unsupported"),
    "log_graph_break": ("torch._dynamo.symbolic_convert", "InstructionTranslatorBase.log_graph_break"),
    "graph_breaks": ("torch._dynamo.output_graph", "graph_break_reasons"),
    "eval_frame": ("torch._dynamo", "eval_frame"),
    "innermost_fn": ("torch._dynamo.eval_frame", "innermost_fn"),
    "list_backends": ("torch._dynamo.backends.registry", "list_backends"),
    "innermost_backend": ("torch._dynamo.eval_frame", "innermost_backend"),
    "RestartAnalysis": ("torch._dynamo.exc", "RestartAnalysis"),
    "SkipFrame": ("torch._dynamo.exc", "SkipFrame"),
    "left_to_eager": ("torch._dynamo.exc", "exceptions_allowed_to_be_fallback"),
    "is_of_modules": ("torch._dynamo.symbolic_convert", "InstructionTranslatorBase.is_co_filename_from_nn_modules"),
    "TracingContext": ("torch._guards", "TracingContext"),
    # AOTAutograd
    "create_graph": ("torch._functorch._aot_autograd.graph_capture", "_create_graph"),
    "backward_now": ("torch._functorch.config", "force_non_lazy_backward_lowering"),
    # Inductor's FX passes
    "compile_fx": (_FX, "compile_fx"),
    "list_mode_options": ("torch._inductor", "list_mode_options"),
    "run_pre_grad_passes": (_FX, "run_pre_grad_passes"),
    "joint_graph_passes": (_FX, "_recursive_joint_graph_passes"),
    "post_grad_passes": (_FX, "_recursive_post_grad_passes"),
    "partition_fn": (_FX, "partition_fn"),
    "partition_regions": ("torch._functorch._aot_autograd.graph_compile", "run_joint_graph_passes_on_hops"),
    "compile_fx_forward": (_FX, "compile_fx_forward"),
    "compile_fx_backward": (_FX, "compile_fx_backward"),
    "replace_uses": ("torch.fx", "Node.replace_all_uses_with"),
    "observer": ("torch.fx.passes.graph_transform_observer", "GraphTransformObserver"),
    "lowering_pattern": ("torch._inductor.pattern_matcher", "LoweringPatternEntry.apply"),
    "graph_pattern": ("torch._inductor.pattern_matcher", "GraphPatternEntry.apply"),
    "replacement_pattern": ("torch._inductor.pattern_matcher", "ReplacementPatternEntry.apply"),
    "joint_lazy_init": ("torch._inductor.fx_passes.joint_graph", "lazy_init"),
    "post_grad_lazy_init": ("torch._inductor.fx_passes.post_grad", "lazy_init"),
    # loops, schedule, code
    "run_node": ("torch._inductor.graph", "GraphLowering.run_node"),
    "lowerings": ("torch._inductor.lowering", "lowerings"),
    "ir_node_made": ("torch._inductor.ir", "IRNode.__post_init__"),
    "loop_tracer": ("torch._inductor.loop_body", "LightTracer.create_proxy"),
    "log_ir_pre_fusion": ("torch._inductor.debug", "log_ir_pre_fusion"),
    "log_ir_post_fusion": ("torch._inductor.debug", "log_ir_post_fusion"),
    "fuse_nodes_once": ("torch._inductor.scheduler", "Scheduler.fuse_nodes_once"),
    "fuse_two_nodes": ("torch._inductor.scheduler", "Scheduler.fuse_two_nodes"),
    "merge_loops": ("torch._inductor.scheduler", "Scheduler.merge_loops"),
    "combo_kernels": ("torch._inductor.scheduler", "Scheduler.create_combo_kernel_nodes"),
    "reorder_for_peak_memory": ("torch._inductor.memory", "reorder_for_peak_memory"),
    "can_fuse": ("torch._inductor.scheduler", "Scheduler.can_fuse"),
    "loop_text": ("torch._inductor.loop_body", "LoopBodyBlock.debug_str"),
    "set_text": ("torch._inductor.scheduler", "pformat"),
    "why_no_fuse": ("torch._inductor.scheduler", "WhyNoFuse"),
    "writeline": ("torch._inductor.utils", "IndentedBuffer.writeline"),
    "define_kernel": ("torch._inductor.codegen.wrapper", "PythonWrapperCodegen.define_kernel"),
    "generate_kernel_call": ("torch._inductor.codegen.wrapper", "PythonWrapperCodegen.generate_kernel_call"),
    "module_of_lines": ("torch._inductor.graph", "GraphLowering._compile_to_module_lines"),
    "lowered_subgraph": ("torch._inductor.graph", "SubgraphLowering"),
    "subgraph": ("torch._inductor.ir", "Subgraph"),
    "ordering": ("torch._inductor.dependencies", "WeakDep"),
    "whole": ("torch._inductor.dependencies", "StarDep"),
    "part": ("torch._inductor.ir", "NonOwningLayout"),
    "virtualized": ("torch._inductor.virtualized", "V"),
    "freeable_inputs": ("torch._inductor.memory", "get_freeable_input_buf"),
    "memory_planning": ("torch._inductor.memory", "assign_memory_planning_info_for_scheduler_buffers"),
    "memory_timeline": ("torch._inductor.memory", "compute_memory_timeline"),
    "load_kernel": ("torch._inductor.codecache", "PyCodeCache.load"),
    "no_compiler": ("torch._inductor.exc", "InvalidCxxCompiler"),
    "cpp_compiler": ("torch._inductor.cpp_builder", "get_cpp_compiler"),
    "isa_builds": ("torch._inductor.cpu_vec_isa", "VecISA.check_build"),
    "instruction_sets": ("torch._inductor.cpu_vec_isa", "valid_vec_isa_list"),
    # a GPU that is not there
    "run_fallback_kernel": (_FAKE, "run_fallback_kernel"),
    "normalize_fake_device": (_FAKE, "FakeTensor._normalize_fake_device"),
    "fake_dispatch": (_FAKE, "FakeTensor.__torch_dispatch__"),
    "fake_mode_dispatch": (_FAKE, "FakeTensorMode.dispatch"),
    "meta_handlers": (_FAKE, "_DISPATCH_META_HANDLERS"),
    "fake_results": (_FAKE, "FakeTensorMode.cache"),
    "untraced": ("torch.fx.experimental.proxy_tensor", "disable_proxy_modes_tracing"),
    "dispatch_functionalize": ("torch._subclasses.functional_tensor", "dispatch_functionalize"),
    "init_gpu_context": (_FAKE, "init_gpu_context"),
    "triton_launch": ("torch._higher_order_ops.triton_kernel_wrap", "triton_kernel_wrapper_mutation"),
    "dispatch_key": ("torch._C", "DispatchKey"),
    "kernel_side_table": ("torch._higher_order_ops.triton_kernel_wrap", "kernel_side_table"),
    "fold_constants": ("torch._inductor.constant_folding", "ConstantFolder.run"),
    "fold_zeros": (
        "torch._inductor.fx_passes.joint_graph",
        "UniformValueConstantFolder._add_peephole_patterns",
    ),
    "make_benchmark_fn": ("torch._inductor.select_algorithm", "AlgorithmSelectorCache.make_benchmark_fn"),
    "make_precompile_fn": ("torch._inductor.select_algorithm", "AlgorithmSelectorCache.make_precompile_fn"),
    "cudagraph_post_compile": ("torch._inductor.output_code", "cudagraph_post_compile"),
    "cudagraph_partition_post_compile": ("torch._inductor.output_code", "cudagraph_partition_post_compile"),
    "caching_allocator": ("torch._inductor.cudagraph_utils", "check_caching_allocator_for_cudagraphs"),
    "triton_key": ("torch._inductor.runtime.triton_compat", "triton_key"),
    "set_driver_to_gpu": ("torch._inductor.runtime.triton_helpers", "set_driver_to_gpu"),
    "cuda_interface": ("torch._dynamo.device_interface", "CudaInterface"),
}
"""Our name -> module and name of torch."""
MADE = "irwidget_made"
"""The attribute of a function of ours that has what torch.compile made."""
BACKENDS = frozenset(
    "inductor eager eager_debug eager_noexcept pre_dispatch_eager aot_eager aot_eager_default_partitioner "
    "aot_eager_decomp_partition aot_eager_decomp_partition_crossref aot_eager_decomp_partition_with_mode aot_ts ts "
    "cudagraphs invoke_subgraph openxla openxla_eval tvm dynamo_minifier_backend dynamo_accuracy_minifier_backend "
    "irwidget_spyre".split()
)
"""Inductor, and the backends that give way to it: those that PyTorch has names for, and ours."""
INDUCTOR = "torch._inductor.config"
DYNAMO = "torch._dynamo.config"
WARM = (
    "torch._dynamo",
    _FX,
    "torch._inductor.scheduler",
    "torch._inductor.codegen.triton",
    "torch._inductor.codegen.cpp",
    "torch._inductor.codegen.simd",
    "torch._inductor.select_algorithm",
    "torch._inductor.kernel.mm",
    "torch._inductor.fx_passes.fuse_attention",
    "torch._inductor.fx_passes.pad_mm",
    "torch._inductor.runtime.triton_heuristics",
    "torch._inductor.mkldnn_lowerings",
    "torch._inductor.codegen.cpp_wrapper_cpu_array_ref",
    "torch._inductor.codegen.cpp_wrapper_gpu",
    "torch._inductor.codegen.cpp_wrapper_mps",
    "torch._inductor.codegen.cuda_combined_scheduling",
    "torch._inductor.codegen.halide",
    "torch._inductor.codegen.pallas",
    "torch._inductor.codegen.python_wrapper_mtia",
    "torch._inductor.codegen.wrapper_fxir",
    "torch._inductor.codegen.xpu.xpu_combined_scheduling",
    "torch._inductor.bounds",
    "torch._inductor.tiling_utils",
    "torch._dynamo.backends.cudagraphs",
    "torch._dynamo.backends.distributed",
    "torch._dynamo.backends.inductor",
    "torch._dynamo.backends.onnxrt",
    "torch._dynamo.backends.tensorrt",
    "torch._dynamo.backends.torchxla",
    "torch._dynamo.backends.tvm",
    "torch._dynamo.dce_extra_outputs",
    "torch._dynamo.repro.after_dynamo",
    "torch._functorch._aot_autograd.subclass_codegen",
    "torch._functorch._activation_checkpointing.remat_using_tags_for_fwd_loss_bwd_graph_pass",
    "torch._higher_order_ops.passes.inline_invoke_subgraph",
    "torch._inductor.choices",
    "torch._inductor.codegen.cpu_device_op_overrides",
    "torch._inductor.codegen.cuda.device_op_overrides",
    "torch._inductor.codegen.memory_planning",
    "torch._inductor.codegen.mps",
    "torch._inductor.codegen.mps_device_op_overrides",
    "torch._inductor.codegen.mtia.device_op_overrides",
    "torch._inductor.codegen.segmented_tree",
    "torch._inductor.codegen.xpu.device_op_overrides",
    "torch._inductor.extern_node_serializer",
    "torch._inductor.fx_passes.apply_gumbel_max_trick",
    "torch._inductor.fx_passes.efficient_conv_bn_eval",
    "torch._inductor.hooks",
    "torch._inductor.kernel_template_choice",
    "torch.utils._cpp_embed_headers",
    "torch.distributed.tensor.experimental",
    "torch.utils.cpp_extension",
    "sympy.physics.units",
)
"""What torch.compile imports as it runs: imported once in the kernel, so that its copies have it."""


ASKED_ONCE = ("torch.utils._triton", "torch._inductor.utils", "torch._inductor.runtime.runtime_utils")
"""Modules whose functions keep what they once found out of the machine."""


def forget_the_machine() -> None:
    """Have PyTorch ask again which GPU there is: in a copy of a process that has asked already."""
    for module in ASKED_ONCE:
        for value in vars(import_module(module)).values():
            if clear := getattr(value, "cache_clear", None):
                clear()


@functools.cache
def _holder(name: str) -> tuple[Any, str]:
    """The object that has a name, and its attribute there. Raises UnsupportedError where PyTorch has it no more."""
    module, path = SITES[name]
    try:
        found: Any = import_module(module)
        *outer, last = path.split(".")
        for part in outer:
            found = getattr(found, part)
        getattr(found, last)
    except (ImportError, AttributeError) as error:
        import torch

        raise UnsupportedError(
            f"torch {torch.__version__} has no {module}.{path}, which opening torch.compile needs. "
            "toolchain.lock names the version that irwidget is tested with"
        ) from error
    return found, last


def compiled_with(obj: Any) -> dict[str, Any]:
    """What torch.compile was told as it made this: options (those of its mode, too), dynamic, fullgraph, and a backend
    that is none of PyTorch's own, as a function of graph and inputs. Nothing for what it has not made.

    What else it was told (`recompile_limit`, `shapes_spec` ...) is there where it is not what is usual; so is
    `instead_of`, what named a backend of PyTorch's own that is not Inductor as it usually is.
    """
    made = getattr(obj, "dynamo_ctx", None)
    if made is None:
        call = getattr(obj, "_compiled_call_impl", None) or obj
        call = getattr(call, MADE, call)
        code = getattr(call, "__code__", None)
        if code is None or not hasattr(call, "_torchdynamo_orig_callable"):
            return {}
        made = dict(zip(code.co_freevars, call.__closure__, strict=True))["self"].cell_contents
    backend = get("innermost_backend")(made.callback)
    said = {"dynamic": made._dynamic, "fullgraph": made.fullgraph, "options": getattr(backend, "config", None)}
    name = getattr(backend, "compiler_name", "")
    if name == "aotinductor":
        said["options"] = {key: value for key, value in backend.config.items() if key != "aot_inductor.package"}
        said["instead_of"] = "use_aoti=True"
    elif name not in BACKENDS:
        said["backend"] = _backend(backend, name)
    elif name != "inductor":
        said["instead_of"] = f"backend={name!r}"
    return said | _further(made)


def _backend(backend: Any, name: str) -> Any:
    """The function that a backend is; one with the mode and options that are for it has its name."""
    function, told = getattr(backend, "compiler_fn", backend), getattr(backend, "kwargs", None)
    if not told:
        return function
    made = functools.partial(function, **told)
    made.__name__ = name  # pyright: ignore[reportAttributeAccessIssue]
    return made


def _further(made: Any) -> dict[str, Any]:
    """What else torch.compile takes, where it was told it; `guard_filter_fn` is one of its options."""
    said: dict[str, Any] = {}
    link = made.callback
    while link is not None:
        hooks = getattr(link, "_hooks", None) or getattr(link, "hooks", None)
        found = {
            "recompile_limit": getattr(link, "_recompile_limit", None),
            "guard_filter_fn": getattr(hooks, "guard_filter_fn", None),
        }
        said |= {name: one for name, one in found.items() if one is not None}
        link = getattr(link, "_torchdynamo_orig_backend", None)
    if made._shapes_spec is not None:
        said["shapes_spec"] = made._shapes_spec
    if made._isolate_recompiles_id >= 0:
        said["isolate_recompiles"] = True
    return said


def switched_off() -> str:
    """What has Dynamo compile nothing: a setting, the environment, or a stance; empty where nothing does."""
    if config(DYNAMO).disable:
        return "torch._dynamo.config.disable"
    if os.environ.get("TORCHDYNAMO_DISABLE") == "1":
        return "TORCHDYNAMO_DISABLE=1 in the environment"
    stance = get("eval_frame")._stance.stance
    return "" if stance == "default" else f"torch.compiler.set_stance({stance!r})"


def to_freeze() -> list[Any]:
    """The parameters of what is being compiled that become constants, with `freezing`: values of its first inputs."""
    context = get("TracingContext").try_get()
    return list(getattr(context, "params_flat_unwrap_subclasses", None) or ())


def uncompile(obj: Any) -> None:
    """Have a module that `Module.compile` has compiled in place run as it was written. Only ever in a copy."""
    if is_compiled_in_place(obj):
        obj._compiled_call_impl = None


def is_compiled_in_place(obj: Any) -> bool:
    """Whether `Module.compile` has compiled it."""
    return getattr(obj, "_compiled_call_impl", None) is not None


def call_of(module: Any) -> Any:
    """The function that `Module.compile` gives to torch.compile: with hooks Dynamo makes other graphs of it than of the
    module.
    """
    return module._call_impl


def has_loops(node: Any) -> bool:
    """Whether a node of the scheduler has a loop nest."""
    return hasattr(node, "_body")


def is_lowered(operation: Any) -> bool:
    """Whether Inductor has loops for an operation of ATen, for some operands at least."""
    made = get("lowerings").get(operation)
    return made is not None and not getattr(made, "_is_fallback_handler", False)


def is_lowering(target: Any) -> bool:
    """Whether what a pass has put into a graph is a lowering of Inductor's, which makes loops and takes no tensors."""
    return getattr(target, "_inductor_lowering_function", False)


def subgraph() -> str:
    """The branch, loop's body or region that is being lowered, as Inductor names it; empty outside of all."""
    graph = get("virtualized").graph
    return graph.name if isinstance(graph, get("lowered_subgraph")) else ""


def is_around(node: Any) -> bool:
    """Whether an FX node is in a graph around the branch, loop's body or region that is being lowered."""
    graph = get("virtualized").graph
    return isinstance(graph, get("lowered_subgraph")) and node.graph is not graph.graph


def subgraphs(node: Any) -> list[Any]:
    """The lowered graphs that a node of the scheduler runs: branches, a loop's condition and body, or a region."""
    held = vars(node.node).values() if getattr(node, "node", None) is not None else ()
    graphs = (one.graph if isinstance(one, get("subgraph")) else one for one in held)
    return [one for one in graphs if isinstance(one, get("lowered_subgraph"))]


def get(name: str) -> Any:
    """What a name of `SITES` stands for. Raises UnsupportedError where this PyTorch does not have it."""
    holder, last = _holder(name)
    return getattr(holder, last)


def put(name: str, value: Any) -> None:
    """Put something in its place. Only ever in a copy of the kernel. Raises as `get`."""
    holder, last = _holder(name)
    setattr(holder, last, value)


def wrap(name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Put `make(original)` in its place. Raises as `get`."""
    put(name, make(get(name)))


def swap_fake_results(shapes: Any, ours: tuple[Any, Any]) -> tuple[Any, Any]:
    """Put `ours` in the place of what fake operations have returned, and `shapes` has of those with symbols; gives that
    of before. Raises as `get`.
    """
    before = get("fake_results"), shapes and shapes.fake_tensor_cache
    put("fake_results", ours[0])
    if shapes is not None:
        shapes.fake_tensor_cache = ours[1]
    return before


def launch_with(launch: Callable[..., None]) -> None:
    """Have graphs that run as they are launch Triton kernels of the user's with `launch`, which takes what PyTorch's
    operator takes. Only ever in a copy. Raises as `get`.
    """
    operator = get("triton_launch")
    operator.py_kernels[get("dispatch_key").CompositeExplicitAutograd] = launch
    operator._dispatch_cache.clear()


def config(module: str) -> Any:
    """One of torch's modules of settings."""
    return import_module(module)


def of_call(function: Any) -> Any:
    """The module whose call it is, as `Module.compile` gives it to `torch.compile`; anything else, as it is."""
    module = getattr(function, "__self__", None)
    return module if function == getattr(module, "_call_impl", None) else function
