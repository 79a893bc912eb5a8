"""Other inputs of the kind that a model was given, to compare it with eager PyTorch on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_SHORT = 3
"""Elements that may well be in order by chance."""


def resampled(values: Any, seed: int) -> Any:
    """Inputs like these: integers between the least and the greatest, floats and booleans drawn from theirs.

    With an odd seed floats lie between two of theirs. What may be an order of its own (a sorted vector of boundaries
    or offsets) stays, and so do places that put another into order, with it. What is expanded is expanded again.
    """
    import torch

    from irwidget.private_torch import pytree

    random = torch.Generator().manual_seed(seed)
    kept = _with_sorters([leaf for leaf in pytree.tree_leaves(values) if isinstance(leaf, torch.Tensor)])

    def sample(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor) or leaf.numel() < 2 or id(leaf) in kept or _is_sorted(leaf):
            return leaf
        distinct = leaf.detach().cpu()[once(leaf.stride())]
        flat = distinct.reshape(-1)
        if leaf.is_floating_point() or leaf.is_complex() or leaf.dtype == torch.bool:
            one, other = (flat[torch.randint(0, flat.numel(), flat.shape, generator=random)] for _ in range(2))
            between = seed % 2 and leaf.is_floating_point() and bool(flat.isfinite().all())
            part = torch.rand(flat.shape, generator=random).to(leaf.dtype)
            flat = one * part + other * (1 - part) if between else one
        elif int(flat.max()) - int(flat.min()) < 2**31:
            spread = torch.randint(0, int(flat.max()) - int(flat.min()) + 1, flat.shape, generator=random)
            flat = (flat.min().to(torch.int64) + spread).to(leaf.dtype)
        return flat.reshape(distinct.shape).to(leaf.device).expand(leaf.shape)

    return pytree.tree_map(sample, values)


def once(stride: Sequence[int]) -> tuple[slice, ...]:
    """An index of a tensor with these strides: of each expanded dim its first element, which is all of them."""
    return tuple(slice(None) if step else slice(0, 1) for step in stride)


def shapes_in(module: Any, names: Sequence[str | None], values: Any) -> list[Any]:
    """Of the leaves of inputs the shapes that a graph's placeholders of these names have; None of numbers."""
    import torch

    from irwidget.private_torch import pytree

    known = {node.name: node.meta.get("val") for node in module.graph.nodes if node.op == "placeholder"}
    return [
        known[name].shape if isinstance(leaf, torch.Tensor) and isinstance(known.get(name), torch.Tensor) else None
        for leaf, name in zip(pytree.tree_leaves(values), names, strict=True)
    ]


def resized(values: Any, shapes: Sequence[Any], step: int, *, guarded: bool = False) -> Any:
    """Inputs with other sizes, as some of the old places in order, or more than once; None where they can have none.

    `shapes` are those of the leaves in the program, with symbols for what is dynamic; of a number that is a size it is
    the symbol alone, of other numbers None. `guarded`: only sizes for which all holds that has been taken of them.
    """
    import torch

    from irwidget.private_torch import pytree
    from irwidget.private_torch_export import other_sizes

    leaves, structure = pytree.tree_flatten(values)
    dynamic = [at for at, shape in enumerate(shapes) if shape is not None]
    given = [leaves[at].shape if isinstance(leaves[at], torch.Tensor) else [leaves[at]] for at in dynamic]
    found = other_sizes([shapes[at] for at in dynamic], given, step, guarded=guarded)
    if found is None:
        return None
    for at, sizes in zip(dynamic, found, strict=True):
        if not isinstance(leaves[at], torch.Tensor):
            (leaves[at],) = sizes
            continue
        for dim, size in enumerate(sizes):
            before = leaves[at].shape[dim]
            if size != before:
                places = torch.arange(size, device=leaves[at].device) * before // size
                leaves[at] = leaves[at].index_select(dim, places)
    return pytree.tree_unflatten(leaves, structure)


def opposite(values: Any) -> Any:
    """Floats of the other sign and the other truth; integers may be indices, and stay."""
    import torch

    from irwidget.private_torch import pytree

    def turned(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        if leaf.dtype == torch.bool:
            return ~leaf
        return -leaf if leaf.is_floating_point() or leaf.is_complex() else leaf

    return pytree.tree_map(turned, values)


def _is_sorted(tensor: Any) -> bool:
    """Of a table with rows of some length, each row."""
    if tensor.is_complex() or not (tensor.dim() == 1 or (tensor.dim() > 1 and tensor.shape[-1] > _SHORT)):
        return False
    return bool((tensor[..., 1:] >= tensor[..., :-1]).all())


def _with_sorters(tensors: list[Any]) -> set[int]:
    """The identities of tensors of places that put another in order, and of these others."""
    found = set[int]()
    for sorter in filter(_is_order, tensors):
        for one in tensors:
            if one is not sorter and one.shape == sorter.shape and _is_sorted(one.gather(-1, sorter)):
                found |= {id(sorter), id(one)}
    return found


def _is_order(tensor: Any) -> bool:
    """Whether each row has every place once."""
    import torch

    if tensor.dtype != torch.int64 or not tensor.dim():
        return False
    places = torch.arange(tensor.shape[-1], device=tensor.device)
    return bool((tensor.sort(-1).values == places).all())
