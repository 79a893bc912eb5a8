"""Large tables: every run takes a sample of their rows, `--exhaustive` all of them.

`KEPT` has the families and tests that would take every run beyond 15 minutes on two cores, and say least that others do
not: chosen by the CPU time of each, its children's included. A test that is named (`pytest PATH::NAME`) runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest


def sampled(rows: Iterable[Any], keep: int, name: Callable[[Any], str] = str) -> list[Any]:
    """Rows for `pytest.mark.parametrize`; all but `keep` of them are marked `exhaustive`.

    Which rows stay is decided by a hash of what `name` says of each, so that the sample is the same everywhere, changes
    little when rows are added, and is nobody's choice.
    """
    rows = list(rows)
    kept = sorted(range(len(rows)), key=lambda index: _rank(name(rows[index])))[:keep]
    return [row if index in kept else pytest.param(row, marks=pytest.mark.exhaustive) for index, row in enumerate(rows)]


def one_of(choices: Sequence[str], name: str) -> str:
    """The choice that every run makes for `name`, by a hash of it; the others are left to `--exhaustive`."""
    return choices[hashlib.sha256(name.encode()).digest()[0] % len(choices)]


KEPT = {
    "tests/browser/test_offline.py::test_axe_finds_nothing": 1,
    "tests/browser/test_progress.py::test_stopped_in_a_pass_the_view_comes_before_the_texts": 0,
    "tests/browser/test_saved.py::test_of_what_is_too_large_the_summary_comes_back_and_says_why": 0,
    "tests/browser/test_sweep.py::test_a_click_opens_the_pass_diff_in_a_notebook": 0,
    "tests/core/test_batch.py::test_a_batch_goes_through_recurrent_layers": 1,
    "tests/core/test_batch.py::test_numbers_of_a_batch_are_cast_to_wider_ones": 2,
    "tests/core/test_checking.py::test_a_wrong_rewrite_is_found_and_named": 6,
    "tests/core/test_checking.py::test_of_very_many_sums_none_is_called_wrong_that_rounds": 1,
    "tests/core/test_checking.py::test_right_programs_are_equal_at_every_level": 6,
    "tests/core/test_control_flow.py::test_control_flow_becomes_scf_and_runs_as_eager_does": 3,
    "tests/core/test_decompositions.py::test_they_are_lowered_as_eager_pytorch_has_them": 5,
    "tests/core/test_dynamic_shapes.py::test_images_of_any_size": 1,
    "tests/core/test_dynamic_shapes.py::test_many_arguments_have_shapes_side_by_side_or_below_each_other": 3,
    "tests/core/test_dynamic_shapes.py::test_numbers_that_run_time_knows_beside_bytes": 2,
    "tests/core/test_dynamic_shapes.py::test_orders_of_dynamic_dimensions_are_as_in_eager_pytorch": 0,
    "tests/core/test_dynamic_shapes.py::test_sizes_beside_floats_are_not_those_of_the_example": 1,
    "tests/core/test_dynamic_shapes.py::test_windows_that_reach_behind_the_padding_are_averaged": 0,
    "tests/core/test_gradients.py::test_a_model_that_takes_gradients_is_lowered_and_left_as_it_was": 3,
    "tests/core/test_halves.py::test_sums_lose_no_more_than_in_eager_pytorch": 2,
    "tests/core/test_magic.py::test_the_call_at_the_end_of_a_cell_says_what_goes_in": 6,
    "tests/core/test_open_sizes.py::test_there_may_be_no_place_to_write_to": 1,
    "tests/core/test_places.py::test_they_reach_every_ir_type": 1,
    "tests/core/test_queue.py::test_a_copy_does_not_keep_the_worker_alive": 0,
    "tests/core/test_queue.py::test_a_data_loaders_workers_may_lower": 0,
    "tests/core/test_route.py::test_it_gives_what_bare_torch_mlir_gives_and_says_what_that_may_lose": 2,
    "tests/core/test_weights.py::test_the_import_is_that_of_torch_mlir": 6,
    "tests/crashers/test_corpus.py::test_it_ends_in_a_result_or_an_error_of_ours": 100,
    "tests/helion/test_dynamic.py::test_one_lowering_is_right_for_several_sizes": 9,
    "tests/helion/test_kernels.py::test_all_families_and_output_types_equal_eager": 30,
    "tests/helion/test_ops.py::test_floats": 6,
    "tests/helion/test_ops.py::test_integers": 8,
    "tests/helion/test_sorting.py::test_sort_is_that_of_pytorch": 5,
    "tests/inductor/test_check.py::test_of_very_many_sums_none_is_called_wrong_that_rounds": 0,
    "tests/inductor/test_check.py::test_training_with_running_statistics_is_checked_to_its_code": 0,
    "tests/inductor/test_lowering.py::test_a_copy_of_the_kernel_imports_nothing_of_torch_and_hashes_no_triton": 1,
    "tests/llvm/test_installed.py::test_each_pass_is_llvmlites": 3,
    "tests/llvm/test_lines.py::test_text_without_lines_is_what_llvm_prints_without_them": 4,
    "tests/llvm/test_parity.py::test_opt": 22,
    "tests/llvm/test_targets.py::test_every_program_reaches_every_target": 8,
    "tests/readers/test_hostile.py::test_no_log_takes_time_with_its_square": 4,
    "tests/readers/test_printed.py::test_of_a_models_loops_none_goes_back_into_an_older_function": 0,
    "tests/reduce/test_mlir.py::test_what_is_left_fails_in_the_same_way_and_is_small": 1,
    "tests/reduce/test_programs.py::test_a_parameter_goes_with_what_is_given_for_it": 0,
    "tests/reduce/test_programs.py::test_what_a_loop_counts_has_a_value_without_it": 0,
    "tests/soak/test_soak.py::test_odd_kernels_and_texts_that_are_looked_at_late": 0,
    "tests/spyre/test_artifacts.py::test_every_artifact_is_as_it_was": 124,
    "tests/spyre/test_execute.py::test_models": 2,
    "tests/spyre/test_execute.py::test_ops": 18,
    "tests/spyre/test_tiling.py::test_tiles_give_the_eager_result": 9,
    "tests/toolchains/test_pip_settings.py::test_a_setting_that_stands_in_the_way_is_named": 4,
    "tests/toolchains/test_toolchains.py::test_a_failure_of_the_toolchain_becomes_small_by_it": 0,
    "tests/toolchains/test_torch_mlir.py::test_a_build_without_stablehlo_lowers_what_it_can": 0,
    "tests/toolchains/test_torch_mlir.py::test_a_module_that_lowers_as_it_is_imported_says_so": 0,
    "tests/toolchains/test_torch_mlir.py::test_an_importer_whose_names_moved_says_so_and_texts_run": 0,
    "tests/toolchains/test_torch_mlir.py::test_what_a_build_lacks_is_not_taken_from_what_is_installed": 0,
    "tests/triton/test_references.py::test_a_check_is_by_the_cells_own_reference_and_never_of_what_was_not_executed": 10,  # noqa: E501
    "tests/triton/test_references.py::test_a_reference_is_seen_in_every_form_and_says_which_kernel_is_wrong": 12,
    "tests/triton/test_references.py::test_what_is_no_reference_and_what_a_reference_outweighs_makes_no_kernel_wrong": 10,  # noqa: E501
    "tests/triton/test_tutorials.py::test_every_kernel_lowers_to_assembly": 11,
    "tests/triton/test_values.py::test_operators_that_no_mode_sees_run_functions_of_libraries": 9,
}
"""Tests -> how many of their rows every run has."""


def left_out(names: Sequence[str]) -> set[str]:
    """Of the tests that are collected, by their whole names, those that `KEPT` leaves to `--exhaustive`."""
    rows: dict[str, list[str]] = {}
    for name in names:
        rows.setdefault(name.partition("[")[0], []).append(name)
    return {one for family, keep in KEPT.items() for one in sorted(rows.get(family, ()), key=_rank)[keep:]}


def _rank(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()
