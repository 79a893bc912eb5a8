"""The readers that irwidget brings, in the order in which they are asked: what is told at a glance first."""

from __future__ import annotations

from irwidget.readers import (
    gcc,
    inductor,
    ir,
    irtrace,
    llvm_folder,
    numba,
    numbered,
    printed,
    spyre,
    tilelang,
    torch_logs,
    tree,
    triton,
    worded,
    xla,
)

READERS = (
    *irtrace.READERS,
    *spyre.READERS,
    *inductor.READERS,
    *torch_logs.READERS,
    *xla.READERS,
    *tilelang.READERS,
    *triton.READERS,
    *tree.READERS,
    *llvm_folder.READERS,
    *gcc.READERS,
    *numbered.READERS,
    *printed.READERS,
    *worded.READERS,
    *numba.READERS,
    *ir.READERS,
)
