"""The functions behind `expected.json`, and our results in its form."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from irwidget.spyre import TensorSpec, spyre_hint

TABLE = json.loads((Path(__file__).parent / "expected.json").read_text())


def add(a, b):
    return a + b


def matmul(a, b):
    return a @ b


def softmax(a):
    return torch.softmax(a, -1)


def nested_tiles(a, b, c):
    with spyre_hint(slices={"A": 2}), spyre_hint(slices={"B": 4}):
        return (a + b) * c


def hinted_matmul(x, y):
    with spyre_hint(work_div={"K": 4, "M": 2}):
        return x @ y


def hinted_add(x, y):
    with spyre_hint(work_div={"M": 4}):
        return x + y


def hinted_abs(x):
    with spyre_hint(work_div={"M": 4}):
        return torch.abs(x)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs_3d_256x128x512_f32": torch.abs,
    "mul_scalar": lambda a: a * 2.5,
    "relu": torch.relu,
    "gelu": F.gelu,
    "exp": torch.exp,
    "sqrt_rsqrt": lambda a: torch.sqrt(a) + torch.rsqrt(a),
    "div": lambda a, b: a / b,
    "softplus": F.softplus,
    "gt": lambda a, b: a > b,
    "pow2": lambda a: a**2,
    "ceil": torch.ceil,
    "logical_not": torch.logical_not,
    "to_fp32": lambda a: a.to(torch.float32),
    "to_fp16": lambda a: a.to(torch.float16),
    "sum_dim1": lambda a: a.sum(1),
    "sum_dim0": lambda a: a.sum(0),
    "sum_dim0_f32": lambda a: a.sum(0),
    "sum_all": lambda a: a.sum(),
    "sum_3d_dim1": lambda a: a.sum(1),
    "mean_dim1_keep": lambda a: a.mean(1, keepdim=True),
    "amax_dim1": lambda a: a.amax(1),
    "max_dim": lambda a: torch.max(a, 1).values,
    "argmax": lambda a: a.argmax(1),
    "var": lambda a: a.var(1),
    "softmax_dim0_coopt": lambda a: torch.softmax(a, 0),
    "log_softmax": lambda a: torch.log_softmax(a, -1),
    "layernorm": lambda a, w, b: F.layer_norm(a, (1024,), w, b),
    "rmsnorm": lambda a, w: F.rms_norm(a, (1024,), w),
    "topk4": lambda a: torch.topk(a, 4),
    "topk8": lambda a: torch.topk(a, 8),
    "mm_transposed_b": lambda a, b: a @ b.t(),
    "linear_2d": F.linear,
    "linear_2d_optw": F.linear,
    "linear_3d_optw": F.linear,
    "granite_qproj": F.linear,
    "lm_head_decode": F.linear,
    "addmm": torch.addmm,
    "mlp": lambda x, w1, w2: F.linear(F.gelu(F.linear(x, w1)), w2),
    "swiglu": lambda x, g, u, d: F.linear(F.silu(F.linear(x, g)) * F.linear(x, u), d),
    "sdpa": F.scaled_dot_product_attention,
    "transpose_contig": lambda a: a.t().contiguous(),
    "add_transposed": lambda a, b: a + b.t(),
    "cat0": lambda a, b: torch.cat([a, b], 0),
    "view": lambda a: a.view(64, 4, 128) * a.view(64, 4, 128),
    "permute_add": lambda a, b: a.permute(1, 0, 2) + b,
    "gather_index": lambda w, i: w[i],
    "full_add": lambda a: a + torch.full(a.shape, 3.0, dtype=torch.float16),
    "pad": lambda a: F.pad(a, (0, 64)),
    "chain_add_mul_relu": lambda a, b, c: torch.relu((a + b) * c),
    "conv2d": F.conv2d,
    "cumsum": lambda a: torch.cumsum(a, 1),
    "tile_nested_add_mul": nested_tiles,
    "hint_workdiv_mm_K4M2": hinted_matmul,
    "hint_workdiv_add_M4": hinted_add,
    "hint_workdiv_bad_divisor": hinted_abs,
}
_FAMILIES = (
    ("add_", add),
    ("span_", add),
    ("expand_", add),
    ("sencores", add),
    ("mm_", matmul),
    ("matmul_", torch.matmul),
    ("softmax_", softmax),
)

DIMS = {
    "tile_nested_add_mul": [["A", "B"]] * 3,
    "hint_workdiv_mm_K4M2": [["M", "K"], ["K", "N"]],
    "hint_workdiv_add_M4": [["M", "N"]] * 2,
    "hint_workdiv_bad_divisor": [["M", "N"]],
}


def function(name: str) -> Callable[..., Any]:
    return FUNCTIONS.get(name) or next(f for prefix, f in _FAMILIES if name.startswith(prefix))


def inputs(case: dict[str, Any]) -> list[TensorSpec]:
    dims = DIMS.get(case["name"], [None] * len(case["inputs"]))
    return [
        TensorSpec(shape, dtype, order, dims=names)
        for (shape, dtype, order, _), names in zip(case["inputs"], dims, strict=True)
    ]


def layout(text: str | None) -> list[Any] | None:
    if text is None:
        return None
    pattern = r"SpyreTensorLayout\(device_size=(.*?), stride_map =(.*?), device_dtype=DataFormats\.(\w+)(?:, .*)?\)"
    found = re.fullmatch(pattern, text)
    assert found is not None
    return [json.loads(found[1]), json.loads(found[2]), found[3]]


def kernel(given: dict[str, Any]) -> dict[str, Any]:
    launches = given["bundle_mlir"].count("sdsc_execute")
    return {"name": given["name"], "ops": [_op(o) for o in given["ops"]], "bundle": launches}


def _op(o: dict[str, Any]) -> dict[str, Any]:
    s = o["sdsc"]
    return {
        "func": o["opspec_op"],
        "reduces": o["is_reduction"],
        "depth": o["loop_depth"],
        "space": {k: [int(n), split] for k, (n, split) in o["iteration_space"].items()},
        "info": o["op_info"],
        "tensors": [
            [a["io"], a["arg_index"], a["device_dtype"], a["device_size"], a["device_coordinates"], a["allocation"]]
            for a in o["args"]
        ],
        "file": {
            "key": s["key"],
            "unit": s["exUnit"],
            "format": s["dataFormat"],
            "cores": s["cores_used"],
            "splits": s["splits"],
            "sizes": s["N"],
            "tile": s["per_core_tile"],
            "slices": s["coreIdToWkSlice_first4"],
            "classes": {
                k: [v["layoutDimOrder_"], v["stickDimOrder_"], v["stickSize_"]] for k, v in s["primaryDsInfo"].items()
            },
            "data": [[d["type"], d["scale"], d["fmt"], d["mem"]] for d in s["labeledDs"]],
            "gaps": s["backGap"],
            "mask": s["coordinateMasking"],
            "constants": s["constants"],
            "starts": s["start_addr_core0_1"],
        },
    }


def buffer(o: dict[str, Any]) -> list[Any]:
    made = [o["op"], o["cls"], layout(o.get("device_layout"))]
    if "it_space" in o:
        made += [{k: int(n) for k, n in o["it_space"].items()}, o["splits"], o["reduction_type"], o.get("allocation")]
    return made
