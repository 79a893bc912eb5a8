"""Evaluate an exported program in float64, exactly or as if every operation rounded a little differently.

The exact values say what a program means; the spread of evaluations with rounding noise says how far a right program
of the original dtypes may be from them, element by element: cancellation, long sums and comparisons that sit on an
edge are seen without a rule for each ("Monte Carlo arithmetic", Parker 1997).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch.fx import Interpreter, Node

from irwidget.checking.growth import dtype_of, epsilon, epsilon_of, growth, name_of
from irwidget.private_torch import OpOverload, is_random, pytree

Values = tuple[Any, ...]

_WIDE = {torch.complex64: torch.complex128, torch.complex32: torch.complex128}
_SINGLE: dict[Any, torch.dtype] = {torch.float64: torch.float32, torch.complex128: torch.complex64}
EXACT = frozenset(
    """
    abs alias amax amin argmax argmin as_strided broadcast_to cat ceil clamp clamp_max clamp_min clone constant_pad_nd
    contiguous copy copysign detach diagonal embedding empty eq expand fill flip floor full gather ge gt index
    index_select le lift_fresh_copy lt masked_fill max max_pool2d_with_indices maximum min minimum ne neg
    permute relu repeat reshape roll round scalar_tensor scatter select select_scatter sign slice
    slice_scatter sort split split_with_sizes squeeze stack sym_size t topk transpose tril triu trunc unbind
    unfold unsqueeze view where zeros zeros_like ones ones_like new_zeros new_ones full_like new_full arange
    unsafe_index
    """.split()
)
"""Operations of ATen that move or choose values and never round."""
_UNIT = frozenset(
    """
    expm1 log1p elu celu selu softplus sinh asinh atanh acosh tanh log_sigmoid_forward silu sigmoid
    erfc logit hardswish special_expm1 special_log1p _log_softmax logsumexp logcumsumexp logaddexp logaddexp2
    """.split()
)
"""Functions that are often composed of others of about one, as `exp(x) - 1` or the logarithm of a sum of exponentials:
what they lose is a part of one."""
_TIMES = frozenset("gelu mish".split())
"""Functions that are their operand times something that is composed so: they lose a part of the operand."""
_SAMPLERS = ("upsample_", "_upsample_", "grid_sampler")
"""How operations begin that sample between elements: they round where they look, and lose a part of the largest."""
_REMAINDERS = frozenset("fmod remainder".split())
"""Exact by themselves, but often composed: `x - trunc(x / y) * y` loses a part of `x`."""
_QUOTIENT = 1024.0
"""Up to this quotient, at the least, a remainder need not be exact: what is composed loses more and more of `y`."""
_LOST = 1 / 16
"""The part of `y` from which on that is too much."""
_REINTERPRETS = frozenset([torch.ops.aten.view.dtype, torch.ops.aten.view_copy.dtype])
EMPTIES = frozenset("empty new_empty empty_strided new_empty_strided empty_like empty_permuted".split())
"""Operations that return memory which is not written."""
_COMPARISONS = frozenset("eq ne lt le gt ge".split())
_FEW = 64
"""An operation that was exact on at least so many elements is taken for one that does not round."""


def unit_of(name: str, args: Values) -> torch.Tensor | float:
    """What an operation loses a part of, where that may be more than its result; 0 of others."""
    if name in _TIMES:
        return args[0].abs().clamp(min=1.0)
    return 1.0 if name in _UNIT else 0.0


def is_cond(node: Node) -> bool:
    """Whether a node is a `torch.cond`."""
    return node.op == "call_function" and str(node.target) == "cond"


def conditions(module: torch.fx.GraphModule) -> dict[Node, str]:
    """Every `torch.cond` of a program, also in branches and bodies of loops, by its name."""
    return {node: f"{node.name} in {where}" if where else node.name for where, node in _nodes(module) if is_cond(node)}


def random_operator(module: torch.fx.GraphModule) -> Any:
    """The operator of a program, also of its branches and loops, that is random; None where none is."""
    return next((node.target for _, node in _nodes(module) if is_random(node.target)), None)


def _nodes(module: torch.fx.GraphModule) -> Iterator[tuple[str, Node]]:
    """All nodes, each with the name of the graph within the program that has it."""
    for where, graph in module.named_modules():
        if isinstance(graph, torch.fx.GraphModule):
            for node in graph.graph.nodes:
                yield where, node


class Rounding(Interpreter):
    """The program as eager PyTorch computes it; notes which operations were exact."""

    def __init__(self, module: torch.fx.GraphModule) -> None:
        super().__init__(module)
        self.rounds: dict[str, bool] = {}
        self.taken: set[tuple[str, bool]] = set()
        """The branches of `torch.cond` that were executed: the name of the node, and its condition."""
        self._conditions = conditions(module)

    def run_node(self, n: Node) -> Any:
        if n.op != "call_function":
            return super().run_node(n)
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        if not isinstance(n.target, OpOverload):
            if n in self._conditions:
                self.taken.add((self._conditions[n], bool(args[0])))
            return n.target(*pytree.tree_map(self._inside, args), **kwargs)  # pyright: ignore[reportCallIssue]  # callable
        value = super().run_node(n)
        self.rounds[n.name] = name_of(n) not in EXACT and not self._was_exact(n, args, kwargs, value)
        return value

    def _inside(self, leaf: Any) -> Any:
        """A graph that an operation runs as something that notes which branches it takes."""
        if not isinstance(leaf, torch.fx.GraphModule):
            return leaf
        inner = Rounding(leaf)
        inner._conditions, inner.taken = self._conditions, self.taken
        return lambda *operands: inner.run(*operands, enable_io_processing=False)

    @staticmethod
    def _was_exact(node: Node, args: Values, kwargs: Mapping[str, Any], value: Any) -> bool:
        tensors = _tensors(value)
        if any(tensor.is_meta for tensor in tensors):
            return True  # it is asked for its shape
        if sum(tensor.numel() for tensor in tensors) < _FEW:
            return False
        try:
            if any(tensor.dtype in _SINGLE for tensor in tensors):  # of which float64 itself is no measure
                args, kwargs = pytree.tree_map(_in_single, (args, dict(kwargs)))
                tensors = _tensors(call(node, args, dict(kwargs)))
            wide = call(node, *_widened(_wide_dtypes(_floats(args), dict(kwargs))))
        except Exception:
            return False
        pairs = zip(tensors, _tensors(wide), strict=True)
        return all(torch.equal(_wide(one).nan_to_num(), _wide(other).nan_to_num()) for one, other in pairs)


class Wide(Interpreter):
    """The program in float64; with a seed, every operation that rounds does so at random."""

    def __init__(self, module: torch.fx.GraphModule, rounds: Mapping[str, bool], seed: int | None = None) -> None:
        super().__init__(module)
        self._rounds = rounds
        self._random = None if seed is None else torch.Generator().manual_seed(seed)

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Any:
        return _widened(super().placeholder(target, args, kwargs))

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        return _widened(super().get_attr(target, args, kwargs))

    def run_node(self, n: Node) -> Any:
        if n.op != "call_function":
            return super().run_node(n)
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        if not isinstance(n.target, OpOverload):
            return n.target(*pytree.tree_map(self._inside, args), **kwargs)  # pyright: ignore[reportCallIssue]  # callable
        if name_of(n) in _COMPARISONS:
            args = (args[0], _of_dtype(n, args[1]))
        rounds = name_of(n) not in _REMAINDERS and self._rounds.get(n.name, name_of(n) not in EXACT)
        noisy = self._random is not None and rounds
        eps = epsilon_of(n)
        more = growth(n, args) if noisy else 0.0
        if noisy and eps:
            args, kwargs = pytree.tree_map(lambda leaf: self._shaken(leaf, eps * more), (_floats(args), dict(kwargs)))
        value = self._compute(n, args, dict(kwargs))
        if self._random is not None and name_of(n) in _REMAINDERS:
            return self._shaken(value, 2 * eps, _dividend(args[0], args[1], eps))
        if not noisy:
            return value
        wanted = [dtype_of(meta) for meta in pytree.tree_leaves(n.meta.get("val"))]
        leaves, spec = pytree.tree_flatten(value)
        unit = _of_samples(args[0]) if name_of(n).startswith(_SAMPLERS) else unit_of(name_of(n), args)
        return pytree.tree_unflatten(
            [self._shaken(leaf, epsilon(dtype) * more, unit) for leaf, dtype in zip(leaves, wanted, strict=True)],
            spec,
        )

    def _inside(self, leaf: Any) -> Any:
        """A graph that an operation runs, a branch or the body of a loop, as something that runs it in this way."""
        if not isinstance(leaf, torch.fx.GraphModule):
            return leaf
        inner = Wide(leaf, {})
        inner._random = self._random
        return lambda *operands: inner.run(*operands, enable_io_processing=False)

    def _shaken(self, leaf: Any, amount: float, least: Any = 0.0) -> Any:
        """Every element off by a random part, up to `amount`, of itself or, if that is more, of `least`."""
        if not isinstance(leaf, torch.Tensor) or not (leaf.is_floating_point() or leaf.is_complex()):
            return leaf
        noise = torch.rand(leaf.shape, generator=self._random, dtype=torch.float64) * (2 * amount) - amount
        if isinstance(least, float) and not least:
            return leaf * (1 + noise)
        return leaf + noise * leaf.abs().clamp(min=least)

    def _compute(self, node: Node, args: Values, kwargs: dict[str, Any]) -> Any:
        """In float64 where the operation has it and means the same, otherwise in its own dtypes."""
        if node.target in _REINTERPRETS:  # the bytes of an element are those of its own dtype
            bytes_ = args[0].to(node.all_input_nodes[0].meta["val"].dtype)
            return _widened(call(node, (bytes_, *args[1:]), kwargs))
        try:
            value = call(node, *_wide_dtypes(args, kwargs))
            if _as_promised(value, node):
                return value
        except Exception:  # no such kernel for float64
            pass
        own = pytree.tree_map(lambda leaf: _narrowed(leaf, node), (args, kwargs))
        return _widened(call(node, *own))


def _of_samples(image: torch.Tensor) -> float:
    """What sampling may lose a part of: the largest element for each of those that there are along a side."""
    return float(image.abs().max()) * max(image.shape[2:]) if image.numel() else 0.0


def _of_dtype(node: Node, number: Any) -> Any:
    """The number that a tensor is compared with as one of the dtype that they are compared in."""
    given = node.all_input_nodes[0].meta.get("val")
    if not isinstance(number, float) or not isinstance(given, torch.Tensor):
        return number
    return float(torch.tensor(number, dtype=torch.result_type(given, number)))


def _dividend(x: Any, y: Any, eps: float) -> torch.Tensor:
    """The size of what is divided; zero where the quotient is large."""
    most = max(_QUOTIENT, _LOST / (2 * eps)) if eps else 0.0
    x, y = torch.as_tensor(x, dtype=torch.float64).abs(), torch.as_tensor(y, dtype=torch.float64).abs()
    return torch.where(x < most * y, x, 0.0)


def call(node: Node, args: Values, kwargs: dict[str, Any]) -> Any:
    """What the operation of a node returns; memory that it would not write is zero."""
    target: Any = node.target
    made = target(*args, **kwargs)
    if name_of(node) not in EMPTIES:
        return made
    said = node.meta["val"]  # of which a size may be known by now only
    return pytree.tree_map(lambda leaf, one: torch.zeros(leaf.shape, dtype=_wide_dtype(one.dtype)), made, said)


def _tensors(values: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(values) if isinstance(leaf, torch.Tensor)]


def _floats(args: Values) -> Values:
    """The integers of which a function makes floats: what it is composed of rounds them, too."""
    if not args or len(_tensors(args)) != 1 or not isinstance(args[0], torch.Tensor) or args[0].is_complex():
        return args
    return (args[0].to(torch.float64), *args[1:])


def _in_single(leaf: Any) -> Any:
    """A value or a dtype of 64 bits as that of 32."""
    kind = _SINGLE.get(leaf if isinstance(leaf, torch.dtype) else getattr(leaf, "dtype", None))
    return leaf if kind is None else kind if isinstance(leaf, torch.dtype) else leaf.to(kind)


def _wide_dtype(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype.is_floating_point else _WIDE.get(dtype, dtype)


def _wide(tensor: Any) -> torch.Tensor:
    tensor = torch.as_tensor(tensor).detach()
    return tensor.to(_wide_dtype(tensor.dtype))


def _widened(values: Any) -> Any:
    return pytree.tree_map(lambda leaf: _wide(leaf) if isinstance(leaf, torch.Tensor) else leaf, values)


def _wide_dtypes(args: Values, kwargs: dict[str, Any]) -> tuple[Values, dict[str, Any]]:
    """Arguments that name a dtype name the wide one."""
    change = lambda leaf: _wide_dtype(leaf) if isinstance(leaf, torch.dtype) else leaf  # noqa: E731
    return pytree.tree_map(change, (args, kwargs))


def _narrowed(leaf: Any, node: Node) -> Any:
    """Back to the float type that the program computes this operation in."""
    if not isinstance(leaf, torch.Tensor) or not (leaf.is_floating_point() or leaf.is_complex()):
        return leaf
    given = [dtype_of(argument.meta.get("val")) for argument in node.all_input_nodes]
    narrow = next((dtype for dtype in given if dtype is not None and dtype.is_floating_point), None)
    return leaf.to(narrow) if narrow and leaf.is_floating_point() else leaf


def _as_promised(value: Any, node: Node) -> bool:
    """Whether results have the shapes and the wide form of the dtypes that the exported program gives."""
    metas = pytree.tree_leaves(node.meta.get("val"))
    leaves = pytree.tree_leaves(value)
    if len(metas) != len(leaves):
        return False
    return all(
        not isinstance(meta, torch.Tensor)
        or (isinstance(leaf, torch.Tensor) and leaf.dtype == _wide_dtype(meta.dtype) and leaf.dim() == meta.dim())
        for meta, leaf in zip(metas, leaves, strict=True)
    )
