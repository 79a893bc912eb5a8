"""Which of our options the real front end has, and how they are called there."""

from __future__ import annotations

SETTINGS = {
    "cores": "sencores",
    "lx_planning": "lx_planning",
    "layout_solver": "layout_solver",
    "allow_all_ops_in_lx_planning": "allow_all_ops_in_lx_planning",
    "co_optimizing_lx_planning": "co_optimizing_lx_planning",
    "bundle_symbolic_args": "bundle_symbolic_args",
    "unroll_loops": "unroll_loops",
    "chunk_large_tensors": "chunk_large_tensors",
    "core_id_k_fast_emission": "core_id_k_fast_emission",
    "ignore_hints": "ignore_work_division_hints",
}
"""Our option -> the setting of `torch_spyre._inductor.config` that it is."""
