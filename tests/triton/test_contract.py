"""What Triton's undocumented names must do: where a new release of Triton breaks us, it breaks here, name by name.

Each test is a name of `irwidget.toolchain.triton_private`, or of `torch.cuda` and PyTorch that a machine without a GPU
answers in their place.
"""

from __future__ import annotations

import inspect
import types
from typing import Any

import pytest
import torch
import triton

from irwidget.frontends.triton import cuda, gpu, tensors
from irwidget.toolchain import triton_private as private
from irwidget.toolchain.triton_archs import find
from tests.triton.kernels import add_kernel

NVIDIA, AMD = find("sm_90"), find("gfx942")


@pytest.fixture(params=[NVIDIA, AMD], ids=lambda arch: arch.name)
def backend(request: pytest.FixtureRequest) -> Any:
    return private.make_backend(request.param)


# --- libtriton --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("ir", ["context", "builder", "load_dialects", "parse_mlir_module", "pass_manager"]),
        ("llvm", ["context", "to_module", "link_extern_libs", "optimize_module", "init_targets", "attach_datalayout"]),
        ("llvm", [f"OPTIMIZE_O{level}" for level in range(4)]),
        ("passes", ["common", "ttir", "ttgpuir"]),
        ("nvidia", ["load_dialects", "passes"]),
        ("amd", ["load_dialects", "passes"]),
    ],
)
def test_libtriton_has_the_names(module: str, names: list[str]):
    assert [name for name in names if not hasattr(private.libtriton(module), name)] == []


def test_a_pass_manager_takes_one_pass_and_says_its_pipeline():
    ir = private.libtriton("ir")
    context = ir.context()
    ir.load_dialects(context)
    manager = ir.pass_manager(context)
    private.libtriton("passes").common.add_cse(manager)
    assert "cse" in manager.get_pipeline_str()


# --- back ends -----------------------------------------------------------------------------------


def test_stage_functions_are_found_by_their_prefix(backend: Any):
    names = {name for name in vars(type(backend)) if name.startswith(private.STAGE_PREFIXES)}
    assert {"make_ttir", "make_ttgir", "make_llir"} <= names


def test_stage_functions_name_what_stand_ins_take_the_place_of(backend: Any):
    stages = [value for name, value in vars(type(backend)).items() if name.startswith(private.STAGE_PREFIXES)]
    functions = [value.__func__ if isinstance(value, staticmethod) else value for value in stages]
    assert all(isinstance(function, types.FunctionType) for function in functions)
    known = {name for function in functions for name in function.__globals__}
    used = {name for function in functions for name in function.__code__.co_names}
    assert {private.IR, private.LLVM, "passes"} <= known & used
    assert {"nvidia", "amd"} & known & used


def test_ptxas_is_run_by_subprocess():
    function = inspect.unwrap(type(private.make_backend(NVIDIA)).make_cubin)
    assert private.SUBPROCESS in function.__globals__
    assert private.SUBPROCESS in function.__code__.co_names
    assert private.TEMPFILE in function.__globals__
    assert private.TEMPFILE in function.__code__.co_names


def test_stages_come_in_order(backend: Any):
    names = list(private.stages(backend, backend.parse_options({})))
    assert names[:3] == ["ttir", "ttgir", "llir"]
    assert len(names) == 5


def test_options_can_be_parsed_and_listed(backend: Any):
    assert {"num_warps", "num_stages"} <= set(vars(backend.parse_options({"num_warps": 4})))


def test_a_target_has_a_backend_an_architecture_and_a_warp():
    target = private.gpu_target(AMD)
    assert (target.backend, target.arch, target.warp_size) == ("hip", "gfx942", 64)


def test_ptxas_errors_are_exceptions():
    assert issubclass(private.ptxas_error(), Exception)


# --- kernels -----------------------------------------------------------------------------------------


def test_a_kernel_is_known_and_has_what_a_launch_reads():
    assert private.is_kernel(add_kernel)
    assert isinstance(add_kernel, private.jit_function())
    names = ("arg_names", "params", "signature", "cache_key", "src", "fn", "debug", "is_gluon", "pre_run_hooks", "run")
    assert [name for name in names if not hasattr(add_kernel, name)] == []
    assert all(hasattr(param, "is_constexpr") and hasattr(param, "name") for param in add_kernel.params)


def test_a_kernel_with_its_grid_is_known():
    def function() -> object:
        return add_kernel, (4,)

    assert private.bound(add_kernel[(4,)]) == (add_kernel, (4,))
    assert [private.bound(one) for one in (add_kernel, function, add_kernel.run, 3)] == [None] * 4


def test_run_is_called_with_grid_and_warmup():
    assert {"grid", "warmup"} <= set(inspect.signature(private.jit_function().run).parameters)


def test_an_autotuner_has_what_we_run_it_by():
    assert "self" in inspect.signature(private.autotuner().run).parameters
    assert hasattr(private.autotuner(), "prune_configs")


@pytest.mark.parametrize("kept", [True, False])
def test_every_jit_function_is_found_with_the_line_of_its_definition(monkeypatch, kept):
    if not kept:  # as before 3.7
        monkeypatch.delitem(vars(triton.runtime.jit), "_triton_jit_function_registry")
    (found,) = (function for function in private.jit_functions() if function is add_kernel)
    _, first = inspect.getsourcelines(add_kernel.fn)
    assert private.definition(found) == (add_kernel.fn.__code__.co_filename, first + 1)


def test_a_launch_is_bound_and_packed(backend: Any):
    class Tensor:
        dtype = torch.float32

        def data_ptr(self) -> int:
            return 512

        def ptr_range(self) -> int:
            return 4096

    keywords = {"BLOCK": 128, "debug": False, "instrumentation_mode": ""}
    bound, found, rest = private.binder(add_kernel, backend)(Tensor(), Tensor(), Tensor(), 1000, **keywords)
    assert list(bound)[:4] == add_kernel.arg_names[:4]
    options, signature, constants, attributes = private.packed(add_kernel, backend, keywords, bound, found, rest)
    assert "*fp32" in signature.values()
    assert constants
    assert isinstance(attributes, dict)
    source = private.ast_source(add_kernel, signature, constants, attributes)
    assert len(inspect.signature(source.make_ir).parameters) == 5
    assert callable(backend.get_module_map)
    assert backend.get_codegen_implementation(options) is not None


def test_errors_of_the_front_end_have_classes_of_their_own():
    assert issubclass(private.failed_assertion(), Exception)
    private.filter_traceback(ValueError("no traceback"))


def test_knobs_are_there():
    knobs = private.knobs()
    assert hasattr(knobs.runtime, "interpret")
    assert hasattr(knobs.runtime, "debug")
    assert hasattr(knobs.compilation, "instrumentation_mode")
    assert {"ptxas", "ptxas_blackwell", "nvdisasm"} <= set(dir(knobs.nvidia))


def test_settings_are_known_by_their_variables(monkeypatch: pytest.MonkeyPatch):
    keys = {knob.key for group in private.knob_groups() for knob in group.knob_descriptors.values()}
    assert {"TRITON_DEFAULT_FP_FUSION", "TRITON_F32_DEFAULT", "TRITON_DISABLE_LINE_INFO", "TRITON_PTXAS_PATH"} <= keys
    assert {"AMDGCN_USE_BUFFER_OPS", "TRITON_OVERRIDE_ARCH", "DISABLE_PTXAS_OPT"} <= keys
    monkeypatch.setenv("DISABLE_LLVM_OPT", "1")
    assert private.code_variables() == {"DISABLE_LLVM_OPT": "true"}
    private.forget_settings()


def test_gluon_has_stages_and_a_source_of_its_own(backend: Any):
    from tests.triton.test_gluon import copy_kernel

    names = list(private.stages(backend, backend.parse_options({}), gluon=True))
    assert names[0] == "ttgir"
    assert type(private.ast_source(copy_kernel, {}, {}, {})).__name__ == "GluonASTSource"
    assert type(private.ast_source(add_kernel, {}, {}, {})).__name__ == "ASTSource"


def test_functions_that_triton_compiles_are_told_apart():
    import triton
    from triton import language as tl

    from tests.triton.test_gluon import copy_kernel

    @triton.constexpr_function
    def constant(x: int) -> int:
        return x

    assert [private.is_jit_callable(one) for one in (add_kernel, copy_kernel, constant, len)] == [
        True,
        True,
        True,
        False,
    ]
    assert private.decorator(add_kernel) == "triton.jit"
    assert private.decorator(copy_kernel) == "triton.experimental.gluon.jit"
    assert private.decorator(constant) == "triton.constexpr_function"
    assert private.expression(tl.float16) == ("dtype", "triton.language.float16")
    assert private.expression(tl.constexpr(3)) == ("constexpr", 3)
    assert private.expression(3) is None
    assert add_kernel.src.startswith("def add_kernel(")


def test_libraries_of_vendors_can_be_replaced():
    assert [hasattr(module, name) for module, name in private.vendor_libraries()] == [True, True]


def test_benchmarks_and_comparisons_can_be_replaced():
    assert {"do_bench", "do_bench_cudagraph", "assert_close"} <= set(vars(private.testing()))


# --- drivers and torch.cuda -----------------------------------------------------------------------------


def test_the_driver_in_use_can_be_replaced():
    config = private.driver_config()
    with tensors.replaced(config, private.ACTIVE_DRIVER, gpu.driver(NVIDIA)):
        assert config.active.get_current_target().arch == 90


def test_a_driver_answers_all_that_its_base_class_asks_for():
    assert gpu.driver(NVIDIA).get_benchmarker() is not None
    assert not getattr(type(gpu.driver(NVIDIA)), "__abstractmethods__", None)


@pytest.mark.parametrize("name", sorted(cuda.torch_cuda(NVIDIA)))
def test_torch_cuda_has_what_is_answered_for_it(name: str):
    assert hasattr(torch.cuda, name)


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (torch, "set_default_device"),
        (torch, "Generator"),
        (torch, "compile"),
        (torch.nn.Module, "_apply"),
        (torch.version, "hip"),
        (tensors.FakeTensor, "device"),
        (tensors.BackwardCFunction, "apply"),
    ],
)
def test_torch_has_what_is_replaced(owner: Any, name: str):
    assert hasattr(owner, name)


def test_the_bindings_know_layouts():
    context = private.libtriton("ir").context()
    builder = private.gluon_builder(context)
    for name in ("get_gluon_layout_from_tensor", "get_gluon_layout_from_memdesc", "to_linear_layout"):
        assert hasattr(builder, name)
    linear = private.gluon_layouts().DistributedLinearLayout
    assert list(inspect.signature(linear).parameters) == [
        "reg_bases",
        "lane_bases",
        "warp_bases",
        "block_bases",
        "shape",
    ]


def test_operations_are_lowered_alone():
    for arch in (NVIDIA, AMD):
        context = private.libtriton("ir").context()
        manager = private.libtriton("ir").pass_manager(context)
        private.add_lowering_of_layouts(manager, arch)
        text = str(manager.get_pipeline_str())
        assert "allocate-" in text
        assert "convert-triton" in text
