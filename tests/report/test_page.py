"""The report page: its data against numbers made here by loops, its safety from its text, its behaviour in Chromium."""

import base64
import hashlib
import html.parser
import json
import math
import re
import shutil
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from made_results import like_fb15k237, noted, replaced

import kgeval as kg
from kgeval.comparison.comparing import compare
from kgeval.markup import printable
from kgeval.report import page_content as page_content_module
from kgeval.report.page import content_policy, embedded_json, write_page
from kgeval.report.page_content import page_data, shown_label
from kgeval.results import header_lines, kept_rivals

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")

HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "javascript:alert(1)", "</script>", "\u202eevil",
    "<b>bold</b>", "it's \"quoted\" & 'so'", "<!--<script>", "العربية", "\u2028line", "a\x00\x1b[31m\tb", "\ud800",
    "&lt;i&gt;", "%{x}", "x" * 1000, "",
]  # fmt: skip
RELATION_WORDS = [label for label in HOSTILE if label != "\ud800"]  # pyarrow cannot hold a lone surrogate
NAMES = ["Good", "<b>Mid</b>", "Bad"]
LINK = '<a href="javascript:alert(1)">kind</a>'
N_ENTITIES, N_RELATIONS, N_TEST = 40, 18, 150


def made_results():
    """Three models of falling quality on a random graph whose labels are hostile, with a user's column."""
    rng = np.random.default_rng(11)
    sizes = [N_ENTITIES, N_RELATIONS, N_ENTITIES]
    arrays = {split: rng.integers(0, sizes, (n, 3)) for split, n in (("train", 600), ("valid", 40), ("test", N_TEST))}
    arrays["test"][0], arrays["test"][2] = arrays["train"][0], arrays["test"][1]
    dataset = kg.Dataset.from_arrays(
        **arrays,
        entity_labels=HOSTILE + [f"entity {i}" for i in range(N_ENTITIES - len(HOSTILE))],
        relation_labels=[f"{label} r" for label in RELATION_WORDS] + ["plain", "Plain Too", "/film/film/release_date"],
        name="made </title><script>alert(2)</script>",
    )
    truth = rng.normal(size=sizes)
    for rows in arrays.values():
        truth[tuple(rows.T)] += 1.5
    results = []
    for noise in (0.2, 0.8, 1.6):
        table = truth + rng.normal(size=sizes) * noise
        result = kg.evaluate(lambda s, p, o, table=table: table[s, p, o], dataset, progress=False)
        kinds = np.array([LINK, "\u05d0\u05d1 <i>"])[np.arange(2 * N_TEST) % 3 // 2]
        results.append(result.with_columns({"kind": kinds}))
    return results, dataset


@pytest.fixture(scope="module")
def made():
    """Results, their dataset and their comparison."""
    results, dataset = made_results()
    return results, dataset, compare(results, names=NAMES, metrics="mrr,hits@10,mr", n_resamples=999)


@pytest.fixture(scope="module")
def data(made):
    """What the page of `made` shows."""
    results, dataset, comparison = made
    return page_data(results, NAMES, dataset, comparison)


@pytest.fixture(scope="module")
def page(made, tmp_path_factory):
    """The page of `made`, as a file."""
    pytest.importorskip("plotly", reason="the page needs plotly")
    results, dataset, comparison = made
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_page(results, path, dataset=dataset, comparison=comparison)
    return path


@pytest.fixture(scope="module")
def large_page(tmp_path_factory):
    """The page of three results of the size of FB15k-237's."""
    pytest.importorskip("plotly", reason="the page needs plotly")
    results, dataset = like_fb15k237(3)
    path = tmp_path_factory.mktemp("large") / "large.html"
    write_page(results, path, names=["A", "B", "C"], dataset=dataset)
    return path


@pytest.fixture(scope="module")
def close():
    """Three results of 8,000 ranks: in the second 12 are worse by one; in the third hits@10 won three and lost four.

    MR then surely differs, by 12/8000; hits@10 does not surely, by 1/8000.
    """
    rng = np.random.default_rng(3)
    dataset = kg.Dataset.from_arrays(
        test=rng.integers(0, [200, 3, 200], (4_000, 3)), n_entities=200, n_relations=3, name="close"
    )
    result = kg.evaluate(lambda s, p, o: (s * 131 + o * 37 + p * 11) % 97, dataset, progress=False)
    result = replaced(result, source=None, rivals=kept_rivals(result)[0])
    tables = [result.table.copy() for _ in range(3)]
    for table, changes in zip(tables, ({}, {}, {**dict.fromkeys(range(4), 10), **dict.fromkeys(range(4, 7), 9)})):
        table.loc[range(4_000), "tied_filtered"] = 0
        for row, start in enumerate([9] * 4 + [10] * 3):
            table.loc[row, "better_filtered"] = changes.get(row, start)
    tables[1].loc[range(100, 112), "better_filtered"] += 1
    results = [replaced(result, table=table) for table in tables]
    names = ["alpha", "beta", "gamma"]
    return results, compare(results, names=names, metrics="mr,hits@10", n_resamples=4_999)


@pytest.fixture(scope="module")
def close_page(close, tmp_path_factory):
    """The page of `close`."""
    pytest.importorskip("plotly", reason="the page needs plotly")
    path = tmp_path_factory.mktemp("close") / "close.html"
    write_page(close[0], path, comparison=close[1])
    return path


class Reader(html.parser.HTMLParser):
    """The elements of a page with their attributes, and the text of each script and of the title."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.elements, self.scripts, self.title, self.inside = [], [], "", ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.inside = tag
        if tag == "script":
            self.scripts.append((dict(attributes), ""))

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, text):
        if self.inside == "script":
            attributes, before = self.scripts[-1]
            self.scripts[-1] = attributes, before + text
        if self.inside == "title":
            self.title += text

    def script(self, **wanted):
        return next(text for attributes, text in self.scripts if attributes == wanted)

    def data(self):
        """The embedded JSON, read strictly: NaN and Infinity are no JSON."""
        text = self.script(type="application/json", id="data")
        return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} in the JSON"))


def ranks_of(result, setting="filtered"):
    """(side, relation, realistic rank) of each row, by a loop."""
    rows = result.table.to_dict("records")
    return [(r["side"], r["p"], r[f"better_{setting}"] + 1 + r[f"tied_{setting}"] / 2) for r in rows]


def mean_of(heading, ranks):
    """A metric by its definition."""
    if heading == "MR":
        return sum(ranks) / len(ranks)
    if heading == "MRR":
        return sum(1 / rank for rank in ranks) / len(ranks)
    return sum(rank <= int(heading.partition("@")[2]) for rank in ranks) / len(ranks)


# ---- the data ----


@pytest.mark.thorough
def test_the_metric_table_holds_every_setting_and_side(made, data):
    """Six groups of three models and chance; each value by its definition from the counts."""
    results = made[0]
    groups = [(group["setting"], group["side"]) for group in data["summary"]]
    assert groups == [(setting, side) for setting in ("filtered", "raw") for side in ("both", "subject", "object")]
    headings = [metric["heading"] for metric in data["metrics"]]
    assert headings == ["MR", "MRR", "hits@1", "hits@3", "hits@10", "AMRI"]
    assert [metric["higher_is_better"] for metric in data["metrics"]] == [False, True, True, True, True, True]
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
    shown = [f"{r.about['dataset']} {r.about['dataset_fingerprint'][:8]}" for r in results]
    assert found["differences"][:2] == [
        f"dataset: {shown[0]} in one, {shown[1]} in two",
        "relations: 2 in one, 2 in two; 1 only in one, first 'a', 1 only in two, first 'c'",
    ]
    assert [line.partition(":")[0] for line in found["differences"][2:]] == ["queries"]


@pytest.mark.thorough
def test_results_of_different_protocols_are_said_to_differ(made):
    """Each field of the protocol with both values, and none where they agree."""
    results, dataset, _ = made
    protocol = kg.Protocol(sides="object", filter_splits=("test",))
    other = kg.evaluate(lambda s, p, o: (s * 7 + o * 3 + p) % 11, dataset, protocol, progress=False)
    found = page_data([results[0], other], ["one", "two"])
    assert found["differences"][:2] == [
        "filter_splits: train+valid+test in one, test in two",
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
    chosen = result.with_features(names=["cardinality", "pattern"], splits_for_means=["train"])
    found = page_data([chosen], ["one"], given)
    assert groups_of(found, "cardinality") == [{"1-1": 16}]
    assert re.fullmatch("note: cardinality and pattern(:| are) taken over train", found["head"]["common"][-1])
    assert found["breakdowns"]["notes"] == [""]
    assert groups_of(found, "seen") == [{"unseen entity": 16}]
    found = page_data([result], ["one"], given)
    assert groups_of(found, "cardinality") == [{"1-N": 16}]
    assert found["breakdowns"]["notes"] == ["cardinality and pattern are computed from all splits"]
    half = result.with_features(names=["cardinality"], splits_for_means=["train"])
    found = page_data([half], ["one"], given)
    assert re.fullmatch("note: cardinality.* taken over train", found["head"]["common"][-1])
    names = [column["name"] for column in found["breakdowns"]["columns"]]
    assert "cardinality" in names
    assert "pattern" not in names  # over all splits it would stand below a note that says train
    over_all = result.with_features(names=["pattern"])
    assert page_data([over_all], ["one"], given)["breakdowns"]["notes"] == [
        "cardinality and pattern are computed from all splits"
    ]


def test_without_features_nothing_is_said_of_their_splits(made):
    """A result that holds no dataset has no such column, and one whose column is pattern alone names it alone."""
    result = replaced(made[0][0], source=None, rivals=kept_rivals(made[0][0])[0])
    assert page_data([result], ["one"])["breakdowns"]["notes"] == [""]
    patterned = replaced(made[0][0].with_features(names=["pattern"]), source=None, rivals=kept_rivals(result)[0])
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
    from kgeval.results import RankTable

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


def test_no_triple_is_both_hard_and_easy():
    """Of 16 ranks the ten worst and the six best, worst and best first."""
    rng = np.random.default_rng(5)
    dataset = kg.Dataset.from_arrays(test=np.column_stack([np.arange(8)] * 3), n_entities=30, n_relations=8)
    table = rng.normal(size=(30, 8, 30))
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
    assert (value, low, high) == (3.0, None, None)
    assert reason == result.interval("mr").reason != ""


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


def test_the_head_says_shared_lines_once(made, data):
    """What all results say stands first, what one says alone stands with it."""
    results = [made[0][0], noted(made[0][1], "only the second")]
    found = page_data(results, ["one", "two"])["head"]
    notes = [[f"note: {note}" for note in result.notes] for result in results]
    assert notes[1][-1] == "note: only the second"
    assert found["common"] == [printable(line) for line in header_lines(made[0][0]) if line not in notes[0]]
    assert found["own"] == notes
    assert data["head"]["scorers"] == [str(result.about["scorer"]) for result in made[0]]


def test_the_comparison(made, data):
    """Its head and its table, and for each pair the relations that move the first metric most."""
    comparison = made[2]
    assert data["comparison"]["head"] == [printable(line) for line in comparison.header()]
    rows = data["comparison"]["rows"]
    assert [(row["first"], row["second"], row["metric"]) for row in rows] == [
        (a, b, m) for a, b in (NAMES[:2], NAMES[::2], NAMES[1:]) for m in ("mrr", "hits@10", "mr")
    ]
    assert data["comparison"]["alpha"] == comparison.alpha == 0.05
    is_decided = [row["p_holm"] <= 0.05 for row in rows]
    assert [row["better"] != "undecided" for row in rows] == is_decided
    assert any(is_decided)
    for name in ("difference", "low", "high", "p", "p_holm", "wins", "ties", "losses", "n", "better"):
        assert [row[name] for row in rows] == comparison.table[name].tolist()
    pair = data["comparison"]["contributions"][1]
    assert (pair["metric"], pair["first"], pair["second"]) == ("mrr", *NAMES[::2])
    frame = comparison.by_relation("mrr", *NAMES[::2])
    largest = sorted(frame["contribution"], key=abs, reverse=True)[:15]
    assert [row["contribution"] for row in pair["rows"]] == largest
    first = frame["contribution"].abs().idxmax()
    assert pair["rows"][0]["relation"] == shown_label(first)
    assert pair["rows"][0]["difference"] == frame.loc[first, "difference"]


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
        if split["split"] == "train":
            assert split["pairs"] is None
            continue
        # For each row, how its pair stands in train: (in the same direction?, under the same relation?).
        ways = [
            {((a, b) == (s, o), q == p) for a, q, b in splits["train"] if a != b and {a, b} == {s, o}}
            for s, p, o in rows
        ]
        assert split["pairs"] == {
            "reversed": sum((False, True) in way or (False, False) in way for way in ways),
            "symmetric": sum((False, True) in way for way in ways),
            "duplicate": sum((True, False) in way for way in ways),
        }
    assert data["audit"]["splits"][2]["duplicates"] >= 1
    assert data["audit"]["splits"][2]["overlaps"][0][1] >= 1
    n_plain = len(dataset.observations())
    assert data["audit"]["observations"][:n_plain] == [printable(line) for line in dataset.observations()]
    pairs = data["audit"]["splits"][2]["pairs"]
    assert min(pairs.values()) >= 1
    assert data["audit"]["observations"][-2:] == [
        f"{pairs['reversed']} of 150 triples of test ({pairs['reversed'] / 150:.1%}) have their pair reversed in "
        f"train, {pairs['symmetric']} of them under the same relation",
        f"{pairs['duplicate']} of 150 triples of test ({pairs['duplicate'] / 150:.1%}) have their pair in train under "
        "another relation",
    ]


def test_pairs_of_test_that_train_reverses_are_no_clean_dataset():
    """Two inverse relations: the test triple (0, r, 1) can be copied from (1, q, 0); a loop is its own reverse."""
    dataset = kg.Dataset.from_arrays(
        train=[[1, 1, 0], [1, 0, 2], [2, 0, 2]], test=[[0, 0, 1], [2, 0, 1], [0, 0, 2]], n_entities=3, n_relations=2
    )
    assert dataset.observations() == []
    result = kg.evaluate(lambda s, p, o: s - o, dataset, progress=False)
    audit = page_data([result], ["one"], dataset)["audit"]
    assert [split["pairs"] for split in audit["splits"]] == [None, {"reversed": 2, "symmetric": 1, "duplicate": 0}]
    assert audit["observations"] == [
        "2 of 3 triples of test (66.7%) have their pair reversed in train, 1 of them under the same relation"
    ]


def test_the_reversed_pairs_of_wn18_are_counted(shared):
    """94% of its test triples have their pair reversed in train (Akrami et al. 2020), and the page says so."""
    dataset = kg.read_dataset(shared / "data" / "wn18")
    pairs = page_content_module._audit(dataset)["splits"][2]["pairs"]
    assert round(pairs["reversed"] / len(dataset["test"]), 2) == 0.94


def test_the_dataset_must_be_the_ranked_one(made):
    """Its name and fingerprint against the result's."""
    other = kg.Dataset.from_arrays(test=[[0, 0, 1]], n_entities=2, n_relations=1, name="other")
    about = made[0][0].about
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


# ---- the text of the page ----


def test_embedded_json_can_hold_no_tag():
    """Signs that end or begin a tag, line separators and lone surrogates stand as escapes, and come back."""
    text = embedded_json({"labels": HOSTILE})
    assert re.search(r"[<>&\u2028\u2029]|[^ -~]", text) is None
    assert json.loads(text) == {"labels": HOSTILE}
    with pytest.raises(ValueError, match="not JSON compliant"):
        embedded_json([float("nan")])


def test_the_page_embeds_its_data(page, data):
    """The JSON of the page is what `page_data` made."""
    assert Reader(page).data() == data


def test_a_hostile_label_makes_no_element(page, made):
    """The page has the elements of the template alone, whatever its data hold."""
    tags = [tag for tag, _ in Reader(page).elements]
    template = page_content_module.__file__.replace("page_content.py", "assets/page.html")
    with open(template, encoding="utf-8") as file:
        expected = re.findall(r"<([a-z][a-z0-9]*)", file.read())
    assert tags == expected
    assert tags.count("script") == 3
    assert Reader(page).title == f"kgeval: {made[1].name}"


def test_the_policy_names_each_script_by_its_hash(page):
    """Hashes are taken here of the very text between the tags; nothing else is allowed but inline styles."""
    reader = Reader(page)
    policies = [a["content"] for tag, a in reader.elements if a.get("http-equiv") == "Content-Security-Policy"]
    codes = [reader.script(), reader.script(type="text/plain", id="plotly")]
    hashes = {base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in codes}
    assert len(policies) == 1
    rules = dict(rule.strip().split(" ", 1) for rule in policies[0].split(";"))
    assert set(rules.pop("script-src").split()) == {f"'sha256-{value}'" for value in hashes}
    nothing = ("default-src", "base-uri", "form-action")
    assert rules == dict.fromkeys(nothing, "'none'") | {"style-src": "'unsafe-inline'"}
    names = [tag for tag, _ in reader.elements]
    assert names.index("meta") < names.index("style") < names.index("script")
    assert "plotly.js v" in codes[1][:200]


@pytest.mark.thorough
def test_line_ends_do_not_change_the_hash(monkeypatch, made, tmp_path):
    r"""A browser reads \r\n as \n before it hashes a script."""
    monkeypatch.setattr("kgeval.report.page._plotly_js", lambda: "var a;\r\nvar b;\rvar c;\n")
    write_page(made[0][:1], tmp_path / "p.html")
    text = (tmp_path / "p.html").read_bytes().decode()
    assert "\r" not in text
    assert content_policy(["var a;\nvar b;\nvar c;\n"]).split("'sha256-")[1].partition("'")[0] in text


def test_nothing_is_referred_to(page):
    """No attribute that loads, opens or sends; the one link leads within the page."""
    loading = {"src", "srcset", "href", "action", "formaction", "data", "poster", "background", "ping", "xlink:href"}
    found = [(tag, name, a[name]) for tag, a in Reader(page).elements for name in a if name in loading]
    assert found == [("a", "href", "#main")]
    assert [name for _, a in Reader(page).elements for name in a if name.startswith("on")] == []
    style = re.search(r"<style>(.*?)</style>", page.read_text(encoding="utf-8"), re.S)[1]
    assert "url(" not in style
    assert "@import" not in style


def test_the_code_of_the_page_makes_no_html_of_text(page):
    """Nothing in it reads text as markup or as code, nor asks the network."""
    code = Reader(page).script()
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|fetch\(|XMLHttp|https?:|import\("
    )
    assert re.findall(forbidden, code) == []


def test_the_same_results_give_the_same_bytes(made, page, tmp_path):
    """No time stamp, no order of a set; a saved and loaded result gives the same page too."""
    results, dataset, comparison = made
    write_page(results, tmp_path / "again.html", dataset=dataset, comparison=comparison)
    assert (tmp_path / "again.html").read_bytes() == page.read_bytes()
    results[0].save(tmp_path / "one.kgeval")
    write_page(results[0], tmp_path / "one.html")
    write_page(kg.load_result(tmp_path / "one.kgeval"), tmp_path / "loaded.html")
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "loaded.html").read_bytes()


def test_a_large_page_is_small_enough(large_page):
    """FB15k-237 with three models: below 8 MB, all relations in it."""
    assert large_page.stat().st_size < 8_000_000
    found = Reader(large_page).data()
    assert len(found["relations"]["labels"]) == 237
    assert [sum(counts) for counts in found["relations"]["n"]] == [40_932] * 3


def test_title_and_names(made, tmp_path):
    """The title is given or made of the dataset's name; names default to the scorers', numbered where they repeat."""
    pytest.importorskip("plotly", reason="the page needs plotly")
    write_page(made[0], tmp_path / "a.html", title="</title><b>&\u202e")
    reader = Reader(tmp_path / "a.html")
    assert reader.title == "</title><b>&\\u202e"
    scorer = made[0][0].about["scorer"]
    assert reader.data()["models"] == [f"{scorer} ({i})" for i in (1, 2, 3)]
    write_page(made[0][0], tmp_path / "b.html", names="one")
    assert Reader(tmp_path / "b.html").data()["models"] == ["one"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"results": []}, "expected at least one result; got none"),
        ({"names": ["a", "b"]}, "names must be 3 different words, one for each result; got ['a', 'b']"),
        ({"names": ["a", "b", "a"]}, "names must be 3 different words, one for each result; got ['a', 'b', 'a']"),
        ({"names": ["a", " ", "c"]}, "names must be 3 different words, one for each result; got ['a', ' ', 'c']"),
        ({"names": ["a", 7, "c"]}, "names must be 3 different words, one for each result; got ['a', 7, 'c']"),
        (
            {"names": ["a", "b", "c"], "comparison": True},
            "the comparison is between Good, <b>Mid</b>, Bad, but the results have the names a, b, c; "
            "use the same names for both",
        ),
    ],
)
def test_wrong_names(made, tmp_path, change, message):
    """One name for each result, all different, and those of the comparison."""
    arguments = {"results": made[0], "names": None} | change
    if "comparison" in change:
        arguments["comparison"] = made[2]
    with pytest.raises((kg.DataError, kg.ProtocolError)) as caught:
        write_page(arguments.pop("results"), tmp_path / "page.html", **arguments)
    assert str(caught.value) == message
    assert list(tmp_path.iterdir()) == []


def test_a_comparison_of_other_results_is_refused(made, tmp_path):
    """The names agree, but two results stand under each other's name; equal results that were loaded anew are taken."""
    results, _, comparison = made
    with pytest.raises(kg.DataError) as caught:
        write_page([results[1], results[0], results[2]], tmp_path / "page.html", comparison=comparison)
    assert str(caught.value) == (
        "the result named 'Good' is not the result that has this name in the comparison; pass the compared "
        "results, with the same names"
    )
    assert list(tmp_path.iterdir()) == []
    pytest.importorskip("plotly", reason="the page needs plotly")
    order = [results[2], replaced(results[0]), results[1]]
    write_page(order, tmp_path / "page.html", names=["Bad", "Good", "<b>Mid</b>"], comparison=comparison)
    assert Reader(tmp_path / "page.html").data()["models"] == ["Bad", "Good", "<b>Mid</b>"]


@pytest.mark.parametrize("kind", ["loaded", "with columns", "noted"])
@pytest.mark.thorough
def test_a_comparison_of_the_same_ranks_is_taken(made, tmp_path, monkeypatch, kind):
    """What is known beside the ranks, such as features that a file keeps, makes no other result of one."""
    monkeypatch.setattr("kgeval.report.page._plotly_js", lambda: "1;")
    result = kg.evaluate(lambda s, p, o: (s * 7 + o * 3 + p) % 11, made[1], progress=False)
    comparison = compare([result, made[0][0]], names=["a", "b"], metrics="mrr", n_resamples=9)
    result.save(tmp_path / "run.kgeval")
    again = {
        "loaded": kg.load_result(tmp_path / "run.kgeval"),
        "with columns": result.with_columns({"kind": np.arange(len(result.table)) % 3}),
        "noted": noted(result, "said"),
    }[kind]
    write_page([again, made[0][0]], tmp_path / "page.html", names=["a", "b"], comparison=comparison)
    assert Reader(tmp_path / "page.html").data()["models"] == ["a", "b"]


@pytest.mark.parametrize("title", ["", "  ", None])
@pytest.mark.thorough
def test_an_empty_title_is_the_default(made, tmp_path, monkeypatch, title):
    """A page without a title would have no name in the browser."""
    monkeypatch.setattr("kgeval.report.page._plotly_js", lambda: "1;")
    write_page(made[0], tmp_path / "page.html", title=title)
    assert Reader(tmp_path / "page.html").title == f"kgeval: {made[1].name}"


def test_the_glossary_does_not_take_realistic_ties_for_random_ones():
    """The mean of the shared ranks is `realistic`; ties broken at random are `expected`."""
    script = (Path(kg.__file__).parent / "report" / "assets" / "page.js").read_text(encoding="utf-8")
    assert re.findall(r'\["realistic ties", "(.*?)"\]', script) == [
        "A positive that ties with rivals gets the mean of the ranks that they share. (The mean of a metric over ties "
        "broken at random is another policy, expected.)"
    ]


@pytest.mark.parametrize("name", ["report.pdf", "report", "report.html.gz"])
def test_only_html_is_written(made, tmp_path, name):
    """HTML under another ending, such as .pdf, would be a file that no program opens."""
    with pytest.raises(kg.DataError) as caught:
        write_page(made[0][0], tmp_path / name)
    ending = {"report": "no ending", "report.pdf": ".pdf", "report.html.gz": ".gz"}[name]
    assert str(caught.value) == (
        f"{tmp_path / name}: the report is an HTML page; expected a name that ends in .html or .htm; got {ending!r}. "
        "To get a PDF, open the page in a browser and print it"
    )
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_kept_unless_overwrite_is_said(made, tmp_path, monkeypatch):
    """Nothing is lost by a second report, nor by one that fails half-way."""
    monkeypatch.setattr("kgeval.report.page._plotly_js", lambda: "1;")
    path = tmp_path / "page.html"
    path.write_text("mine")
    with pytest.raises(kg.DataError) as caught:
        write_page(made[0][:1], path)
    assert str(caught.value) == f"{path} exists; choose another name, or use overwrite=True (--overwrite)"
    assert path.read_text() == "mine"
    write_page(made[0][:1], path, overwrite=True)
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
    with pytest.raises(kg.DataError, match="does not exist; create it first"):
        write_page(made[0][:1], tmp_path / "no" / "page.html")


def test_without_plotly_the_extra_is_named(made, tmp_path, monkeypatch):
    """The error says what to install; no file is left."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "plotly"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(kg.KgevalError) as caught:
        write_page(made[0], tmp_path / "page.html")
    assert type(caught.value).__name__ == "MissingExtra"
    assert str(caught.value) == 'the report page needs plotly; pip install "kgeval[report]"'
    assert list(tmp_path.iterdir()) == []


def test_an_old_plotly_is_refused(made, tmp_path, monkeypatch):
    """Before version 7 its plotly.js does not run under the policy."""
    plotly = pytest.importorskip("plotly", reason="the page needs plotly")
    monkeypatch.setattr(plotly, "__version__", "6.9.1")
    with pytest.raises(kg.KgevalError) as caught:
        write_page(made[0], tmp_path / "page.html")
    assert str(caught.value) == (
        'the report page needs plotly 7 or later; found 6.9.1; pip install --upgrade "kgeval[report]"'
    )
    assert list(tmp_path.iterdir()) == []


# ---- the page in a browser ----

PROGRAMS = [("chromium", "chromium-browser", "google-chrome"), ("chromedriver",)]
OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,1000")


@pytest.fixture(scope="module")
def chrome():
    """A headless Chromium that logs its console and its network."""
    selenium = pytest.importorskip("selenium", reason="needs selenium")
    chromium, driver = (next(filter(None, map(shutil.which, names)), None) for names in PROGRAMS)
    if chromium is None or driver is None:
        pytest.skip("needs chromium and chromedriver (apt-get install chromium chromium-driver)")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for option in OPTIONS:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = selenium.webdriver.Chrome(options=options, service=Service(driver))
    yield browser
    browser.quit()


def opened(chrome, path, width=1280, dark=False):
    """Load a page at a width and in a colour scheme, and wait until its charts are drawn; logs start anew."""
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    chrome.get("about:blank")
    for kind in ("browser", "performance"):
        chrome.get_log(kind)
    chrome.get(path.as_uri())
    waiting(chrome, lambda page: run(page, "return document.documentElement.dataset.charts"))
    return chrome


def waiting(chrome, condition):
    """Wait until `condition` of the browser holds."""
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(chrome, 60, 0.02).until(condition)


def run(chrome, code, *arguments):
    return chrome.execute_script(code, *arguments)


def each(chrome, selector, expression):
    """What an expression of `e` gives for every element that a selector finds."""
    return run(chrome, f"return [...document.querySelectorAll(arguments[0])].map((e) => {expression})", selector)


def texts(chrome, selector):
    """The text of every element that a selector finds, as it stands in the document."""
    return each(chrome, selector, "e.textContent")


def table_rows(chrome, selector):
    """The texts of the cells of the rows that a selector finds."""
    return each(chrome, selector, "[...e.cells].map((cell) => cell.textContent)")


def rows_of(chrome):
    """The cells of the table of relations: label, n, and the values without their intervals."""
    return each(chrome, "#relations tbody tr", "[...e.cells].map((cell) => cell.firstChild.textContent)")


def log(chrome):
    return [entry["message"] for entry in chrome.get_log("browser")]


@pytest.fixture
def fresh(chrome, page):
    """The page of `made`, just loaded."""
    return opened(chrome, page)


@pytest.fixture
def shown(chrome, page):
    """The page of `made` for tests that only read it: as it was loaded, by one of them or anew."""
    if not run(chrome, "return window.isOnlyRead === true"):  # nothing that another test opened has it
        run(opened(chrome, page), "window.isOnlyRead = true")
    return chrome


def test_it_loads_without_an_error_or_a_request(fresh, page):
    """The console is empty; the network saw the file itself alone; plotly ran under the policy."""
    assert log(fresh) == []
    messages = [json.loads(entry["message"])["message"] for entry in fresh.get_log("performance")]
    requests = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert set(requests) <= {page.as_uri()}
    assert len(requests) == 1
    assert run(fresh, "return performance.getEntriesByType('resource').length") == 0
    plots = each(fresh, ".plot", "e.querySelectorAll('.main-svg').length")
    assert plots == [3] * 5


def test_the_policy_forbids_other_scripts_and_images(fresh):
    """What an injected label might try: a script, an attribute, an image, a request; all are refused and do nothing."""
    run(fresh, """
      const script = document.createElement("script"); script.text = "window.broken = 1"; document.body.append(script);
      const button = document.createElement("button"); button.setAttribute("onclick", "window.broken = 2");
      document.body.append(button); button.click();
      const image = new Image(); image.src = "data:image/gif;base64,R0lGODlhAQABAAAAACw="; document.body.append(image);
      fetch("https://example.org/").catch(() => { window.refused = true; });
    """)  # fmt: skip
    waiting(fresh, lambda page: run(page, "return window.refused"))
    refused = " ".join(log(fresh))
    for attempt in ("inline script", "inline event handler", "data:image/gif", "https://example.org/"):
        assert attempt in refused
    assert refused.count("violates the following Content Security Policy directive") == 4
    assert run(fresh, "return [window.broken ?? null, window.refused]") == [None, True]


def test_hostile_labels_are_text(shown, data):
    """Each shown label is the text of an element; none became a tag, a link or an attribute."""
    found = set(texts(shown, "main bdi"))
    assert {
        f"{shown_label(word)} r" if len(word) < 200 else shown_label(f"{word} r") for word in RELATION_WORDS if word
    } <= found
    assert {"<b>Mid</b>", LINK, "\u05d0\u05d1 <i>"} <= found
    triples = [one for model in data["triples"][:1] for one in model["hardest"] + model["easiest"]]
    assert {one[place] for one in triples for place in "spo"} <= found
    tags = each(shown, "main *", "e.tagName.toLowerCase()")
    assert not {"script", "img", "b", "i", "iframe", "object", "embed"} & set(tags)
    links = each(shown, "a", "e.getAttribute('href') || ''")
    assert all(link.startswith("#") for link in links if link)
    assert run(shown, "return document.querySelectorAll('main a[*|href]').length") == 0
    isolated = run(shown, "return getComputedStyle(document.querySelector('main bdi')).unicodeBidi")
    assert isolated == "isolate"
    assert shown.title == "kgeval: made </title><script>alert(2)</script>"


def test_hostile_labels_are_text_in_the_charts_too(fresh, data):
    """plotly reads HTML in its texts: ticks and hover boxes show the signs themselves, and hold no link."""
    ticks = texts(fresh, ".of-groups .xtick")
    assert [tick.strip("\u2068\u2069") for tick in ticks] == [LINK, "\u05d0\u05d1 <i>"]
    places = [i for i, label in enumerate(data["relations"]["labels"]) if re.search(r"[<>&%]", label)]
    assert len(places) > 5
    code = "Plotly.Fx.hover(document.querySelector('.of-relations'), [{curveNumber: 0, pointNumber: arguments[0]}])"
    for place in places:
        wanted = data["relations"]["labels"][place][:50] + "n = "  # signs are shown as they are, and lines follow
        run(fresh, code, place)
        waiting(
            fresh, lambda page, wanted=wanted: any(wanted in said for said in texts(page, ".of-relations .hovertext"))
        )
        assert "<b>Mid</b>: " in texts(fresh, ".of-relations .hovertext")[0]
    assert run(fresh, "return document.querySelectorAll('.plot a').length") == 0


def test_the_metric_table_shows_the_numbers(shown, data):
    """Value and interval with four decimals, two for ranks; the best in bold."""
    rows = table_rows(shown, "#metrics tbody tr")
    group = data["summary"][0]
    assert rows[0] == ["filtered, both sides"]
    for row, model in zip(rows[1:4], group["rows"]):
        mr, mrr = model["cells"][:2]
        assert row[:4] == [
            model["name"],
            str(model["n"]),
            f"{mr[0]:.2f}[{mr[1]:.2f}, {mr[2]:.2f}]",
            f"{mrr[0]:.4f}[{mrr[1]:.4f}, {mrr[2]:.4f}]",
        ]
    assert rows[4][:2] == ["chance", "300"]
    best = each(shown, "#metrics tbody:nth-of-type(1) tr", "e.querySelectorAll('.best').length")
    winners = [
        (min if not metric["higher_is_better"] else max)(range(3), key=lambda i, k=k: group["rows"][i]["cells"][k][0])
        for k, metric in enumerate(data["metrics"])
    ]
    assert best == [0, *(winners.count(i) for i in range(3)), 0]


def test_the_comparison_is_shown(shown, data):
    """A block for each pair, and a mark of what is sure."""
    assert texts(shown, "#comparison tbody th[scope=rowgroup]") == [
        "Good against <b>Mid</b>", "Good against Bad", "<b>Mid</b> against Bad",
    ]  # fmt: skip
    cells = table_rows(shown, "#comparison tbody tr")[1]
    row = data["comparison"]["rows"][0]
    assert cells[0] == "mrr"
    assert cells[3] == f"{row['difference']:.4f}[{row['low']:.4f}, {row['high']:.4f}]"
    assert cells[4:7] == ["Good", f"{row['p']:.4f}", f"{row['p_holm']:.4f}"]
    assert cells[8:11] == [str(row[name]) for name in ("wins", "ties", "losses")]


def with_interval(value, low, high, digits):
    return f"{value:,.{digits}f}" + ("" if low is None else f"[{low:,.{digits}f}, {high:,.{digits}f}]")


def test_every_number_of_the_metric_table_is_shown(shown, data):
    """Six groups: each model with value and interval, four decimals, MR two; chance without an interval."""
    rows = iter(table_rows(shown, "#metrics tbody tr"))
    digits = [2, 4, 4, 4, 4, 4]
    for group in data["summary"]:
        assert len(next(rows)) == 1
        for row in group["rows"] + group["chance"]:
            wanted = [with_interval(*cell[:3], d) for cell, d in zip(row["cells"], digits)]
            assert next(rows) == [row["name"], str(row["n"]), *wanted]
    assert list(rows) == []


def test_the_best_values_are_bold(shown, data):
    """The very cells: of each column the greatest of the models, of MR the least."""
    code = "[...e.rows].slice(1).map((row) => [...row.cells].slice(2).map((cell) => cell.classList.contains('best')))"
    for group, bold in zip(data["summary"], each(shown, "#metrics tbody", code)):
        for column, metric in enumerate(data["metrics"]):
            values = [row["cells"][column][0] for row in group["rows"]]
            best = max(values) if metric["higher_is_better"] else min(values)
            assert [row[column] for row in bold] == [*(value == best for value in values), False]


def test_small_differences_keep_two_digits(chrome, close, close_page):
    """MR -0.0015, surely: bold; hits@10 differs by 0.000125, unsurely: plain; 0 has no sign."""
    opened(chrome, close_page)
    table = close[1].table.set_index(["first", "second", "metric"])
    cells = table_rows(chrome, "#comparison .scroll:first-of-type tbody tr")
    shown = [row for row in cells if row[0] in ("mr", "hits@10")][:6]
    rows = dict(zip(table.index, shown))
    mr = table.loc[("alpha", "beta", "mr")]
    assert mr["difference"] == pytest.approx(-12 / 8000, abs=1e-12)
    assert mr["low"] < mr["high"] < 0
    assert rows["alpha", "beta", "mr"][3] == with_interval(mr["difference"], mr["low"], mr["high"], 4)
    assert rows["alpha", "beta", "mr"][3].startswith("-0.0015[-0.002")
    assert rows["alpha", "beta", "mr"][4] == "alpha"
    assert rows["alpha", "beta", "mr"][7] == f"{mr['detectable']:.4f}"
    assert 0.001 < mr["detectable"] < 0.002
    hits = table.loc[("alpha", "gamma", "hits@10")]
    assert hits["difference"] == pytest.approx(1 / 8000, abs=1e-12)
    assert hits["low"] < 0 < hits["high"]
    assert rows["alpha", "gamma", "hits@10"][3] == with_interval(hits["difference"], hits["low"], hits["high"], 5)
    assert rows["alpha", "gamma", "hits@10"][7] == "-"  # one differing cluster: no difference is detectable
    assert np.isnan(hits["detectable"])
    assert rows["alpha", "beta", "hits@10"][3].split("[")[0] == "0.0000"
    bold = each(
        chrome, "#comparison .scroll:first-of-type tbody tr", "[...e.querySelectorAll('.best')].map((c) => c.cellIndex)"
    )
    by_row = dict(zip(table.index, [places for places, row in zip(bold, cells) if row[0] in ("mr", "hits@10")][:6]))
    sure = {key for key, p in table["p_holm"].items() if p <= 0.05}
    assert ("alpha", "beta", "mr") in sure
    assert by_row == {key: [3, 6] if key in sure else [] for key in table.index}
    assert 0 < len(sure) < 6
    assert not re.search(r"-0\.0+(?![0-9])", run(chrome, "return document.getElementById('comparison').textContent"))
    assert log(chrome) == []


def test_where_a_difference_comes_from_is_shown(shown, data):
    """Each column of the relations that contribute most, first pair."""
    pair = data["comparison"]["contributions"][0]
    scroll = "#comparison details:first-of-type .scroll"
    assert table_rows(shown, f"{scroll} thead tr") == [
        ["relation", "n", "share", "Good", "<b>Mid</b>", "difference", "contribution"]
    ]
    rows = table_rows(shown, f"{scroll} tbody tr")
    assert len(rows) == len(pair["rows"]) == 15
    for cells, row in zip(rows, pair["rows"]):
        assert cells[:5] == [
            row["relation"], str(row["n"]), f"{100 * row['share']:.1f}%",
            f"{row['value_first']:.4f}", f"{row['value_second']:.4f}",
        ]  # fmt: skip
        value = cells[5].split("[")[0]
        n_digits = len(value.partition(".")[2])
        assert n_digits >= 4
        assert cells[5] == with_interval(row["difference"], row["low"], row["high"], n_digits)
        assert float(cells[6]) == pytest.approx(row["contribution"], abs=5e-5)


def test_every_number_of_the_relations_is_shown(shown, data):
    """n, each model's value with its interval, and the first less each other."""
    found = data["relations"]
    rows = table_rows(shown, "#relations tbody tr")
    assert len(rows) == len(found["labels"])
    n_intervals = 0
    for place, row in enumerate(rows):
        cells = [[part[place] for part in found["values"][model][0]] for model in range(3)]
        n_intervals += sum(cell[1] is not None for cell in cells)
        assert row[:2] == [found["labels"][place], str(found["n"][0][place])]
        assert row[2:5] == [with_interval(*cell[:3], 4) for cell in cells]
        for text, model in zip(row[5:], (1, 2)):
            assert float(text) == pytest.approx(cells[0][0] - cells[model][0], abs=5e-5)
    assert n_intervals > 40


def test_counts_of_ranks_and_hits_are_shown_as_numbers(shown, data):
    """The tables below the charts, a column for each model."""
    first, second = run(shown, """
      return [...document.querySelectorAll("#charts details table")].map(
        (table) => [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent)))
    """)  # fmt: skip
    counts = [
        [str(sum(by_side)) for by_side in zip(*sides.values())] for sides in data["distribution"]["counts"]
    ]  # fmt: skip
    assert first == [["rank", *NAMES], *([label, *n] for label, *n in zip(data["distribution"]["bins"], *counts))]
    values = [[f"{value:.4f}" for value in one] for one in data["hits"]["values"]]
    assert second == [["k", *NAMES], *([str(k), *row] for k, *row in zip(data["hits"]["k"], *values))]


def test_the_audit_is_shown(shown, data):
    """Each count of each split."""
    rows = table_rows(shown, "#dataset tbody tr")
    for cells, split in zip(rows, data["audit"]["splits"]):
        overlaps = ", ".join(f"{n} in {other}" for other, n in split["overlaps"]) or "-"
        unseen = split["unseen"]
        assert cells == [
            split["split"], *(str(split[name]) for name in ("triples", "entities", "relations", "duplicates")),
            overlaps,
            *(str(split["pairs"][name]) if split["pairs"] else "-" for name in ("reversed", "symmetric", "duplicate")),
            *(str(unseen[name]) if unseen else "-" for name in ("triples", "entities", "relations")),
        ]  # fmt: skip
    assert [row[0] for row in rows] == ["train", "valid", "test"]
    assert "3 in train" in rows[2][5]


def test_error_bars_reach_from_low_to_high(shown, data):
    """What plotly drew: value plus and minus its arms are the interval's ends."""
    drawn = run(shown, """
      return document.querySelector(".of-groups").data.map((t) => [t.y, t.error_y.array, t.error_y.arrayminus])
    """)  # fmt: skip
    models = data["breakdowns"]["columns"][0]["models"]
    assert len(drawn) == 3
    for (y, up, down), model in zip(drawn, models):
        value, low, high, _ = model["values"][0]
        assert y == value
        assert [v + arm for v, arm in zip(y, up)] == pytest.approx(high, abs=1e-12)
        assert [v - arm for v, arm in zip(y, down)] == pytest.approx(low, abs=1e-12)
        assert min(up + down) > 0


def test_bars_say_their_share_and_count(shown, data):
    """In the hover box, of each model over both sides."""
    said = run(shown, "return document.querySelector('#charts .plot').data.map((t) => t.hovertext)")
    for texts_of_model, counts, name in zip(said, data["distribution"]["counts"], NAMES):
        sums = [a + b for a, b in zip(counts["subject"], counts["object"])]
        name_shown = name.replace("<", "&lt;").replace(">", "&gt;")
        assert texts_of_model == [
            f"{name_shown}<br>rank {label}: {100 * n / (2 * N_TEST):.1f}% ({n})"
            for label, n in zip(data["distribution"]["bins"], sums)
        ]


@pytest.fixture
def long_names(chrome, made, tmp_path):
    """A page whose models have names of 80 characters that differ at their ends, and groups of as many."""
    pytest.importorskip("plotly", reason="the page needs plotly")
    results = [
        replaced(
            replaced(one, columns=None).with_columns({"long": ["g" * 80 + str(i % 2) for i in range(2 * N_TEST)]}),
            source=None,
        )
        for one in made[0][:2]
    ]
    comparison = compare(results, names=["m" * 80 + " one", "m" * 80 + " $& two"], metrics="mrr", n_resamples=9)
    results = [noted(results[0], "said"), noted(results[1], "said too")]
    comparison = replaced(comparison, results=tuple(results), notes=("m" * 80 + " $& two: said too",))
    write_page(results, tmp_path / "long.html", comparison=comparison)
    return opened(chrome, tmp_path / "long.html")


def test_hover_boxes_keep_number_and_end(chrome, large_page):
    """A relation of 67 characters loses its middle; the values of both models follow whole."""
    opened(chrome, large_page)
    found = Reader(large_page).data()["relations"]
    label = found["labels"][0]
    assert len(label) > 60
    (a, low, high, _), (b, low_b, high_b, _) = ([part[0] for part in found["values"][model][0]] for model in (0, 1))
    said = run(chrome, "return document.querySelector('.of-relations').data[0].hovertext[0]").split("<br>")
    assert said == [
        f"{label[:29]}…{label[-30:]}",
        f"n = {found['n'][1][0]:,}",
        f"A: {a:.4f} [{low:.4f}, {high:.4f}]",
        f"B: {b:.4f} [{low_b:.4f}, {high_b:.4f}]",
    ]


def test_long_names_lose_their_middle_not_their_number(long_names):
    """In hover boxes 60 characters, in tables 40 and the whole as title; a name with $& stands as it is."""
    hover = run(long_names, "return document.querySelector('.of-groups').data[1].hovertext[1]").split("<br>")
    assert hover[0] == "m" * 29 + "…" + "m" * 23 + " $&amp; two"
    assert hover[1] == "g" * 29 + "…" + "g" * 29 + "1, n = 150"
    assert re.fullmatch(r"MRR 0\.\d{4} \[0\.\d{4}, 0\.\d{4}\]", hover[2])
    curve = run(long_names, "return document.querySelectorAll('#charts .plot')[1].data[1].hovertext[0]")
    assert re.fullmatch(r"m{29}…m{23} \$&amp; two<br>hits@1: 0\.\d{4}", curve)
    names = each(long_names, "#metrics tbody:first-of-type bdi", "[e.textContent, e.title]")
    assert names[:2] == [
        ["m" * 19 + "…" + "m" * 16 + " one", "m" * 80 + " one"],
        ["m" * 19 + "…" + "m" * 13 + " $& two", "m" * 80 + " $& two"],
    ]
    cautions = texts(long_names, "#comparison .caution")
    assert [said for said in cautions if "said too" in said] == []  # said above
    assert log(long_names) == []


@pytest.mark.parametrize("kind", ["queries", "rivals"])
def test_no_value_is_best_among_other_queries_or_rivals(chrome, made, tmp_path, kind):
    """A caution says in what the results differ, and nothing is bold."""
    pytest.importorskip("plotly", reason="the page needs plotly")
    one = replaced(made[0][0], source=None, rivals=kept_rivals(made[0][0])[0])
    table = one.table.copy()
    if kind == "rivals":
        table.loc[[3, 5, 8], "rivals_filtered"] += 1
        other = replaced(one, table=table)
    else:
        other = replaced(one, table=table.iloc[20:].reset_index(drop=True), columns=None, n_read=280, rivals=None)
    write_page([one, other], tmp_path / "two.html", names=["one", "two"])
    opened(chrome, tmp_path / "two.html")
    cautions = texts(chrome, "#measured .caution")
    assert cautions[0] == "note these results were evaluated differently, so their numbers are not comparable:"
    assert cautions[1].startswith(f"note {kind}: ")
    assert chrome.find_elements("css selector", "#metrics .best") == []
    assert "best value" not in texts(chrome, "#metrics caption")[0]
    assert log(chrome) == []


def test_splits_of_the_features_are_said(chrome, fresh, tmp_path):
    """Below the chart and below the tables; of a result that says it itself, nothing more."""
    said = "cardinality and pattern are computed from all splits"
    assert texts(fresh, "#charts .over-splits") == texts(fresh, "#detail .over-splits") == [said]
    result, _ = widening()
    chosen = result.with_features(names=["cardinality", "pattern"], splits_for_means=["train"])
    write_page([chosen, result], tmp_path / "two.html", names=["chosen", "all"])
    opened(chrome, tmp_path / "two.html")
    assert texts(chrome, "#charts .over-splits") == [f"all: {said}"]
    assert texts(chrome, "#detail .over-splits") == []


def test_the_share_of_groups_left_out_is_said(chrome, made, tmp_path):
    """60 groups of five ranks each: 20 are left out, a third of the ranks."""
    pytest.importorskip("plotly", reason="the page needs plotly")
    result = replaced(made[0][0], columns=None, source=None, rivals=kept_rivals(made[0][0])[0])
    write_page(result.with_columns({"many": np.arange(2 * N_TEST) % 60}), tmp_path / "one.html", names="one")
    opened(chrome, tmp_path / "one.html")
    assert texts(chrome, "#detail .left-out") == ["20 smaller groups, 33.3% of the ranks, are left out."]
    assert len(table_rows(chrome, "#detail details tbody tr")) == 40


def test_many_relations_are_shown_when_asked_and_gaps_stand_last(chrome, tmp_path):
    """510 relations in one model, 3 of them and another in the other: 500 rows, then all; gaps last, both ways."""
    pytest.importorskip("plotly", reason="the page needs plotly")
    results = []
    for labels in ([f"r{i}" for i in range(510)], ["r0", "r1", "r2", "only"]):
        n = len(labels)
        test = [[i % 5, i, (3 * i + 1) % 5] for i in range(n)]
        dataset = kg.Dataset.from_arrays(test=test, n_entities=5, relation_labels=labels)
        results.append(kg.evaluate(lambda s, p, o: -abs(s + 1.3 - o), dataset, progress=False))
    write_page(results, tmp_path / "two.html", names=["one", "two"])
    opened(chrome, tmp_path / "two.html")
    assert len(rows_of(chrome)) == 500
    assert texts(chrome, "#relations-shown") == ["500 of 511 relations shown, MRR"]
    more = next(b for b in chrome.find_elements("css selector", "#relations > button"))
    assert more.is_displayed()
    more.click()
    assert len(rows_of(chrome)) == 511
    assert not more.is_displayed()
    head = chrome.find_elements("css selector", "#relations thead button")
    for _ in range(2):
        head[4].click()  # the second model's MRR
        values = [row[4] for row in rows_of(chrome)]
        assert values[4:] == ["-"] * 507
        assert "-" not in values[:4]
    assert log(chrome) == []


DOWNLOADED = """
  const done = arguments[0];
  const made = URL.createObjectURL;
  URL.createObjectURL = (blob) => { window.saved = blob; return made.call(URL, blob); };
  HTMLAnchorElement.prototype.click = function () {
    const { download, href } = this;
    window.saved.text().then((text) => done([download, href.slice(0, 5), window.saved.type, text]));
  };
  document.querySelectorAll(".plot")[%d].querySelector(".modebar-btn").click();
"""


@pytest.mark.parametrize("is_dark", [False, True])
def test_charts_are_saved_with_their_key_on_a_ground(chrome, page, is_dark):
    """An SVG from a blob, named after the chart, with the names of the models, on the theme's colour."""
    backs = {False: "253, 253, 252", True: "21, 24, 28"}
    opened(chrome, page, dark=is_dark)
    for place, name in enumerate(["ranks", "hits", "relations", "groups", "sides"]):
        file, scheme, kind, text = chrome.execute_async_script(DOWNLOADED % place)
        assert (file, scheme) == (f"kgeval-{name}.svg", "blob:")
        assert kind.partition(";")[0] == "image/svg+xml"
        ground = rf"fill: rgb\({backs[is_dark]}\); fill-opacity: 1"
        assert re.search(rf'<rect x="0" y="0" width="[0-9]+" height="(?:340|440)" style="{ground}', text)
        if name not in ("relations", "sides"):
            keys = [one for one in ElementTree.fromstring(text).iter() if one.get("class") == "legendtext"]
            assert [(key.text, len(key)) for key in keys] == [(model, 0) for model in NAMES]
        assert log(chrome) == []


def test_hover_zoom_and_saving_ask_no_network(fresh, page):
    """After all three the network has seen the file alone."""
    run(fresh, "Plotly.Fx.hover(document.querySelector('.of-relations'), [{curveNumber: 0, pointNumber: 0}])")
    run(fresh, "document.querySelectorAll('.of-relations .modebar-btn')[3].click()")
    waiting(fresh, lambda page: run(page, "return !document.querySelector('.of-relations').layout.xaxis.autorange"))
    fresh.execute_async_script(DOWNLOADED % 1)
    messages = [json.loads(entry["message"])["message"] for entry in fresh.get_log("performance")]
    requests = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert {url for url in requests if not url.startswith("blob:")} == {page.as_uri()}
    assert log(fresh) == []


def test_each_chart_has_a_key(fresh):
    """Where several models are drawn plotly's own, which prints; it follows the boxes."""
    code = "[...e.querySelectorAll('.legendtext')].map((text) => text.textContent)"
    assert each(fresh, "#charts .plot", code) == [NAMES, NAMES, NAMES[1:], NAMES]
    fresh.find_elements("css selector", "#toggles input")[1].click()
    waiting(fresh, lambda page: each(page, "#charts .plot", code)[3] == NAMES[::2])
    shown = each(fresh, ".swatch", "[getComputedStyle(e).printColorAdjust, getComputedStyle(e).forcedColorAdjust]")
    assert shown[0] == ["exact", "none"]


def test_zoom_is_kept(fresh):
    """A toggle and another theme leave the axes as they were; another metric draws them anew."""
    from selenium.webdriver.support.ui import Select

    code = "return document.querySelector('.of-relations').layout.xaxis.range"
    run(fresh, "return Plotly.relayout(document.querySelector('.of-relations'), {'xaxis.range': [0.2, 0.3]})")
    fresh.find_elements("css selector", "#toggles input")[1].click()
    assert run(fresh, code) == [0.2, 0.3]
    fresh.find_element("id", "theme").click()
    assert run(fresh, code) == [0.2, 0.3]
    Select(fresh.find_elements("css selector", "#charts select")[0]).select_by_index(1)
    assert run(fresh, code) != [0.2, 0.3]


def test_opened_breakdowns_stay_open(fresh):
    """The second is opened and the first closed: so they stay for another model."""
    from selenium.webdriver.support.ui import Select

    summaries = fresh.find_elements("css selector", "#detail summary")
    summaries[0].click()
    summaries[1].click()
    waiting(fresh, lambda page: each(page, "#detail details", "e.open")[:2] == [False, True])
    Select(fresh.find_element("id", "model")).select_by_index(1)
    assert each(fresh, "#detail details", "e.open")[:3] == [False, True, False]


def test_many_models_look_unlike(chrome, made, tmp_path):
    """Fifteen: no two have colour and dash, colour and symbol, or colour and pattern alike."""
    pytest.importorskip("plotly", reason="the page needs plotly")
    one = replaced(made[0][0], columns=None, source=None, rivals=kept_rivals(made[0][0])[0])
    write_page([one] * 15, tmp_path / "many.html", names=[f"m{i}" for i in range(15)])
    opened(chrome, tmp_path / "many.html")
    bars, curves, marks = (
        each(chrome, f"#charts figure:nth-of-type({i}) .plot", f"e.data.map((t) => String({what}))")[0]
        for i, what in enumerate(
            [
                "[t.marker.color, t.marker.pattern.shape]",
                "[t.line.color, t.line.dash]",
                "[t.marker.color, t.marker.symbol]",
            ],
            start=1,
        )
    )
    assert [len(set(kinds)) for kinds in (bars, curves, marks)] == [15, 15, 14]
    assert len({kind.rpartition(",")[0] for kind in curves}) == 7
    assert log(chrome) == []


def contrast(one, other):
    """Of two colours "rgb(r, g, b)" or "#rrggbb", after WCAG 2.2."""

    def luminance(colour):
        if colour.startswith("#"):
            parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
        else:
            parts = [int(part) for part in re.findall(r"\d+", colour)[:3]]
        red, green, blue = (
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (p / 255 for p in parts)
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("is_dark", [False, True])
def test_colours_stand_out(chrome, page, is_dark):
    """Every colour of a model, the icons of the charts, and the edges of fields: at least 3 to 1."""
    assert contrast("#ffffff", "rgb(0, 0, 0)") == pytest.approx(21)
    opened(chrome, page, dark=is_dark)
    style = "getComputedStyle(document.documentElement).getPropertyValue"
    names = ["--back", "--panel", *(f"--model-{i}" for i in range(7))]
    back, panel, *colours = (run(chrome, f"return {style[:-17]}.getPropertyValue('{name}').trim()") for name in names)
    icons = each(chrome, ".modebar-btn path", "getComputedStyle(e).fill")
    edges = each(chrome, "select, input[type=search], #theme", "getComputedStyle(e).borderTopColor")
    assert len(set(colours)) == 7
    for colour in [*colours, *icons, *edges]:
        assert contrast(colour, back) >= 3
        assert contrast(colour, panel) >= 3
    drawn = run(chrome, "return document.querySelectorAll('#charts .plot')[1].data.map((t) => t.line.color)")
    assert drawn == colours[:3]


def test_words_of_the_page(shown):
    """What bold, ties, chance and intervals mean; which model a difference favours; which way the axis lies."""
    assert "favours" in table_rows(shown, "#comparison thead tr")[0]
    terms = texts(shown, "#metrics dt")
    assert terms[-3:] == ["realistic ties", "chance", "intervals"]
    assert texts(shown, "#metrics dd")[-3] == (
        "A positive that ties with rivals gets the mean of the ranks that they share. (The mean of a metric over ties "
        "broken at random is another policy, expected.)"
    )
    captions = texts(shown, "#metrics caption, #relations caption, #detail details caption")
    assert all("95% intervals" in caption for caption in captions)
    purpose = "95% intervals show how much a number would vary with other triples of this graph"
    assert texts(shown, "#metrics p")[0].startswith(purpose)
    assert texts(shown, "#metrics dd")[-1].startswith(purpose)
    assert len(captions) > 3
    assert any(label.startswith("Horizontal axis") for label in texts(shown, "#charts label"))


def test_it_sorts_by_click(fresh, data):
    """First the greatest, then the least; aria-sort says which; words sort from A on."""
    head = fresh.find_elements("css selector", "#relations thead th")
    values = data["relations"]["values"][0][0][0]
    expected = [f"{value:.4f}" for value in sorted(values, reverse=True)]
    assert head[1].get_attribute("aria-sort") == "descending"  # by n, before anything is clicked
    head[2].find_element("tag name", "button").click()
    assert [row[2] for row in rows_of(fresh)] == expected
    assert [th.get_attribute("aria-sort") for th in head[:3]] == ["none", "none", "descending"]
    head[2].find_element("tag name", "button").click()
    assert [row[2] for row in rows_of(fresh)] == expected[::-1]
    assert head[2].get_attribute("aria-sort") == "ascending"
    head[0].find_element("tag name", "button").click()
    labels = [row[0] for row in rows_of(fresh)]
    assert sorted(labels) == sorted(data["relations"]["labels"])
    assert [label for label in labels if label.lower().startswith("plain")] == ["plain", "Plain Too"]
    head[5].find_element("tag name", "button").click()
    differences = [float(row[5]) for row in rows_of(fresh)]
    assert differences == sorted(differences, reverse=True)
    firsts, seconds = (data["relations"]["values"][model][0][0] for model in (0, 1))
    assert differences[0] == pytest.approx(max(a - b for a, b in zip(firsts, seconds)), abs=5e-5)


def test_it_sorts_by_the_keyboard(fresh):
    """From the search field Tab leads over the box that scrolls to the buttons of the head; Enter and Space sort."""
    from selenium.webdriver.common.keys import Keys

    fresh.find_element("id", "search").click()
    for _ in range(4):
        fresh.switch_to.active_element.send_keys(Keys.TAB)
    focused = fresh.switch_to.active_element
    assert (focused.tag_name, focused.text) == ("button", "Good")
    outline = run(fresh, "return getComputedStyle(arguments[0]).outlineStyle", focused)
    assert outline == "solid"
    focused.send_keys(Keys.ENTER)
    head = fresh.find_elements("css selector", "#relations thead th")[2]
    assert head.get_attribute("aria-sort") == "descending"
    fresh.switch_to.active_element.send_keys(Keys.SPACE)
    assert head.get_attribute("aria-sort") == "ascending"


def test_the_first_key_leads_to_the_content(fresh):
    """The skip link is the first stop and shows itself."""
    from selenium.webdriver.common.keys import Keys

    fresh.find_element("tag name", "body").send_keys(Keys.TAB)
    link = fresh.switch_to.active_element
    assert link.text == "Skip to the content"
    assert link.rect["x"] >= 0
    link.send_keys(Keys.ENTER)
    assert run(fresh, "return document.activeElement.id") == "main"


def test_it_filters(fresh, data):
    """Rows whose label holds the words, in whatever case; the count is said."""
    search = fresh.find_element("id", "search")
    search.send_keys("SCRIPT>ALERT")
    labels = data["relations"]["labels"]
    wanted = [label for label in labels if "script>alert" in label.lower()]
    assert [row[0] for row in rows_of(fresh)] == wanted
    assert len(wanted) == 1
    assert texts(fresh, "#relations-shown") == [f"1 of {len(labels)} relations shown, MRR"]
    assert run(fresh, "return document.getElementById('relations-shown').getAttribute('role')") == "status"
    search.clear()
    search.send_keys("pLAIN")
    assert sorted(row[0] for row in rows_of(fresh)) == ["Plain Too", "plain"]
    search.send_keys(" no such label")
    assert rows_of(fresh) == []


def test_the_metric_of_the_relations_changes(fresh, data):
    """The third choice is hits@3: the same rows with other numbers."""
    from selenium.webdriver.support.ui import Select

    metrics = Select(fresh.find_element("css selector", "#relations select"))
    assert [option.text for option in metrics.options] == ["MRR", "hits@1", "hits@3", "hits@10", "MR"]
    metrics.select_by_index(2)
    rows = rows_of(fresh)
    assert [row[0] for row in rows] == data["relations"]["labels"]
    for model in range(3):
        assert [row[2 + model] for row in rows] == [f"{v:.4f}" for v in data["relations"]["values"][model][2][0]]


def test_the_model_switches(fresh, data):
    """Breakdowns, distribution, hardest and easiest triples are those of the chosen model."""
    from selenium.webdriver.support.ui import Select

    def first_row(caption):
        return table_rows(fresh, f"#detail .scroll[aria-label^='{caption}'] tbody tr")[0]

    code = "return document.querySelector('.of-sides').data.map((trace) => trace.y)"
    for model in (0, 2):
        Select(fresh.find_element("id", "model")).select_by_index(model)
        kind, hardest = data["breakdowns"]["columns"][0]["models"][model], data["triples"][model]["hardest"][0]
        value, low, high, _ = (part[0] for part in kind["values"][0])
        assert first_row("Metrics by kind")[:4] == [LINK, "200", "66.7%", f"{value:.4f}[{low:.4f}, {high:.4f}]"]
        row = first_row("The worst")
        given, asked = ("s", "o") if hardest["side"] == "object" else ("o", "s")
        assert row[0] == f"{hardest['rank']:g}"
        assert row[3:5] == [hardest[asked], hardest["side"]]
        assert hardest[given] in row[2]
        assert "?" in row[2]
        assert all(rival["label"] in row[6] for rival in hardest["rivals"])
        shares = [
            [100 * n / N_TEST for n in data["distribution"]["counts"][model][side]] for side in ("subject", "object")
        ]
        assert run(fresh, code) == [pytest.approx(side) for side in shares]
    assert log(fresh) == []


def test_models_are_hidden_and_shown(fresh):
    """The box of a model takes its traces from every chart, and brings them back."""
    box = fresh.find_elements("css selector", "#toggles input")[1]
    shown = "e.data.filter((trace) => trace.visible !== false).length"
    assert each(fresh, "#charts .plot", shown) == [
        3,
        3,
        2,
        3,
    ]  # across is the first model, which has no trace of its own
    box.click()
    assert each(fresh, "#charts .plot", shown) == [2, 2, 1, 2]
    box.click()
    assert each(fresh, "#charts .plot", shown) == [3, 3, 2, 3]


def test_the_charts_hold_the_numbers(shown, data):
    """Bars, curve, marks and groups as in the data."""
    traces = each(shown, "#charts .plot", "e.data.map((trace) => [trace.x, trace.y])")
    bars, curves, relations, groups = traces
    counts = data["distribution"]["counts"][1]
    assert bars[1][1] == pytest.approx(
        [100 * (a + b) / (2 * N_TEST) for a, b in zip(counts["subject"], counts["object"])]
    )
    assert curves[2] == [data["hits"]["k"], data["hits"]["values"][2]]
    values = [data["relations"]["values"][model][0][0] for model in range(3)]
    assert relations == [[values[0], values[1]], [values[0], values[2]]]
    assert groups[1][1] == data["breakdowns"]["columns"][0]["models"][1]["values"][0][0]


def test_choices_redraw_their_chart(fresh, data):
    """Across the number of ranks all models have marks; another column, other groups."""
    from selenium.webdriver.support.ui import Select

    selects = [Select(one) for one in fresh.find_elements("css selector", "#charts select")]
    selects[1].select_by_index(0)
    relations = run(fresh, "return document.querySelector('.of-relations').data.map((t) => t.x)")
    assert relations == data["relations"]["n"]
    selects[2].select_by_visible_text("known_answers")
    column = next(c for c in data["breakdowns"]["columns"] if c["name"] == "known_answers")
    assert texts(fresh, ".of-groups .xtick") == column["models"][0]["groups"]


def test_no_button_of_a_chart_sends_it_anywhere(shown):
    """plotly.js would offer to upload a chart; here it saves a drawing, zooms and moves, no more."""
    buttons = each(shown, ".plot", "[...e.querySelectorAll('.modebar-btn')].map((button) => button.ariaLabel)")
    assert buttons == [buttons[0]] * 5
    assert len(buttons[0]) == 6
    assert not re.search("share|cloud|edit|upload", " ".join(buttons[0]).lower())
    assert run(shown, "return document.querySelector('.plot')._context.plotlyServerURL") == ""


def test_dark_and_light(fresh, page):
    """The button and the system's preference change page and charts alike; print is light."""
    shades = """const brightness = (colour) => colour.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0);
      const tick = document.querySelector("#charts .ytick text");
      return [brightness(getComputedStyle(document.body).backgroundColor), brightness(getComputedStyle(tick).fill)]"""
    back, text = run(fresh, shades)
    assert back > 700 > 200 > text
    button = fresh.find_element("id", "theme")
    assert button.is_displayed()
    assert ("button", {"type": "button", "id": "theme", "hidden": None}) in Reader(page).elements  # until scripts run
    assert button.get_attribute("aria-label") == "Change to dark colours"
    button.click()
    back, text = run(fresh, shades)
    assert back < 200 < 600 < text
    assert button.get_attribute("aria-label") == "Change to light colours"
    run(fresh, "window.dispatchEvent(new Event('beforeprint'))")
    assert run(fresh, shades)[0] > 700
    run(fresh, "window.dispatchEvent(new Event('afterprint'))")
    assert run(fresh, shades)[0] < 200
    opened(fresh, page, dark=True)
    assert run(fresh, shades)[0] < 200
    fresh.find_element("id", "theme").click()
    assert run(fresh, shades)[0] > 700


def test_a_triple_is_a_card_on_a_phone(chrome, page, data):
    """Each cell stands below the one before and names itself; on a desk it is a row of a table."""
    code = "[...e.cells].map((cell) => [cell.getBoundingClientRect().left, getComputedStyle(cell, '::before').content])"
    selector = "#detail .cards tbody tr"
    opened(chrome, page, width=360)
    card = each(chrome, selector, code)[0]
    assert len({left for left, _ in card}) == 1
    names = ("rank", "of", "query", "answer", "side", "score", "best rivals")
    assert [name for _, name in card] == [f'"{name}"' for name in names]
    opened(chrome, page)
    row = each(chrome, selector, code)[0]
    assert [left for left, _ in row] == sorted({left for left, _ in row})
    assert {name for _, name in row} == {"none"}


@pytest.mark.parametrize("width", [360, 768])
def test_a_phone_need_not_scroll_sideways(chrome, page, width):
    """At 360 pixels only the boxes of the tables scroll; charts fit."""
    opened(chrome, page, width=width)
    widths = run(chrome, "const e = document.documentElement; return [e.scrollWidth, e.clientWidth, innerWidth]")
    assert widths[0] <= widths[1] <= widths[2] == width
    kinds = "main > section > *, .plot, .main-svg, .controls, select, input"
    assert max(each(chrome, kinds, "e.getBoundingClientRect().right")) <= width
    tables = each(chrome, "table", "getComputedStyle(e.parentElement).overflowX")
    assert set(tables) == {"auto"}
    assert log(chrome) == []


def test_it_can_be_used_without_seeing_it(shown):
    """Landmarks, one h1, captions, scopes, names of fields and buttons, boxes that the keyboard can scroll."""
    for tag in ("header", "nav", "main", "footer", "h1"):
        assert len(shown.find_elements("css selector", f"body {tag}")) == 1
    assert run(shown, "return document.documentElement.lang") == "en"
    needed = {
        "table": "e.caption && e.caption.textContent.trim()",
        "th": "e.scope",
        "select, input": "e.labels.length && e.labels[0].textContent.trim()",
        "main button": "e.textContent.trim() || e.ariaLabel",
        ".scroll": "e.tabIndex === 0 && e.ariaLabel",
        ".plot": "e.ariaLabel",
        "section": "document.getElementById(e.getAttribute('aria-labelledby')).textContent",
        "nav a": "document.querySelector(e.getAttribute('href')).tagName",
    }
    for selector, expression in needed.items():
        found = each(shown, selector, expression)
        assert len(found) > 3
        assert all(found)


def test_one_result_alone(chrome, made, tmp_path):
    """No switch, no comparison, no dataset; the rest is there."""
    write_page(made[0][0], tmp_path / "one.html", names="alone")
    opened(chrome, tmp_path / "one.html")
    assert log(chrome) == []
    assert chrome.find_elements("css selector", "#model, #toggles, #comparison, #dataset") == []
    assert len(rows_of(chrome)) == N_RELATIONS
    assert len(rows_of(chrome)[0]) == 3


def test_undefined_numbers_show_their_reason(chrome, tmp_path):
    """A dash, with the reason at hand and below the table."""
    pytest.importorskip("plotly", reason="the page needs plotly")
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 0]], n_entities=1, n_relations=1)
    result = kg.evaluate(lambda s, p, o: np.ones(len(s)), dataset, progress=False)
    write_page(result, tmp_path / "one.html", names="alone", dataset=dataset)
    opened(chrome, tmp_path / "one.html")
    assert texts(chrome, "#rivals") == ["No answer has a rival: all other candidates are known answers."]
    cell = chrome.find_elements("css selector", "#metrics tbody tr:nth-child(2) td")[-1]
    reason = result.value("amri").reason
    assert (cell.text, cell.get_attribute("title")) == ("-", reason)
    assert f"filtered both AMRI, alone: {reason}" in texts(chrome, "#metrics .reasons li")
    assert log(chrome) == []


def test_results_that_differ_carry_a_warning(chrome, made, tmp_path):
    """It stands on top, names the fields, and no value is called the best."""
    pytest.importorskip("plotly", reason="the page needs plotly")
    other = kg.evaluate(lambda s, p, o: (s * 7 + o * 3 + p) % 11, made[1], kg.Protocol(sides="object"), progress=False)
    write_page([made[0][0], other], tmp_path / "two.html", names=["one", "two"])
    opened(chrome, tmp_path / "two.html")
    cautions = texts(chrome, "#measured .caution")
    assert cautions[0] == "note these results were evaluated differently, so their numbers are not comparable:"
    assert cautions[1] == "note sides: subject+object in one, object in two"
    assert chrome.find_elements("css selector", "#metrics .best") == []
    assert texts(chrome, "#relations thead th button")[1:3] == ["n, one", "n, two"]
    assert log(chrome) == []


def test_what_was_overridden_stands_on_top(chrome, made, tmp_path):
    """A comparison of unlike results says so before any number."""
    results, dataset, _ = made
    protocol = kg.Protocol(filter_splits=("test",))
    other = kg.evaluate(lambda s, p, o: (s * 7 + o * 3 + p) % 11, dataset, protocol, progress=False)
    pair = [results[0], other]
    comparison = compare(pair, names=["one", "two"], metrics="mrr", override="filter_splits", n_resamples=9)
    write_page(pair, tmp_path / "two.html", comparison=comparison)
    opened(chrome, tmp_path / "two.html")
    said = [line.replace(":", "", 1) for line in comparison.header() if line.startswith("overridden: ")]
    assert len(said) >= 1
    assert "filter_splits" in said[0]
    assert set(said) <= set(texts(chrome, "#measured .caution"))
    cautions = texts(chrome, "#measured .caution")
    assert cautions[0] == (
        "note these results were evaluated differently, so their numbers are not comparable; the comparison "
        "below accepts the differences listed as overridden and uses the ranks that all results have:"
    )
    assert "note filter_splits: train+valid+test in one, test in two" in cautions
    assert chrome.find_elements("css selector", "#metrics .best") == []
    assert log(chrome) == []


def test_a_large_page_stays_light(chrome, large_page):
    """FB15k-237 with three models: at most 12,000 elements, the charts' included, and no error."""
    opened(chrome, large_page)
    assert log(chrome) == []
    assert 5_000 < len(each(chrome, "*", "1")) < 12_000
    assert len(rows_of(chrome)) == 237


def test_a_model_that_changed_leaves_the_page_without_rivals(tmp_path):
    """The numbers are those that were ranked; the page says that rivals were not kept."""
    weights = np.random.default_rng(0).normal(size=(9, 9))
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1], [2, 0, 3], [4, 0, 5]], n_entities=9, n_relations=1)
    result = kg.evaluate(lambda s, p, o: weights[s, o], dataset, progress=False)
    weights *= -1.0
    assert page_data([result], ["mine"])["triples"][0]["rivals"] == "not kept"
    pytest.importorskip("plotly", reason="needs plotly (kgeval[report])")
    write_page(result, tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 1e6
