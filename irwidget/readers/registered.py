"""The readers that irwidget brings, in the order in which they are asked: what is told at a glance first."""

from __future__ import annotations

from irwidget.readers import (
    gcc,
    inductor,
    ir,
    irtrace,
    jax,
    llvm_folder,
    log_folder,
    numba,
    numbered,
    printed,
    rustc,
    spyre,
    taichi,
    tilelang,
    torch_logs,
    torchscript,
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
    *jax.READERS,
    *rustc.READERS,
    *numbered.READERS,
    *log_folder.READERS,
    *printed.READERS,
    *worded.READERS,
    *numba.READERS,
    *taichi.READERS,
    *torchscript.READERS,
    *ir.READERS,
)
