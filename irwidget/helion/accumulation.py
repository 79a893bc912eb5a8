"""Products that are added to something, in a module of linalg: they accumulate into it, as `tl.dot(a, b, acc)` does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from irwidget.helion.bindings import ir

_PRODUCTS = ("linalg.matmul", "linalg.batch_matmul")


def foldable(module: Any) -> bool:
    """Whether there is a product to fold in a module (an operation)."""
    return any(_added_product(operation) is not None for operation in _generics(module))


def fold(module: Any) -> int:
    """Fold `acc + product into zeros` into one product that starts from `acc`, in place. Returns how many there were.

    `module` is an operation. The sum is exact up to the order in which it is summed.
    """
    folded = 0
    for operation in list(_generics(module)):
        if (found := _added_product(operation)) is not None:
            product, start = found
            _replace(operation, product, start)
            folded += 1
    return folded


def _generics(root: Any) -> Iterator[Any]:
    for region in root.regions:
        for block in region.blocks:
            for view in block.operations:
                if view.operation.name == "linalg.generic":
                    yield view.operation
                else:
                    yield from _generics(view.operation)


def _added_product(generic: Any) -> tuple[Any, ir.Value] | None:
    """The product that an element-wise sum adds, and what to; None for any other op."""
    operands, results = list(generic.operands), list(generic.results)
    if len(operands) != 3 or len(results) != 1 or "reduction" in str(generic.attributes["iterator_types"]):
        return None
    maps = list(generic.attributes["indexing_maps"])
    body = [view.operation for view in generic.regions[0].blocks[0].operations]
    alike = all(one == maps[-1] for one in maps) and all(value.type == results[0].type for value in operands)
    if not alike or [op.name for op in body] != ["arith.addf", "linalg.yield"]:
        return None
    if {str(value) for value in body[0].operands} != {str(a) for a in list(generic.regions[0].blocks[0].arguments)[:2]}:
        return None
    for place in (0, 1):
        product: Any = operands[place].owner
        name = getattr(product, "name", "")
        if name in _PRODUCTS and _starts_from_zero(product) and len(list(operands[place].uses)) == 1:
            return product, operands[1 - place]
    return None


def _starts_from_zero(product: Any) -> bool:
    fill: Any = product.operands[2].owner
    if getattr(fill, "name", "") != "linalg.fill":
        return False
    constant: Any = fill.operands[0].owner
    if getattr(constant, "name", "") != "arith.constant":
        return False
    return float(ir.FloatAttr(constant.attributes["value"]).value) == 0.0


def _replace(generic: Any, product: Any, start: ir.Value) -> None:
    """Move the product to where the sum is, whose start it takes; the fill is left to a later clean-up."""
    product.move_before(generic)
    product.operands[2] = start
    for view in product.regions[0].blocks[0].operations:  # what it is made of is ascribed to nothing by torch-mlir
        view.operation.location = product.location
    generic.results[0].replace_all_uses_with(product.results[0])
    generic.erase()
