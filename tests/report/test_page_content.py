"""The content of the report page against numbers made here by loops."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from grids import light
from made_results import noted, replaced
from page_cases import HOSTILE, LINK, N_ENTITIES, N_RELATIONS, N_TEST, NAMES, Reader, content, mean_of, ranks_of

import kgeval as kg
from kgeval.base.wording import listed_names, printable, shown_label, written
from kgeval.comparison.beside import with_baselines
from kgeval.display.table import Table
from kgeval.metrics.grammar import display_of
from kgeval.report import page_report
from kgeval.report.page import write_page
from kgeval.report.page_answer import moves, values
from kgeval.report.page_background import protocol_lines
from kgeval.report.page_cautions import cautions_of, merged
from kgeval.report.page_distributions import distribution, hits_at_cuts
from kgeval.report.page_groups import breakdown, value_table
from kgeval.report.page_metrics import metric_table
from kgeval.report.page_relations import patterns_of, relations, triples_by_relation
from kgeval.report.page_report import report_of
from kgeval.report.page_triples import HEADING, NO_RIVALS, hardest, triples
from kgeval.report.page_where import gains
from kgeval.results.evaluation_result import kept_rivals

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")


# ---- the data ----


HEADINGS = ["MRR", "hits@1", "hits@3", "hits@10", "MR", "AMRI"]
GROUPS = [(setting, side) for setting in ("filtered", "raw") for side in ("both", "subject", "object")]


@pytest.mark.thorough
def test_the_metric_table_holds_every_setting_and_side(made, data):
    """Six tables of three models and chance; each value by its definition from the counts."""
    results = made[0]
    names = [name.split("-")[1:] for name in data["tables"] if name.startswith(("metrics-filtered", "metrics-raw"))]
    assert names == [list(group) for group in GROUPS]
    for setting, side in GROUPS:
        *rows, chance = data["tables"][f"metrics-{setting}-{side}"]
        assert [row["model"] for row in rows] == NAMES
        for row, result in zip(rows, results):
            ranks = [r for own, _, r in ranks_of(result, setting) if side in (own, "both")]
            for heading in HEADINGS[:5]:
                assert row[heading] == pytest.approx(mean_of(heading, ranks), abs=1e-12)
        assert chance["model"] == "chance"
        for heading in HEADINGS:
            assert chance[heading] == results[0].chance(f"{setting}.{side}.{heading.lower()}").value


@pytest.mark.thorough
def test_the_intervals_are_those_of_the_result(made, data):
    """Value, low, high and no reason, under the key that the row and the column name."""
    for setting, side in GROUPS:
        for row, result in zip(data["tables"][f"metrics-{setting}-{side}"], made[0]):
            assert "reason" not in row
            for heading in HEADINGS:
                found = result.interval(f"{setting}.{side}.{heading.lower()}")
                shown = [row[heading], row[f"{heading} low"], row[f"{heading} high"]]
                assert shown == [found.value, found.low, found.high]
                assert shown[1] < shown[0] < shown[2]


def test_the_distribution_counts_every_rank_once(made):
    """Bins 1, 2-3, 4-10, 11-30, ...; a rank between two bins counts in the higher one."""
    found = distribution(made[0])
    assert found["bins"] == ["1", "2–3", "4–10", "11–30", "31–40"]
    starts = [1, 2, 4, 11, 31, math.inf]
    for counts, result in zip(found["counts"], made[0]):
        ranks = [rank for _, _, rank in ranks_of(result)]
        assert counts == [sum(low <= math.ceil(rank) < high for rank in ranks) for low, high in zip(starts, starts[1:])]
        assert sum(counts) == 2 * N_TEST


def test_a_tied_rank_falls_in_the_higher_bin():
    """Six entities that all score alike: among 5 rivals the realistic rank is 3.5."""
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1]], n_entities=6, n_relations=1)
    result = kg.evaluate(lambda s, p, o: np.zeros(len(s)), dataset, progress=False)
    found = distribution([result])
    assert found["bins"] == ["1", "2–3", "4–6"]
    assert found["counts"] == [[0, 0, 2]]


def test_the_first_bins_are_hits_at_k():
    """Seven entities, some with equal scores: ranks of 1, 1.5 and more; the first bins are hits@1 and hits@3."""
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1], [2, 0, 0], [1, 0, 2]], n_entities=7, n_relations=1)
    result = kg.evaluate(lambda s, p, o: -((s + o) // 2), dataset, progress=False)
    (counts,) = distribution([result])["counts"]
    ranks = result.rank_table.ranks("filtered")
    assert 1.5 in ranks
    assert counts[0] / 6 == result["hits@1"] == (ranks == 1).mean()
    assert sum(counts[:2]) / 6 == result["hits@3"] < 1.0


def test_the_hits_curve(made):
    """At each cut-off the share of ranks up to it, from 1 to the number of candidates."""
    hits = hits_at_cuts(made[0])
    cuts = hits["k"]
    assert cuts[:3] == [1, 2, 3]
    assert cuts == sorted(set(cuts))
    assert cuts[-1] == max(int(r.table["rivals_filtered"].max()) for r in made[0]) + 1
    for curve, result in zip(hits["values"], made[0]):
        ranks = [rank for _, _, rank in ranks_of(result)]
        assert curve == pytest.approx([sum(rank <= k for rank in ranks) / len(ranks) for k in cuts], abs=1e-12)


@pytest.mark.thorough
def test_the_relations(made, data):
    """Each relation of the test split, most ranks first: n, values by their definition, the intervals of `by`."""
    results, dataset, _ = made
    counted = np.bincount(np.asarray(dataset["test"])[:, 1], minlength=N_RELATIONS)
    order = sorted(np.flatnonzero(counted), key=lambda p: (-counted[p], dataset.relations.labels[p]))
    rows = data["tables"]["relations"]
    assert [row["relation"] for row in rows] == [shown_label(dataset.relations.labels[p]) for p in order]
    assert [row["ranks"] for row in rows] == [2 * counted[p] for p in order]
    for name, result in zip(NAMES, results):
        frame = result.by("relation", metrics="mrr")
        for row, p in zip(rows, order):
            ranks = [rank for _, own, rank in ranks_of(result) if own == p]
            assert row[name] == pytest.approx(mean_of("MRR", ranks), abs=1e-12)
            ends = frame.loc[dataset.relations.labels[p], ["mrr low", "mrr high"]].tolist()
            assert [row[f"{name} low"], row[f"{name} high"]] == [None if math.isnan(end) else end for end in ends]
            if math.isnan(ends[0]):
                assert frame.loc[dataset.relations.labels[p], "reason"] in row["reason"]


@pytest.mark.thorough
def test_few_of_very_many_relations_are_kept(made, monkeypatch):
    """The most frequent ones; the page says how many there are."""
    monkeypatch.setattr(page_report, "MAX_RELATIONS", 3)
    rows = content(made[0], NAMES)["tables"]["relations"]
    assert len(rows) == 3
    assert len(report_of(made[0], NAMES).all_relations) == N_RELATIONS
    assert min(row["ranks"] for row in rows) >= sorted(made[0][0].table.groupby("p").size())[-3]


@pytest.mark.thorough
def test_models_with_different_relations_stand_side_by_side():
    """The relations of both; one without a rank has n = 0 and no value."""
    results = []
    for labels in (["a", "b"], ["b", "c"]):
        dataset = kg.Dataset.from_arrays(
            test=[[0, 0, 1], [1, 1, 2], [2, 1, 3]], n_entities=5, relation_labels=labels, name="+".join(labels)
        )
        results.append(kg.evaluate(lambda s, p, o: -abs(s + 1.3 - o), dataset, progress=False))
    found = content(results, ["one", "two"])
    rows = found["tables"]["relations"]
    assert [row["relation"] for row in rows] == ["b", "c", "a"]
    assert [[row[f"ranks, {name}"] for row in rows] for name in ("one", "two")] == [[4, 0, 2], [2, 4, 0]]  # both sides
    missing = [[row[name] is None for row in rows] for name in ("one", "two")]
    assert missing == [[False, True, False], [False, False, True]]
    assert ["this relation has no ranks" in row.get("reason", "") for row in rows] == [False, True, True]
    shown = [f"{r.facts['dataset']} {r.facts['dataset_fingerprint'][:8]}" for r in results]
    assert found["differences"][:2] == [
        f"dataset: {shown[0]} in one, {shown[1]} in two",
        "relations: 2 in one, 2 in two; 1 only in one, first 'a', 1 only in two, first 'c'",
    ]
    assert [line.partition(":")[0] for line in found["differences"][2:]] == ["queries"]


@pytest.mark.thorough
def test_results_of_different_protocols_are_said_to_differ(made):
    """Each field of the protocol with both values, and none where they agree."""
    results, dataset, _ = made
    protocol = kg.Protocol(sides="object", filter=("test",))
    other = kg.evaluate(lambda s, p, o: (s * 7 + o * 3 + p) % 11, dataset, protocol, progress=False)
    found = content([results[0], other], ["one", "two"])
    assert found["differences"][:2] == [
        "filter: train+valid+test in one, test in two",
        "sides: subject+object in one, object in two",
    ]
    is_apart = results[0].table["rivals_filtered"][results[0].table["side"] == "object"].to_numpy()
    n_apart = int((is_apart != other.table["rivals_filtered"].to_numpy()).sum())
    assert n_apart > 0
    start = f"rivals: {n_apart} of {N_TEST} shared rows have different numbers of filtered rivals, first "
    assert [line[: len(start)] for line in found["differences"][2:]] == [start]
    sides = {side: [row["model"] for row in found["tables"][f"metrics-filtered-{side}"]] for side in ("both", "object")}
    assert sides["both"] == ["one", "chance"]
    assert sides["object"][:2] == ["one", "two"]
    assert content(results, NAMES)["differences"] == []


@pytest.mark.thorough
def test_results_of_other_queries_or_rivals_are_said_to_differ(made):
    """One protocol and one dataset, but two triples less, or one rival more in three rows."""
    results, dataset, _ = made
    test = np.asarray(dataset["test"])
    labels = [[dataset.entities.labels[s], dataset.relations.labels[p], dataset.entities.labels[o]] for s, p, o in test]
    shorter = replaced(results[0], table=results[0].table.iloc[2:].reset_index(drop=True), columns=None, n_read=298)
    found = content([results[0], shorter], ["one", "two"])
    said = "queries: 300 in one and 298 in two; 2 rows only in one, first "
    row = f"{tuple(labels[0])} ({results[0].table['side'].iloc[0]} side, test)"
    assert found["differences"] == [printable(f"{said}{row}; 298 rows in all results")]
    table = results[0].table.copy()
    table.loc[[3, 5, 8], "rivals_filtered"] += 1
    found = content([results[0], replaced(results[0], table=table)], ["one", "two"])
    start = "rivals: 3 of 300 shared rows have different numbers of filtered rivals, first "
    assert [line[: len(start)] for line in found["differences"]] == [start]
    assert content([results[0], results[0]], ["one", "two"])["differences"] == []


def widening():
    """A result whose one relation is 1-1 in train, and 1-N in all splits: each subject gets two objects more."""
    train = [[s, 0, s + 4] for s in range(4)]
    test = [[s, 0, o] for s in range(4) for o in (8 + 2 * s, 9 + 2 * s)]
    dataset = kg.Dataset.from_arrays(train=train, test=test, n_entities=16, n_relations=1)
    return kg.evaluate(lambda s, p, o: (s * 7 + o * 3) % 11, dataset, progress=False), dataset


def groups_of(report, name):
    """The groups of each model in a column, with their counts."""
    return [{group: len(rows) for group, rows in of_model.items()} for of_model in breakdown(report, name).rows]


def over_splits(report):
    """The columns that are said to be computed from all splits."""
    said = (
        " (filtered ranks of both sides, realistic ties), which is computed from all splits unless a note names others"
    )
    tables = [value_table(report, name, breakdown(report, name)) for name in report.parts[0].columns.columns]
    return sorted(table.columns[0].heading for table in tables if said in table.caption)


@pytest.mark.parametrize("is_given", [True, False])
@pytest.mark.thorough
def test_features_that_a_result_has_stay_as_they_are(is_given):
    """Taken over train they are 1-1, whether the dataset is given or at hand; over all splits they would be 1-N."""
    result, dataset = widening()
    given = dataset if is_given else None
    chosen = result.with_features(features=["cardinality", "pattern"], means_from=["train"])
    report = report_of([chosen], ["one"], given)
    assert groups_of(report, "cardinality") == [{"1-1": 16}]
    notes = content([chosen], ["one"], given)["notes"]
    assert [note for note in notes if re.fullmatch("one: cardinality and pattern(:| are) taken over train.*", note)]
    assert over_splits(report) == []
    assert groups_of(report, "seen") == [{"unseen entity": 16}]
    report = report_of([result], ["one"], given)
    assert groups_of(report, "cardinality") == [{"1-N": 16}]
    assert over_splits(report) == ["cardinality", "pattern"]
    half = result.with_features(features=["cardinality"], means_from=["train"])
    report = report_of([half], ["one"], given)
    notes = content([half], ["one"], given)["notes"]
    assert [note for note in notes if re.fullmatch("one: cardinality.* taken over train.*", note)]
    names = list(report.parts[0].columns.columns)
    assert "cardinality" in names
    assert "pattern" not in names  # over all splits it would stand below a note that says train
    report = report_of([result.with_features(features=["pattern"])], ["one"], given)
    assert over_splits(report) == ["cardinality", "pattern"]


@pytest.mark.thorough
def test_without_features_nothing_is_said_of_their_splits(made):
    """A result that holds no dataset has no such column, and one whose column is pattern alone names it alone."""
    result = replaced(made[0][0], source=None, rivals=kept_rivals(made[0][0])[0])
    assert over_splits(report_of([result], ["one"])) == []
    patterned = replaced(made[0][0].with_features(features=["pattern"]), source=None, rivals=kept_rivals(result)[0])
    assert over_splits(report_of([patterned], ["one"])) == ["pattern"]


def test_the_breakdowns(made, data):
    """The user's column and what the dataset tells, with n, share and values of each group in its natural order."""
    names = [name.removeprefix("metrics-by-") for name in data["tables"] if name.startswith("metrics-by-")]
    assert names[0] == "kind"
    assert {"cardinality", "pattern", "degree_given", "degree_asked", "seen", "known_answers"} < set(names)
    rows = [row for row in data["tables"]["metrics-by-kind"] if row["model"] == NAMES[1]]
    assert [row["kind"] for row in rows] == [printable(LINK), "אב <i>"]
    assert [row["ranks"] for row in rows] == [200, 100]
    assert [row["share"] for row in rows] == [2 / 3, 1 / 3]
    ranks = [rank for _, _, rank in ranks_of(made[0][1])]
    own = [rank for i, rank in enumerate(ranks) if i % 3 < 2]
    assert rows[0]["MRR"] == pytest.approx(mean_of("MRR", own), abs=1e-12)
    report = report_of(made[0], NAMES, made[1], made[2])
    for name in ("degree_given", "degree_asked", "relation_frequency", "known_answers"):
        of_first = groups_of(report, name)[0]
        starts = [int(group.partition("-")[0]) for group in of_first]
        assert starts == sorted(starts)
        assert sum(of_first.values()) == 2 * N_TEST
    assert len(starts) > 2


@pytest.mark.thorough
def test_only_the_largest_of_many_groups_are_kept(made):
    """40 of 150 groups of two ranks, and how many there are."""
    result = made[0][0].with_columns({"many": np.arange(2 * N_TEST) % N_TEST})
    many = breakdown(report_of([result], ["one"]), "many")
    assert many.n_left == N_TEST - 40
    assert many.groups == [str(i) for i in range(40)]  # equal sizes: by their numbers
    assert [len(rows) for rows in many.rows[0].values()] == [2] * 40


@pytest.mark.thorough
def test_the_largest_groups_of_an_ordered_column_are_kept(made):
    """Not the first 40 in its order, but those with most ranks, in its order; the share of the others is said."""
    result = made[0][0]
    sizes = np.array([1] * 20 + [2] * 20 + [12] * 20)
    values = np.repeat(np.arange(60), sizes)
    assert len(values) == 2 * N_TEST
    ordered = pd.Categorical([f"g{value}" for value in values], [f"g{i}" for i in range(60)], ordered=True)
    featured = result.with_columns({"many": ordered})
    many = breakdown(report_of([featured], ["one"]), "many")
    assert many.groups == list(many.rows[0]) == [f"g{i}" for i in range(20, 60)]
    assert [len(rows) for rows in many.rows[0].values()] == [2] * 20 + [12] * 20
    assert many.n_left == 20
    assert many.share_left == pytest.approx(20 / 300, abs=1e-12)
    caption = value_table(report_of([featured], ["one"]), "many", many).caption
    assert caption.endswith("; without 20 groups with 6.7% of the ranks")
    ranks = [rank for _, _, rank in ranks_of(result)]
    shown = content([featured], ["one"])["tables"]["metrics-by-many"]
    assert shown[39]["MRR"] == pytest.approx(mean_of("MRR", ranks[288:]), abs=1e-12)


@pytest.mark.thorough
def test_groups_that_are_left_out_cost_no_interval(made, monkeypatch):
    """Of 300 groups 40 times five numbers are computed."""
    from kgeval.results.rank_table import RankTable

    computed, interval = [], RankTable.interval

    def counting(self, *arguments, **named):
        computed.append(1)
        return interval(self, *arguments, **named)

    monkeypatch.setattr(RankTable, "interval", counting)
    result = replaced(made[0][0], columns=None, source=None, rivals=kept_rivals(made[0][0])[0])
    content([result], ["one"])
    without = len(computed)
    computed.clear()
    content([result.with_columns({"many": np.arange(2 * N_TEST)})], ["one"])
    assert len(computed) - without == 40 * 5


@pytest.mark.thorough
def test_groups_of_several_models_stand_in_one_order(made):
    """One model has the numbers 0, 1, 9, the other 3, 9, 20; both stand among 0, 1, 3, 9, 20."""
    first, second = (
        result.with_columns({"many": np.array(values)[np.arange(2 * N_TEST) % 3]})
        for result, values in zip(made[0], ([9, 0, 1], [20, 3, 9]))
    )
    found = breakdown(report_of([first, second], ["one", "two"]), "many")
    assert found.groups == ["0", "1", "3", "9", "20"]
    assert list(map(list, found.rows)) == [["0", "1", "9"], ["3", "9", "20"]]


@pytest.mark.thorough
def test_sides_stand_in_one_order(made):
    """Both sides first, also where the first result asked one side alone."""
    other = kg.evaluate(lambda s, p, o: (s * 7 + o * 3 + p) % 11, made[1], kg.Protocol(sides="object"), progress=False)
    tables = content([other, made[0][0]], ["one", "two"])["tables"]
    names = [name for name in tables if name.startswith(("metrics-filtered", "metrics-raw"))]
    assert sorted(names) == sorted(f"metrics-{setting}-{side}" for setting, side in GROUPS)
    assert names[:2] == ["metrics-filtered-both", "metrics-filtered-object"]  # those that are open


def test_hardest_triples(made):
    """The ten greatest ranks with their labels, and the best unknown rivals by the scorer itself."""
    result, dataset, _ = made[0][0], made[1], made[2]
    rows = result.table.to_dict("records")
    ranks = [rank for _, _, rank in ranks_of(result)]
    found, sides, shown, scores, rivals = hardest(report_of(made[0], NAMES), 0)[-1].columns
    assert [cell.numbers[0] for cell in shown.cells] == sorted(ranks, reverse=True)[:10]
    known = {tuple(t) for split in ("train", "valid", "test") for t in np.asarray(dataset[split]).tolist()}
    labels = [shown_label(label) for label in dataset.entities.labels]
    for place, cell in enumerate(shown.cells):
        side, score = sides.cells[place].text, scores.cells[place].numbers[0]
        row = next(
            row for row, rank in zip(rows, ranks)
            if rank == cell.numbers[0] and row["side"] == side and row["score"] == score
        )  # fmt: skip
        words = [labels[row["s"]], shown_label(dataset.relations.labels[row["p"]]), labels[row["o"]]]
        assert found.cells[place].text == " ".join(words)
        assert cell.text.endswith(f" of {row['rivals_filtered'] + 1}")
        by_score = dict(_rival_scores(result, row, known))
        best = sorted(by_score, key=lambda rival: -by_score[rival])[:5]
        assert rivals.cells[place].text == "; ".join(f"{labels[i]} {by_score[i]:.5g}" for i in best)  # all above


def _rival_scores(result, row, known):
    """(entity, score) of each rival of a row that is no known answer, asked of the scorer one by one."""
    for entity in range(N_ENTITIES):
        triple = (entity, row["p"], row["o"]) if row["side"] == "subject" else (row["s"], row["p"], entity)
        if triple not in known:
            asked = np.array([row["s"], row["p"], row["o"]])
            candidates, scores = result._source.candidate_scores(row["side"], asked, None)
            yield entity, scores[list(candidates).index(entity)]


def test_infinite_scores_and_missing_intervals_are_no_json_numbers():
    """One triple: no interval; its score of minus infinity is said in words."""
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1]], n_entities=3, n_relations=1)
    result = kg.evaluate(
        lambda s, p, o: np.where(o == 1, -np.inf, 0.0), dataset, kg.Protocol(sides="object"), progress=False
    )
    found = content([result], ["one"])
    json.dumps(found, allow_nan=False)
    columns = hardest(report_of([result], ["one"]), 0)[-1].columns
    assert columns[3].cells[0].text == "-inf"
    assert columns[4].cells[0].text == "0 0; 2 0"  # both above
    row = found["tables"]["metrics-filtered-object"][0]
    assert [row[name] for name in ("MRR", "MRR low", "MRR high")] == [1 / 3, None, None]
    assert result.interval("mrr").reason in row["reason"]
    assert result.interval("mrr").reason != ""


def test_undefined_numbers_are_none_with_their_reason():
    """A single entity has no rival: chance is the best there is, and AMRI 0 by 0."""
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 0]], n_entities=1, n_relations=1)
    result = kg.evaluate(lambda s, p, o: np.ones(len(s)), dataset, progress=False)
    found = content([result], ["one"])
    reason = result.value("amri").reason
    assert "random ranking" in reason
    row = found["tables"]["metrics-filtered-both"][0]
    assert [row[name] for name in ("AMRI", "AMRI low", "AMRI high")] == [None, None, None]
    assert reason in row["reason"]
    assert row["MRR"] == 1.0
    assert distribution([result])["bins"] == ["1"]
    said, table = hardest(report_of([result], ["one"]), 0)
    assert said.text == NO_RIVALS
    assert [column.heading for column in table.columns] == [HEADING, "side", "rank", "score"]


@pytest.mark.thorough
def test_what_all_results_say_is_said_once(made):
    """What all results say stands once, what one says alone stands with its name."""
    found = content([made[0][0], noted(made[0][1], "only the second")], ["one", "two"])
    assert "two: only the second." in found["notes"]
    leaks = made[0][0].facts["leak_notes"]
    assert len(leaks) == 2  # about triples that are in train, or may be copied from it
    lines = [*found["cautions"], *found["notes"]]
    assert [sum(printable(note) in line for line in lines) for note in leaks] == [1, 1]
    protocol = protocol_lines(report_of(made[0], NAMES))
    assert protocol[0].startswith(made[1].name)
    assert protocol[-1] == f"scorer: {made[0][0].facts['scorer']}"  # all lines are common
    named = protocol_lines(
        report_of([made[0][0], replaced(made[0][1], facts=made[0][1].facts | {"scorer": "s"})], "ab")
    )
    assert named[:-2] == protocol[:-1]
    assert named[-2:] == [f"a: {protocol[-1]}", "b: scorer: s"]


def test_notes_that_differ_in_numbers_are_merged():
    """One sentence for 15 models whose numbers differ; equal sentences name all models."""
    said = [(f"M{i}", f"the interval is {i}.5 times as wide") for i in range(15)]
    assert merged(said) == [
        "M0: the interval is 0.5 times as wide; likewise M1, M2, M3 and 11 more, with other numbers."
    ]
    assert merged([("A", "read"), ("B", "read")]) == ["A and B: read."]


def test_the_comparison(made, data):
    """The table of all tests."""
    comparison = made[2]
    rows = data["tables"]["tests"]
    pairs = [(a, b, m) for a, b in (NAMES[:2], NAMES[::2], NAMES[1:]) for m in ("MRR", "hits@10", "MR")]
    assert [(*row["group"].split(" - "), row["metric"]) for row in rows] == pairs
    found = {(r["first"], r["second"], r["metric"]): r for r in comparison.differences.to_dict("records")}
    names = {"difference": "difference", "difference low": "low", "difference high": "high"}
    names |= {"p (Holm)": "p_corrected"}
    for shown, (a, b, m) in zip(rows, pairs):
        row = found[a, b, m.lower()]
        assert {name: shown[name] for name in names} == {name: row[own] for name, own in names.items()}
        assert shown["wins/ties/losses"] == f"{row['wins']}/{row['ties']}/{row['losses']}"
        assert shown["better"] == (row["better"] or "undecided")
        assert (row["better"] != "") == (row["p_corrected"] <= 0.05)
    assert any(row["better"] for row in found.values())


def test_the_pairs_are_the_best_model_against_each_other(made):
    """Three models: two pairs, the better model first; differences by relation and group as `Comparison.by` says."""
    comparison = made[2]
    report = report_of([made[0][i] for i in (2, 0, 1)], [NAMES[i] for i in (2, 0, 1)], made[1], comparison)
    values = comparison.values["mrr"].to_dict()
    assert list(report.names) == sorted(NAMES, key=lambda name: -values[name])
    assert [(pair.first, pair.second) for pair in report.pairs] == [(0, 1), (0, 2)]
    for pair in report.pairs:
        first, second = report.names[pair.first], report.names[pair.second]
        frame = comparison.by("relation", "mrr", first, second)
        assert len(pair.relations) == len(frame) == N_RELATIONS
        total = pair.relations["contribution"].sum()
        assert total == pytest.approx(values[first] - values[second], abs=1e-12)
        for name in ("n", "difference", "contribution", "decided", "reversed"):
            np.testing.assert_array_equal(pair.relations[name].loc[frame.index], frame[name])
        kinds = comparison.by("kind", "mrr", first, second)
        assert pair.groups["kind"]["difference"].to_dict() == kinds["difference"].to_dict()
        sizes = [abs(cell.numbers[0]) for cell in gains(report, pair).columns[3].cells]
        (_, n_won), *_ = gains(report, pair).groups
        assert sizes[:n_won] == sorted(sizes[:n_won], reverse=True)


def test_the_disagreements_are_the_largest_differences_of_reciprocal_ranks(made, data):
    """By a loop over all rows of the two best models."""
    results = made[0]
    ranks = [[rank for _, _, rank in ranks_of(result)] for result in results[:2]]
    gaps = sorted((abs(1 / a - 1 / b) for a, b in zip(*ranks)), reverse=True)
    shown = data["tables"]["disagreements"]
    found = [abs(1 / row[f"rank, {NAMES[0]}"] - 1 / row[f"rank, {NAMES[1]}"]) for row in shown]
    assert found == pytest.approx(gaps[:10], abs=1e-12)
    own = {}
    for row, a, b in zip(results[0].table.to_dict("records"), *ranks):
        own.setdefault(results[0].relations.labels[row["p"]], []).append(abs(1 / a - 1 / b))
    by_relation = triples_by_relation(report_of(results, NAMES, made[1], made[2]))
    assert len(by_relation) == N_RELATIONS
    for name, opened in by_relation.items():
        sizes = [abs(1 / row["rank_first"] - 1 / row["rank_second"]) for row in opened]
        assert sizes == pytest.approx([gap for gap in sorted(own[name], reverse=True)[:3] if gap > 0], abs=1e-12)
        assert {row["p"] for row in opened} == {name}


@pytest.mark.thorough
def test_without_a_comparison_a_relation_opens_its_worst_ranks(made):
    """The three worst ranks of each relation under the first model."""
    ranks = {}
    for _, p, rank in ranks_of(made[0][0]):
        ranks.setdefault(made[1].relations.labels[p], []).append(rank)
    found = triples_by_relation(report_of(made[0][:1], ["one"]))
    assert len(found) == N_RELATIONS
    for name, opened in found.items():
        assert [row["rank_first"] for row in opened] == sorted(ranks[name], reverse=True)[:3]


def test_leaders_are_those_that_the_test_cannot_tell_apart(made):
    """For each compared metric, from the table of the comparison by a loop."""
    comparison, report = made[2], report_of(made[0], NAMES, made[1], made[2])
    assert list(report.leaders) == ["mrr", "hits@10", "mr"]
    for key, leaders in report.leaders.items():
        best = comparison.best(key)
        beaten = set()
        for row in comparison.differences.to_dict("records"):
            if row["metric"] == key and row["better"] == best:
                beaten |= {row["first"], row["second"]} - {best}
        assert set(leaders) == set(NAMES) - beaten
    assert report.verdict.outcome == ("better" if len(report.leaders["mrr"]) == 1 else "undecided")


@pytest.mark.thorough
def test_values_that_are_not_above_chance_are_marked(made):
    """A random model: the end of its interval towards chance decides, for metrics in both directions."""
    noise = np.random.default_rng(2).normal(size=(N_ENTITIES, N_RELATIONS, N_ENTITIES))
    result = kg.evaluate(lambda s, p, o: noise[s, p, o], made[1], progress=False)
    report = report_of([result, made[0][0]], ["random", "good"])
    seen = set()
    for setting, side in GROUPS:
        models, *columns = metric_table(report, setting, side, [0, 1]).columns
        for heading, column in zip(HEADINGS, columns):
            for model, cell in zip(models.cells[:2], column.cells):
                chance = column.cells[2].numbers[0]
                is_above = cell.numbers[2] < chance if heading == "MR" else cell.numbers[1] > chance
                assert is_above == (cell.tone != "faint")
                seen.add((model.text, is_above))
    assert ("random", False) in seen
    assert ("good", False) not in seen


def tied_results():
    """Four ranked objects: A has ranks 2, 2, 2, 2; B ties with all 4 rivals on three triples and is 5th on one."""
    dataset = kg.Dataset.from_arrays(test=[[i, 0, (i + 1) % 5] for i in range(4)], n_entities=5, n_relations=1)
    base = kg.evaluate(lambda s, p, o: o, dataset, kg.Protocol(sides="object"), progress=False)
    counts = {"A": ([1] * 4, [0] * 4), "B": ([0, 0, 0, 4], [4, 4, 4, 0])}
    results = []
    for better, tied in counts.values():
        columns = {"better_filtered": better, "tied_filtered": tied, "better_raw": better, "tied_raw": tied}
        rivals = {"rivals_filtered": 4, "rivals_raw": 4}
        results.append(replaced(base, table=base.table.assign(**columns, **rivals), source=None))
    return results


def test_an_order_that_depends_on_ties_is_a_caution():
    """MRR of A is 1/2. B: 1 if ties favour it (3 of 4), else 1/3 realistically and 1/5 pessimistically."""
    found = content(tied_results(), ["A", "B"])
    row_a, row_b = found["tables"]["metrics-filtered-object"][:2]
    assert [row_a["ties"], row_b["ties"]] == [0.0, 0.75]
    assert row_b["MRR"] == pytest.approx((3 / 3 + 1 / 5) / 4)
    notes = [cell.note for cell in values(report_of(tied_results(), ["A", "B"])).columns[1].cells]
    assert notes == ["", "75.0% tie: 0.2000 to 0.8000"]
    said = "75.0% of the ranks of B tie with a rival: its MRR is 0.2000 to 0.8000, depending on how ties are broken"
    assert found["cautions"] == [f"{said}; this range overlaps that of A."]
    alone = "75.0% of the ranks of B tie with a rival: its MRR is 0.2000 to 0.8000, depending on how ties are broken."
    assert content(tied_results()[1:], ["B"])["cautions"] == [alone]
    assert distribution(tied_results())["tied"] == [[0, 0, 0], [0, 3, 0]]


def test_ties_that_change_no_digit_have_no_range():
    """One of 4 ranks ties with one rival behind 20,000: MRR 0.7500125 or 0.7500125 less 6e-10."""
    _, b = tied_results()
    counts = {"better_filtered": [0, 0, 0, 19_999], "tied_filtered": [0, 0, 0, 1], "rivals_filtered": 20_001}
    alike = replaced(b, table=b.table.assign(**counts))
    assert [cell.note for cell in values(report_of([alike], ["B"])).columns[1].cells] == ["25.0% tie"]
    assert not any("of the ranks of B tie" in line for line in content([alike], ["B"])["cautions"])


@pytest.mark.parametrize(("better", "is_grave"), light([(0, False), (1, True), (4, True)], 1, unpack=True))
def test_ties_that_reach_no_other_model_are_no_caution(better, is_grave):
    """B has MRR 0.2 to 0.8: a model with MRR 1 stays ahead whatever its ties are, one with MRR 1/2 or 1/5 does not."""
    a, b = tied_results()
    table = a.table.assign(better_filtered=better, better_raw=better)
    found = content([replaced(a, table=table), b], ["A", "B"])
    assert [any("of the ranks of B tie" in line for line in found[name]) for name in ("cautions", "notes")] == [
        is_grave, not is_grave
    ]  # fmt: skip


def test_bands_of_the_hits_curve_are_the_intervals(made):
    hits = hits_at_cuts(made[0])
    for model, result in enumerate(made[0]):
        for place in (0, 3, len(hits["k"]) - 2):
            interval = result.interval(f"hits@{hits['k'][place]}")
            assert [hits[name][model][place] for name in ("low", "high")] == [interval.low, interval.high]


@pytest.mark.thorough
def test_entities_have_their_names_and_labels(made):
    """In triples, rivals and disagreements; entities without a name have their label alone."""
    names = {"entity 0": "Zero", "entity 1": "entity 1", "entity 2": "<i>"}
    report = report_of(made[0], NAMES, None, made[2], names)
    tables = [triples(report).parts[0], *(hardest(report, model)[-1] for model in report.models)]
    text = " | ".join(cell.text for table in tables for column in table.columns for cell in column.cells)
    shown = set(re.findall(r"(?:Zero|<i>) \(entity .\)|(?<!\()entity [012]\b", text))
    assert shown == {"Zero (entity 0)", "entity 1", "<i> (entity 2)"}


def test_the_pattern_of_each_relation_is_shown(made):
    patterns = made[0][0].with_features(made[1], features=["pattern"]).columns["pattern"].astype(str).tolist()
    expected = {made[1].relations.labels[p]: pattern for (_, p, _), pattern in zip(ranks_of(made[0][0]), patterns)}
    report = report_of(made[0], NAMES, made[1], made[2])
    assert len(report.relations) == N_RELATIONS
    assert patterns_of(report) == [expected[name] for name in report.relations]


def test_the_audit(made, data):
    """Counts by sets of tuples."""
    dataset = made[1]
    splits = {name: [tuple(t) for t in np.asarray(t).tolist()] for name, t in dataset.splits.items()}
    findings = data["tables"]["audit"]
    assert [found["finding"] for found in findings] == kg.audit(dataset).brief["kind"].tolist()
    (pairs,) = [f for f in findings if f["finding"] == "reversed pair in train" and f["relation or split"] == "test"]
    reverses = {(b, a) for a, _, b in splits["train"] if a != b}
    assert pairs["count"] == sum((s, o) in reverses for s, _, o in splits["test"]) >= 1
    assert pairs["share"] == pairs["count"] / 150


def test_a_dataset_that_leaks_is_a_caution():
    """30 of 30 test triples have their pair reversed in train; of ranks of a clean test split nothing is said."""
    train = [[i, 0, i + 1] for i in range(30)]
    leaking = kg.Dataset.from_arrays(train=train, test=[[o, 1, s] for s, _, o in train], n_entities=31, n_relations=2)
    clean = kg.Dataset.from_arrays(train=train, test=[[i, 1, i + 2] for i in range(29)], n_entities=31, n_relations=2)
    cautions = []
    for dataset in (leaking, clean):
        result = kg.evaluate(lambda s, p, o: s - o, dataset, progress=False)
        found = content([result], ["one"], dataset)["cautions"]
        assert content([result], ["one"])["cautions"] == found  # without the dataset, from the facts
        cautions.append([line for line in found if "copied from train" in line])
    assert cautions == [
        [
            "100.0% of the 30 triples of test may be copied from train, which has their pair of entities: 30 reversed "
            'under another relation; result.by("leak") (--by leak) gives the metrics without them. No rank without '
            "triples that may be copied from train."
        ],
        [],
    ]


def test_leaks_are_the_first_caution():
    """The larger share first, in one caution with triples in train, before scores that are doubted."""
    train = [[i, 0, i + 1] for i in range(30)]
    test = [*([o, 1, s] for s, _, o in train[:20]), *train[:2]]
    dataset = kg.Dataset.from_arrays(train=train, test=test, n_entities=31, n_relations=2)
    result = noted(kg.evaluate(lambda s, p, o: s - o, dataset, progress=False), "row order: 500 train triples rank low")
    first, second, *_ = content([result], ["one"], dataset)["cautions"]
    assert re.match(r"90\.9% of the 22 triples .* without them\. 2 triples of test \(9\.1% of 22\) are also in", first)
    assert second == "one: row order: 500 train triples rank low."


def test_doubts_about_the_third_model_are_no_caution(made):
    """A doubted model that is not among the two best: the note is folded; of the second, it is a caution."""
    report = report_of(made[0], NAMES, made[1], made[2])
    for place, is_grave in ((1, True), (2, False)):
        results = [noted(one, "row order: low") if i == place else one for i, one in enumerate(report.results)]
        grave, notes = cautions_of(replace(report, results=tuple(results)))
        line = f"{report.names[place]}: row order: low."
        assert (line in grave, line in notes) == (is_grave, not is_grave)


def test_a_baseline_that_is_not_beaten_is_a_caution():
    """The page says it of the model by its name; of a beaten baseline it says nothing."""
    ring = [[i, 0, (i + 1) % 60] for i in range(60)]
    dataset = kg.Dataset.from_arrays(test=ring, n_entities=60, n_relations=1)
    good, fair, bad = (
        kg.evaluate(lambda s, p, o, k=k: -((o - s - k) % 60), dataset, progress=False) for k in (1, 0, 30)
    )
    result = with_baselines(fair, {"rule": good, "weak": bad})
    (line,) = [line for line in content([result], ["mine"])["cautions"] if "baseline" in line]
    assert line.startswith("mine: baseline rule is better than the model: MRR 1.0000 against 0.")
    assert line == f"mine: {result.facts['baselines']['rule']['note']}."


def test_the_dataset_must_be_the_ranked_one(made):
    """Its name and fingerprint against the result's."""
    other = kg.Dataset.from_arrays(test=[[0, 0, 1]], n_entities=2, n_relations=1, name="other")
    about = made[0][0].facts
    with pytest.raises(kg.DataError) as caught:
        content(made[0], NAMES, other)
    assert str(caught.value) == (
        f"dataset= is 'other' ({other.fingerprint[:8]}), but result 'Good' ranks {about['dataset']!r} "
        f"({about['dataset_fingerprint'][:8]}); pass the ranked dataset, or no dataset"
    )


@pytest.mark.parametrize("label", HOSTILE)
def test_labels_are_shown_as_one_printable_line(label):
    """Whatever is no letter, mark, sign or plain space is escaped; the page adds no sign of its own but for length."""
    shown = shown_label(label)
    assert shown.isprintable()
    assert len(shown) <= 220
    assert (label in shown) == (label.isprintable() and len(label) < 200) or label == ""
    assert "\u202e" not in shown


def test_every_string_of_a_page_is_printable(made, tmp_path):
    """Names, notes, groups, reasons: no string reaches the page with a control or a direction character."""
    seen = []
    results, dataset, _ = made
    result = noted(results[0], "evil\u202e\x1b[2J").with_columns({"k\u202e": ["\x00"] * len(results[0].table)})
    write_page(result, tmp_path / "page.html", names="\u202ename", dataset=dataset)
    page = Reader(tmp_path / "page.html")
    data = page.data()
    assert page.rows("metrics-filtered-both")[0][0][0] == "\\u202ename"
    text = "".join(page.text)
    assert "\\u202ename: evil\\u202e\\x1b[2J." in text
    assert text.replace("\n", "").isprintable()
    assert "metrics-by-k\\u202e" in data["tables"]

    def visit(value):
        if isinstance(value, str):
            seen.append(value)
        for item in [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else ():
            visit(item)

    visit(data)
    assert len(seen) > 200
    assert [text for text in seen if not text.isprintable()] == []


def test_the_first_section_names_the_largest_gains_and_losses(made):
    """By the order of the contributions: relations that raise the difference most, and those that lower it most."""
    report = report_of(made[0], NAMES, made[1], made[2])
    frame = made[2].by("relation", "mrr", *report.names[:2])
    lines, (first, second) = moves(report)[:2], report.names[:2]
    for words, sign, sentence in zip((f"gains most over {second}", f"loses most to {second}"), (1, -1), lines):
        assert sentence.startswith(f"{first} {words} on ")
        sizes = sorted(((sign * size, name) for name, size in frame["contribution"].items()), reverse=True)[:2]
        said = re.search(rf"{words} on (.*?)(?:; |\.$)", sentence)[1]
        numbers = [float(text) for text in re.findall(r"\(([-+][\d.]+)", said)]
        assert numbers == pytest.approx([frame.loc[name, "difference"] for _, name in sizes], abs=5e-5)
        counts = [int(text) for text in re.findall(r" over (\d+) ranks?\b", said)]
        assert counts == [frame.loc[name, "n"] for _, name in sizes]
        assert all(size > 0 for size, _ in sizes)


@pytest.mark.parametrize("metrics", ["mrr", "mr"])
def test_the_first_table_of_many_models_has_the_lead_of_the_best(made, metrics):
    """Six models: the difference of the best from each other, with the interval that decides, as the comparison has."""
    table, rng = made[0][0].table, np.random.default_rng(5)
    worse = [rng.integers(0, 2 + i, len(table)) for i in range(6)]
    most = table["rivals_filtered"] - table["tied_filtered"]
    tables = [table.assign(better_filtered=np.minimum(table["better_filtered"] + more, most)) for more in worse]
    results = [replaced(made[0][0], table=of_model) for of_model in tables]
    names = [f"m{i}" for i in range(6)]
    comparison = kg.compare(results, names=names, metrics=metrics, n_resamples=99)
    report = report_of(results, names, made[1], comparison)
    *_, leads, _ = values(report).columns
    (table,) = (part for part in relations(report).parts if isinstance(part, Table))
    assert [column.heading for column in table.columns[1:3]] == list(report.names[:2])
    assert len([column for column in table.columns if column.heading in names]) == 2
    opened, key = str(table.opened[0]()), "mrr" if metrics == "mrr" else "mr"
    for name in report.names[4:]:
        value = results[names.index(name)].by("relation", metrics=key)[key].loc[report.relations[0]]
        assert f"<bdi>{name}</bdi> {written(value, display_of(key).decimals)}</li>" in opened
    assert leads.heading == f"lead of {report.names[0]}"
    rows = {row["second"]: row for row in comparison.differences.to_dict("records") if row["first"] == report.names[0]}
    assert leads.cells[0].text == ""
    for name, cell in zip(report.names[1:], leads.cells[1:]):
        assert cell.numbers == (rows[name]["difference"], rows[name]["low"], rows[name]["high"])
        assert cell.is_best == (rows[name]["better"] == report.names[0])


def test_a_metric_without_contributions_has_no_losses(made, tmp_path):
    """The median of ranks is no sum over relations; three models."""
    comparison = kg.compare(dict(zip(NAMES, made[0])), metrics="median_rank")
    report = report_of(made[0], NAMES, made[1], comparison)
    assert moves(report) == []
    kg.report.write_page(made[0], tmp_path / "x.html", names=NAMES, comparison=comparison)


def test_the_largest_decided_losses_to_third_models():
    """A is perfect on relation 0, of 120 triples, and near 30 on relation 1, of 60; C knows relation 1 alone."""
    test = [[i % 60, int(i >= 120), (i * 7 + 1) % 60] for i in range(180)]
    dataset = kg.Dataset.from_arrays(test=test, n_entities=60, n_relations=2)
    truth, noise = np.zeros((60, 2, 60)), np.random.default_rng(1).random((60, 2, 60))
    truth[tuple(np.array(test).T)] = 2.0
    weights = {"A": (1.0, 0.0), "B": (0.3, 0.0), "C": (0.0, 1.0)}
    results = [
        kg.evaluate(lambda s, p, o, w=w: truth[s, p, o] * w[p] + noise[s, p, o], dataset, progress=False)
        for w in map(np.array, weights.values())
    ]
    report = report_of(results, [*weights], dataset, kg.compare(dict(zip(weights, results)), metrics="mrr"))
    first, last = (
        {row: of.loc[row, "mrr"] for row in of.index} for of in (report.by_relation[0], report.by_relation[2])
    )
    said = f"Largest decided losses to others: to C on 1 ({first['1'] - last['1']:+.4f} over 120 ranks)."
    assert (report.names, moves(report)[-1]) == (("A", "B", "C"), said)
    assert first["1"] < 0.2 < last["1"]


@pytest.mark.parametrize("names", [NAMES, [f"{name}, again" for name in NAMES]])
def test_wide_intervals_of_values_say_what_holds_for_the_lead(made, monkeypatch, names):
    """The comparison has a note on the leader's pair if its interval is much wider; else that of values says so."""
    wide = "for other entities, the interval of MRR is 3.0 times as wide"
    monkeypatch.setattr("kgeval.report.page_cautions.interval_notes", lambda result, confidence: ["usual", wide])
    comparison = kg.compare(dict(zip(names, made[0])))
    report = report_of(made[0], names, made[1], comparison)
    lead = listed_names(report.names[:2])
    assert not any(note.startswith(f"{lead}: for other entities") for note in comparison.notes)
    (said,) = [line for line in cautions_of(report)[0] if wide in line]
    assert said.endswith("3.0 times as wide. The interval of the lead over the second model is not much wider.")
    noted = replaced(comparison, notes=(*comparison.notes, f"{lead}: for other entities, 3 times as wide"))
    lines, notes = cautions_of(report_of(made[0], names, made[1], noted))
    assert not any("not much wider" in line for line in [*lines, *notes])
    (alone,) = [line for line in cautions_of(report_of(made[0][:1], NAMES[:1], made[1]))[0] if wide in line]
    assert alone.endswith("times as wide.")
