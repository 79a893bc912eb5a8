"""SuperDSC: the JSON that describes one OpSpec to the back end (docs/spyre-rules.md: SuperDSC)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from irwidget.spyre.encoding import encode_constant
from irwidget.spyre.opfuncs import MASK_CONSTANT, NONSTICK, mask_value
from irwidget.spyre.opspec import OpSpec, TensorArg

_MATMUL_LABELS = ("ki", "kj", "y", "x", "mb", "out", "in")
_LABELS = ("mb", "x", "y", "i", "j", "ki", "kj")
_POINTWISE_CLASSES = ("OUTPUT", "KERNEL", "INPUT", "KERNEL_IDX")
_MATMUL_CLASSES = ("INPUT", "KERNEL", "OUTPUT", "KERNEL_IDX")
_CASTS = frozenset({"dl16tofp32", "fp32todl16", "fp8todl16", "qfp8ch"})


@dataclass(frozen=True)
class LabeledTensor:
    """A labelled data structure: an argument in the labels of the SuperDSC."""

    arg: TensorArg
    order: tuple[str, ...]
    """Its own dim order, before its class decides."""
    scale: Mapping[str, int]
    stick: str
    kind: str = ""
    """The layout class."""


@dataclass(frozen=True)
class SuperDscPlan:
    """What the JSON is filled from."""

    spec: OpSpec
    labels: Mapping[str, str]
    """Symbol -> dim label."""
    sizes: Mapping[str, int]
    splits: Mapping[str, int]
    core_order: tuple[str, ...]
    tensors: tuple[LabeledTensor, ...]
    classes: Mapping[str, tuple[tuple[str, ...], str, int]]
    """Class -> (dim order, stick dim, stick size)."""
    opfunc: str
    mask: Mapping[str, list[list[int]]]
    constants: Mapping[str, float]
    data_format: str
    cores: int
    slices: Mapping[int, Mapping[str, int]] = field(default_factory=dict[int, Mapping[str, int]])


def plan(spec: OpSpec) -> SuperDscPlan:
    """Derive labels, sizes, classes, masks and slices (docs/spyre-rules.md: Ingredients)."""
    symbols = list(spec.iteration_space)
    labels = _labels(spec, symbols)
    stick = _op_stick(spec)
    sizes = {labels[v]: n for v, (n, _) in spec.iteration_space.items()}
    splits = {labels[v]: s for v, (_, s) in spec.iteration_space.items()}
    row = "mb" if spec.op in _CASTS and len(symbols) == 1 and stick is not None else ""
    _round_up(spec, labels, sizes, splits, row)
    extra = ""
    if stick is None and not any(arg.is_index for arg in spec.args):
        extra = _LABELS[len(symbols)]
        sizes[extra], splits[extra] = max(arg.eps for arg in spec.args), 1
    if row:
        sizes, splits = {row: 1, **sizes}, {row: 1, **splits}
    op_stick = extra or (labels[stick] if stick is not None else "")
    whole = _own_order(spec, _deciding(spec)[0], labels)
    dims = [row] * bool(row) + [*whole, *(d for d in sizes if d not in whole and d != row)]
    tensors = [_tensor(spec, arg, labels, dims, op_stick, bool(extra), row) for arg in spec.args]
    tensors, classes = _classify(spec, tensors)
    out = tensors[-1]
    plain_reduction = spec.is_reduction and spec.kind == "reduction"
    nonstick = plain_reduction and spec.op in NONSTICK and -2 not in out.scale.values()
    mask = _mask(spec, labels, sizes, op_stick) if plain_reduction else {}
    constants = {k: float(v) for k, v in spec.constants.items()}
    if mask:
        constants[MASK_CONSTANT] = mask_value(spec.op)
    order = tuple(labels.get(v, v) for v in spec.core_order)
    order += tuple(d for d in sizes if d not in order)
    cores = prod(splits.values())
    data = next(arg for arg in spec.args if not arg.is_index)
    data_format = _relabelled(spec.op, data.device_dtype)
    return SuperDscPlan(
        spec,
        labels,
        sizes,
        splits,
        order,
        tuple(tensors),
        classes,
        spec.op + ("nonstick" if nonstick else ""),
        mask,
        constants,
        data_format,
        cores,
        {c: _slices(c, order, sizes, splits) for c in range(cores)},
    )


def _labels(spec: OpSpec, symbols: Sequence[str]) -> dict[str, str]:
    n = len(symbols)
    if spec.kind == "matmul":
        return dict(zip(symbols, _MATMUL_LABELS[-n:], strict=True))
    return dict(zip(symbols, (*_LABELS[: n - 1], "out"), strict=True)) if n else {}


def _op_stick(spec: OpSpec) -> str | None:
    """The stick symbol of the op: of the input for reductions, else of the output, else of any tensor."""
    return next((arg.stick for arg in _deciding(spec) if arg.stick is not None), None)


def _relabelled(op: str, data_format: str) -> str:
    """The back end copies integers as what they are as wide as."""
    return "IEEE_FP32" if op == "identity" and data_format == "IEEE_INT32" else data_format


def _deciding(spec: OpSpec) -> list[TensorArg]:
    """The tensors of an op by how much they say of its dims: a reduction's input first, else the output."""
    data = [arg for arg in spec.args if not arg.is_index]
    return data if spec.is_reduction else [data[-1], *data[:-1]]


def _own_order(spec: OpSpec, arg: TensorArg, labels: Mapping[str, str]) -> list[str]:
    """The dims of a tensor from the innermost device dim out."""
    order: list[str] = []
    for coordinate in reversed(arg.device_coordinates[:-1]):
        for v in coordinate.variables:
            if labels[v] not in order:
                order.append(labels[v])
        if coordinate.indirect:
            order += [d for d in _index_dims(spec, coordinate.indirect, labels) if d not in order]
    return order


def _round_up(spec: OpSpec, labels: Mapping[str, str], sizes: dict[str, int], splits: dict[str, int], row: str) -> None:
    """Round the stick dims up to whole sticks; upstream does not where the row that it adds takes their place."""
    data = [arg for arg in spec.args if not arg.is_index]
    restickify = spec.op == "ReStickifyOpHBM"
    if spec.kind in ("matmul", "topk") or spec.op in _CASTS or restickify:
        deciding = data
    else:
        deciding = data[:1] if spec.is_reduction else data[-1:]
    for arg in deciding:
        if arg.stick is None:
            continue
        label = labels[arg.stick]
        if row and len(arg.device_size) == 2 and splits[label] == 1:
            continue
        padded = -(-sizes[label] // arg.eps) * arg.eps
        if padded != sizes[label] and restickify:
            splits[label] = 1
        sizes[label] = padded


def _tensor(
    spec: OpSpec,
    arg: TensorArg,
    labels: Mapping[str, str],
    dims: list[str],
    op_stick: str,
    extra: bool,
    row: str,
) -> LabeledTensor:
    """A tensor with its dims; those of the op that it has not come after them, in the order of `dims`."""
    order = [row] * bool(row) + _own_order(spec, arg, labels)
    stick = labels[arg.stick] if arg.stick is not None else op_stick
    scale = dict.fromkeys(order, 1)
    if spec.kind not in ("matmul", "topk") and not arg.is_index:
        for d in dims:
            if d in order:
                continue
            order.append(d)
            if extra and d == op_stick:
                scale[d] = -2 if spec.op == "layernormscale" and arg.is_input and arg.tag == "EXX2" else 1
            else:
                scale[d] = -2 if d == op_stick and arg.stick is None else -1
    return LabeledTensor(arg, tuple(order), scale, stick)


def _index_dims(spec: OpSpec, name: str, labels: Mapping[str, str]) -> list[str]:
    index = next(arg for arg in spec.args if arg.is_index and arg.name == name)
    return [labels[v] for c in reversed(index.device_coordinates[:-1]) for v in c.variables]


def _classify(
    spec: OpSpec,
    tensors: list[LabeledTensor],
) -> tuple[list[LabeledTensor], dict[str, tuple[tuple[str, ...], str, int]]]:
    """Tensors of equal stick dim, dims and stick size share a layout class."""
    names = iter(_MATMUL_CLASSES if spec.kind == "matmul" else _POINTWISE_CLASSES)
    seen: dict[tuple[str, frozenset[str], int], str] = {}
    classes: dict[str, tuple[tuple[str, ...], str, int]] = {}
    made: list[LabeledTensor] = []
    for tensor in tensors:
        eps = tensor.arg.eps
        key = (tensor.stick, frozenset(tensor.order), eps)
        if tensor.arg.is_index:
            kind = "KERNEL_IDX"
            classes.setdefault(kind, (tensor.order, tensor.stick, eps))
        else:
            if key not in seen:
                seen[key] = next(names)
                classes[seen[key]] = (tensor.order, tensor.stick, eps)
            kind = seen[key]
        made.append(LabeledTensor(tensor.arg, tensor.order, tensor.scale, tensor.stick, kind))
    return made, classes


def _mask(
    spec: OpSpec, labels: Mapping[str, str], sizes: Mapping[str, int], op_stick: str
) -> dict[str, list[list[int]]]:
    symbol = next((v for v, d in labels.items() if d == op_stick), None)
    if symbol is None or symbol not in spec.reduced:
        return {}
    valid = spec.iteration_space[symbol][0]
    return {op_stick: [[valid, sizes[op_stick] - valid]]} if sizes[op_stick] > valid else {}


def _slices(core: int, order: Sequence[str], sizes: Mapping[str, int], splits: Mapping[str, int]) -> dict[str, int]:
    """Slice per dim: the first dim of the order varies fastest over the cores."""
    found: dict[str, int] = {}
    earlier = 1
    for d in order:
        split = splits.get(d, 1)
        found[d] = core // earlier % split
        earlier *= split
    return {d: found.get(d, 0) for d in sizes}


# -- addresses -----------------------------------------------------------------------------------


def start_address(
    made: SuperDscPlan, tensor: LabeledTensor, core: int, iteration: Sequence[int] = (), *, gathered: bool = True
) -> int:
    """Where a core's slice of a tensor begins, in bytes; the scratchpad has the same address on every core.

    Upstream slices a gathered dim by the index tensor's split, although the index says where to read; without
    `gathered`, it is where what the core may read begins.
    """
    return start_addresses(made, tensor, (core,), iteration, gathered=gathered)[0]


def start_addresses(
    made: SuperDscPlan,
    tensor: LabeledTensor,
    cores: Iterable[int],
    iteration: Sequence[int] = (),
    *,
    gathered: bool = True,
) -> list[int]:
    """The same of several cores."""
    arg = tensor.arg
    base = arg.allocation[1] + sum(i * step for i, step in zip(iteration, arg.advances, strict=False))
    if arg.allocation[0] == "lx":
        return [base for _ in cores]
    offset, steps, size = arg.device_coordinates[-1].offset, list[tuple[str, int]](), arg.device_size
    for i, coordinate in enumerate(arg.device_coordinates[:-1]):
        inner = prod(size[i + 1 :])
        offset += coordinate.offset * inner
        if coordinate.indirect and gathered:
            for label in _index_dims(made.spec, coordinate.indirect, made.labels):
                steps.append((label, size[i] * inner // made.splits[label]))
        for v in coordinate.variables:
            label = made.labels[v]
            split = made.splits[label]
            if split > 1 and tensor.scale.get(label, -1) > 0:
                units = made.sizes[label] // (arg.eps if v == arg.stick else 1)
                steps.append((label, (units // split) * inner))
    width, slices = arg.format.bytes, made.slices
    return [base + width * (offset + sum(slices[core][label] * step for label, step in steps)) for core in cores]


def back_gaps(made: SuperDscPlan, tensor: LabeledTensor) -> dict[str, int]:
    """Elements of each dim that lie in the tensor but not in the iteration; of a restickify, also the reverse."""
    arg = tensor.arg
    gaps: dict[str, int] = {}
    for size, coordinate in zip(arg.device_size[:-1], arg.device_coordinates[:-1], strict=True):
        for v in coordinate.variables:
            label = made.labels[v]
            unit = arg.eps if v == arg.stick else 1
            extent, iterated = size * unit, -(-made.sizes[label] // unit) * unit
            if extent > iterated:
                gaps[label] = extent - iterated
            elif extent < iterated and made.spec.op == "ReStickifyOpHBM":
                gaps[label] = iterated - extent
    return gaps


# -- the JSON ------------------------------------------------------------------------------------


def superdsc(
    made: SuperDscPlan, number: int, addresses: Sequence[Mapping[int, str]], symbolic: bool = False
) -> dict[str, Any]:
    """The file `sdsc_<number>.json`: `addresses` give each tensor's start per core (docs/spyre-rules.md: Fields)."""
    cores = made.cores
    top: dict[str, Any] = {
        "sdscFoldProps_": [{"factor_": 1, "label_": "time"}],
        "sdscFolds_": {
            "dim_prop_func": [_affine(1)],
            "dim_prop_attr": [_attribute(1, "time")],
            "data_": {"[0]": "0"},
        },
        "coreFoldProp_": _attribute(cores, "core"),
        "coreletFoldProp_": _attribute(1, "corelet"),
        "numCoresUsed_": cores,
        "coreIdToDsc_": {str(c): 0 for c in range(cores)},
        "numWkSlicesPerDim_": dict(made.splits),
        "coreIdToWkSlice_": {str(c): dict(made.slices[c]) for c in range(cores)},
        "coreIdToDscSchedule": {str(c): [[-1, 0, 0, 0]] for c in range(cores)},
        "dscs_": [{made.opfunc: _dsc(made, addresses, symbolic)}],
    }
    return {f"{number}_{made.opfunc}": top}


def _dsc(made: SuperDscPlan, addresses: Sequence[Mapping[int, str]], symbolic: bool) -> dict[str, Any]:
    tile = {f"{d}_": n // made.splits[d] for d, n in made.sizes.items()}
    stage = {"name_": "core", **tile}
    indexes = [i for i, t in enumerate(made.tensors) if t.arg.is_index]
    return {
        "numCoresUsed_": made.cores,
        "numCoreletsUsed_": 1,
        "coreIdsUsed_": list(range(made.cores)),
        "N_": {"name_": "n", **{f"{d}_": n for d, n in made.sizes.items()}},
        "coordinateMasking_": dict(made.mask),
        "maskingConstId_": 0 if made.mask else -1,
        "dataStageParam_": {"0": {"ss_": stage, "el_": dict(stage)}},
        "primaryDsInfo_": {
            name: {"layoutDimOrder_": list(order), "stickDimOrder_": [stick], "stickSize_": [eps]}
            for name, (order, stick, eps) in made.classes.items()
        },
        "scheduleTree_": [_allocate(made, i, t, addresses[i], symbolic) for i, t in enumerate(made.tensors)],
        "labeledDs_": [_labeled(made, i, t) for i, t in enumerate(made.tensors)],
        "constantInfo_": _constants(made) or "{}",
        "computeOp_": [_compute(made, indexes)],
    }


def _allocate(
    made: SuperDscPlan, i: int, tensor: LabeledTensor, addresses: Mapping[int, str], symbolic: bool
) -> dict[str, Any]:
    place = "lx" if tensor.arg.allocation[0] == "lx" else "hbm"
    order, stick, eps = made.classes[tensor.kind]
    own = tensor.order if not tensor.arg.is_index else order
    gathered = any(c.indirect for c in tensor.arg.device_coordinates)
    node: dict[str, Any] = {
        "nodeType_": "allocate",
        "name_": f"allocate-Tensor{i}_{place}",
        "prev_": "",
        "ldsIdx_": i,
        "component_": place,
    }
    if symbolic and place == "hbm":
        node["isStartAddrSymbolic_"] = 1
    chosen = _chosen_dims(made, tensor, own) if gathered else set[str]()
    node |= {"layoutDimOrder_": list(own), "maxDimSizes_": [1 if d in chosen else -1 for d in own]}
    node |= _indirection(made, i, tensor, gathered)
    node["startAddressCoreCorelet_"] = {
        "dim_prop_func": [{"Map": {}}, {"Const": {}}, {"Const": {}}],
        "dim_prop_attr": [_attribute(made.cores, "core"), _attribute(1, "corelet"), _attribute(1, "time")],
        "data_": {f"[{c}, 0, 0]": addresses[c] for c in range(made.cores)},
    }
    gaps = back_gaps(made, tensor)
    if gaps:
        keys = [str(c) for c in range(made.cores)] if place == "lx" else ["-1"]
        node["backGapCore_"] = {d: dict.fromkeys(keys, str(n)) for d, n in gaps.items()}
    node["coordinates_"] = {
        "coordInfo": {d: _fold(made, tensor, d, d == stick, eps) for d in order},
        "coreIdToWkSlice_": {},
    }
    return node


def _chosen_dims(made: SuperDscPlan, tensor: LabeledTensor, own: Sequence[str]) -> set[str]:
    """Dims of an index of which a gathered tensor has more in the same place, counted from the stick outwards."""
    (name,) = {c.indirect for c in tensor.arg.device_coordinates if c.indirect}
    index = next(arg for arg in made.spec.args if arg.is_index and arg.name == name)
    dims = set(_index_dims(made.spec, name, made.labels))
    extents = zip(own, reversed(index.device_size[:-1]), reversed(tensor.arg.device_size[:-1]), strict=False)
    return {d for d, n, size in extents if d in dims and n < size}


def _indirection(made: SuperDscPlan, i: int, tensor: LabeledTensor, gathered: bool) -> dict[str, Any]:
    def node_name(j: int) -> str:
        place = "lx" if made.tensors[j].arg.allocation[0] == "lx" else "hbm"
        return f"allocate-Tensor{j}_{place}"

    if tensor.arg.is_index:
        value = next(j for j, t in enumerate(made.tensors) if any(c.indirect for c in t.arg.device_coordinates))
        return {
            "indirectAllocType_": "index_tensor",
            "relatedIndirectAccessAlloc_": node_name(value),
            "indexTensorType_": "index",
        }
    if gathered:
        index = next(j for j, t in enumerate(made.tensors) if t.arg.is_index)
        return {"indirectAllocType_": "value_tensor", "relatedIndirectAccessAlloc_": node_name(index)}
    return {"indirectAllocType_": "no_indirection"}


def _fold(made: SuperDscPlan, tensor: LabeledTensor, dim: str, is_stick: bool, eps: int) -> dict[str, Any]:
    """How a dim is folded over cores, corelets, rows and elements."""
    scale = tensor.scale.get(dim, 1)
    split = made.splits[dim]
    tile = made.sizes[dim] // split
    if not is_stick:
        if scale != 1:
            tile = split = 1
        alphas, extents = (tile, 0, 0, 1), (tile,)
    elif scale == -2:
        split, alphas, extents = 1, (eps, 0, 0, eps, 0), (1, eps)
    else:
        alphas, extents = (tile, 0, 0, eps, 1), (tile // eps, eps)
    elements = [f"elem_arr_{k}" for k in reversed(range(len(extents)))]
    names = ["core_fold", "corelet_fold", "row_fold", *elements]
    return {
        "spatial": 3,
        "temporal": 0,
        "elemArr": len(extents),
        "padding": "nopad",
        "folds": {
            "dim_prop_func": [_affine(a) for a in alphas],
            "dim_prop_attr": [_attribute(f, n) for f, n in zip((split, 1, 1, *extents), names, strict=True)],
        },
    }


def _labeled(made: SuperDscPlan, i: int, tensor: LabeledTensor) -> dict[str, Any]:
    arg = tensor.arg
    order = made.classes[tensor.kind][0]
    present = {"isPresent": 1}
    memory = {"lx": present} if arg.allocation[0] == "lx" else {"hbm": present, "lx": dict(present)}
    if arg.is_index:
        memory = {"hbm": present}
    return {
        "ldsIdx_": i,
        "dsName_": f"Tensor{i}",
        "dsType_": tensor.kind,
        "scale_": [tensor.scale.get(d, -1) for d in order],
        "wordLength": arg.format.bytes,
        "dataFormat_": "SENUINT32" if arg.is_index else _relabelled(made.spec.op, arg.device_dtype),
        "memOrg_": memory,
    }


def _constants(made: SuperDscPlan) -> dict[str, Any]:
    return {
        str(i): {
            "dataFormat_": made.data_format,
            "name_": name,
            "data_": {
                "dim_prop_func": [{"Const": {}}, {"Const": {}}, {"Map": {}}],
                "dim_prop_attr": [_attribute(made.cores, "core"), _attribute(1, "corelet"), _attribute(1, "time")],
                "data_": {"[0, 0, 0]": [encode_constant(value, made.data_format)]},
            },
        }
        for i, (name, value) in enumerate(made.constants.items())
    }


def _compute(made: SuperDscPlan, indexes: list[int]) -> dict[str, Any]:
    last = len(made.tensors) - 1
    inputs = [i for i in range(last) if i not in indexes]
    if made.spec.kind == "reduction":
        # Upstream lists the output among the inputs of plain reductions.
        inputs.append(last)
    compute: dict[str, Any] = {
        "exUnit": "pt" if made.spec.kind == "matmul" else "sfp",
        "opFuncName": made.opfunc,
        "attributes_": {"dataFormat_": made.data_format, "fidelity_": "regular"},
        "location": "Inner",
        "inputLabeledDs": [f"Tensor{i}-idx{i}" for i in inputs],
        "outputLabeledDs": [f"Tensor{last}-idx{last}"],
    }
    if indexes:
        compute["indirectAccessIndexLabeledDs"] = [f"Tensor{i}-idx{i}" for i in indexes]
    return compute


def _affine(alpha: int) -> dict[str, Any]:
    return {"Affine": {"alpha_": alpha, "beta_": 0}}


def _attribute(factor: int, label: str) -> dict[str, Any]:
    return {"factor_": factor, "label_": label}
