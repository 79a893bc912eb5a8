"""Layouts of tensors in Triton's TTGIR and in Gluon: who owns each element, and how conversions move them.

`of(trace)` is all of a dump; `layout("tensor<64x64xf16, #ttg.blocked<{...}>>")` one by its text;
`movement(one, other)` a conversion. Importing this does not import Triton.
"""

from irwidget.layouts.found import Layouts, of
from irwidget.layouts.linear import Linear
from irwidget.layouts.moving import Movement, movement
from irwidget.layouts.placement import Layout, layout

__all__ = ["Layout", "Layouts", "Linear", "Movement", "layout", "movement", "of"]
