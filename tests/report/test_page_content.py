"""The content of the report page against numbers made here by loops."""

import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from grids import light
from made_results import noted, replaced
from page_cases import HOSTILE, LINK, N_ENTITIES, N_RELATIONS, N_TEST, NAMES, mean_of, ranks_of

import kgeval as kg
from kgeval.base.wording import printable, shown_label
from kgeval.comparison.beside import with_baselines
from kgeval.report import page_content as page_content_module
from kgeval.report.page_content import page_data
from kgeval.results.evaluation_result import header_lines, kept_rivals

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")


# ---- the data ----


@pytest.mark.thorough
def test_the_metric_table_holds_every_setting_and_side(made, data):
    """Six groups of three models and chance; each value by its definition from the counts."""
    results = made[0]
    groups = [(group["setting"], group["side"]) for group in data["summary"]]
    assert groups == [(setting, side) for setting in ("filtered", "raw") for side in ("both", "subject", "object")]
    headings = [metric["heading"] for metric in data["metrics"]]
    assert headings == ["MRR", "hits@1", "hits@3", "hits@10", "MR", "AMRI"]
    assert [metric["higher_is_better"] for metric in data["metrics"]] == [True, True, True, True, False, True]
    for group in data["summary"]:
        assert [row["name"] for row in group["rows"]] == NAMES
        for row, result in zip(group["rows"], results):
            ranks = [r for side, _, r in ranks_of(result, group["setting"]) if group["side"] in (side, "both")]
            assert row["n"] == len(ranks)
            for heading, cell in zip(headings[:5], row["cells"]):
                assert cell[0] == pytest.approx(mean_of(heading, ranks), abs=1e-12)
        assert [row["name"] for row in group["chance"]] == ["chance"]
        for heading, cell in zip(headings, group["chance"][0]["cells"]):
            chance = results[0].chance(f"{group['setting']}.{group['side']}.{heading.lower()}").value
            assert cell == [chance, None, None, ""]


@pytest.mark.thorough
def test_the_intervals_are_those_of_the_result(made, data):
    """Value, low, high and no reason, under the key that the row and the column name."""
    for group in data["summary"]:
        for row, result in zip(group["rows"], made[0]):
            for metric, cell in zip(data["metrics"], row["cells"]):
                found = result.interval(f"{group['setting']}.{group['side']}.{metric['key']}")
                assert cell == [found.value, found.low, found.high, ""]
                assert cell[1] < cell[0] < cell[2]


def test_the_distribution_counts_every_rank_once(made, data):
    """Bins 1, 2, 3-4, 5-9, 10-19, ...; a rank between two bins counts in the lower one."""
    bins = ["1", "2", "3–4", "5–9", "10–19", "20–29", "30–40"]
    assert data["distribution"]["bins"] == bins
    starts = [1, 2, 3, 5, 10, 20, 30, math.inf]
    for counts, result in zip(data["distribution"]["counts"], made[0]):
        for side in ("subject", "object"):
            ranks = [rank for own, _, rank in ranks_of(result) if own == side]
            expected = [sum(low <= rank < high for rank in ranks) for low, high in zip(starts, starts[1:])]
            assert counts[side] == expected
            assert sum(expected) == N_TEST


def test_a_tied_rank_falls_in_the_lower_bin():
    """Four entities that all score alike: among 3 rivals the realistic rank is 2.5."""
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1]], n_entities=4, n_relations=1)
    result = kg.evaluate(lambda s, p, o: np.zeros(len(s)), dataset, progress=False)
    found = page_data([result], ["m"])["distribution"]
    assert found["bins"] == ["1", "2", "3–4"]
    assert found["counts"] == [{"subject": [0, 1, 0], "object": [0, 1, 0]}]
    assert found["left_out"] == [{"subject": 0, "object": 0}]


def test_the_hits_curve(made, data):
    """At each cut-off the share of ranks up to it, from 1 to the number of candidates."""
    cuts = data["hits"]["k"]
    assert cuts[:3] == [1, 2, 3]
    assert cuts == sorted(set(cuts))
    assert cuts[-1] == max(int(r.table["rivals_filtered"].max()) for r in made[0]) + 1
    for values, result in zip(data["hits"]["values"], made[0]):
        ranks = [rank for _, _, rank in ranks_of(result)]
        assert values == pytest.approx([sum(rank <= k for rank in ranks) / len(ranks) for k in cuts], abs=1e-12)


@pytest.mark.thorough
def test_the_relations(made, data):
    """Each relation of the test split, most ranks first: n, values by their definition, the intervals of `by`."""
    results, dataset, _ = made
    found = data["relations"]
    counted = np.bincount(np.asarray(dataset["test"])[:, 1], minlength=N_RELATIONS)
    order = sorted(np.flatnonzero(counted), key=lambda p: (-counted[p], dataset.relations.labels[p]))
    assert found["labels"] == [shown_label(dataset.relations.labels[p]) for p in order]
    assert found["n_all"] == len(order)
    for counts, values, result in zip(found["n"], found["values"], results):
        frame = result.by("relation", metrics="mrr,hits@1,hits@3,hits@10,mr")
        assert counts == [2 * counted[p] for p in order]
        for metric, parts in zip(found["metrics"], values):
            for place, p in enumerate(order):
                ranks = [rank for _, own, rank in ranks_of(result) if own == p]
                assert parts[0][place] == pytest.approx(mean_of(metric["heading"], ranks), abs=1e-12)
                row = frame.loc[dataset.relations.labels[p]]
                ends = [row[f"{metric['key']} {end}"] for end in ("low", "high")]
                assert [part[place] for part in parts[1:3]] == [None if math.isnan(end) else end for end in ends]
                assert parts[3][place] == (row["reason"] if math.isnan(ends[0]) else "")


@pytest.mark.thorough
def test_few_of_very_many_relations_are_kept(made, monkeypatch):
    """The most frequent ones; the page says how many there are."""
    monkeypatch.setattr(page_content_module, "MAX_RELATIONS", 3)
    found = page_data(made[0], NAMES)["relations"]
    assert len(found["labels"]) == len(found["n"][0]) == len(found["values"][2][4][1]) == 3
    assert found["n_all"] == N_RELATIONS
    assert min(found["n"][0]) >= sorted(made[0][0].table.groupby("p").size())[-3]


@pytest.mark.thorough
def test_models_with_different_relations_stand_side_by_side():
    """The relations of both; one without a rank has n = 0 and no value."""
    results = []
    for labels in (["a", "b"], ["b", "c"]):
        dataset = kg.Dataset.from_arrays(
            test=[[0, 0, 1], [1, 1, 2], [2, 1, 3]], n_entities=5, relation_labels=labels, name="+".join(labels)
        )
        results.append(kg.evaluate(lambda s, p, o: -abs(s + 1.3 - o), dataset, progress=False))
    found = page_data(results, ["one", "two"])
    assert found["relations"]["labels"] == ["b", "c", "a"]
    assert found["relations"]["n"] == [[4, 0, 2], [2, 4, 0]]  # both sides
    missing = [[value is None for value in values[0][0]] for values in found["relations"]["values"]]
    reasons = [values[0][3] for values in found["relations"]["values"]]
    said = [[reason == "this relation has no ranks" for reason in own] for own in reasons]
    assert said == missing
    assert missing == [[False, True, False], [False, False, True]]
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
    found = page_data([results[0], other], ["one", "two"])
    assert found["differences"][:2] == [
        "filter: train+valid+test in one, test in two",
        "sides: subject+object in one, object in two",
    ]
    is_apart = results[0].table["rivals_filtered"][results[0].table["side"] == "object"].to_numpy()
    n_apart = int((is_apart != other.table["rivals_filtered"].to_numpy()).sum())
    assert n_apart > 0
    start = f"rivals: {n_apart} of {N_TEST} shared rows have different numbers of filtered rivals, first "
    assert [line[: len(start)] for line in found["differences"][2:]] == [start]
    sides = {(g["setting"], g["side"]): [row["name"] for row in g["rows"]] for g in found["summary"]}
    assert sides["filtered", "both"] == ["one"]
    assert sides["filtered", "object"] == ["one", "two"]
    assert page_data(results, NAMES)["differences"] == []


@pytest.mark.thorough
def test_results_of_other_queries_or_rivals_are_said_to_differ(made):
    """One protocol and one dataset, but two triples less, or one rival more in three rows."""
    results, dataset, _ = made
    test = np.asarray(dataset["test"])
    labels = [[dataset.entities.labels[s], dataset.relations.labels[p], dataset.entities.labels[o]] for s, p, o in test]
    shorter = replaced(results[0], table=results[0].table.iloc[2:].reset_index(drop=True), columns=None, n_read=298)
    found = page_data([results[0], shorter], ["one", "two"])
    said = "queries: 300 in one and 298 in two; 2 rows only in one, first "
    row = f"{tuple(labels[0])} ({results[0].table['side'].iloc[0]} side, test)"
    assert found["differences"] == [printable(f"{said}{row}; 298 rows in all results")]
    table = results[0].table.copy()
    table.loc[[3, 5, 8], "rivals_filtered"] += 1
    found = page_data([results[0], replaced(results[0], table=table)], ["one", "two"])
    start = "rivals: 3 of 300 shared rows have different numbers of filtered rivals, first "
    assert [line[: len(start)] for line in found["differences"]] == [start]
    assert page_data([results[0], results[0]], ["one", "two"])["differences"] == []


def widening():
    """A result whose one relation is 1-1 in train, and 1-N in all splits: each subject gets two objects more."""
    train = [[s, 0, s + 4] for s in range(4)]
    test = [[s, 0, o] for s in range(4) for o in (8 + 2 * s, 9 + 2 * s)]
    dataset = kg.Dataset.from_arrays(train=train, test=test, n_entities=16, n_relations=1)
    return kg.evaluate(lambda s, p, o: (s * 7 + o * 3) % 11, dataset, progress=False), dataset


def groups_of(found, name):
    """The groups of each model in a column of the breakdowns, with their counts."""
    column = next(column for column in found["breakdowns"]["columns"] if column["name"] == name)
    return [dict(zip(model["groups"], model["n"])) for model in column["models"]]


@pytest.mark.parametrize("is_given", [True, False])
@pytest.mark.thorough
def test_features_that_a_result_has_stay_as_they_are(is_given):
    """Taken over train they are 1-1, whether the dataset is given or at hand; over all splits they would be 1-N."""
    result, dataset = widening()
    given = dataset if is_given else None
    chosen = result.with_features(features=["cardinality", "pattern"], means_from=["train"])
    found = page_data([chosen], ["one"], given)
    assert groups_of(found, "cardinality") == [{"1-1": 16}]
    assert re.fullmatch("note: cardinality and pattern(:| are) taken over train", found["head"]["common"][-1])
    assert found["breakdowns"]["notes"] == [""]
    assert groups_of(found, "seen") == [{"unseen entity": 16}]
    found = page_data([result], ["one"], given)
    assert groups_of(found, "cardinality") == [{"1-N": 16}]
    assert found["breakdowns"]["notes"] == ["cardinality and pattern are computed from all splits"]
    half = result.with_features(features=["cardinality"], means_from=["train"])
    found = page_data([half], ["one"], given)
    assert re.fullmatch("note: cardinality.* taken over train", found["head"]["common"][-1])
    names = [column["name"] for column in found["breakdowns"]["columns"]]
    assert "cardinality" in names
    assert "pattern" not in names  # over all splits it would stand below a note that says train
    over_all = result.with_features(features=["pattern"])
    assert page_data([over_all], ["one"], given)["breakdowns"]["notes"] == [
        "cardinality and pattern are computed from all splits"
    ]


@pytest.mark.thorough
def test_without_features_nothing_is_said_of_their_splits(made):
    """A result that holds no dataset has no such column, and one whose column is pattern alone names it alone."""
    result = replaced(made[0][0], source=None, rivals=kept_rivals(made[0][0])[0])
    assert page_data([result], ["one"])["breakdowns"]["notes"] == [""]
    patterned = replaced(made[0][0].with_features(features=["pattern"]), source=None, rivals=kept_rivals(result)[0])
    assert page_data([patterned], ["one"])["breakdowns"]["notes"] == ["pattern is computed from all splits"]


def test_the_breakdowns(made, data):
    """The user's column and what the dataset tells, with n, share and values of each group in its natural order."""
    names = [column["name"] for column in data["breakdowns"]["columns"]]
    assert names[0] == "kind"
    assert {"cardinality", "pattern", "degree_given", "degree_asked", "seen", "known_answers"} < set(names)
    kind = data["breakdowns"]["columns"][0]
    assert kind["models"][1]["groups"] == [printable(LINK), "אב <i>"]
    assert kind["models"][1]["n"] == [200, 100]
    assert kind["models"][1]["share"] == [2 / 3, 1 / 3]
    ranks = [rank for _, _, rank in ranks_of(made[0][1])]
    own = [rank for i, rank in enumerate(ranks) if i % 3 < 2]
    assert kind["models"][1]["values"][0][0][0] == pytest.approx(mean_of("MRR", own), abs=1e-12)
    for name in ("degree_given", "degree_asked", "relation_frequency", "known_answers"):
        model = data["breakdowns"]["columns"][names.index(name)]["models"][0]
        starts = [int(group.partition("-")[0]) for group in model["groups"]]
        assert starts == sorted(starts)
        assert sum(model["n"]) == 2 * N_TEST
    assert len(starts) > 2


@pytest.mark.thorough
def test_only_the_largest_of_many_groups_are_kept(made):
    """40 of 150 groups of two ranks, and how many there are."""
    result = made[0][0].with_columns({"many": np.arange(2 * N_TEST) % N_TEST})
    found = page_data([result], ["one"])["breakdowns"]["columns"]
    many = next(column for column in found if column["name"] == "many")["models"][0]
    assert many["n_all"] == N_TEST
    assert many["groups"] == [str(i) for i in range(40)]  # equal sizes: by their numbers
    assert many["n"] == [2] * 40


@pytest.mark.thorough
def test_the_largest_groups_of_an_ordered_column_are_kept(made):
    """Not the first 40 in its order, but those with most ranks, in its order; the share of the others is said."""
    result = made[0][0]
    sizes = np.array([1] * 20 + [2] * 20 + [12] * 20)
    values = np.repeat(np.arange(60), sizes)
    assert len(values) == 2 * N_TEST
    ordered = pd.Categorical([f"g{value}" for value in values], [f"g{i}" for i in range(60)], ordered=True)
    found = page_data([result.with_columns({"many": ordered})], ["one"])["breakdowns"]["columns"]
    column = next(column for column in found if column["name"] == "many")
    many = column["models"][0]
    assert many["groups"] == column["groups"] == [f"g{i}" for i in range(20, 60)]
    assert many["places"] == list(range(40))
    assert many["n"] == [2] * 20 + [12] * 20
    assert many["n_all"] == 60
    assert many["share_left"] == pytest.approx(20 / 300, abs=1e-12)
    ranks = [rank for _, _, rank in ranks_of(result)]
    assert many["values"][0][0][39] == pytest.approx(mean_of("MRR", ranks[288:]), abs=1e-12)


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
    page_data([result], ["one"])
    without = len(computed)
    computed.clear()
    page_data([result.with_columns({"many": np.arange(2 * N_TEST)})], ["one"])
    assert len(computed) - without == 40 * 5


@pytest.mark.thorough
def test_groups_of_several_models_stand_in_one_order(made):
    """One model has the numbers 0, 1, 9, the other 3, 9, 20; both stand among 0, 1, 3, 9, 20."""
    first, second = (
        result.with_columns({"many": np.array(values)[np.arange(2 * N_TEST) % 3]})
        for result, values in zip(made[0], ([9, 0, 1], [20, 3, 9]))
    )
    found = page_data([first, second], ["one", "two"])["breakdowns"]["columns"]
    column = next(column for column in found if column["name"] == "many")
    assert column["groups"] == ["0", "1", "3", "9", "20"]
    assert [model["groups"] for model in column["models"]] == [["0", "1", "9"], ["3", "9", "20"]]
    assert [model["places"] for model in column["models"]] == [[0, 1, 3], [2, 3, 4]]


@pytest.mark.thorough
def test_sides_stand_in_one_order(made):
    """Both sides first, also where the first result asked one side alone."""
    other = kg.evaluate(lambda s, p, o: (s * 7 + o * 3 + p) % 11, made[1], kg.Protocol(sides="object"), progress=False)
    groups = page_data([other, made[0][0]], ["one", "two"])["summary"]
    assert [group["side"] for group in groups] == ["both", "subject", "object"] * 2


def test_hardest_and_easiest_triples(made, data):
    """The ten greatest and ten least ranks with their labels, and the best unknown rivals by the scorer itself."""
    result, dataset, _ = made[0][0], made[1], made[2]
    rows = result.table.to_dict("records")
    ranks = [rank for _, _, rank in ranks_of(result)]
    found = data["triples"][0]
    assert [one["rank"] for one in found["hardest"]] == sorted(ranks, reverse=True)[:10]
    assert [one["rank"] for one in found["easiest"]] == sorted(ranks)[:10]
    known = {tuple(t) for split in ("train", "valid", "test") for t in np.asarray(dataset[split]).tolist()}
    labels = [shown_label(label) for label in dataset.entities.labels]
    for one in found["hardest"]:
        hits = [
            row for row, rank in zip(rows, ranks)
            if rank == one["rank"] and row["side"] == one["side"] and row["score"] == one["score"]
        ]  # fmt: skip
        row = hits[0]
        assert (one["s"], one["p"], one["o"]) == (
            labels[row["s"]],
            shown_label(dataset.relations.labels[row["p"]]),
            labels[row["o"]],
        )
        assert one["of"] == row["rivals_filtered"] + 1
        scores = dict(_rival_scores(result, row, known))
        best = sorted(scores, key=lambda rival: -scores[rival])[:5]
        assert [(rival["label"], rival["score"]) for rival in one["rivals"]] == [(labels[i], scores[i]) for i in best]
        assert {rival["stands"] for rival in one["rivals"]} == {"above"}


@pytest.mark.thorough
def test_no_triple_is_both_hard_and_easy():
    """Of 16 ranks the ten worst and the six best, worst and best first."""
    rng = np.random.default_rng(6)
    dataset = kg.Dataset.from_arrays(
        test=np.column_stack([np.arange(8), np.zeros(8, int), np.arange(8)]), n_entities=30, n_relations=1
    )
    table = rng.normal(size=(30, 1, 30))
    result = kg.evaluate(lambda s, p, o: table[s, p, o], dataset, progress=False)
    ranks = sorted(rank for _, _, rank in ranks_of(result))
    assert len(set(ranks)) > 10
    found = page_data([result], ["one"])["triples"][0]
    assert [one["rank"] for one in found["hardest"]] == ranks[::-1][:10]
    assert [one["rank"] for one in found["easiest"]] == ranks[:6]


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
    found = page_data([result], ["one"])
    json.dumps(found, allow_nan=False)
    assert found["triples"][0]["hardest"][0]["score"] == "-inf"
    assert [rival["stands"] for rival in found["triples"][0]["hardest"][0]["rivals"]] == ["above", "above"]
    value, low, high, reason = found["summary"][0]["rows"][0]["cells"][0]
    assert (value, low, high) == (1 / 3, None, None)
    assert reason == result.interval("mrr").reason != ""


def test_undefined_numbers_are_none_with_their_reason():
    """A single entity has no rival: chance is the best there is, and AMRI 0 by 0."""
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 0]], n_entities=1, n_relations=1)
    result = kg.evaluate(lambda s, p, o: np.ones(len(s)), dataset, progress=False)
    found = page_data([result], ["one"])
    reason = result.value("amri").reason
    assert "random ranking" in reason
    assert found["summary"][0]["rows"][0]["cells"][5] == [None, None, None, reason]
    assert found["summary"][0]["rows"][0]["cells"][0][0] == 1.0
    assert found["distribution"]["bins"] == ["1"]
    assert found["triples"][0]["hardest"][0]["rivals"] == []
    assert found["triples"][0]["rivals"] == "none"


@pytest.mark.thorough
def test_the_head_says_shared_lines_once(made, data):
    """What all results say stands first, what one says alone stands with it."""
    results = [made[0][0], noted(made[0][1], "only the second")]
    found = page_data(results, ["one", "two"])["head"]
    notes = [[f"note: {note}" for note in result.notes] for result in results]
    assert notes[1][-1] == "note: only the second"
    shared = set(notes[0]) & set(notes[1])
    assert len(shared) == 2  # about triples that are in train, or may be copied from it
    own = [[note for note in said if note not in shared] for said in notes]
    assert found["common"] == [printable(line) for line in header_lines(made[0][0]) if line not in own[0]]
    assert found["own"] == own
    assert data["head"]["scorers"] == [str(result.facts["scorer"]) for result in made[0]]


def test_the_comparison(made, data):
    """Its head and its table, and for each pair the relations that move the first metric most."""
    comparison = made[2]
    assert data["comparison"]["head"] == [printable(line) for line in comparison.header()]
    rows = data["comparison"]["rows"]
    assert [(row["first"], row["second"], row["metric"]) for row in rows] == [
        (a, b, m) for a, b in (NAMES[:2], NAMES[::2], NAMES[1:]) for m in ("mrr", "hits@10", "mr")
    ]
    assert data["comparison"]["alpha"] == comparison.alpha == 0.05
    is_decided = [row["p_corrected"] <= 0.05 for row in rows]
    assert [row["better"] != "" for row in rows] == is_decided
    assert any(is_decided)
    for name in ("difference", "low", "high", "p", "p_corrected", "wins", "ties", "losses", "n", "better"):
        assert [row[name] for row in rows] == comparison.differences[name].tolist()


def test_the_pairs_are_the_best_model_against_each_other(made, data):
    """Three models: two pairs, the better model first; differences by relation and group as `Comparison.by` says."""
    comparison = made[2]
    order = data["comparison"]["order"]
    values = comparison.values["mrr"].to_numpy()
    assert order == sorted(range(3), key=lambda i: -values[i])
    pairs = data["comparison"]["pairs"]
    assert [(pair["first"], pair["second"]) for pair in pairs] == [(order[0], order[1]), (order[0], order[2])]
    for pair in pairs:
        first, second = NAMES[pair["first"]], NAMES[pair["second"]]
        frame = comparison.by("relation", "mrr", first, second)
        assert len(pair["relations"]) == len(frame) == N_RELATIONS
        sizes = [abs(row["contribution"]) for row in pair["relations"]]
        assert sizes == sorted(sizes, reverse=True)
        total = sum(row["contribution"] for row in pair["relations"])
        assert total == pytest.approx(values[pair["first"]] - values[pair["second"]], abs=1e-12)
        shown = {shown_label(label): label for label in frame.index}
        for row in pair["relations"]:
            for name in ("n", "difference", "contribution", "decided", "reversed"):
                assert row[name] == frame.loc[shown[row["relation"]], name]
        kinds = comparison.by("kind", "mrr", first, second)
        found = {row["group"]: row["difference"] for row in pair["groups"]["kind"]}
        assert found == {shown_label(label): difference for label, difference in kinds["difference"].items()}
    assert [pair["disagreements"] is None for pair in pairs] == [False, True]


def test_the_disagreements_are_the_largest_differences_of_reciprocal_ranks(made, data):
    """By a loop over all rows of the two best models."""
    results, pair = made[0], data["comparison"]["pairs"][0]
    ranks = [[rank for _, _, rank in ranks_of(results[pair[name]])] for name in ("first", "second")]
    gaps = sorted((abs(1 / a - 1 / b) for a, b in zip(*ranks)), reverse=True)
    found = pair["disagreements"]
    assert [abs(1 / row["ranks"][0] - 1 / row["ranks"][1]) for row in found] == pytest.approx(gaps[:10], abs=1e-12)
    own = {}
    for row, a, b in zip(results[0].table.to_dict("records"), *ranks):
        own.setdefault(shown_label(results[0].relations.labels[row["p"]]), []).append(abs(1 / a - 1 / b))
    for triples, name in zip(data["relations"]["triples"], data["relations"]["labels"]):
        sizes = [abs(1 / row["ranks"][0] - 1 / row["ranks"][1]) for row in triples]
        assert sizes == pytest.approx([gap for gap in sorted(own[name], reverse=True)[:3] if gap > 0], abs=1e-12)
        assert {row["p"] for row in triples} <= {name}


@pytest.mark.thorough
def test_without_a_comparison_a_relation_opens_its_worst_ranks(made):
    """The three worst ranks of each relation under the first model."""
    found = page_data(made[0][:1], ["one"])["relations"]
    ranks = {}
    for _, p, rank in ranks_of(made[0][0]):
        ranks.setdefault(shown_label(made[1].relations.labels[p]), []).append(rank)
    for name, triples in zip(found["labels"], found["triples"]):
        assert [row["ranks"] for row in triples] == [[rank, None] for rank in sorted(ranks[name], reverse=True)[:3]]
    assert found["differences"] == []


def test_leaders_are_those_that_the_test_cannot_tell_apart(made, data):
    """For each compared metric, from the table of the comparison by a loop."""
    comparison = made[2]
    for key, leaders in data["verdict"]["leaders"].items():
        best = comparison.best(key)
        beaten = set()
        for row in comparison.differences.to_dict("records"):
            if row["metric"] == key and row["better"] == best:
                beaten |= {row["first"], row["second"]} - {best}
        assert set(leaders) == set(NAMES) - beaten
    assert data["verdict"]["outcome"] == ("better" if len(data["verdict"]["leaders"]["mrr"]) == 1 else "undecided")


@pytest.mark.thorough
def test_values_that_are_not_above_chance_are_marked(made):
    """A random model: the end of its interval towards chance decides, for metrics in both directions."""
    noise = np.random.default_rng(2).normal(size=(N_ENTITIES, N_RELATIONS, N_ENTITIES))
    result = kg.evaluate(lambda s, p, o: noise[s, p, o], made[1], progress=False)
    found = page_data([result, made[0][0]], ["random", "good"])
    seen = set()
    for group in found["summary"]:
        level = group["chance"][0]
        for row in group["rows"]:
            for metric, cell, chance, is_above in zip(found["metrics"], row["cells"], level["cells"], row["above"]):
                end = cell[1] if metric["higher_is_better"] else cell[2]
                assert is_above == (end > chance[0] if metric["higher_is_better"] else end < chance[0])
                seen.add((row["name"], is_above))
    assert ("random", False) in seen
    assert all(found["summary"][0]["rows"][1]["above"])


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
    found = page_data(tied_results(), ["A", "B"])
    assert found["tie_rates"] == [0.0, 0.75]
    row_a, row_b = found["summary"][0]["rows"]
    assert row_a["ends"][0] is None
    assert row_b["ends"][0] == pytest.approx([1 / 5, (3 + 1 / 5) / 4])
    assert row_b["cells"][0][0] == pytest.approx((3 / 3 + 1 / 5) / 4)
    assert found["cautions"] == [
        "The order depends on ties: with optimistic ties, B (MRR 0.8000) is ahead of A (0.5000), since 75.0% of the "
        "ranks of B tie."
    ]
    alone = "75.0% of the ranks of B tie with a rival: its MRR is 0.2000 to 0.8000, depending on how ties are broken."
    assert page_data(tied_results()[1:], ["B"])["cautions"] == [alone]
    assert found["distribution"]["tied"] == [[0, 0, 0, 0], [0, 0, 3, 0]]


@pytest.mark.parametrize(("better", "is_grave"), light([(0, False), (1, True), (4, True)], 1, unpack=True))
def test_ties_that_reach_no_other_model_are_no_caution(better, is_grave):
    """B has MRR 0.2 to 0.8: a model with MRR 1 stays ahead whatever its ties are, one with MRR 1/2 or 1/5 does not."""
    a, b = tied_results()
    table = a.table.assign(better_filtered=better, better_raw=better)
    found = page_data([replaced(a, table=table), b], ["A", "B"])
    assert [any("of the ranks of B tie" in line for line in found[name]) for name in ("cautions", "tie_notes")] == [
        is_grave, not is_grave
    ]  # fmt: skip


def test_bands_of_the_hits_curve_are_the_intervals(made, data):
    for model, result in enumerate(made[0]):
        for place in (0, 3, len(data["hits"]["k"]) - 2):
            interval = result.interval(f"hits@{data['hits']['k'][place]}")
            assert [data["hits"][name][model][place] for name in ("low", "high")] == [interval.low, interval.high]


@pytest.mark.thorough
def test_entities_have_their_names_and_labels(made):
    """In triples, rivals and disagreements; entities without a name have their label alone."""
    names = {"entity 0": "Zero", "entity 1": "entity 1", "entity 2": "<i>"}
    found = page_data(*made[:1], NAMES, comparison=made[2], entity_names=names)
    pair = found["comparison"]["pairs"][0]
    text = json.dumps([found["triples"], found["relations"]["triples"], pair["disagreements"]])
    shown = set(re.findall(r'"((?:Zero|<i>) \(entity .\)|entity [012])"', text))
    assert shown == {"Zero (entity 0)", "entity 1", "<i> (entity 2)"}


def test_the_pattern_of_each_relation_is_shown(made, data):
    patterns = made[0][0].with_features(made[1], features=["pattern"]).columns["pattern"].astype(str).tolist()
    expected = {made[1].relations.labels[p]: pattern for (_, p, _), pattern in zip(ranks_of(made[0][0]), patterns)}
    assert data["relations"]["patterns"] == [
        {shown_label(label): pattern for label, pattern in expected.items()}[name]
        for name in data["relations"]["labels"]
    ]


def test_the_audit(made, data):
    """Counts by sets of tuples."""
    dataset = made[1]
    splits = {name: [tuple(t) for t in np.asarray(t).tolist()] for name, t in dataset.splits.items()}
    seen = {e for s, _, o in splits["train"] for e in (s, o)}
    for split in data["audit"]["splits"]:
        rows = splits[split["split"]]
        earlier = [name for name in splits if list(splits).index(name) < list(splits).index(split["split"])]
        assert split["triples"] == len(rows)
        assert split["entities"] == len({e for s, _, o in rows for e in (s, o)})
        assert split["relations"] == len({p for _, p, _ in rows})
        assert split["duplicates"] == len(rows) - len(set(rows))
        assert split["overlaps"] == [[name, sum(row in set(splits[name]) for row in rows)] for name in earlier]
        unseen = {e for s, _, o in rows for e in (s, o)} - seen
        assert (split["unseen"] or {"entities": 0})["entities"] == len(unseen)
    assert data["audit"]["splits"][2]["duplicates"] >= 1
    assert data["audit"]["splits"][2]["overlaps"][0][1] >= 1
    assert data["audit"]["observations"] == [printable(line) for line in dataset.observations()]
    findings = data["audit"]["findings"]
    assert [found["kind"] for found in findings] == kg.audit(dataset).brief["kind"].tolist()
    (pairs,) = [f for f in findings if f["kind"] == "reversed pair in train" and f["split"] == "test"]
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
        found = page_data([result], ["one"], dataset)["cautions"]
        assert page_data([result], ["one"])["cautions"] == found  # without the dataset, from the facts
        cautions.append([line for line in found if "copied from train" in line])
    assert cautions == [
        [
            "100.0% of the 30 triples of test may be copied from train, which has their pair of entities: 30 reversed "
            'under another relation; result.by("leak") (--by leak) gives the metrics without them.'
        ],
        [],
    ]


def test_a_baseline_that_is_not_beaten_is_a_caution():
    """The page says it of the model by its name; of a beaten baseline it says nothing."""
    ring = [[i, 0, (i + 1) % 60] for i in range(60)]
    dataset = kg.Dataset.from_arrays(test=ring, n_entities=60, n_relations=1)
    good, fair, bad = (
        kg.evaluate(lambda s, p, o, k=k: -((o - s - k) % 60), dataset, progress=False) for k in (1, 0, 30)
    )
    result = with_baselines(fair, {"rule": good, "weak": bad})
    (line,) = [line for line in page_data([result], ["mine"])["cautions"] if "baseline" in line]
    assert line.startswith("mine: baseline rule is better than the model: MRR 1.0000 against 0.")
    assert line == f"mine: {result.facts['baselines']['rule']['note']}."


def test_the_dataset_must_be_the_ranked_one(made):
    """Its name and fingerprint against the result's."""
    other = kg.Dataset.from_arrays(test=[[0, 0, 1]], n_entities=2, n_relations=1, name="other")
    about = made[0][0].facts
    with pytest.raises(kg.DataError) as caught:
        page_data(made[0], NAMES, other)
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


def test_every_string_of_the_data_is_printable(made):
    """Names, notes, groups, reasons: no string reaches the page with a control or a direction character."""
    seen = []
    results, dataset, _ = made
    result = noted(results[0], "evil\u202e\x1b[2J").with_columns({"k\u202e": ["\x00"] * len(results[0].table)})
    data = page_data([result], ["\u202ename"], dataset)
    assert data["models"] == ["\\u202ename"]
    assert data["head"]["common"][-1] == "note: evil\\u202e\\x1b[2J"
    assert data["breakdowns"]["columns"][1]["name"] == "k\\u202e"

    def visit(value):
        if isinstance(value, str):
            seen.append(value)
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            visit(item)

    visit(data)
    assert len(seen) > 200
    assert [text for text in seen if not text.isprintable()] == []
