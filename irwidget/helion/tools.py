"""Steps of Helion's own on a kernel's way to LLVM, as tools that irwidget finds. Does not import Helion."""

from __future__ import annotations

from irwidget.registry import Tool

NARROW_FLOATS = "helion-narrow-floats"
PRODUCTS = "helion-products"
SUMS = "helion-sums"
EXTREMA = "helion-extrema"
FINISH = "helion-finish"
WHOLE = "helion-whole"
DIGITS = "helion-digits"
OUTSIDE = "helion-outside"

TOOLS = (
    Tool(NARROW_FLOATS, "irwidget.helion.narrow_floats:tool", in_pipelines=False, package="torch-mlir"),
    Tool(EXTREMA, "irwidget.helion.extrema:tool", in_pipelines=False, package="torch-mlir"),
    Tool(FINISH, "irwidget.helion.finishing:tool", in_pipelines=False, package="torch-mlir"),
    Tool(DIGITS, "irwidget.helion.digits:tool", in_pipelines=False, package="torch-mlir"),
    Tool(WHOLE, "irwidget.helion.whole:tool", in_pipelines=False),
    Tool(PRODUCTS, "irwidget.helion.products:tool", in_pipelines=False, package="torch-mlir"),
    Tool(OUTSIDE, "irwidget.helion.outside:tool", in_pipelines=False, package="torch-mlir"),
    Tool(SUMS, "irwidget.helion.sums:tool", in_pipelines=False, package="torch-mlir"),
)
