"""Matrix products with loops in an order that vectorizes, in a module on its way to LLVM.

A named product becomes loops i, j, k, whose innermost one sums, element by
element, over a column of the right operand. In the order i, k, j the innermost
one walks along rows, and every element is summed in the same order as before.
LLVM unrolls a short loop k by itself, which is better still.
"""

from __future__ import annotations

from typing import Any

from irwidget.helion.bindings import ir
from irwidget.toolchain.mlir_opt import in_place

UNROLLED = 16
"""The longest loop that LLVM unrolls."""

_PRODUCTS = {"linalg.matmul": 0, "linalg.batch_matmul": 1}
"""Leading batch dims of each op."""


def reorder(root: Any) -> None:
    """Replace every named product on buffers, in place."""
    for region in root.regions:
        for block in region.blocks:
            for view in list(block.operations):
                operation = view.operation
                if operation.name in _PRODUCTS and not operation.results and _is_long(operation):
                    _replace(operation, _PRODUCTS[operation.name])
                else:
                    reorder(operation)


def _maps(batch: int, order: tuple[int, int, int], context: Any) -> list[ir.AffineMap]:
    """The maps of operands and result, for loops over the batch and then i, j and k at the places of `order`."""
    leading = list(range(batch))
    i, j, k = (batch + place for place in order)
    dims = [ir.AffineExpr.get_dim(position, context) for position in range(batch + 3)]
    chosen = ([*leading, i, k], [*leading, k, j], [*leading, i, j])
    return [ir.AffineMap.get(batch + 3, 0, [dims[d] for d in places], context) for places in chosen]


def _is_long(operation: Any) -> bool:
    """Whether it sums over many elements, and no operand is transposed or broadcast."""
    if operation.operands[0].type.shape[-1] <= UNROLLED:
        return False
    usual = _maps(_PRODUCTS[operation.name], (0, 1, 2), operation.context)
    return list(operation.attributes["indexing_maps"]) == [ir.AffineMapAttr.get(m) for m in usual]


def _replace(operation: Any, batch: int) -> None:
    context = operation.context
    kinds = ["parallel"] * (batch + 1) + ["reduction", "parallel"]
    attributes = {
        "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in _maps(batch, (0, 2, 1), context)], context),
        "iterator_types": ir.ArrayAttr.get(
            [ir.Attribute.parse(f"#linalg.iterator_type<{kind}>", context) for kind in kinds], context
        ),
        "operandSegmentSizes": operation.attributes["operandSegmentSizes"],
    }
    made = ir.Operation.create(
        "linalg.generic",
        [],
        list(operation.operands),
        attributes,
        None,
        1,
        loc=operation.location,
        ip=ir.InsertionPoint(operation),
    )
    operation.regions[0].blocks[0].append_to(made.regions[0])
    operation.erase()


tool = in_place("reorder-products", lambda module: reorder(module.operation))
"""The step of a pipeline that does this."""
