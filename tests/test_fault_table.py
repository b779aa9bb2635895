"""Which tests show that a fault of version 0.1.0 is gone: silent wrong numbers (S) and what hunts found (G, H).

Each test fails on the behaviour of 0.1.0, those of H on that of commit 63394de. The numbers are those of the project's
notes on correctness.
"""

import functools
import re
from pathlib import Path

TESTS = Path(__file__).parent
FAULTS = {
    "S1 a table that lists objects only ranks subjects too": [
        "evaluation/test_score_tables.py::test_a_side_without_negatives_for_each_positive_is_not_invented",
    ],
    "S2 candidate lists per positive are pooled by query": [
        "evaluation/test_score_tables.py::test_lists_of_positives_are_not_pooled_without_a_word",
        "ranking/test_listed.py::test_no_list_is_pooled_with_that_of_another_positive",
        "formats/test_candidate_files.py::test_bertrl",
    ],
    "S3 dev, val and facts files beside the splits are ignored": [
        "formats/test_split_files.py::test_s3_other_names_of_valid_are_read_and_said",
        "formats/test_split_files.py::test_s3_facts_beside_train_are_an_error_until_the_caller_says_what_they_are",
        "formats/test_split_files.py::test_s3_a_part_of_a_split_is_an_error",
    ],
    "S4 head, tail, relation by ids is read as s, p, o": [
        "formats/datasets/test_tab_folder.py::test_real_datasets_are_not_suspected_and_in_another_order_are",
        "formats/datasets/test_tab_folder.py::test_the_order_of_the_columns_can_be_said",
        "formats/datasets/test_column_and_label_traps.py::test_c36_the_order_h_t_r_is_suspected",
        "data/test_dataset.py::test_s4_columns_must_be_an_order_and_agree_with_the_names",
        "data/test_dataset.py::test_s4_ids_in_another_order_are_suspected",
        "data/test_dataset.py::test_s4_random_graphs_are_not_suspected",
    ],
    "S5 N-Triples with tabs": [
        "formats/datasets/test_tab_folder.py::test_s5_n_triples_are_refused_by_name",
    ],
    "S6 an unknown header is read as a triple": [
        "formats/datasets/test_tab_folder.py::test_s6_an_unknown_header_is_an_error_until_the_caller_says_what_it_is",
        "formats/datasets/test_tab_folder.py::test_s6_a_first_line_that_occurs_nowhere_else_is_an_error",
        "data/test_dataset.py::test_s6_unknown_names_are_read_by_position_only_if_the_caller_says_so",
    ],
    "S7 phases of RotatE are not scaled": ["formats/models/test_npz.py::test_phases_in_another_unit"],
    "S8 norm, layout and epsilon are left at their defaults": [
        "formats/models/test_npz.py::test_what_changes_the_scores_must_be_said",
    ],
    "S9 rows in another order": [
        "formats/models/test_npz.py::test_labels_of_one_kind_only",
        "evaluation/test_row_order.py::test_a_wrong_order_is_cautioned",
    ],
    "S10 weights of a library that normalises when it scores": [
        "formats/models/test_npz.py::test_weights_that_are_normalised_when_they_are_scored",
    ],
    "S11 batch norm of TuckER under new names": ["formats/models/test_npz.py::test_batch_normalisation"],
    "S12 score_* of PyKEEN with inverse triples": ["adapters/test_pykeen.py::test_ids_relations_and_sides"],
    "S13 a part of test as the test split": ["evaluation/test_sample.py::test_the_rest_of_test_stays_in_the_filter"],
    "S14 a model is live in part": ["scorers/models/test_base.py::test_all_parts_follow_their_arrays"],
    "S15 extra arrays in a model file": ["formats/models/test_npz.py::test_arrays_that_the_model_does_not_use"],
    "S16 a page named .pdf": ["report/test_page.py::test_only_html_is_written"],
    "S17 reversed pairs are called nothing doubtful": [
        "report/test_page_content.py::test_a_dataset_that_leaks_is_a_caution",
    ],
    "S18 a winner at p = 1": [
        "comparison/test_comparison.py::test_a_difference_is_undecided_unless_the_corrected_test_decides_it",
    ],
    "S19 realistic ties described as random": [
        "report/test_page.py::test_filtered_ranks_and_ties_are_explained_below_the_metrics",
    ],
    "G1 chance under unseen='worst'": [
        "results/test_evaluation_result.py::test_no_chance_level_where_unseen_triples_are_forced_last",
    ],
    "G2 a dangling link as a split": [
        "formats/test_split_files.py::test_g2_a_symbolic_link_that_leads_nowhere_is_an_error",
        "formats/test_split_files.py::test_g2_a_split_of_another_name_or_format_is_an_error",
    ],
    "G3 integers above 2^53 in a table of scores": [
        "evaluation/test_score_tables.py::test_large_integers_are_not_rounded",
    ],
    "G4 masks are ignored": [
        "data/test_dataset.py::test_g4_masked_arrays_are_refused",
        "scorers/models/test_faults.py::test_masked_arrays_are_refused",
        "results/test_breakdowns.py::test_masked_weights_are_refused",
    ],
    "G5 indexes of pandas are ignored": [
        "scorers/models/test_faults.py::test_frames_are_read_in_the_order_of_ids_only",
        "results/test_breakdowns.py::test_weights_with_an_index_of_their_own_are_refused",
    ],
    "G6 a table with a permuted index": [
        "results/test_breakdowns.py::test_a_table_with_an_index_of_its_own_is_read_by_position",
    ],
    "G7 a scorer that answers in reversed order": ["scorers/test_check.py::test_columns_in_reversed_order"],
    "G8 near-duplicate labels": [
        "data/test_dataset.py::test_labels_that_look_alike_are_observed",
        "cli/test_evaluate.py::test_g8_observations_of_the_dataset_stand_on_standard_error",
    ],
    "G9 --overwrite replaces devices and links": ["base/test_files.py::test_only_regular_files_are_replaced"],
    "G10 sys.exit in a scorer": ["scorers/test_row_scorers.py::test_leaving_the_program_is_an_error"],
    "G11 very wide lines": [
        "formats/datasets/test_tab_folder.py::test_g11_a_very_wide_line_is_refused_before_it_is_parsed",
    ],
    "G12 tracebacks": ["cli/test_evaluate.py::test_output_that_cannot_be_written_is_one_line"],
    "G13 unusual tensors": ["scorers/test_row_scorers.py::test_unreadable_tensors"],
    "G14 big-endian arrays and long doubles": ["formats/models/test_npz.py::test_other_number_types"],
    "G15 faults of entities reported as faults of labels": [
        "formats/models/test_npz.py::test_faults_of_tables_are_not_those_of_labels",
    ],
    "G16 labels in another Unicode form": ["formats/models/test_npz.py::test_labels_in_another_unicode_form"],
    "G17 too few rows": ["scorers/models/test_faults.py::test_too_few_rows"],
    "G18 very large cut-offs and grades": [
        "metrics/test_ranks.py::test_unreadable_metrics",
        "trec/test_run_files.py::test_a_grade_may_be_too_long",
    ],
    "G19 an unreadable file is called damaged": [
        "base/test_files.py::test_what_the_system_refuses_is_not_called_damaged",
    ],
    "G20 weights that overflow": ["results/test_breakdowns.py::test_refused_weights"],
    "G21 pipes as files": [
        "formats/datasets/test_tab_folder.py::test_g21_pipes_are_refused_by_name",
    ],
    "G22 no metric": ["cli/test_evaluate.py::test_no_metric_is_an_error_before_the_ranking"],
    "G23 what a scorer prints": ["cli/test_evaluate.py::test_what_a_scorer_prints_is_not_among_the_numbers"],
    "G24 empty labels from frames": [
        "data/test_dataset.py::test_g24_blank_labels_are_refused",
    ],
    "G25 float ids in with_columns": [
        "results/test_breakdowns.py::test_keys_that_are_neither_labels_nor_ids_are_refused"
    ],
    "G26 an exception midway": ["scorers/test_row_scorers.py::test_an_exception_midway_names_its_queries"],
    "G27 a very long label": ["scorers/test_check.py::test_a_long_label_is_cut"],
    "H1 masks switch the guards off": [
        "scorers/test_rounding.py::test_noise_in_each_call_is_found",
        "scorers/test_rounding.py::test_another_model_is_found",
        "scorers/test_rounding.py::test_a_worker_with_another_model_is_found",
        "scorers/test_rounding.py::test_an_explanation_of_another_model_is_refused",
        "scorers/test_rounding.py::test_honest_rounding_is_accepted",
    ],
    "H2 a score that inherited vectors leave out": [
        "scorers/test_precedence.py::test_what_inherited_vectors_would_leave_out_is_refused",
        "scorers/test_precedence.py::test_two_ways_of_one_class_must_agree",
        "scorers/test_precedence.py::test_forward_for_training_is_no_conflict",
    ],
    "H3 negatives that are not known, lists hashed by row": [
        "comparison/test_negatives.py::test_the_order_of_rows_and_of_negatives_does_not_matter",
        "comparison/test_negatives.py::test_other_lists_have_another_identity",
        "comparison/test_negatives.py::test_negatives_that_are_given_as_scores_are_not_known",
        "comparison/test_negatives.py::test_a_board_does_not_rank_unknown_negatives",
        "comparison/test_negatives.py::test_candidates_without_an_identity_are_refused",
    ],
    "H4 lists that are drawn for a query": [
        "data/test_sample_negatives.py::test_each_positive_draws_by_itself",
        "data/test_sample_negatives.py::test_lists_of_a_crowded_query_are_full",
        "data/test_sample_negatives.py::test_short_lists_are_a_caution_of_the_result",
        "data/test_sample_negatives.py::test_sampled_hits_are_those_of_the_full_counts",
        "data/test_sample_negatives.py::test_sampled_hits_of_fb15k_237",
        "data/test_candidates.py::test_all_entities_one_list_and_a_list_each_give_equal_tables",
    ],
    "H5 a positive whose listed rivals are all known": [
        "ranking/test_listed.py::test_a_positive_whose_rivals_are_all_known_ranks_first_of_one",
        "ranking/test_listed.py::test_lists_without_any_rival_are_refused",
        "ranking/test_listed.py::test_an_empty_list_of_scores_is_refused",
        "evaluation/test_score_tables.py::test_a_list_without_negatives_on_a_named_side_is_left_out",
        "ranking/test_listed.py::test_lists_are_ranked_as_a_loop_does",
        "evaluation/test_score_tables.py::test_random_tables_equal_a_computation_by_sets",
    ],
    "H6 15 models or more decide nothing": [
        "comparison/test_decisions.py::test_h6_many_models_are_decided",
        "stats/test_paired.py::test_p_is_never_zero",
    ],
    "H7 unequal numbers of runs": [
        "comparison/test_decisions.py::test_h7_h8_unequal_numbers_of_runs_keep_the_level",
        "stats/test_runs.py::test_spreads_are_pooled_and_single_runs_take_part",
    ],
    "H8 single runs beside models with several": [
        "comparison/test_decisions.py::test_h7_h8_unequal_numbers_of_runs_keep_the_level",
        "stats/test_runs.py::test_both_parts_of_the_variance_are_those_of_loops",
    ],
    "H9 groups of two to four triples are decided": [
        "comparison/test_decisions.py::test_h9_groups_of_few_triples_decide_nothing",
    ],
    "H10 answers of a wrong shape": [
        "data/test_predictions.py::test_answers_that_are_no_list_of_labels_are_refused_with_their_query",
        "data/test_predictions.py::test_arrays_of_wrong_shapes_are_refused",
    ],
    "H11 negative numbers that were cut off, and percentages below 1": [
        "plausibility/test_table.py::test_a_negative_amri_may_be_cut_off_in_both_directions",
        "plausibility/test_table.py::test_percentages_none_of_which_exceeds_1_get_a_hint",
    ],
    "H12 peeking, shifted rows, swapped sides, reversed, constant: no word of check_scorer": [
        "scorers/test_faults.py::test_planted_faults_are_named",
        "scorers/test_faults.py::test_what_check_scorer_says",
        "scorers/test_faults.py::test_known_answers_of_dense_graphs_are_left_out",
    ],
    "H13 a time column is kept, and the filter does not know it": [
        "evaluation/test_filter_key.py::test_a_dataset_with_times_asks_for_the_key",
        "evaluation/test_filter_key.py::test_counts_equal_a_loop",
        "evaluation/test_filter_key.py::test_tables_without_the_columns_of_the_key_are_refused",
        "evaluation/test_filter_key.py::test_negatives_at_a_time",
        "evaluation/test_filter_key.py::test_faults_of_a_scorer_are_sought_at_the_times_of_the_triples",
        "classification/test_times.py::test_each_triple_is_scored_at_its_time",
        "data/test_keys.py::test_drawn_negatives_are_unknown_by_the_key",
    ],
    "H14 interval and decision of two seeds disagree": [
        "comparison/test_decisions.py::test_h14_two_and_three_seeds_find_four_standard_errors",
        "comparison/test_decisions.py::test_no_row_disagrees_with_its_interval",
        "stats/test_paired.py::test_interval_excludes_0_exactly_where_the_test_rejects",
    ],
    "H15 a single run is taken for a method": [
        "comparison/test_decisions.py::test_h15_a_verdict_on_single_runs_is_about_these_trained_models",
        "comparison/test_decisions.py::"
        "test_h15_partly_decided_verdicts_gate_and_equivalence_are_about_these_trained_models",
        "comparison/test_decisions.py::test_h15_several_runs_of_a_model_are_not_these_trained_models",
    ],
    "H18 seeds of a model are rivals": [
        "comparison/test_decisions.py::test_h18_seeds_of_a_model_are_no_rivals_and_have_their_names",
    ],
    "H19 pairs without a common run are undecided": [
        "comparison/test_decisions.py::test_h19_pairs_without_a_common_run_say_so",
    ],
    "H21 cards that contradict themselves": [
        "report/test_board.py::test_a_card_that_contradicts_itself_is_marked_and_not_ranked",
        "report/test_board.py::test_a_card_whose_date_is_no_date_is_not_read",
        "cli/test_card_commands.py::test_a_card_that_contradicts_itself_is_said_by_card_and_verify",
    ],
    "H22 nearly identical ranks, groups of two triples, AP of few examples": [
        "comparison/test_decisions.py::test_h22_nearly_identical_ranks_are_not_shown_equal_too_often",
        "comparison/test_decisions.py::test_h22_a_few_large_gaps_among_many_small_ones_show_no_equality",
        "comparison/test_decisions.py::test_h22_equivalence_of_results_counts_large_gaps",
        "comparison/test_averages.py::test_h22_groups_of_two_triples_are_refused",
        "comparison/test_averages.py::test_h22_the_freedom_of_groups_decides",
        "classification/test_intervals.py::test_h22_ap_of_few_examples_has_no_interval",
        "classification/test_intervals.py::test_h22_a_macro_ap_needs_as_many_in_each_relation",
        "classification/test_intervals.py::test_h22_ap_is_held_where_it_has_an_interval",
    ],
    "H23 inspect, null names, ranks without a dataset": [
        "formats/test_inspection.py::test_files_that_are_no_dataset_and_no_model",
        "formats/test_inspection.py::test_real_files_are_taken_for_what_the_commands_read",
        "evaluation/test_ranks_alone.py::test_null_names_of_simkgc",
        "evaluation/test_ranks_alone.py::test_simkgc_on_wikidata5m_gives_its_metrics",
    ],
    "H24 a damaged checkpoint.json": [
        "ranking/test_resume.py::test_a_damaged_description_is_a_data_error_that_names_the_file",
        "ranking/test_resume.py::test_every_damage_of_a_description_is_a_data_error",
    ],
    "H25 Series with a shuffled index": [
        "data/test_candidates.py::test_series_of_lists_are_aligned_or_refused",
        "data/test_candidates.py::test_rows_of_predictions_with_an_index_are_aligned_or_refused",
        "data/test_sample_negatives.py::test_an_index_of_weights_is_used",
    ],
    "H26 one query by all candidates": [
        "scorers/test_row_scorers.py::test_many_queries_are_asked_by_a_block_of_candidates",
        "scorers/test_row_scorers.py::test_a_slow_copy_of_candidates_does_not_keep_batches_small",
    ],
    "H27 the check of the row order": [
        "evaluation/test_row_order.py::test_the_check_can_be_switched_off",
        "evaluation/test_row_order.py::test_an_evaluator_checks_a_scorer_once",
    ],
    "H28 a seed without a sample is ignored": [
        "evaluation/test_sample.py::test_a_seed_that_changes_nothing_is_an_error",
    ],
    "H29 unknown arguments are bare TypeErrors": [
        "data/test_protocol.py::test_unknown_arguments_are_named_with_a_hint",
        "data/test_protocol.py::test_the_hints_of_unknown_arguments_are_accepted",
        "test_words.py::test_a_wrong_argument_is_no_bare_type_error",
        "test_words.py::test_a_class_with_a_wrong_argument_is_no_bare_type_error",
    ],
    "H30 missing settings are asked for one at a time": [
        "formats/models/test_npz.py::test_all_that_is_missing_is_named_at_once",
    ],
    "H32 a loaded result explains nothing": [
        "results/test_explanations.py::test_a_loaded_result_explains_what_it_keeps",
    ],
    "H33 help finds no section": [
        "cli/test_help.py::test_a_word_prints_the_section_that_fits",
    ],
    "H36 several datasets side by side": [
        "plausibility/test_table.py::test_each_dataset_of_a_row_is_checked_by_itself",
        "plausibility/test_table.py::test_repeated_metrics_are_datasets_without_names",
        "plausibility/test_table.py::test_unclear_datasets_are_refused_with_the_way_to_write_them",
    ],
    "H37 splits behind a block of zeros of a tar": [
        "formats/test_unpacking.py::test_h37_splits_never_vanish_behind_zeros",
        "formats/test_unpacking.py::test_h37_a_long_end_is_a_caution",
    ],
    "H38 two savers of one name": [
        "test_kills.py::test_of_two_savers_one_succeeds",
        "base/test_files.py::test_a_file_that_appears_while_another_is_written_is_kept",
    ],
    "H39 results cannot be pickled": [
        "results/test_evaluation_result.py::test_results_and_comparisons_can_be_pickled_and_copied",
        "results/test_evaluation_result.py::test_a_result_comes_back_from_another_process",
    ],
    "H40 small files that fill the memory": [
        "base/test_files.py::test_an_archive_that_fills_the_memory_is_refused",
        "base/test_files.py::test_a_result_that_compresses_well_is_read_again",
        "formats/test_triple_tables.py::test_parquet_files_that_are_made_to_fill_the_memory",
        "formats/test_unpacking.py::test_too_many_bytes_are_refused",
        "base/test_limits.py::test_a_bomb_of_each_kind_is_refused",
    ],
    "H41 pipes and loops inside a folder": [
        "formats/test_folders.py::test_h41_pipes_and_loops_inside_a_folder_are_named",
    ],
    "H42 one label that is far longer than the others": [
        "base/test_limits.py::test_one_long_label_does_not_widen_the_others",
    ],
    "H43 exceptions of Python and of libraries": [
        "test_own_errors.py::test_h43_json_that_is_nested_too_deeply",
        "test_own_errors.py::test_h43_bytes_that_are_not_utf_8_where_nothing_is_read",
        "test_own_errors.py::test_h43_a_result_after_a_conversion_of_line_ends",
        "test_own_errors.py::test_h43_about_names_the_entry",
        "test_own_errors.py::test_h43_numbers_of_too_many_digits_and_half_characters",
        "test_own_errors.py::test_h43_parquet_with_text_of_another_encoding",
    ],
    "H44 full folders and too few handles": [
        "ranking/executors/test_process_limits.py::test_h44_a_full_folder_for_temporary_files_is_named",
        "ranking/executors/test_process_limits.py::test_h44_too_few_handles_name_the_number_of_workers",
        "base/test_files.py::test_too_few_handles_are_an_own_error",
    ],
    "H45 hidden files of a killed save": [
        "base/test_files.py::test_what_a_killed_process_left_is_removed_by_the_next_save",
        "test_kills.py::test_a_killed_process_leaves_the_old_file_or_the_new_one",
    ],
    "H46 a member that is missing": [
        "base/test_files.py::test_a_member_that_is_missing_or_changed_is_noticed",
    ],
    "H47 the umask": [
        "base/test_files.py::test_the_umask_is_never_changed",
    ],
}

MENDED = (*range(1, 16), 18, 19, *range(21, 31), 32, 33, *range(36, 48))  # of H


@functools.cache
def functions(file):
    """The names of the functions of a file of tests."""
    return set(re.findall(r"^def (\w+)\(", (TESTS / file).read_text(encoding="utf-8"), re.MULTILINE))


def test_every_fault_has_a_test():
    assert all(FAULTS.values())
    names = [name.partition("::") for names in FAULTS.values() for name in names]
    assert [(file, name) for file, _, name in names if name not in functions(file)] == []


def test_the_table_is_complete():
    """S1 to S19, G1 to G27, and those of H1 to H47 that are mended."""
    wanted = [*(f"S{i}" for i in range(1, 20)), *(f"G{i}" for i in range(1, 28)), *(f"H{i}" for i in MENDED)]
    assert [fault.split()[0] for fault in FAULTS] == wanted
