"""The plan of a SuperDSC from the file itself: what it says counts, not what ours would be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from irwidget.errors import UsageError
from irwidget.spyre.opspec import OpSpec
from irwidget.spyre.superdsc import LabeledTensor, SuperDscPlan, plan


@dataclass(frozen=True)
class ReadFile:
    """What a SuperDSC file says, by what it is needed for."""

    name: str
    opfunc: str
    unit: str
    sizes: Mapping[str, int]
    splits: Mapping[str, int]
    cores: int
    slices: Mapping[int, Mapping[str, int]]
    tensors: Sequence[Mapping[str, Any]]
    """Of each labelled tensor its `labeledDs_` entry, with `order`, `stick`, `eps`, `place`, `addresses` and `gaps`."""
    mask: Mapping[str, Any]
    inputs: tuple[int, ...]
    indexes: tuple[int, ...]


def read_file(name: str, file: Mapping[str, Any]) -> ReadFile:
    """The facts of a SuperDSC. Raises UsageError, which names the file, for what has not its fields."""
    try:
        return _read(name, file)
    except (AttributeError, IndexError, KeyError, StopIteration, TypeError, ValueError) as error:
        raise UsageError(
            f"{name} is no SuperDSC as those of June and July 2026 are: {type(error).__name__}: {error}"
        ) from None


def _read(name: str, file: Mapping[str, Any]) -> ReadFile:
    (top,) = file.values()
    ((opfunc, dsc),) = top["dscs_"][0].items()
    compute = dsc["computeOp_"][0]
    tensors: list[dict[str, Any]] = []
    for node, labeled in zip(dsc["scheduleTree_"], dsc["labeledDs_"], strict=True):
        info = dsc["primaryDsInfo_"][labeled["dsType_"]]
        order = list(info["layoutDimOrder_"])
        gaps = {d: int(next(iter(g.values()))) for d, g in node.get("backGapCore_", {}).items()}
        data = node["startAddressCoreCorelet_"]["data_"]
        tensors.append(
            {
                **labeled,
                "order": list(node.get("layoutDimOrder_", order)),
                "stick": info["stickDimOrder_"][0],
                "eps": int(info["stickSize_"][0]),
                "scale": dict(zip(order, labeled["scale_"], strict=True)),
                "place": node["component_"],
                "addresses": {int(k[1:].split(",")[0]): int(v) for k, v in data.items()},
                "gaps": gaps,
            }
        )
    return ReadFile(
        name,
        str(opfunc),
        str(compute["exUnit"]),
        {k.removesuffix("_"): int(n) for k, n in dsc["N_"].items() if k != "name_"},
        {k: int(n) for k, n in top["numWkSlicesPerDim_"].items()},
        int(top["numCoresUsed_"]),
        {int(c): {d: int(n) for d, n in s.items()} for c, s in top["coreIdToWkSlice_"].items()},
        tensors,
        dsc.get("coordinateMasking_") or {},
        _numbers(compute["inputLabeledDs"]),
        _numbers(compute.get("indirectAccessIndexLabeledDs", ())),
    )


def _numbers(names: Sequence[str]) -> tuple[int, ...]:
    return tuple(int(name.rpartition("idx")[2]) for name in names)


def plan_of(spec: OpSpec, read: ReadFile | None) -> SuperDscPlan:
    """The plan of an OpSpec: sizes, splits, cores and slices from its file, or by our rules where there is none."""
    if read is None:
        return plan(spec)
    symbols = list(spec.iteration_space)
    if {v.removesuffix("_") for v in symbols} <= set(read.sizes):  # made of the file
        labels = {v: v.removesuffix("_") for v in symbols}
    else:
        labels = dict(plan(spec).labels)
        if not set(labels.values()) <= set(read.sizes):
            labels = dict(zip(symbols, list(read.sizes)[-len(symbols) :], strict=False))
    tensors = tuple(
        LabeledTensor(arg, tuple(t["order"]), t["scale"], t["stick"], t["dsType_"])
        for arg, t in zip(spec.args, read.tensors, strict=False)
    )
    if len(tensors) != len(spec.args):
        raise UsageError(f"{read.name} has {len(read.tensors)} tensors and its OpSpec {spec.op} has {len(spec.args)}")
    return SuperDscPlan(
        spec,
        labels,
        read.sizes,
        read.splits,
        core_order(read),
        tensors,
        {t["dsType_"]: (tuple(t["order"]), t["stick"], t["eps"]) for t in read.tensors},
        read.opfunc,
        read.mask,
        {k: float(v) for k, v in spec.constants.items()},
        spec.args[0].device_dtype if spec.args else "",
        read.cores,
        read.slices,
    )


def core_order(read: ReadFile) -> tuple[str, ...]:
    """Dims from the one whose slices vary fastest over the core ids, as the file numbers them."""

    def first(dim: str) -> int:
        return next((c for c in sorted(read.slices) if read.slices[c].get(dim, 0)), read.cores)

    return tuple(sorted(read.sizes, key=first))
