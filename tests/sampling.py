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
    "tests/browser/test_offline.py::test_equal_lines_stay_beside_each_other": 3,
    "tests/browser/test_policy.py::test_only_the_pages_own_script_runs_and_nothing_is_loaded": 2,
    "tests/browser/test_progress.py::test_stopped_in_a_pass_the_view_comes_before_the_texts": 0,
    "tests/browser/test_saved.py::test_of_what_is_too_large_the_summary_comes_back_and_says_why": 0,
    "tests/browser/test_sweep.py::test_a_click_opens_the_pass_diff_in_a_notebook": 0,
    "tests/core/test_batch.py::test_a_batch_goes_through_recurrent_layers": 0,
    "tests/core/test_batch.py::test_numbers_of_a_batch_are_cast_to_wider_ones": 2,
    "tests/core/test_batch.py::test_operators_of_a_batch_are_as_in_eager_pytorch": 3,
    "tests/core/test_checking.py::test_a_program_of_many_loops_is_compiled_without_llvms_passes_for_them": 2,
    "tests/core/test_checking.py::test_a_wrong_rewrite_is_found_and_named": 4,
    "tests/core/test_checking.py::test_of_very_many_sums_none_is_called_wrong_that_rounds": 1,
    "tests/core/test_checking.py::test_right_programs_are_equal_at_every_level": 3,
    "tests/core/test_checking.py::test_what_is_not_executed_says_so": 4,
    "tests/core/test_checking.py::test_what_nothing_compiles_of_stablehlo_is_interpreted": 1,
    "tests/core/test_checking.py::test_what_torch_mlir_composes_is_allowed_what_its_parts_lose": 1,
    "tests/core/test_cli.py::test_a_file_does_what_a_cell_does": 12,
    "tests/core/test_complex.py::test_a_fourier_layer_reaches_every_ir_type_and_is_right": 1,
    "tests/core/test_control_flow.py::test_control_flow_becomes_scf_and_runs_as_eager_does": 1,
    "tests/core/test_decompositions.py::test_averages_of_windows_are_by_what_they_are_said_to_be": 1,
    "tests/core/test_decompositions.py::test_indices_among_the_inputs_may_count_from_the_back": 1,
    "tests/core/test_decompositions.py::test_int8_of_pt2e": 1,
    "tests/core/test_decompositions.py::test_so_are_those_in_branches_and_those_of_dynamic_sizes": 1,
    "tests/core/test_decompositions.py::test_tensors_of_no_elements_are_new_ones": 1,
    "tests/core/test_decompositions.py::test_they_are_lowered_as_eager_pytorch_has_them": 3,
    "tests/core/test_dynamic_shapes.py::test_a_part_of_a_size_that_divides_is_a_number": 1,
    "tests/core/test_dynamic_shapes.py::test_a_wrong_pass_is_found": 1,
    "tests/core/test_dynamic_shapes.py::test_images_of_any_size": 0,
    "tests/core/test_dynamic_shapes.py::test_many_arguments_have_shapes_side_by_side_or_below_each_other": 1,
    "tests/core/test_dynamic_shapes.py::test_numbers_that_run_time_knows_beside_bytes": 1,
    "tests/core/test_dynamic_shapes.py::test_orders_of_dynamic_dimensions_are_as_in_eager_pytorch": 0,
    "tests/core/test_dynamic_shapes.py::test_sizes_beside_floats_are_not_those_of_the_example": 0,
    "tests/core/test_dynamic_shapes.py::test_windows_that_reach_behind_the_padding_are_averaged": 0,
    "tests/core/test_experiments.py::test_an_edited_dump_has_the_constants_that_it_only_names": 2,
    "tests/core/test_floats.py::test_what_is_lost_is_said": 12,
    "tests/core/test_gradients.py::test_a_model_that_takes_gradients_is_lowered_and_left_as_it_was": 1,
    "tests/core/test_halves.py::test_sums_lose_no_more_than_in_eager_pytorch": 1,
    "tests/core/test_interrupts.py::test_an_interrupt_of_the_first_cell_leaves_one_line_and_a_good_kernel": 1,
    "tests/core/test_interrupts.py::test_python_that_takes_too_long_is_ended": 3,
    "tests/core/test_interrupts.py::test_what_puts_torch_back_is_not_ended_itself": 1,
    "tests/core/test_kernel_cells.py::test_a_helion_kernel_lowers": 3,
    "tests/core/test_lower.py::test_every_program_reaches_every_mlir_target": 4,
    "tests/core/test_magic.py::test_models_find_their_inputs": 6,
    "tests/core/test_magic.py::test_the_call_at_the_end_of_a_cell_says_what_goes_in": 6,
    "tests/core/test_magic.py::test_the_dynamic_shapes_of_a_cell_are_taken": 3,
    "tests/core/test_models.py::test_whatever_is_called_is_lowered_and_traced": 6,
    "tests/core/test_narrow.py::test_tosa_says_them_and_what_it_says_is_executed": 1,
    "tests/core/test_open_sizes.py::test_there_may_be_no_place_to_write_to": 0,
    "tests/core/test_pipelines.py::test_embedded_and_real_mlir_opt_agree": 2,
    "tests/core/test_places.py::test_they_reach_every_ir_type": 1,
    "tests/core/test_queue.py::test_a_copy_does_not_keep_the_worker_alive": 0,
    "tests/core/test_queue.py::test_a_data_loaders_workers_may_lower": 0,
    "tests/core/test_queue.py::test_a_reader_that_cannot_read_tells_those_who_wait": 1,
    "tests/core/test_queue.py::test_a_worker_that_is_stopped_is_replaced": 1,
    "tests/core/test_refusing.py::test_what_is_impossible_is_refused_before_any_pass": 10,
    "tests/core/test_route.py::test_it_gives_what_bare_torch_mlir_gives_and_says_what_that_may_lose": 2,
    "tests/core/test_terminal.py::test_standard_output_that_takes_nothing_is_no_traceback": 2,
    "tests/core/test_weights.py::test_passes_give_what_they_give_with_the_values": 3,
    "tests/core/test_weights.py::test_the_import_is_that_of_torch_mlir": 3,
    "tests/crashers/test_corpus.py::test_it_ends_in_a_result_or_an_error_of_ours": 60,
    "tests/editor/test_editor.py::test_a_cell_opens_on_what_it_defines": 3,
    "tests/format/test_file.py::test_a_bomb_is_refused_in_little_memory": 3,
    "tests/helion/test_access.py::test_accesses_of_sampled_shapes_equal_pytorch": 5,
    "tests/helion/test_check.py::test_a_number_is_compared_in_the_dtype_of_the_elements": 1,
    "tests/helion/test_check_tiles.py::test_more_tiles_than_eager_mode_is_asked_for_are_not_compared": 0,
    "tests/helion/test_check_tiles.py::test_what_a_loop_hands_on_is_compared_tile_by_tile": 1,
    "tests/helion/test_configuration.py::test_persistent_programs_reach_every_tile_once": 2,
    "tests/helion/test_dynamic.py::test_a_step_that_only_run_time_knows": 4,
    "tests/helion/test_dynamic.py::test_one_lowering_is_right_for_several_sizes": 5,
    "tests/helion/test_kernels.py::test_all_families_and_output_types_equal_eager": 15,
    "tests/helion/test_open_tiles.py::test_one_module_runs_as_each_configuration": 2,
    "tests/helion/test_ops.py::test_bytes": 4,
    "tests/helion/test_ops.py::test_floats": 4,
    "tests/helion/test_ops.py::test_integers": 4,
    "tests/helion/test_rolling.py::test_a_reduction_loop_is_a_loop": 3,
    "tests/helion/test_sorting.py::test_sort_is_that_of_pytorch": 5,
    "tests/helion/test_whole.py::test_all_passes_at_once_leave_what_they_leave_one_by_one": 2,
    "tests/inductor/test_check.py::test_a_graph_is_judged_under_the_modes_that_it_is_called_under": 1,
    "tests/inductor/test_check.py::test_a_pass_that_is_wrong_for_other_sizes_is_named": 1,
    "tests/inductor/test_check.py::test_a_verdict_on_what_is_hard_to_execute": 2,
    "tests/inductor/test_check.py::test_inputs_that_share_memory_share_it_when_they_are_checked": 1,
    "tests/inductor/test_check.py::test_of_very_many_sums_none_is_called_wrong_that_rounds": 0,
    "tests/inductor/test_check.py::test_training_with_running_statistics_is_checked_to_its_code": 0,
    "tests/inductor/test_check.py::test_what_is_small_may_lose_a_part_of_something_large": 1,
    "tests/inductor/test_lowering.py::test_a_copy_of_the_kernel_imports_nothing_of_torch_and_hashes_no_triton": 1,
    "tests/inductor/test_lowering.py::test_a_recurrent_layer_for_a_gpu_has_nothing_of_the_cpus": 1,
    "tests/inductor/test_reached.py::test_a_pass_that_breaks_what_the_inputs_do_not_come_to": 3,
    "tests/inductor/test_reached.py::test_a_program_with_branches_that_are_right_is_equal": 1,
    "tests/inductor/test_verdicts.py::test_all_that_a_graph_does_is_compared": 9,
    "tests/llvm/test_installed.py::test_each_pass_is_llvmlites": 1,
    "tests/llvm/test_kernels.py::test_every_function_of_every_float_type_becomes_valid_code": 1,
    "tests/llvm/test_kernels.py::test_every_function_of_every_float_type_is_right_down_to_llvm_ir": 2,
    "tests/llvm/test_kernels.py::test_every_kernel_is_valid_and_complete": 6,
    "tests/llvm/test_kernels.py::test_the_same_ir_becomes_the_same_code_twenty_times_in_one_process": 1,
    "tests/llvm/test_lines.py::test_lines_reach_the_last_dump": 2,
    "tests/llvm/test_lines.py::test_text_without_lines_is_what_llvm_prints_without_them": 2,
    "tests/llvm/test_literals.py::test_any_bits_round_trip": 2,
    "tests/llvm/test_parity.py::test_llc": 18,
    "tests/llvm/test_parity.py::test_mlir_translate": 2,
    "tests/llvm/test_parity.py::test_opt": 12,
    "tests/llvm/test_targets.py::test_every_program_reaches_every_target": 4,
    "tests/readers/test_hostile.py::test_a_bomb_is_refused": 2,
    "tests/readers/test_hostile.py::test_no_log_takes_time_with_its_square": 2,
    "tests/readers/test_printed.py::test_of_a_models_loops_none_goes_back_into_an_older_function": 0,
    "tests/readers/test_printed.py::test_what_is_shown_as_a_module_is_that_module": 4,
    "tests/readers/test_torchscript.py::test_a_folder_of_logs_of_several_compilers_may_be_packed_and_so_may_they": 2,
    "tests/reduce/test_mlir.py::test_operations_of_unknown_dialects_are_taken_apart_where_they_are_allowed": 1,
    "tests/reduce/test_mlir.py::test_what_is_left_fails_in_the_same_way_and_is_small": 1,
    "tests/reduce/test_mlir.py::test_what_is_needed_because_it_is_used_is_used_otherwise": 3,
    "tests/reduce/test_mlir.py::test_whatever_is_taken_out_what_is_left_is_well_formed": 2,
    "tests/reduce/test_programs.py::test_a_parameter_goes_with_what_is_given_for_it": 0,
    "tests/reduce/test_programs.py::test_statements_parameters_and_expressions_go": 0,
    "tests/reduce/test_programs.py::test_what_a_loop_counts_has_a_value_without_it": 0,
    "tests/reduce/test_reports.py::test_what_does_not_parse": 4,
    "tests/reduce/test_reports.py::test_what_the_programs_of_the_command_say_is_told": 1,
    "tests/soak/test_soak.py::test_odd_kernels_and_texts_that_are_looked_at_late": 0,
    "tests/spyre/test_artifacts.py::test_every_artifact_is_as_it_was": 70,
    "tests/spyre/test_checked.py::test_a_program_that_computes_something_else_differs": 3,
    "tests/spyre/test_checked.py::test_what_is_right_is_equal_and_says_what_it_was_executed_in": 3,
    "tests/spyre/test_execute.py::test_an_attention_written_by_hand_is_an_attention": 3,
    "tests/spyre/test_execute.py::test_models": 2,
    "tests/spyre/test_execute.py::test_ops": 10,
    "tests/spyre/test_execute.py::test_what_is_not_inductors_pattern_stays": 4,
    "tests/spyre/test_host.py::test_training_gives_the_gradients_and_buffers_of_eager": 1,
    "tests/spyre/test_host_values.py::test_programs_of_dynamo_give_what_eager_gives": 3,
    "tests/spyre/test_recorded.py::test_a_function_becomes_what_the_real_front_end_makes": 250,
    "tests/spyre/test_recorded.py::test_a_function_of_our_own_becomes_what_the_real_front_end_makes": 90,
    "tests/spyre/test_table.py::test_a_program_is_what_the_front_end_makes": 45,
    "tests/spyre/test_tiling.py::test_tiles_give_the_eager_result": 5,
    "tests/spyre/test_view_tiles.py::test_boxes_and_bytes_are_what_the_executor_touches": 7,
    "tests/toolchains/test_pip_settings.py::test_a_setting_that_stands_in_the_way_is_named": 2,
    "tests/toolchains/test_toolchains.py::test_a_failure_of_the_toolchain_becomes_small_by_it": 0,
    "tests/toolchains/test_torch_mlir.py::test_a_build_without_stablehlo_lowers_what_it_can": 0,
    "tests/toolchains/test_torch_mlir.py::test_a_module_that_lowers_as_it_is_imported_says_so": 0,
    "tests/toolchains/test_torch_mlir.py::test_an_importer_whose_names_moved_says_so_and_texts_run": 0,
    "tests/toolchains/test_torch_mlir.py::test_what_a_build_lacks_is_not_taken_from_what_is_installed": 0,
    "tests/triton/test_assembly.py::test_floats": 8,
    "tests/triton/test_assembly.py::test_integers": 12,
    "tests/triton/test_capture.py::test_wrong_arguments_name_the_line_that_launches": 16,
    "tests/triton/test_execution.py::test_what_has_no_defined_value_is_said_where_it_is_written_only": 3,
    "tests/triton/test_float8.py::test_floats_of_8_bits_are_rounded_as_what_the_architecture_executes": 6,
    "tests/triton/test_gluon.py::test_all_stages_are_those_of_gluon_itself": 2,
    "tests/triton/test_layouts.py::test_owners_are_those_that_triton_prints": 10,
    "tests/triton/test_passes.py::test_the_line_of_the_dot_is_found_in_every_ir": 4,
    "tests/triton/test_reading.py::test_what_is_in_doubt_has_no_value_and_a_reason": 12,
    "tests/triton/test_references.py::test_a_check_is_by_the_cells_own_reference_and_never_of_what_was_not_executed": 10,  # noqa: E501
    "tests/triton/test_references.py::test_a_reference_is_seen_in_every_form_and_says_which_kernel_is_wrong": 6,
    "tests/triton/test_references.py::test_what_is_no_reference_and_what_a_reference_outweighs_makes_no_kernel_wrong": 5,  # noqa: E501
    "tests/triton/test_settings.py::test_code_is_that_of_the_settings_where_it_was_launched": 4,
    "tests/triton/test_tutorials.py::test_every_kernel_lowers_to_assembly": 4,
    "tests/triton/test_tutorials.py::test_the_text_of_each_stage_is_what_triton_itself_compiles": 2,
    "tests/triton/test_values.py::test_functions_registered_for_cuda_launch_their_kernels": 1,
    "tests/triton/test_values.py::test_operators_that_no_mode_sees_run_functions_of_libraries": 5,
    "tests/views/test_experimenting.py::test_a_pass_is_offered_to_be_left_out_where_that_can_be_done": 3,
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
