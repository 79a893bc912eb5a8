"""Compilers: a worker process that runs passes one by one, LLVM back ends, external tools, the lock.

`run.Source(ir).run(steps) -> Trace` is what the rest of irwidget uses.
"""
