"""Mutation test: faults that other evaluators had are put into kgeval one at a time, and a light test must notice each.

``python tests/mutants.py`` tries every mutant, ``python tests/mutants.py nan_positive_wins`` those that are named. A
light test needs no optional library and no real dataset, and is not marked ``thorough``; optional libraries that are
installed are hidden. The package and the tests are copied to a temporary folder, so the working tree stays as it is.
Exit status 1: some mutant survives; 2: the mutants cannot be tried, for example because the unmutated tests fail.

C1 to C38 number the traps in the project's notes on other evaluators, S1 to S19 the ways in that gave wrong numbers.
P1 stands for ranks of answers that a list lacks, P2 for the mode in which a live model scores.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("torch", "triton", "sklearn", "matplotlib", "pytrec_eval", "ir_measures", "ranx")
EXTRAS += ("h5py", "pooch", "pyoxigraph", "safetensors", "pykeen", "torchkge", "torch_geometric", "ogb", "torchmetrics")
EXTRAS += ("loky", "ray", "numba")
COPIED = ("kgeval", "tests", "data", "pyproject.toml", "README.md", "LICENSE")
# An entry None in sys.modules would hide them too, but scipy takes what is in sys.modules["torch"] for a module.
HIDING = """from importlib.machinery import PathFinder

find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *more: None if name in {names} else find(name, *more)
"""
FAILED = re.compile(r"^FAILED ([^\s\[]+)", re.M)


class Mutant(NamedTuple):
    """One trap: `old`, which stands once in `file` of the package, becomes `new`; a test in `tests` must notice.

    Lines of `new` after its first one are indented like the line in which `old` stands.
    """

    number: str
    name: str
    file: str
    tests: str
    old: str
    new: str


AVERAGED = "comparison/test_averages.py"
ASSEMBLED = "formats/checkpoints/test_model_file.py"
BENCHMARKS = "benchmarks/test_many_runs.py"
LISTED_RANKS = "ranking/test_listed.py"
NPZ_FILES = "formats/models/test_npz.py"
ROUNDED = "scorers/test_rounding.py"
BOOTSTRAP = "stats/test_intervals.py"
CLASSES = "classification/test_classification_result.py"
CLASSIFIED = "classification/test_classifier.py"
PREDICTED = "evaluation/test_predicted_lists.py"
CLUSTERED = "results/test_clustering.py"
COMPARED = "comparison/test_comparison.py"
CORRECTED = "stats/test_corrections.py"
DECIDED = "comparison/test_decisions.py"
EQUIVALENT = "comparison/test_equivalence.py"
DRAWN = "data/test_sample_negatives.py"
FILTER = "data/test_filter_traps.py"
FORMULAS = "scorers/models/test_formulas.py"
GATED = "comparison/test_regression_gate.py"
MARGINS = "stats/test_equivalence.py"
KEYED = "evaluation/test_filter_key.py"
KERNELS = "kernels/test_numpy_kernels.py"
LABELS = "formats/datasets/test_column_and_label_traps.py"
LISTS = "metrics/retrieval/test_inputs.py"
LISTS_OF_RUNS = "metrics/retrieval/test_runs.py"
OUTCOMES = "ranking/executors/test_outcomes.py"
PAIRED = "stats/test_paired.py"
PLAIN_RANKS = "metrics/test_plain_ranks.py"
POINTS = "metrics/pointwise/test_traps.py"
PROTOCOL = "data/test_protocol.py"
RUN_FOLDERS = "ranking/test_resume.py"
DISPATCHED = "ranking/executors/test_dispatch.py"
WORKERS = "ranking/executors/test_workers.py"
RUNNING = "evaluation/test_run_settings.py"
RUNS = "trec/test_run_files.py"
SEEDS = "stats/test_runs.py"
TIES = "ranking/test_tie_traps.py"
VERDICT = "comparison/test_verdict.py"

# fmt: off
MUTANTS = (
    # C1 to C15: ranking and ties
    Mutant("C1", "tied_rivals_do_not_count", "kernels/rows.py", TIES,
        "equal[i] = np.count_nonzero(np.equal(cells, thresholds[i], out=mask))",
        "equal[i] = 1"),
    Mutant("C1", "tied_rivals_of_many_positives_do_not_count", "kernels/rows.py", TIES,
        "np.searchsorted(cells, thresholds[part])",
        '(np.searchsorted(cells, thresholds[part], side="right") - 1)'),
    Mutant("C1", "positive_is_first_among_equals_by_default", "metrics/ranks.py", TIES,
        '"realistic": 0.5',
        '"realistic": 0.0'),
    Mutant("C2", "ties_are_broken_by_the_place_of_the_positive", "kernels/rows.py", TIES,
        "np.count_nonzero(np.equal(cells, thresholds[i], out=mask))",
        "np.count_nonzero(np.equal(cells, thresholds[i], out=mask)[: places.answers[i] + 1])"),
    Mutant("C3", "equal_scores_count_as_better_in_rows", "kernels/rows.py", TIES,
        "np.greater(cells, thresholds[i], out=mask)",
        "np.greater_equal(cells, thresholds[i], out=mask)"),
    Mutant("C3", "equal_scores_count_as_better_among_known_answers", "kernels/counts.py", FILTER,
        "return ends - n_not_above,",
        "return ends - np.searchsorted(known_keys, positive_keys),"),
    Mutant("C3", "equal_scores_count_as_better_in_single_pairs", "kernels/numpy_kernels.py", KERNELS,
        "is_above, is_equal = exact > job.scores[which],",
        "is_above, is_equal = exact >= job.scores[which],"),
    Mutant("C3", "equal_scores_count_as_better_in_crowded_rows", "kernels/numpy_kernels.py", KERNELS,
        "np.count_nonzero(exact > thresholds, axis=1)",
        "np.count_nonzero(exact >= thresholds, axis=1)"),
    Mutant("C3", "mean_rank_of_a_tie_is_rounded", "metrics/ranks.py", TIES,
        "np.asarray(better + 1 + share * tied)",
        "np.rint(better + 1 + share * tied)"),
    Mutant("C3", "hits_have_a_tie_policy_of_their_own", "metrics/ranks.py", TIES,
        "np.asarray(np.asarray(rank) <= self.k, dtype=np.float64)",
        "np.asarray(np.floor(np.asarray(rank)) <= self.k, dtype=np.float64)"),
    Mutant("C4", "positive_is_scored_in_a_call_of_its_own", "ranking/ranker.py", TIES,
        "counts = _counted_by_key(task, self.start, self.stop, rows, count_rows, n_rows)",
        "places, rows = task.places(*task.key_offsets[[self.start, self.stop]]), rows.copy()\n"
        "again = self.scorer.rows(queries.side, queries.parts, task.candidates)\n"
        "rows[places.rows, places.answers] = again[places.rows, places.answers]\n"
        "counts = count_rows(rows, places)"),
    Mutant("C4", "positive_is_scored_by_another_sum", "kernels/numpy_kernels.py", KERNELS,
        "scores = self._exact(queries, places.rows, places.answers)",
        "scores = self._exact(queries, places.rows, places.answers)\n"
        'if self.geometry == "dot":\n'
        '    scores = np.einsum("ij,ij->i", queries[places.rows], self.candidates[places.answers].astype(float))'),
    Mutant("C4", "rounded_screening_scores_decide", "kernels/numpy_kernels.py", KERNELS,
        "exact = self._exact(job.queries, rows[which], self.order[columns])",
        "exact = self.of_pairs.pairs(job.state(self._pairs_at), rows[which], columns)"),
    Mutant("C4", "a_triple_that_scores_differently_twice_passes", "scorers/check.py", TIES,
        "is_other = difference > rounding.slack(expected, repeated)",
        "is_other = difference < 0"),
    Mutant("C5", "nearly_equal_scores_tie_in_rows", "kernels/rows.py", TIES,
        "np.equal(cells, thresholds[i], out=mask)",
        "np.isclose(cells, thresholds[i], rtol=1e-4, atol=1e-5)"),
    Mutant("C5", "nearly_equal_scores_tie_in_single_pairs", "kernels/numpy_kernels.py", KERNELS,
        "exact == job.scores[which]",
        "np.isclose(exact, job.scores[which], rtol=1e-4, atol=1e-5)"),
    Mutant("C5", "nearly_equal_scores_tie_in_crowded_rows", "kernels/numpy_kernels.py", TIES,
        "np.count_nonzero(exact == thresholds, axis=1)",
        "np.count_nonzero(np.isclose(exact, thresholds, rtol=1e-4, atol=1e-5), axis=1)"),
    Mutant("C5", "nearly_equal_scores_are_one_step_of_a_curve", "metrics/pointwise/thresholds.py", POINTS,
        "np.append(ranked[1:] != ranked[:-1], True)",
        "np.append(~np.isclose(ranked[1:], ranked[:-1]), True)"),
    Mutant("C5", "nearly_equal_scores_tie_in_lists", "metrics/retrieval/inputs.py", LISTS,
        "np.unique(row, return_inverse=True)",
        "np.unique(np.round(row, 5), return_inverse=True)"),
    Mutant("C6", "nan_positive_wins", "scorers/values.py", TIES,
        "first_nan(scores) if math.isnan(largest) else None",
        "None"),
    Mutant("C6", "nan_is_ranked_last", "ranking/ranker.py", TIES,
        "largest = check_no_nan(rows, queries, task.candidates, task.dataset, self.scorer.name)",
        "rows = np.where(np.isnan(rows), -np.inf, rows)\n"
        "largest = check_no_nan(rows, queries, task.candidates, task.dataset, self.scorer.name)"),
    Mutant("C6", "nan_in_a_query_vector_wins", "ranking/ranker.py", TIES,
        "is_bad = ~(largest < MAX_SIZE)",
        "is_bad = largest >= MAX_SIZE"),
    Mutant("C6", "nan_in_an_embedding_wins", "ranking/ranker.py", TIES,
        "np.flatnonzero(~(largest < MAX_SIZE))",
        "np.flatnonzero(largest >= MAX_SIZE)"),
    Mutant("C6", "nan_in_a_table_of_scores_wins", "evaluation/score_tables.py", TIES,
        "if np.isnan(values.astype(np.float64)).any():",
        "if False:"),
    Mutant("C6", "nan_in_a_list_is_ranked_first", "metrics/retrieval/inputs.py", LISTS,
        "if np.isnan(values).any():",
        "if False:"),
    Mutant("C6", "nan_in_a_curve_is_the_highest_score", "metrics/pointwise/examples.py", POINTS,
        "if is_nan.any():",
        "if False:"),
    Mutant("C6", "nan_in_classification_is_called_false", "scorers/row_scorers.py", CLASSIFIED,
        'np.isnan(scores) if rows.kind != "geometry" else ~np.isfinite(scores)',
        "np.zeros(len(scores), dtype=bool)"),
    Mutant("C7", "filtered_answers_are_masked_by_minus_infinity", "ranking/counts.py", TIES,
        "return self.raw - self.known",
        "tied = self.raw.tied - self.known.tied + np.isneginf(self.scores) * (self.known.rivals - self.known.tied)\n"
        "return RankCounts(self.raw.better - self.known.better, tied, self.raw.rivals - self.known.rivals)"),
    Mutant("C7", "infinite_scores_are_no_candidates", "ranking/ranker.py", TIES,
        "return replace(_without_positives(task, self.start, self.stop, counts), is_infinite=largest == np.inf)",
        "counted = _without_positives(task, self.start, self.stop, counts)\n"
        "counted.raw.rivals[:] = np.isfinite(rows).sum(axis=1)[task.places(self.start, self.stop).rows] - 1\n"
        "return replace(counted, is_infinite=largest == np.inf)"),
    Mutant("C8", "filtered_answers_score_one_below_the_positive", "ranking/counts.py", TIES,
        "return self.raw - self.known",
        "is_tied = np.isfinite(self.scores) & (self.scores - 1 == self.scores)\n"
        "tied = self.raw.tied - self.known.tied + is_tied * self.known.rivals\n"
        "return RankCounts(self.raw.better - self.known.better, tied, self.raw.rivals - self.known.rivals)"),
    Mutant("C8", "filtered_answers_score_zero", "ranking/counts.py", TIES,
        "return self.raw - self.known",
        "above = (self.scores < 0) * self.known.rivals\n"
        "tied, rivals = self.raw.tied - self.known.tied, self.raw.rivals - self.known.rivals\n"
        "return RankCounts(self.raw.better - self.known.better + above, tied, rivals)"),
    Mutant("C9", "ties_are_broken_by_the_ids_of_entities", "kernels/rows.py", TIES,
        "better[i] = np.count_nonzero(np.greater(cells, thresholds[i], out=mask))",
        "better[i] = np.count_nonzero(np.greater(cells, thresholds[i], out=mask))\n"
        "better[i] += np.count_nonzero(cells[places.answers[i] + 1 :] == thresholds[i])"),
    Mutant("C9", "tied_documents_stand_in_rising_order_of_names", "metrics/retrieval/inputs.py", LISTS_OF_RUNS,
        "reverse=True",
        "reverse=False"),
    Mutant("C9", "sorting_turns_tied_items_round", "metrics/retrieval/lists.py", LISTS,
        "order = np.lexsort((-code, query))",
        "order = np.lexsort((-np.arange(len(code)), -code, query))"),
    Mutant("C9", "order_of_input_breaks_ties_by_default", "metrics/retrieval/base.py", LISTS,
        'def compute(self, lists: RankedLists, ties: str = "expected"',
        'def compute(self, lists: RankedLists, ties: str = "stable"'),
    Mutant("C10", "a_sigmoid_in_float32_makes_ties", "ranking/ranker.py", TIES,
        "counts = _counted_by_key(task, self.start, self.stop, rows, count_rows, n_rows)",
        "rows = 1 / (1 + np.exp(-rows.astype(np.float32)))\n"
        "counts = _counted_by_key(task, self.start, self.stop, rows, row_counter(rows), n_rows)"),
    Mutant("C10", "half_precision_makes_ties", "kernels/rows.py", TIES,
        "dtype=np.float32 if scores.dtype == np.float16 else None",
        "dtype=np.float16"),
    Mutant("C10", "many_ties_are_not_said", "evaluation/build_result.py", TIES,
        "if result.tie_rate > TIE_RATE_SAID_ALOUD:",
        "if False:"),
    Mutant("C11", "integers_are_cast_to_floats", "scorers/values.py", TIES,
        "array = np.asarray(values)",
        "array = np.asarray(values, dtype=np.float64)"),
    Mutant("C11", "unsigned_scores_are_subtracted", "kernels/rows.py", TIES,
        "np.greater(cells, thresholds[i], out=mask)",
        "(cells - thresholds[i]) > 0"),
    Mutant("C11", "integers_of_a_list_are_cast_to_floats", "metrics/retrieval/inputs.py", LISTS,
        "np.unique(row, return_inverse=True)",
        "np.unique(row.astype(np.float64), return_inverse=True)"),
    Mutant("C11", "integers_of_a_curve_are_cast_to_floats", "metrics/pointwise/examples.py", POINTS,
        'if array.dtype.kind == "f":',
        "if True:"),
    Mutant("C12", "ranks_start_at_zero", "metrics/ranks.py", TIES,
        "np.asarray(better + 1 + share * tied)",
        "np.asarray(better + share * tied)"),
    Mutant("C12", "mrr_is_the_reciprocal_of_the_mean_rank", "metrics/ranks.py", TIES,
        "return 1.0 / np.asarray(rank, dtype=np.float64)",
        "return np.full(np.shape(rank), 1.0 / np.mean(rank))"),
    Mutant("C12", "both_sides_are_divided_by_the_count_of_one", "stats/moments.py", TIES,
        "return np.asarray(self.finish(self.values.mean(axis=0)))",
        "return np.asarray(self.finish(self.values.sum(axis=0) / max(1, len(self.values) // 2)))"),
    Mutant("C12", "ranks_of_another_tool_are_taken_for_zero_based", "metrics/plain_ranks.py", PLAIN_RANKS,
        "better = np.floor(values).astype(np.int64) - 1",
        "better = np.floor(values).astype(np.int64)"),
    Mutant("C12", "rank_zero_of_another_tool_is_accepted", "metrics/plain_ranks.py", PLAIN_RANKS,
        "(doubles >= 1)",
        "(doubles >= 0)"),
    Mutant("C13", "answer_is_its_own_rival", "ranking/ranker.py", TIES,
        "RankCounts(counts.better, counts.equal - 1, n_rivals)",
        "RankCounts(counts.better, counts.equal, n_rivals)"),
    Mutant("C13", "answer_is_its_own_rival_where_it_is_known", "ranking/ranker.py", TIES,
        "counts.known_equal - is_known, n_known - is_known",
        "counts.known_equal, n_known"),
    Mutant("C13", "answer_is_one_of_its_rivals_in_number", "ranking/ranker.py", TIES,
        "len(task.candidates) - 1, dtype=np.int64",
        "len(task.candidates), dtype=np.int64"),
    Mutant("C13", "answer_is_its_own_rival_in_a_table_of_scores", "evaluation/score_tables.py", TIES,
        "equal - is_self",
        "equal"),
    Mutant("C13", "answer_ranked_last_is_its_own_rival", "ranking/tasks.py", PROTOCOL,
        "n_known = np.repeat(np.diff(self.known_offsets), np.diff(self.offsets_of_keys)) - self.is_known",
        "n_known = np.repeat(np.diff(self.known_offsets), np.diff(self.offsets_of_keys))"),
    Mutant("C14", "counts_of_a_batch_are_summed_together", "kernels/numpy_kernels.py", KERNELS,
        "np.count_nonzero(exact > thresholds, axis=1)",
        "np.count_nonzero(exact > thresholds)"),
    Mutant("C14", "first_row_of_a_batch_serves_all", "kernels/rows.py", TIES,
        "cells = comparable[row]",
        "cells = comparable[0]"),
    Mutant("C15", "trivial_hits_are_not_said", "metrics/ranks.py", TIES,
        "float(np.mean(rivals + 1 <= self.k))",
        "float(np.mean(rivals + 1 < self.k))"),
    # C16 to C27: filters, sampling, unseen entities
    Mutant("C16", "valid_triples_are_missing_from_the_filter", "data/protocol.py", FILTER,
        "known = tuple(dataset.splits) if",
        'known = tuple(split for split in dataset.splits if split != "valid") if'),
    Mutant("C16", "every_split_is_in_the_filter_whatever_was_declared", "evaluation/evaluator.py", FILTER,
        "known_triples(dataset, protocol.filter or (), columns.key)",
        "known_triples(dataset, tuple(dataset.splits), columns.key)"),
    Mutant("C16", "results_of_different_filters_are_compared", "comparison/alignment.py", COMPARED,
        'if field.name in ("sides", "sample_seed"):',
        'if field.name in ("sides", "sample_seed", "filter"):'),
    Mutant("C17", "filter_keys_lack_the_side", "evaluation/evaluator.py", FILTER,
        "KnownIndex.of(*query_parts(known, side))",
        "KnownIndex.of(*query_parts(np.concatenate([known, known[:, ::-1]]), side))"),
    Mutant("C17", "subject_queries_are_filtered_as_object_queries", "evaluation/evaluator.py", FILTER,
        "KnownIndex.of(*query_parts(known, side))",
        'KnownIndex.of(*query_parts(known, "object"))'),
    Mutant("C17", "filter_keys_lack_the_relation", "evaluation/evaluator.py", FILTER,
        "KnownIndex.of(*query_parts(known, side))",
        "KnownIndex.of(\n"
        "    *query_parts(\n"
        "        np.concatenate([known * [1, 0, 1] + [0, p, 0] for p in range(len(dataset.relations))]), side\n"
        "    )\n"
        ")"),
    Mutant("C17", "negatives_lack_the_side", "data/corruption.py", FILTER,
        "is_negative[KnownIndex.of(*query_parts(known, side)).lookup(*parts, *codes)[1]] = False",
        "both = np.concatenate([known, known[:, ::-1]])\n"
        "is_negative[KnownIndex.of(*query_parts(both, side)).lookup(*parts)[1]] = False"),
    Mutant("C17", "test_triples_never_reach_the_filter", "data/known.py", FILTER,
        "facts_of(dataset, splits, filter_by)",
        'facts_of(dataset, [split for split in splits if split != "test"], filter_by)'),
    Mutant("C18", "a_positive_that_the_filter_lacks_is_ranked_raw", "ranking/ranker.py", FILTER,
        "RankCounts(counts.known_better, counts.known_equal - is_known, n_known - is_known)",
        "RankCounts(\n"
        "    counts.known_better * is_known, (counts.known_equal - is_known) * is_known, (n_known - 1) * is_known\n"
        ")"),
    Mutant("C18", "a_query_that_the_filter_lacks_has_answers_of_others", "data/known.py", "data/test_corruption.py",
        "is_known = is_possible & (starts < stops)",
        "is_known = starts < stops"),
    Mutant("C19", "repeated_facts_are_filtered_twice", "data/known.py", FILTER,
        "distinct_sorted(keys)",
        "keys"),
    Mutant("C19", "chosen_candidates_are_ignored", "evaluation/evaluator.py", FILTER,
        "entities = np.arange(len(dataset.entities)) if all_kept else",
        "entities = np.arange(len(dataset.entities)) if True else"),
    Mutant("C19", "known_answers_that_are_no_candidates_are_filtered", "ranking/tasks.py", FILTER,
        "row_of[is_candidate[known]], known[is_candidate[known]]",
        "row_of, known"),
    Mutant("C19", "entities_of_the_ranked_triples_alone_compete", "evaluation/evaluator.py", FILTER,
        "entities = np.arange(len(dataset.entities)) if all_kept else",
        "entities = np.unique(triples[:, [0, 2]]) if all_kept else"),
    Mutant("C19", "chance_ignores_the_filter", "results/rank_table.py", "results/test_evaluation_result.py",
        "return metric.chance(self.counts(key.setting, rows).rivals)",
        'return metric.chance(self.counts("raw", rows).rivals)'),
    Mutant("C20", "nothing_in_the_filter_is_a_crash", "data/keys.py", FILTER,
        "triples = np.concatenate(parts) if parts else",
        "triples = np.concatenate(parts) if True else"),
    Mutant("C20", "filter_of_the_first_query_serves_all_draws", "data/corruption.py", DRAWN,
        "known[offsets[i] : offsets[i + 1]]",
        "known[offsets[0] : offsets[1]]"),
    Mutant("C20", "facts_of_train_count_as_true_in_test", "classification/classifier.py", CLASSIFIED,
        "labels = np.arange(len(triples)) < len(dataset[part])",
        'facts = set(map(tuple, dataset["train"].array.tolist())) if "train" in dataset else set()\n'
        "labels = np.array([i < len(dataset[part]) or tuple(t) in facts for i, t in enumerate(triples.tolist())])"),
    Mutant("C21", "subject_queries_take_the_row_of_the_relation_itself", "scorers/models/base.py", FORMULAS,
        "relation + self.n_relations",
        "relation"),
    Mutant("C21", "rows_of_alternating_inverse_relations_are_mixed_up", "scorers/models/base.py", FORMULAS,
        "2 * relation + 1",
        "2 * relation"),
    Mutant("C21", "doubled_relations_are_accepted", "scorers/check.py", "scorers/models/test_faults.py",
        "scorer.n_relations != len(dataset.relations):",
        "scorer.n_relations < len(dataset.relations):"),
    Mutant("C21", "objects_alone_are_asked_by_default", "data/protocol.py", PROTOCOL,
        "check_sides(self.candidates.sides if self.sides is None else self.sides)",
        'check_sides("object" if self.sides is None else self.sides)'),
    Mutant("C22", "places_of_candidates_are_taken_for_ids", "ranking/tasks.py", FILTER,
        "return np.searchsorted(self.candidates, ids)",
        "return np.minimum(ids, len(self.candidates) - 1)"),
    Mutant("C22", "columns_of_candidates_are_the_first_ones", "scorers/row_scorers.py", FILTER,
        "else scores[:, candidates]",
        "else scores[:, : len(candidates)]"),
    Mutant("C22", "functions_are_given_places_for_ids", "scorers/row_scorers.py", FILTER,
        "self._block(side, tuple(part[r] for part in parts), candidates[c])",
        "self._block(side, tuple(part[r] for part in parts), np.arange(len(candidates))[c])"),
    Mutant("C22", "vectors_of_candidates_are_the_first_ones", "scorers/row_scorers.py", FILTER,
        "return raw[candidates] if is_tensor(raw) else taken(raw, candidates)",
        "return raw[: len(candidates)]"),
    Mutant("C22", "results_are_paired_by_id_not_by_label", "comparison/alignment.py", COMPARED,
        "= joint.find(",
        "= np.arange(len(joint))[: len(texts)] if True else joint.find("),
    Mutant("C23", "negatives_repeat_where_candidates_run_out", "data/corruption.py", DRAWN,
        "numbers = rng.choice(n_allowed, size=size, replace=is_repeated) if size",
        "numbers = rng.choice(n_allowed, size=size, replace=True) if size"),
    Mutant("C23", "no_candidate_left_is_a_crash", "data/corruption.py", DRAWN,
        "size = last - first if is_repeated and n_allowed else min(last - first, n_allowed)",
        "size = last - first"),
    Mutant("C23", "draws_ignore_the_seed", "data/corruption.py", DRAWN,
        'rng = np.random.default_rng(check_seed(sample_seed, name="sample_seed"))',
        "rng = np.random.default_rng()"),
    Mutant("C23", "all_queries_share_one_draw", "data/corruption.py", DRAWN,
        "rng.choice(n_allowed,",
        "np.random.default_rng(0).choice(n_allowed,"),
    Mutant("C23", "ranks_among_more_and_fewer_rivals_are_compared", "comparison/alignment.py", COMPARED,
        "if is_different.any():",
        "if False:"),
    Mutant("C24", "keys_wrap_at_32_bits", "data/row_keys.py", FILTER,
        "keys |= codes",
        "keys |= codes\n"
        "keys &= 0xFFFFFFFF"),
    Mutant("C24", "keys_wrap_at_64_bits", "data/row_keys.py", FILTER,
        "KEY_BITS = 63",
        "KEY_BITS = 1000"),
    Mutant("C24", "keys_are_rounded_to_53_bits", "data/row_keys.py", FILTER,
        "keys |= codes",
        "keys |= codes\n"
        "keys[:] = keys.astype(np.float64)"),
    Mutant("C24", "parts_of_a_key_overlap", "data/row_keys.py", FILTER,
        "keys <<= n_bits  #",
        "keys <<= max(n_bits - 1, 0)  #"),
    Mutant("C25", "dropped_triples_are_not_counted", "evaluation/evaluator.py", FILTER,
        'n_unseen = 0 if plan.protocol.unseen == "worst" else',
        "n_unseen = 0 if True else"),
    Mutant("C25", "unseen_triples_are_dropped_unasked", "evaluation/evaluator.py", PROTOCOL,
        'self.protocol.resolved(self.dataset, "drop" if lacks else "rank")',
        'self.protocol.resolved(self.dataset, "drop")'),
    Mutant("C25", "positives_without_listed_negatives_vanish", "evaluation/build_result.py", FILTER,
        "n_read - n_ranked - sum(dropped.values())",
        "0"),
    Mutant("C25", "examples_without_a_vector_vanish", "classification/classifier.py", CLASSES,
        "int(lacks.sum())",
        "0"),
    Mutant("C26", "repeated_triples_are_not_said", "data/dataset.py", FILTER,
        "for split, n in self.duplicates.items() if n]",
        "for split, n in self.duplicates.items() if n < 0]"),
    Mutant("C26", "test_triples_in_train_are_not_said", "data/dataset.py", FILTER,
        "for (a, b), n in self.overlaps.items() if n]",
        "for (a, b), n in self.overlaps.items() if n < 0]"),
    Mutant("C27", "drawn_negatives_give_test_away", "data/corruption.py", DRAWN,
        "return tuple(dataset.splits) if",
        "return tuple(dataset.splits) if True or"),
    # C28 to C38: numbers, aggregation, files
    Mutant("C28", "mean_of_means_of_batches", "stats/moments.py", FILTER,
        "return np.asarray(self.finish(self.values.mean(axis=0)))",
        "parts = [self.values[i : i + 2].mean(axis=0) for i in range(0, len(self.values), 2)]\n"
        "return np.asarray(self.finish(np.mean(parts, axis=0)))"),
    Mutant("C28", "sums_in_float32", "stats/moments.py", FILTER,
        "return np.asarray(self.finish(self.values.mean(axis=0)))",
        "sums = np.cumsum(self.values, axis=0, dtype=np.float32)[-1].astype(np.float64)\n"
        "return np.asarray(self.finish(sums / len(self.values)))"),
    Mutant("C28", "expectations_are_summed_in_float32", "metrics/sums.py", FILTER,
        "return np.asarray((rounded[last] - rounded[first]) + (correction[last] - correction[first]))",
        "rounded = np.append(0, np.cumsum(terms, dtype=np.float32))\n"
        "return np.asarray(rounded[last] - rounded[first], dtype=np.float64)"),
    Mutant("C29", "some_positives_are_ranked_twice", "evaluation/evaluator.py", "data/test_candidates.py",
        "if not np.array_equal(",
        "if False and not np.array_equal("),
    Mutant("C30", "shards_are_joined_in_the_order_in_which_they_end", "ranking/jobs.py", WORKERS,
        "for start in sorted(part)]",
        "for start in list(part)[::-1]]"),
    Mutant("C31", "order_of_a_sum_is_left_to_the_library", "kernels/geometry.py", "kernels/test_geometry.py",
        "_tree_sum(terms), np.sqrt",
        "terms.sum(axis=1), np.sqrt"),
    Mutant("C32", "both_is_the_mean_of_the_sides", "results/rank_table.py", FILTER,
        "if isinstance(metric, QueryLevel):\n            values =",
        "parts = [rows[(self.frame['side'] == side).to_numpy()[rows]] for side in self.protocol.sides]\n"
        "parts = [part for part in parts if len(part)]\n"
        "if isinstance(metric, RankMetric) and len(parts) > 1:\n"
        "    return MetricValue(float(np.mean([self.value(key, part).value for part in parts])))\n"
        "if isinstance(metric, QueryLevel):\n    values ="),
    Mutant("C32", "macro_weighs_groups_by_their_size", "stats/intervals.py", "results/test_breakdowns.py",
        "value = float(np.mean(values)) if parts else nan",
        "value = float(np.average(values, weights=[len(part) for part in parts])) if parts else nan"),
    Mutant("C33", "a_second_run_keeps_the_first_counts", "evaluation/evaluator.py", "evaluation/test_evaluator.py",
        "counts = rank(job, run.executor)",
        "counts = rank(job, run.executor)\n"
        'counts = self.__dict__.setdefault("counts", counts)'),
    Mutant("C33", "float64_scores_are_narrowed", "kernels/rows.py", TIES,
        "dtype=np.float32 if scores.dtype == np.float16 else None",
        "dtype=np.float32"),
    Mutant("C33", "thresholds_are_chosen_on_test", "classification/classifier.py", CLASSIFIED,
        "chosen = thresholds_by_group(valid.labels, valid.scores, valid.relations,",
        "judged = test.scored(rows, dataset)\n"
        "chosen = thresholds_by_group(judged.labels, judged.scores, judged.relations,"),
    Mutant("C33", "no_threshold_calls_everything_false", "metrics/pointwise/cuts.py", "metrics/pointwise/test_cuts.py",
        "np.inf, chosen)",
        "chosen, chosen)"),
    Mutant("C34", "robust_interval_has_one_tail", "stats/intervals.py", BOOTSTRAP,
        "= self.quantile((1.0 + confidence) / 2.0),",
        "= self.quantile(confidence),"),
    # C34 too: formulas of earlier versions whose intervals did not cover (F1 to F7 in the notes), and slips of the new
    Mutant("C34", "groups_of_a_macro_average_lack_their_factor", "stats/intervals.py", BOOTSTRAP,
        "total[kept] += left_out_deviations(part, local) / len(parts)",
        "total[kept] += left_out_deviations(part, local) / len(parts) * sqrt((local.count - 1) / local.count)"),
    Mutant("C34", "a_group_of_one_triple_varies_in_nothing", "stats/intervals.py", "results/test_breakdowns.py",
        "elif single:",
        "elif False:"),
    Mutant("C34", "freedom_of_a_macro_average_counts_clusters", "stats/intervals.py", BOOTSTRAP,
        "n_effective = 1.0 + min(freedom(grouping) for grouping in clusters.groupings)",
        "n_effective = float(clusters.count)"),
    Mutant("C34", "queries_that_share_a_triple_are_independent", "results/clustering.py", CLUSTERED,
        "return Clusters.crossed(first, second, n, observations)",
        "return Clusters(Grouping.of(queries, n, observations))"),
    Mutant("C34", "entities_are_subjects_alone", "results/clustering.py", CLUSTERED,
        "return Clusters.of(labels[0], n) if len(labels) == 1 else",
        "return Clusters.of(labels[0], n) if True else"),
    Mutant("C34", "two_way_clusters_count_their_intersection_twice", "stats/clusters.py", "stats/test_clusters.py",
        "total = sum(sums) - float(np.square(deviations(self.both)).sum())",
        "total = sum(sums)"),
    Mutant("C34", "only_shares_of_ranks_have_wilsons_limits", "results/rank_table.py", CLUSTERED,
        "return robust_interval(moments, among, confidence, key.bounds, sampled_share)",
        'bounds = key.bounds if str(key.metric).startswith("hits@") else (key.bounds[0], 2 * key.bounds[1])\n'
        "return robust_interval(moments, among, confidence, bounds, sampled_share)"),
    Mutant("C34", "equal_values_have_an_interval_without_width", "stats/intervals.py", CLUSTERED,
        "if not reason and not bounded and self.variance == 0.0:",
        "if False:"),
    Mutant("C34", "large_clusters_pull_the_mean_for_nothing", "stats/clusters.py", "stats/test_clusters.py",
        "moments.finish(means - sums / (n - sizes))",
        "moments.finish(means - sums / (n - n / grouping.count))"),
    Mutant("C34", "freedom_counts_clusters_of_any_size", "stats/intervals.py", BOOTSTRAP,
        "n_effective = clusters.effective_number(moments.weights)",
        "n_effective = float(clusters.count)"),
    Mutant("C34", "freedom_ignores_weights", "stats/intervals.py", BOOTSTRAP,
        "n_effective = clusters.effective_number(moments.weights)",
        "n_effective = clusters.effective_number()"),
    Mutant("C34", "entities_are_a_sample_of_the_split", "results/rank_table.py", "evaluation/test_sample.py",
        'self.sampled_share if clusters.by == "triple" and',
        "self.sampled_share if"),
    Mutant("C34", "wilsons_size_is_that_of_an_endless_population", "stats/intervals.py", BOOTSTRAP,
        "wilson_limits(self.value, variance * unsampled, self.n_effective / unsampled, t)",
        "wilson_limits(self.value, variance, self.n_effective, t)"),
    Mutant("C34", "reversed_groups_are_not_corrected_for_their_number", "comparison/differences.py", VERDICT,
        "1.0 - terms.alpha / len(rows_by_group)",
        "terms.confidence"),
    Mutant("C34", "equal_differences_have_an_interval_without_width", "stats/paired.py", PAIRED,
        "        if variance == 0.0:\n            reason = SAME_DIFFERENCE if n_differing else EQUAL_VALUES",
        "        pass"),
    Mutant("C34", "equal_patterns_count_half_whatever_differs", "stats/paired.py", PAIRED,
        "weight = 0.5 if difference.n_differing >= MIN_MID_P else 1.0",
        "weight = 0.5"),
    Mutant("C34", "the_interval_is_not_that_of_the_studentised_swaps", "stats/paired.py", PAIRED,
        "return q * sqrt((n - 1.0) / (square - q * q)) * self.error if",
        "return q * sqrt((n - 1.0) / square) * self.error if"),
    Mutant("C34", "the_interval_has_another_quantile_than_the_test", "stats/paired.py", PAIRED,
        "index = floor(level * (self.n_patterns + 1.0) + NEXT_TO) - 1",
        "index = floor(level * (self.n_patterns + 1.0) / 2.0 + NEXT_TO) - 1"),
    Mutant("H6", "p_values_end_at_the_number_of_swaps", "stats/paired.py", PAIRED,
        "if not is_exact and not extreme:",
        "if False:"),
    Mutant("H9", "few_differing_triples_decide_in_a_group", "comparison/differences.py", DECIDED,
        "if 2.0 ** (1 - n_differing) <= terms.alpha / len(rows_by_group):",
        "if True:"),
    Mutant("C34", "a_model_beats_another_without_holms_correction", "comparison/rows.py", VERDICT,
        "row_before(pair), pair.difference, p_corrected <= alpha",
        'row_before(pair), pair.difference, row_before(pair).get("p", 1.0) <= alpha'),
    Mutant("C34", "intervals_are_not_at_the_level_of_their_test", "comparison/rows.py", COMPARED,
        "pair.clipped(found.interval(level, is_decided))",
        "pair.clipped(found.interval(alpha))"),
    Mutant("C34", "the_leader_stands_where_it_was_given", "comparison/rows.py", COMPARED,
        "pairs = list(pairs) if has_order else leaders_first(pairs)",
        "pairs = list(pairs)"),
    Mutant("C34", "the_better_model_is_the_larger_value", "comparison/rows.py", VERDICT,
        'row["decision"] = "first" if (found.value > 0.0) == pair.higher_is_better else "second"',
        'row["decision"] = "first" if found.value > 0.0 else "second"'),
    Mutant("C34", "the_verdict_takes_higher_values_for_better", "comparison/rows.py", VERDICT,
        "key=lambda name: -values[name] if higher_is_better else values[name])",
        "key=lambda name: -values[name])"),
    Mutant("C34", "differences_keep_their_sign_in_the_other_order", "comparison/rows.py", COMPARED,
        '"difference": 0.0 - row["difference"]}',
        '"difference": row["difference"]}'),
    Mutant("H13", "the_filter_key_is_not_asked_for", "data/keys.py", KEYED,
        "if not natural:\n            return ()",
        "if natural or not natural:\n            return ()"),
    Mutant("H13", "known_answers_of_any_time_are_removed", "data/keys.py", KEYED,
        "parts = np.split(dense.reshape(-1).astype(np.int64), ends)",
        "parts = np.split(0 * dense.reshape(-1).astype(np.int64), ends)"),
    Mutant("H13", "positives_of_all_keys_share_the_known_answers_of_the_first", "ranking/tasks.py", KEYED,
        "known_offsets=np.append(0, np.cumsum(sizes))",
        "known_offsets=np.append(0, np.cumsum(np.zeros_like(sizes)))"),
    Mutant("H18", "seeds_of_a_model_are_rivals", "comparison/rows.py", DECIDED,
        "if not models or models[i] is None or models[i] != models[j]] or pairs",
        "if True] or pairs"),
    Mutant("C34", "levels_are_all_that_of_the_first_test", "stats/corrections.py", CORRECTED,
        "levels = alpha / np.arange(n, 0, -1)",
        "levels = np.full(n, alpha / max(n, 1))"),
    Mutant("H7", "spreads_of_seeds_are_those_of_the_pair_alone", "stats/runs.py", SEEDS,
        "pooled = None if is_separate else (of_runs, of_both, freedom)",
        "pooled = None"),
    Mutant("H8", "single_runs_do_not_vary", "stats/runs.py", SEEDS,
        "times = 1.0 / len(first) + 1.0 / len(second)",
        "times = sum(1.0 / len(runs) for runs in pair if len(runs) > 1)"),
    Mutant("C34", "three_seeds_have_as_many_degrees_of_freedom_as_triples", "stats/runs.py", SEEDS,
        "freedom = np.where(share > 0.0, freedom, many)",
        "freedom = np.where(share > 2.0, freedom, many)"),
    Mutant("C34", "a_few_differing_clusters_are_significant_by_t", "stats/runs.py", SEEDS,
        "max(student_p_value(value / sqrt(whole), freedom), min(1.0, 2.0 ** (1 - n_differing)))",
        "student_p_value(value / sqrt(whole), freedom)"),
    Mutant("C34", "spreads_that_differ_are_pooled", "stats/runs.py", SEEDS,
        "differ |= p_value <= SEPARATING_LEVEL / len(freedoms)",
        "differ |= p_value <= 0.0"),
    Mutant("C34", "a_higher_mr_is_not_inferior", "comparison/margins.py", EQUIVALENT,
        "higher = bool(self.pair.higher_is_better)",
        "higher = True"),
    Mutant("C34", "few_equal_clusters_show_equivalence", "stats/equivalence.py", MARGINS,
        "least, signs = (0.0, 0.0) if support is None else (support.of_margin(margin), support.of_signs)",
        "least, signs = 0.0, 0.0"),
    Mutant("H22", "few_differing_clusters_show_equivalence_by_t", "stats/equivalence.py", MARGINS,
        "return self.n_differing < min(MIN_DIFFERING, int(self.n_clusters + 1e-9) / 2.0)",
        "return self.n_differing < 6"),
    Mutant("C34", "equivalence_of_many_pairs_is_not_corrected", "comparison/margins.py", EQUIVALENT,
        "if corrected[i] <= alpha:",
        "if p_values[i] <= alpha:"),
    # C34 too: tests against a margin, averages
    Mutant("C34", "one_side_alone_shows_equivalence", "stats/equivalence.py", MARGINS,
        "p_value, p_beyond = max(p_lower, p_upper),",
        "p_value, p_beyond = min(p_lower, p_upper),"),
    Mutant("C34", "margin_tests_have_two_sides", "stats/equivalence.py", MARGINS,
        "return two_sided / 2.0 if distance > 0.0 else 1.0 - two_sided / 2.0",
        "return two_sided if distance > 0.0 else 1.0 - two_sided / 2.0"),
    Mutant("C34", "the_interval_of_equivalence_has_the_coverage_of_a_two_sided_test", "stats/equivalence.py", MARGINS,
        "student_quantile(1.0 - alpha, freedom) * error",
        "student_quantile(1.0 - alpha / 2.0, freedom) * error"),
    Mutant("C34", "a_loss_is_a_fall_whatever_is_better", "stats/equivalence.py", MARGINS,
        "(p_lower, p_too_low) if higher_is_better else (p_upper, p_too_high)",
        "(p_lower, p_too_low)"),
    Mutant("C34", "the_gate_fails_on_what_is_undecided", "comparison/regression_gate.py", GATED,
        'if is_strict else frame["decision"] != INFERIOR',
        'if True else frame["decision"] != INFERIOR'),
    Mutant("C34", "the_gate_passes_on_what_is_undecided_though_strict", "comparison/regression_gate.py", GATED,
        'frame["decision"] == NOT_INFERIOR if is_strict else',
        'frame["decision"] == NOT_INFERIOR if False else'),
    Mutant("C34", "macro_differences_vary_as_if_groups_were_independent_samples", "stats/macro_difference.py", AVERAGED,
        "total[kept] += change / len(first)",
        "total[kept] += np.hypot(*changes) / len(first)"),
    Mutant("C34", "macro_differences_count_all_clusters_as_freedom", "stats/macro_difference.py", AVERAGED,
        "Spread(value, variance, min(one.n_effective for one in spreads), groups.count, reason)",
        "Spread(value, variance, float(groups.count), groups.count, reason)"),
    Mutant("C35", "labels_of_items_become_floats", "metrics/retrieval/inputs.py", LISTS,
        "frame = frame.assign(**{value: numbers})",
        "numbered = [float(item) if isinstance(item, int) else item for item in frame['item']]\n"
        "frame = frame.assign(**{value: numbers, 'item': numbered})"),
    Mutant("C34", "the_spread_of_the_seeds_is_ignored", "stats/runs.py", SEEDS,
        "of_seeds = np.maximum(shown - both, 0.0)",
        "of_seeds = np.zeros_like(shown)"),
    Mutant("C34", "what_clusters_add_to_the_runs_counts_twice", "stats/runs.py", SEEDS,
        "of_seeds = np.maximum(shown - both, 0.0)",
        "of_seeds = shown"),
    Mutant("C35", "p_values_ignore_the_seed", "stats/paired.py", PAIRED,
        "rng = np.random.default_rng(seed)",
        "rng = np.random.default_rng()"),
    Mutant("C36", "columns_are_read_by_place_whatever_their_names", "data/column_names.py", LABELS,
        "return [lowered.index(name) for name in known]",
        "return [0, 1, 2]"),
    Mutant("C36", "names_in_wrong_places_are_read_by_place", "data/frames.py", LABELS,
        "if len(shown) == 3 and not has_names(frame):",
        "if len(shown) == 3:"),
    Mutant("C36", "a_header_is_read_by_place", "formats/text_tables.py", LABELS,
        'positions = named_columns(f"{path}, line 1", first) or said or [0, 1, 2]',
        "positions = said or [0, 1, 2]"),
    Mutant("C36", "negative_ids_count_from_the_end", "checks.py", LABELS,
        "wrong = (array < 0) | (array >= n)",
        "wrong = array >= n"),
    Mutant("C36", "order_h_t_r_is_not_suspected", "data/dataset.py", LABELS,
        "if shares_second < 0.25 or",
        "if True or"),
    Mutant("C37", "label_na_becomes_a_missing_value", "formats/text_tables.py", LABELS,
        "na_filter=False",
        "na_filter=True"),
    Mutant("C37", "a_quote_in_a_label_swallows_lines", "formats/text_tables.py", LABELS,
        "quoting=csv.QUOTE_NONE",
        "quoting=csv.QUOTE_MINIMAL"),
    Mutant("C37", "labels_become_numbers", "formats/text_tables.py", LABELS,
        'frame = read("str", converted)',
        'frame = read("category", converted)'),
    Mutant("C37", "missing_labels_of_a_frame_become_text", "data/frames.py", LABELS,
        "if not isinstance(value, str) and not is_integer:",
        "if False:"),
    Mutant("C37", "name_na_in_a_run_becomes_a_missing_value", "trec/run_files.py", RUNS,
        "na_filter=False",
        "na_filter=True"),
    Mutant("C37", "a_quote_in_a_run_swallows_lines", "trec/run_files.py", RUNS,
        "quoting=csv.QUOTE_NONE",
        "quoting=csv.QUOTE_MINIMAL"),
    Mutant("C38", "words_in_place_of_scores_are_zero", "trec/run_files.py", RUNS,
        "scores = np.full(len(texts), np.nan)",
        'scores = pd.to_numeric(frame["score"], errors="coerce").fillna(0.0).to_numpy()'),
    Mutant("C38", "words_in_place_of_listed_scores_are_zero", "formats/scores.py", "evaluation/test_score_tables.py",
        "float(text) if ok else np.nan",
        "float(text) if ok else 0.0"),
    Mutant("C38", "nan_in_a_run_is_sorted_somewhere", "trec/run_files.py", RUNS,
        "is_odd = not np.isfinite(scores).all()",
        "is_odd = np.isinf(scores).any()"),
    Mutant("C38", "queries_that_the_run_lacks_are_left_out", "metrics/retrieval/inputs.py", LISTS_OF_RUNS,
        'queries: str = "judged",',
        'queries: str = "returned",'),
    Mutant("C38", "option_c_leaves_queries_out", "trec/tables.py", "trec/test_tables.py",
        "if not options.complete:",
        "if True:"),
    Mutant("C38", "queries_left_out_are_not_said", "trec/tables.py", "trec/test_tables.py",
        "len(judged - returned),",
        "0,"),
    Mutant("C26", "copies_of_a_triple_go_to_two_splits", "data/splitting.py", "data/test_splitting.py",
        "order, starts = group_rows(*triples.T)",
        "order, starts = np.lexsort(triples.T[::-1]), np.arange(len(triples) + 1)"),
    Mutant("C33", "the_count_line_of_openke_may_lie", "formats/id_triples.py", "formats/datasets/test_openke.py",
        "if count is not None and count != len(triples):",
        "if False:"),
    Mutant("S4", "openkes_relation_is_in_the_middle", "formats/datasets/openke.py", "formats/datasets/test_openke.py",
        '"OpenKE", "htr"',
        '"OpenKE", "hrt"'),
    Mutant("S7", "phases_of_rotates_code_are_radians", "formats/models/rotate.py", "formats/models/test_rotate.py",
        'settings["phase_unit"] = PI / embedding_range',
        'settings["phase_unit"] = 1.0'),
    Mutant("S9", "id_files_of_any_tool_order_the_rows", "formats/checkpoints/model_file.py", ASSEMBLED,
        'is_same_tool = dataset.id_format in ("", *parts.id_formats)',
        "is_same_tool = True"),
    Mutant("S10", "pytorch_geometric_does_not_normalise", "formats/models/pyg.py", "formats/models/test_pyg.py",
        '{"normalise": f"entities-l{norm}"}',
        '{"normalise": "none"}'),
    Mutant("S11", "the_batch_norm_of_the_subject_is_dropped", "formats/checkpoints/model_file.py",
        "formats/models/test_pykeen.py",
        'BATCH_NORMS = {"bn_0.": "subject_norm", "bn_1.": "product_norm"}',
        'BATCH_NORMS = {"bn_1.": "product_norm"}'),
    Mutant("S12", "inverse_relations_of_pykeen_follow_after_all", "formats/checkpoints/pykeen_modules.py",
        "formats/models/test_pykeen.py",
        'return {"inverse_relations": "alternating"} if is_inverse else {}',
        'return {"inverse_relations": "after"} if is_inverse else {}'),
    Mutant("S12", "inverse_relations_of_libkge_alternate", "formats/models/libkge.py", "formats/models/test_libkge.py",
        'settings["inverse_relations"] = "after"',
        'settings["inverse_relations"] = "alternating"'),
    Mutant("S15", "arrays_that_a_model_does_not_use_are_ignored", "formats/checkpoints/model_file.py",
        "formats/models/test_npz.py",
        """    if unused:
        raise DataError(
            f"{file}: {kind.__name__} has no use""",
        """    if False:
        raise DataError(
            f"{file}: {kind.__name__} has no use"""),
    Mutant("C29", "repeated_rows_of_padded_runs_are_not_said", "evaluation/predicted_rows.py", PREDICTED,
        "n_repeated = int(np.maximum(n_rows - n_positives, 0)[n_positives > 0].sum())",
        "n_repeated = 0"),
    Mutant("P1", "an_answer_that_the_list_lacks_ties_with_nobody", "evaluation/predicted_lists.py", PREDICTED,
        "tied = np.where(self.has_answer, tied, rivals - better)",
        "tied = np.where(self.has_answer, tied, 0)"),
    Mutant("P1", "known_answers_in_a_list_stay_rivals", "evaluation/predicted_lists.py", PREDICTED,
        'above["other"] + above["unmapped"], tied["other"]',
        'above["known"] + above["other"] + above["unmapped"], tied["other"]'),
    Mutant("P1", "bounded_ranks_are_always_at_their_best", "results/bounded.py", "results/test_bounded.py",
        "worst = counts.better + np.where(is_bounded, counts.tied, 0)",
        "worst = counts.better + np.where(is_bounded, 0, 0)"),
    Mutant("P1", "bounded_queries_get_their_best_value", "results/bounded.py", "results/test_bounded.py",
        "best[keys] != worst[keys]",
        "best[keys] != best[keys]"),
    Mutant("S9", "ids_of_a_live_model_are_those_of_the_dataset", "adapters/base.py", "adapters/test_pykeen.py",
        "found[kind] = Vocabulary(labels).find(vocabulary.labels)",
        "found[kind] = np.minimum(np.arange(len(vocabulary)), len(labels) - 1)"),
    Mutant("S12", "score_of_pykeen_takes_the_internal_ids", "adapters/pykeen.py", "adapters/test_pykeen.py",
        "predict = self.model.predict_t if is_object",
        "predict = self.model.score_t if is_object"),
    Mutant("P2", "a_live_model_stays_in_training_mode", "adapters/base.py", "adapters/test_base.py",
        "                module.eval()",
        "                pass"),
    # E: runs that stop, that go on, and that end when their time is up
    Mutant("E35", "a_failed_shard_is_left_out_without_a_word", "ranking/jobs.py", RUNNING,
        "raise _error_of(failures, job)",
        "job.deadline = 0.0"),
    Mutant("E35", "other_shards_are_lost_when_one_fails", "ranking/jobs.py", RUNNING,
        "if job.store is None or len(failures) >= MAX_FAILURES:",
        "if failures:"),
    Mutant("E40", "a_half_that_ran_out_of_memory_is_counted_twice", "ranking/executors/outcomes.py", OUTCOMES,
        "count_in_parts(replace(batch, stop=middle))",
        "count_in_parts(replace(batch, stop=min(middle + 1, batch.stop - 1) if n > 2 else middle))"),
    Mutant("E43", "a_shard_may_be_missing", "ranking/jobs.py", RUNNING,
        "if n != n_distinct or (is_complete and n != len(task.rows)):",
        "if n != n_distinct:"),
    Mutant("E43", "a_shard_may_be_merged_twice", "ranking/jobs.py", RUNNING,
        "if n != n_distinct or (is_complete and n != len(task.rows)):",
        "if False:"),
    Mutant("E45", "a_partial_query_counts_as_finished", "ranking/shards.py", RUNNING,
        "np.flatnonzero(n_open > 0)",
        "np.flatnonzero(n_open > 1)"),
    Mutant("E46", "what_was_taken_over_is_forgotten", "evaluation/run_settings.py", RUNNING,
        "kept = store.finished if store else {}",
        "kept: dict[str, TaskCounts] = {}"),
    Mutant("E48", "a_run_of_another_dataset_is_resumed", "evaluation/run_settings.py", RUNNING,
        '"dataset": dataset.fingerprint[:16],',
        '"dataset": "",'),
    Mutant("E48", "a_run_of_another_protocol_is_resumed", "evaluation/run_settings.py", RUNNING,
        '"protocol": protocol.to_dict(),',
        '"protocol": {},'),
    Mutant("E45", "what_was_finished_beyond_the_first_gap_is_in_the_sample", "evaluation/run_settings.py", RUNNING,
        "first_open = [int(places[rows].min()) for rows in open_rows if len(rows)]",
        "first_open = [len(places) - sum(map(len, open_rows))] if any(map(len, open_rows)) else []"),
    Mutant("E45", "queries_are_taken_in_the_order_of_the_file", "evaluation/run_settings.py", RUNNING,
        "places[RandomSample.order(n_positives, seed)] = np.arange(n_positives)",
        "places[:] = np.arange(n_positives)"),
    Mutant("E43", "a_shard_whose_worker_died_is_left_out", "ranking/executors/dispatch.py", DISPATCHED,
        "if self._failures[shard] > retries:",
        "if True:"),
    Mutant("E43", "answers_in_other_blocks_are_rivals_of_each_block", "ranking/executors/blocks.py", WORKERS,
        "owner.append((held, 1 - len(blocks)))",
        "owner.append((held, 0))"),
    Mutant("E44", "a_worker_with_another_kgeval_is_accepted", "ranking/executors/dispatch.py", DISPATCHED,
        "_check_greeting(result, run.here)",
        "pass"),
    Mutant("E44", "a_worker_that_scores_otherwise_is_accepted", "ranking/executors/dispatch.py", WORKERS,
        "if differs.any():",
        "if False:"),
    Mutant("E47", "two_processes_write_one_run_folder", "ranking/resume.py", RUN_FOLDERS,
        "            _take_lock(handle)",
        "            pass"),
    Mutant("E48", "a_run_of_another_scorer_is_resumed", "scorers/identity.py", RUNNING,
        "return found",
        "return []"),
    Mutant("E45", "a_task_runs_ahead_of_the_random_order", "ranking/shards.py", RUNNING,
        "stop = start + int(np.searchsorted(numbers, numbers[0] + n_queries))",
        "pass"),
    Mutant("H29", "unknown_arguments_are_type_errors", "checks.py", PROTOCOL,
        "unknown = next((name for name in named if name not in known), None)",
        "unknown = None"),
    Mutant("H1", "a_mask_is_the_scale_of_rounding", "scorers/rounding.py", ROUNDED,
        "size = sizes[ends[0] - 1]",
        "size = sizes[-1]"),
    Mutant("H1", "noise_is_measured_by_large_offsets", "scorers/rounding.py", ROUNDED,
        "return np.maximum(least, np.minimum(most * sizes, SHARE_OF_RANGE * self.width))",
        "return most * sizes"),
    Mutant("H10", "a_text_is_a_list_of_answers", "data/predictions.py", "data/test_predictions.py",
        "is_text = isinstance(values, (str, bytes, bytearray, memoryview))",
        "is_text = False"),
    Mutant("H11", "negative_numbers_are_cut_off_one_way", "plausibility/reading.py", "plausibility/test_table.py",
        "lower = 1 if rounding == \"any\" and self.number <= 0 else 2",
        "lower = 2"),
    Mutant("H21", "a_card_that_contradicts_itself_is_ranked", "benchmarks/card.py", "benchmarks/test_board.py",
        "return tuple(found)",
        "return ()"),
    Mutant("H24", "a_damaged_description_is_believed", "scorers/identity.py", RUN_FOLDERS,
        "        _check_description(before, n_queries)",
        "        pass"),
    Mutant("H36", "datasets_side_by_side_are_one", "plausibility/reading.py", "plausibility/test_table.py",
        "columns = _two_lines(header, body[0][1], f\"{file}, line {line}\")",
        "columns = header"),
    Mutant("H28", "a_seed_without_a_sample_is_ignored", "evaluation/evaluator.py", "evaluation/test_sample.py",
        "if seed and sample is None and max_seconds is None:",
        "if False:"),
    Mutant("H28", "a_seed_with_chosen_rows_is_ignored", "data/protocol.py", "evaluation/test_sample.py",
        "if self.sample is not None and self.sample_seed != 0 and not is_drawn:",
        "if False:"),
    Mutant("H28", "the_seed_of_a_sample_is_forgotten", "data/protocol.py", "evaluation/test_sample.py",
        "RandomSample.drawn(self.sample, of, self.sample_seed)",
        "RandomSample.drawn(self.sample, of)"),
    Mutant("H28", "another_sample_than_that_of_the_result_is_drawn_again", "data/protocol.py", PROTOCOL,
        "if _digest(rows) != sample.digest:",
        "if False:"),
    Mutant("E48", "a_run_of_another_seed_is_resumed", "evaluation/run_settings.py", RUNNING,
        '"sample_seed": seed,',
        '"sample_seed": 0,'),
    Mutant("E48", "a_run_of_any_version_is_resumed", "ranking/resume.py", RUN_FOLDERS,
        'if description["kgeval"] not in (__version__, *SAME_COUNTS):',
        "if False:"),
    Mutant("H26", "the_batch_size_of_functions_is_ignored", "scorers/row_scorers.py", "scorers/test_row_scorers.py",
        "self.limits.batch_size or MAX_PAIRS",
        "MAX_PAIRS"),
    Mutant("H2", "a_redefined_score_is_left_out", "scorers/precedence.py", "scorers/test_precedence.py",
        "if is_redefined and (name != \"forward\" or _takes(scorer.forward, 3)):",
        "if False:"),
    Mutant("H2", "two_ways_of_one_class_may_differ", "scorers/precedence.py", "scorers/test_precedence.py",
        "if differs.any():",
        "if False:"),
    Mutant("H2", "forward_beside_rows_is_left_out", "scorers/precedence.py", "scorers/test_precedence.py",
        '"matrix": ("__call__", "score", "forward"),',
        '"matrix": ("__call__", "score"),'),
    Mutant("H2", "forward_of_batches_is_left_out", "scorers/precedence.py", "scorers/test_precedence.py",
        "if of_batches and _takes(method, 1) else None",
        "if False else None"),
    Mutant("H2", "hooks_of_torch_are_left_out", "scorers/precedence.py", "scorers/test_precedence.py",
        "return scorer if is_called else method",
        "return method"),
    Mutant("H2", "few_triples_of_rows_are_compared", "scorers/precedence.py", "scorers/test_precedence.py",
        "triples = _random_triples(scorer, rows, dataset, N_QUERIES if is_rows else N_TRIPLES, side)",
        "triples = _random_triples(scorer, rows, dataset, N_QUERIES if is_rows else N_TRIPLES, side)[:4]"),
    Mutant("H3", "lists_are_identified_by_their_rows", "data/candidates.py", "comparison/test_negatives.py",
        "bound.digest = BY_TRIPLE + self._digest_of(triples)",
        "bound.digest = BY_TRIPLE + self.digest"),
    Mutant("H3", "unknown_negatives_are_compared", "comparison/alignment.py", "comparison/test_negatives.py",
        "if not unknown or len(results) < 2:",
        "if True:"),
    Mutant("H3", "candidates_need_no_identity", "data/protocol.py", "comparison/test_negatives.py",
        "check_identity(self.candidates)",
        "pass"),
    Mutant("H4", "positives_of_a_query_share_their_negatives", "data/corruption.py", "data/test_sample_negatives.py",
        'groups = queries.rows * 0 if distinct == "query" else repeated_rows[queries.rows]',
        "groups = queries.rows * 0"),
    Mutant("H4", "short_lists_are_not_said", "evaluation/build_result.py", "data/test_sample_negatives.py",
        "if 0 < 2 * len(short) <= len(n):",
        "if False:"),
    Mutant("H25", "the_index_of_a_series_is_ignored", "data/pandas_index.py", "data/test_candidates.py",
        "values = values.sort_index()",
        "pass"),
    Mutant("H26", "candidates_are_not_asked_in_blocks", "scorers/row_scorers.py", "scorers/test_row_scorers.py",
        "min(BLOCK_CANDIDATES, self.limits.batch_size or BLOCK_CANDIDATES) if takes_candidates else None",
        "self.limits.batch_size if takes_candidates else None"),
    Mutant("H37", "a_tar_ends_at_the_first_zeros", "formats/unpacking.py", "formats/test_unpacking.py",
        "        _check_end(source.path, stream, archive.offset, name)",
        "        pass"),
    Mutant("H38", "the_last_of_two_savers_wins", "files.py", "test_files.py",
        "            _rename_to_new(temporary, target)",
        "            os.replace(temporary, target)"),
    Mutant("H39", "a_pickle_holds_the_scorer", "results/evaluation_result.py", "results/test_evaluation_result.py",
        'if name != "table"} | {"_source": None}',
        'if name != "table"}'),
    Mutant("H41", "links_to_themselves_are_followed", "formats/registry.py", "formats/test_folders.py",
        "if error.errno == errno.ELOOP:",
        "if False:"),
    Mutant("H45", "files_of_killed_processes_stay", "files.py", "test_files.py",
        "            _remove_abandoned(target.parent, os.fstat(handle).st_mtime)",
        "            pass"),
    Mutant("H45", "files_that_are_being_written_are_deleted", "files.py", "test_files.py",
        "            with contextlib.suppress(OSError):  # the file system has no locks\n"
        "                fcntl.flock(handle, fcntl.LOCK_EX)",
        "            pass"),
    Mutant("H44", "a_full_folder_for_temporary_files_is_not_named", "ranking/executors/processes.py",
        "ranking/executors/test_process_limits.py",
        "            raise _folder_error(Path(self._folder.name).parent, error) from error",
        "            raise"),
    Mutant("H44", "workers_start_with_too_few_handles", "ranking/executors/processes.py",
        "ranking/executors/test_process_limits.py",
        "        _check_handles(n_workers)",
        "        pass"),
    Mutant("G", "the_bar_stands_still_when_the_clock_goes_back", "ranking/progress.py", "ranking/test_progress.py",
        "        self._bar._time = time.monotonic",
        "        pass"),
    Mutant("G", "formulas_reach_a_spreadsheet", "report/tables.py", "cli/test_saved_results.py",
        "return (without_formulas(frame) if spreadsheet else frame)",
        "return frame"),
    Mutant("H46", "missing_members_are_believed", "files.py", "test_files.py",
        "    _check_members(path, arrays, header.pop(MEMBERS, None))",
        "    header.pop(MEMBERS, None)"),
    Mutant("H43", "types_in_about_are_believed", "results/files.py", "test_own_errors.py",
        "        if not is_right:",
        "        if False:"),
    Mutant("H40", "lines_of_packed_text_are_not_counted", "formats/unpacking.py", "test_limits.py",
        "            if self.n_bytes > packed:",
        "            if False:"),
    Mutant("H40", "values_of_a_json_element_are_not_counted", "limits.py", "test_limits.py",
        "if (items - before).max() > MAX_ITEMS * factor():",
        "if False:"),
    Mutant("H42", "one_long_label_widens_all_others", "files.py", "test_limits.py",
        "dtype=np.str_ if wasted <= max(64 << 20, 8 * sum(lengths)) else object",
        "dtype=np.str_"),
    Mutant("H43", "a_header_nested_too_deeply_is_no_own_error", "files.py", "test_own_errors.py",
        'check_json(text, f"{path}: its header is not JSON that is read")',
        "pass"),
    Mutant("H5", "empty_lists_of_scores_are_dropped", "evaluation/build_result.py", "ranking/test_listed.py",
        'else "error" if candidates is None else "first"',
        'else "drop" if candidates is None else "first"'),
    Mutant("H5", "named_sides_refuse_empty_lists", "evaluation/score_tables.py", "evaluation/test_score_tables.py",
        'empty="drop" if lacks else "error"',
        'empty="error"'),
    Mutant("H5", "lists_of_tables_have_another_identity", "evaluation/score_tables.py",
        "evaluation/test_score_tables.py",
        'empty="drop" if lacks else "error"',
        'empty="drop"'),
    Mutant("H26", "batches_of_blocks_take_a_second", "scorers/row_scorers.py", "scorers/test_row_scorers.py",
        "n_bytes, seconds = BLOCK_BATCH_BYTES, BLOCK_BATCH_SECONDS",
        "n_bytes, seconds = BLOCK_BATCH_BYTES, BATCH_SECONDS"),
    Mutant("H27", "a_scorer_is_checked_in_each_evaluation", "evaluation/evaluator.py", "evaluation/test_row_order.py",
        "return any(checked() is owner for checked in self._well_ordered)",
        "return False"),
    Mutant("H5", "positives_whose_rivals_are_all_known_are_left_out", "evaluation/evaluator.py", LISTED_RANKS,
        'rows, rivals = ranked_rows[part.side], part.count_rivals()["raw"]',
        'rows, rivals = ranked_rows[part.side], part.count_rivals()["filtered"]'),
    Mutant("H5", "an_empty_list_is_left_out_without_a_word", "data/candidates.py", LISTED_RANKS,
        'self.empty = check_one_of("empty", empty, EMPTY)',
        'self.empty = "drop"'),
    Mutant("H23", "null_names_are_one_entity", "formats/answers/mapping.py", "evaluation/test_ranks_alone.py",
        "numbers, places = np.unique(triple_of[is_null], return_inverse=True)",
        "numbers, places = np.unique(0 * triple_of[is_null], return_inverse=True)"),
    Mutant("H23", "predictions_are_not_inspected", "formats/inspection.py", "formats/test_inspection.py",
        "predictions = [one for one in prediction_formats().values() if one.sniff(place)]",
        "predictions = []"),
    Mutant("H30", "missing_settings_are_asked_for_singly", "formats/checkpoints/model_file.py", NPZ_FILES,
        "*_unsaid_settings(kind, [*unsaid, *doubled])",
        "*_unsaid_settings(kind, unsaid[:1])"),
    Mutant("H32", "a_loaded_result_explains_another_row", "results/explanations.py", "results/test_explanations.py",
        'of_row, stored = rivals[rivals["row"] == row], ranks.frame.iloc[row]',
        'of_row, stored = rivals[rivals["row"] == rivals["row"].max()], ranks.frame.iloc[row]'),
)
# fmt: on

NOT_APPLICABLE = (
    ("C31", "products of torch, TF32 and GPUs: no light test can have torch; tests/kernels has tests of them"),
    ("C33", "raw pointers: no C library is called"),
    ("C35", "a seed that reaches one thread only: numbers are drawn in one thread; ignored seeds are mutants"),
)


def mutated(source: str, mutant: Mutant) -> str:
    """Return the source with the mutant's text replaced; a ValueError says where it does not stand exactly once."""
    count = source.count(mutant.old)
    if count != 1:
        raise ValueError(f"{mutant.name}: expected once in kgeval/{mutant.file}, found {count} times: {mutant.old}")
    line = source[source.rfind("\n", 0, source.index(mutant.old)) + 1 :]
    indent = line[: len(line) - len(line.lstrip())]
    return source.replace(mutant.old, mutant.new.replace("\n", "\n" + indent))


def run_tests(copy: Path, *tests: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run light tests in the copy, up to the first failure."""
    nothing = copy / "no_shared_data"
    nothing.mkdir(exist_ok=True)
    (copy / "hide_extras.py").write_text(HIDING.format(names=EXTRAS), encoding="utf-8")
    options = ["-x", "-q", "-rf", "-p", "hide_extras", "-p", "no:cacheprovider", "-m", "not thorough"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, *(f"tests/{test}" for test in tests)],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy), "KGEVAL_SHARED": str(nothing), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def try_mutant(copy: Path, mutant: Mutant) -> str:
    """Return the first test that fails with the mutant, or why none does; the copy is then as before."""
    path = copy / "kgeval" / mutant.file
    source, before = path.read_text(encoding="utf-8"), path.stat().st_mtime
    try:
        path.write_text(mutated(source, mutant), encoding="utf-8")
        os.utime(path, (before + 10, before + 10))  # so that no compiled file of the unmutated source is taken
        done = run_tests(copy, mutant.tests, PYTHONDONTWRITEBYTECODE="1")
    finally:
        path.write_text(source, encoding="utf-8")
        os.utime(path, (before, before))
    failed = FAILED.search(done.stdout)
    if failed:
        return failed.group(1)
    return "SURVIVES" if done.returncode == 0 else "DOES NOT RUN"


def main(names: list[str]) -> int:
    """Try the mutants with these names, or all; print a table."""
    unknown = set(names) - {mutant.name for mutant in MUTANTS}
    if unknown:
        print(f"unknown mutants: {', '.join(sorted(unknown))}")
        return 2
    chosen = [mutant for mutant in MUTANTS if not names or mutant.name in names]
    with tempfile.TemporaryDirectory() as folder:
        copy, started, survivors = Path(folder), time.perf_counter(), []
        for name in COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(ROOT / name, copy / name)
        try:
            for mutant in chosen:
                mutated((copy / "kgeval" / mutant.file).read_text(encoding="utf-8"), mutant)
            whole = run_tests(copy, *dict.fromkeys(mutant.tests for mutant in chosen))
            if whole.returncode:
                raise ValueError(f"the tests fail without any mutant\n{whole.stdout[-4000:]}{whole.stderr[-2000:]}")
            width = max(len(mutant.name) for mutant in chosen)
            for mutant in chosen:
                found = try_mutant(copy, mutant)
                survivors += [] if "::" in found else [mutant.name]
                print(f"{mutant.number:<4} {mutant.name:<{width}} {found}", flush=True)
        except ValueError as error:
            print(error)
            return 2
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutants caught, {time.perf_counter() - started:.0f} s")
    if not names:
        print("not applicable:", *(f"{number:<4} {reason}" for number, reason in NOT_APPLICABLE), sep="\n")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
