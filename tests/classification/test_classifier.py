"""Triple classification: thresholds from validation alone, every scorer alike, every number against loops."""

import math
import random

import numpy as np
import pandas as pd
import pytest
from grids import light
from oracle_classification import macro, metrics, thresholds

import kgeval as kg
from kgeval.errors import KgevalWarning
from kgeval.scorers.models.distances import TransE
from kgeval.scorers.models.products import DistMult

NAMES = ("accuracy", "precision", "recall", "f1", "auc")
N, M = 9, 4


def random_case(rng, n=N, m=M):
    """A dataset, negatives and a table of scores with many ties; duplicates and negatives that are known occur."""

    def some(most, relations):
        return [(rng.randrange(n), rng.choice(relations), rng.randrange(n)) for _ in range(rng.randint(1, most))]

    asked, judged = rng.sample(range(m), k=rng.randint(1, m)), list(range(m))
    splits = {"train": some(10, judged), "valid": some(14, asked), "test": some(14, judged)}
    negatives = {"valid": some(14, rng.choice([asked, judged])), "test": some(14, judged)}
    dataset = kg.Dataset.from_arrays(**splits, n_entities=n, n_relations=m)
    table = np.array([rng.choice([-2.0, 0.0, 0.5, 1.0, 3.0, 7.5]) for _ in range(n * m * n)]).reshape(n, m, n)
    return dataset, splits, negatives, table


def small(valid=((0, 0, 3),), test=((0, 0, 3), (0, 0, 2)), **settings):
    """Two relations and five entities, of which a scorer may take the object's id as the score."""
    return kg.Dataset.from_arrays(
        valid=valid,
        test=test,
        entity_labels=["Ada", "Bo", "Cy", "Di", "Ed"],
        relation_labels=["knows", "likes"],
        **settings,
    )


NEGATIVES = {"valid": [[0, 0, 1]], "test": [[0, 0, 0], [0, 0, 1]]}


def by_object(s, p, o):
    """The object's id as the score."""
    return o


def agrees(fraction, value):
    """Whether a number is the oracle's, NaN where that has none."""
    return math.isnan(value) if fraction is None else abs(float(fraction) - value) < 1e-12


@pytest.mark.parametrize("seed", light(range(120), 4))
def test_everything_equals_the_loops(seed):
    """Thresholds, sources, counts, decisions, and five metrics: of all triples, per relation, mean over relations."""
    dataset, splits, negatives, table = random_case(random.Random(seed))
    result = kg.classify(lambda s, p, o: table[s, p, o], dataset, negatives)
    rows = {
        part: [(t, True) for t in splits[part]] + [(t, False) for t in negatives[part]] for part in ("valid", "test")
    }
    of = {triple: float(table[triple]) for part in rows.values() for triple, _ in part}
    valid = [(triple[1], of[triple], label) for triple, label in rows["valid"]]
    wanted = thresholds(valid, range(M))
    occurring = sorted({t[1] for part in rows.values() for t, _ in part})
    assert result.thresholds.index.tolist() == [str(p) for p in occurring]
    assert result.global_threshold == thresholds(valid, [99])[99][0]
    for p, row in zip(occurring, result.thresholds.to_dict("records")):
        assert (row["threshold"], row["source"]) == wanted[p]
        assert row["n_valid_positive"] == sum(t[1] == p and label for t, label in rows["valid"])
        assert row["n_valid_negative"] == sum(t[1] == p and not label for t, label in rows["valid"])
        assert row["n_test"] == sum(t[1] == p for t, _ in rows["test"])
    decided = {}
    for triple, label in rows["test"]:
        row = (label, of[triple] >= wanted[triple[1]][0], of[triple])
        decided.setdefault(triple[1], []).append(row)
    columns = [result.table[name].tolist() for name in ("s", "p", "o", "label", "score", "threshold", "predicted")]
    assert list(zip(*columns)) == [
        (*triple, label, of[triple], wanted[triple[1]][0], of[triple] >= wanted[triple[1]][0])
        for triple, label in rows["test"]
    ]
    per_relation = {p: metrics(mine) for p, mine in decided.items()}
    overall = metrics([row for mine in decided.values() for row in mine])
    broken_down, summary = result.by("relation", metrics=NAMES), result.summary(",".join(NAMES))
    assert broken_down["n"].tolist() == sorted((len(mine) for mine in decided.values()), reverse=True)
    for name in NAMES:
        assert agrees(overall[name], result[name])
        assert agrees(overall[name], summary.loc["micro", name])
        assert agrees(macro(per_relation, name), result[f"macro.{name}"])
        assert agrees(macro(per_relation, name), summary.loc["macro", name])
        for p, found in per_relation.items():
            assert agrees(found[name], broken_down.loc[str(p), name])
        undefined = [p for p, found in per_relation.items() if found[name] is None]
        assert result.value(f"macro.{name}").excluded == len(undefined)
        share = sum(len(decided[p]) for p in undefined) / len(rows["test"])
        assert result.value(f"macro.{name}").excluded_weight == pytest.approx(share, abs=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", light(range(60), 4))
def test_midpoints_equal_the_loops(seed, dtype):
    """Ties, infinite scores, relations with positives or negatives alone, equally good thresholds."""
    rng = random.Random(seed)
    dataset, splits, negatives, _ = random_case(rng)
    pool = np.array([-np.inf, -2.0, -0.1, 0.0, 0.3, 1.0, 1.1, np.inf], dtype=dtype)
    table = pool[[rng.randrange(len(pool)) for _ in range(N * M * N)]].reshape(N, M, N)
    result = kg.classify(lambda s, p, o: table[s, p, o], dataset, negatives, threshold_at="midpoint")
    valid = [(t[1], float(table[t]), True) for t in splits["valid"]]
    valid += [(t[1], float(table[t]), False) for t in negatives["valid"]]
    wanted = thresholds(valid, range(M), "midpoint")
    assert result.global_threshold == thresholds(valid, [99], "midpoint")[99][0]
    for label, row in result.thresholds.iterrows():
        assert (row["threshold"], row["source"]) == wanted[int(label)]
    for row in result.table.to_dict("records"):
        threshold, score = wanted[row["p"]][0], float(table[row["s"], row["p"], row["o"]])
        assert (row["threshold"], row["predicted"]) == (threshold, score >= threshold)


def test_midpoints_in_numbers():
    """valid: knows +3 -1, likes +4 alone; test: knows +2 +3 -1 -0, likes +1 -0.

    knows: at the score 3, the true 2 is missed; at the midpoint 2, all four are right. All of valid: +4 +3 -1, so the
    global threshold is 3 or 2: the true 1 of likes is missed either way. Right are 4 of 6, or 5 of 6.
    """
    dataset = small(valid=[(0, 0, 3), (0, 1, 4)], test=[(0, 0, 3), (0, 0, 2), (0, 1, 1)])
    negatives = {"valid": [[0, 0, 1]], "test": [[0, 0, 0], [0, 0, 1], [0, 1, 0]]}
    default = kg.classify(by_object, dataset, negatives)
    assert kg.classify(by_object, dataset, negatives, threshold_at="score") == default
    halfway = kg.classify(by_object, dataset, negatives, threshold_at="midpoint")
    for result, threshold, accuracy, recall in ((default, 3.0, 4 / 6, 1 / 3), (halfway, 2.0, 5 / 6, 2 / 3)):
        assert result.thresholds["threshold"].to_dict() == {"knows": threshold, "likes": threshold}
        assert (result.global_threshold, result["accuracy"], result["recall"]) == (threshold, accuracy, recall)
        assert f"the global threshold {threshold:g} is used for 1 of 2 relations of test" in result.notes[0]
    assert default["auc"] == halfway["auc"]  # which needs no threshold
    assert [result.facts["threshold_at"] for result in (default, halfway)] == ["score", "midpoint"]


def test_midpoints_are_more_accurate_after_little_validation():
    """Scores of true triples from N(2, 1), of false ones from N(0, 1); 300 relations with 1 + 1 validation triples.

    Expected accuracy by simulation: .69 at the score, .77 at the midpoint; .84 at the best threshold, 1.
    """
    n_relations, n_test, rng = 300, 20, np.random.default_rng(0)
    splits, negatives = {}, {}
    for part, n in (("valid", 1), ("test", n_test)):
        relation = np.repeat(np.arange(n_relations), n)
        subjects = np.tile(np.arange(n), n_relations)
        splits[part] = np.column_stack([subjects, relation, np.full(len(relation), n_test if part == "valid" else 0)])
        negatives[part] = splits[part] + [0, 0, 1]
    is_true = np.arange(n_test + 2) % 2 == 0  # by object: 0 and 20 are the objects of true triples
    scores = rng.normal(size=(n_test, n_relations, n_test + 2)) + 2.0 * is_true
    dataset = kg.Dataset.from_arrays(**splits, n_entities=n_test + 2, n_relations=n_relations)
    accuracy = {
        place: kg.classify(lambda s, p, o: scores[s, p, o], dataset, negatives, threshold_at=place)["accuracy"]
        for place in ("score", "midpoint")
    }
    assert accuracy == pytest.approx({"score": 0.69, "midpoint": 0.77}, abs=0.02)


@pytest.mark.parametrize("place", ["middle", None, 0.5])
def test_an_unknown_place_of_thresholds_is_refused(place):
    """Before anything is scored."""

    def score(s, p, o):
        pytest.fail("scored")

    with pytest.raises(kg.ProtocolError, match=f"threshold_at must be one of 'score', 'midpoint'; got {place!r}"):
        kg.classify(score, small(), NEGATIVES, threshold_at=place)


@pytest.mark.parametrize("seed", light(range(40), 3))
def test_no_threshold_comes_from_test(seed):
    """Other test triples, other negatives, swapped labels, other scores of what only test asks: same thresholds."""
    rng = random.Random(seed)
    dataset, splits, negatives, table = random_case(rng)

    def chosen(test, false, scores):
        changed = kg.Dataset.from_arrays(**{**splits, "test": test}, n_entities=N, n_relations=M)
        result = kg.classify(lambda s, p, o: scores[s, p, o], changed, {**negatives, "test": false})
        return result.global_threshold, result.thresholds["threshold"].to_dict(), result["accuracy"]

    overall, before, accuracy = chosen(splits["test"], negatives["test"], table)
    other = random_case(rng)
    asked = {tuple(t) for t in [*splits["valid"], *negatives["valid"]]}
    moved = table.copy()
    for s, p, o in [*splits["test"], *negatives["test"]]:
        if (s, p, o) not in asked:
            moved[s, p, o] = rng.choice([-100.0, 100.0])
    for test, false, scores in (
        (negatives["test"], splits["test"], table),
        (other[1]["test"], other[2]["test"], table),
        (splits["test"], negatives["test"], moved),
    ):
        again, after, _ = chosen(test, false, scores)
        assert again == overall
        assert {p: cut for p, cut in after.items() if p in before} == {p: before[p] for p in after if p in before}
    swapped = chosen(negatives["test"], splits["test"], table)[2]
    assert swapped == pytest.approx(1 - accuracy, abs=1e-12)


class Rows:
    """Whole rows of a table."""

    def __init__(self, table):
        self.table = table

    def score_objects(self, s, p):
        return self.table[s, p]

    def score_subjects(self, p, o):
        return self.table[:, p, o].T


class Columns(Rows):
    """The columns asked for, in a buffer that the next call overwrites."""

    def __init__(self, table):
        super().__init__(table)
        self.buffer = np.empty(10**4, dtype=table.dtype)
        self.asked = []

    def score_objects(self, s, p, candidates=None):
        self.asked.append(len(s))
        rows = self.table[s, p] if candidates is None else self.table[s, p][:, candidates]
        self.buffer[: rows.size] = rows.ravel()
        return self.buffer[: rows.size].reshape(rows.shape)


class SubjectsOnly:
    """The subject side alone."""

    def __init__(self, table):
        self.table = table

    def score_subjects(self, p, o):
        return self.table[:, p, o].T


@pytest.mark.parametrize("seed", light(range(10), 1))
def test_all_kinds_of_scorers_agree(seed):
    """A function in one call and in many, rows, columns, subjects alone, and the model whose integers they hold."""
    rng = np.random.default_rng(seed)
    dataset, _, negatives, _ = random_case(random.Random(seed))
    model = TransE(rng.integers(0, 4, (N, 3)), rng.integers(0, 4, (M, 3)), norm=1)
    s, p, o = np.indices((N, M, N)).reshape(3, -1)
    table = model.score(s, p, o).reshape(N, M, N)
    expected = kg.classify(model, dataset, negatives)
    ways = [(lambda s, p, o: table[s, p, o], k) for k in (1, 2, 7, 1000)]
    ways += [(kind(table), 1000) for kind in (Rows, Columns, SubjectsOnly)]
    ways.append((lambda s, p, o: table[s, p, o].astype(np.int64), 5))
    ways.append((lambda s, p, o: table[s, p, o].astype(np.float32), 5))
    for scorer, batch_size in ways:
        result = kg.classify(scorer, dataset, negatives, batch_size=batch_size)
        pd.testing.assert_frame_equal(result.table, expected.table, check_exact=True)
        pd.testing.assert_frame_equal(result.thresholds, expected.thresholds, check_exact=True)


@pytest.mark.parametrize("kind", ["model", "rows", "columns", "function"])
def test_scores_are_those_of_the_ranker(kind):
    """The score of each test positive equals, to the last bit, the one that evaluate() ranks on the object side."""
    rng = np.random.default_rng(0)
    dataset = kg.Dataset.from_arrays(
        valid=[[0, 0, 1]], test=rng.integers(0, 30, (40, 3)) % [30, 2, 30], n_entities=30, n_relations=2
    )
    model = DistMult(rng.normal(size=(30, 7)), rng.normal(size=(2, 7)))
    s, p, o = np.indices((30, 2, 30)).reshape(3, -1)
    table = model.score(s, p, o).reshape(30, 2, 30)
    made = {"model": model, "rows": Rows(table), "columns": Columns(table), "function": lambda s, p, o: table[s, p, o]}
    ranked = kg.evaluate(made[kind], dataset, kg.Protocol(sides="object")).table["score"].tolist()
    result = kg.classify(made[kind], dataset, "uniform")
    assert result.table["score"][result.table["label"]].tolist() == ranked


def test_each_query_is_scored_once():
    """Two distinct (s, p, ?) in valid and three in test: five rows, after those that the probe asks."""
    table = np.arange(5.0 * 2 * 5).reshape(5, 2, 5)
    dataset = small(valid=[(0, 0, 3), (0, 0, 4)], test=[(0, 0, 3), (0, 0, 2), (1, 1, 2), (1, 1, 1)])
    scorer = Columns(table)
    kg.classify(scorer, dataset, {"valid": [[1, 0, 0]], "test": [[2, 1, 0], [2, 1, 1]]})
    assert scorer.asked[-2:] == [2, 3]


def test_functions_get_at_most_the_batch_size():
    """Three triples of valid and four of test at two a call: 2, 1, 2, 2 after the probe."""
    asked = []

    def score(s, p, o):
        asked.append(len(s))
        return o

    dataset = small(valid=[(0, 0, 3), (0, 0, 4)])
    kg.classify(score, dataset, NEGATIVES, batch_size=2)
    assert asked[-4:] == [2, 1, 2, 2]
    assert max(asked) <= 2


def test_relations_without_a_threshold_of_their_own():
    """`likes` has no example in valid, `hates` positives alone: both take the global one, and are counted.

    All of valid: knows +3 -1, hates +0; at 3 two of three are right, at 0 two as well (the 1 is wrong): 3, the
    higher. Test: knows 2 (negative, wrong), 4; likes 4 +, 0 -; hates 1 -.
    """
    dataset = kg.Dataset.from_arrays(
        valid=[[0, 0, 3], [0, 2, 0]],
        test=[[0, 0, 2], [0, 0, 4], [0, 1, 4]],
        n_entities=5,
        relation_labels=["knows", "likes", "hates"],
    )
    negatives = {"valid": [[1, 0, 1]], "test": [[1, 1, 0], [1, 2, 1]]}
    result = kg.classify(by_object, dataset, negatives)
    assert result.global_threshold == 3.0
    assert result.thresholds["source"].to_dict() == {"knows": "relation", "likes": "global", "hates": "global"}
    assert result.thresholds["threshold"].to_dict() == {"knows": 3.0, "likes": 3.0, "hates": 3.0}
    assert result.notes == (
        "the global threshold 3 is used for 1 of 3 relations of test (2 triples): valid has no example of them",
        "the global threshold 3 is used for 1 of 3 relations of test (1 triple): "
        "valid has only true or only false examples of them",
    )
    assert result["accuracy"] == 4 / 5
    assert "2 thresholds" not in repr(result)
    assert "1 relation with its own threshold, 2 with the global threshold" in repr(result)


def test_a_group_metric_groups_by_relation():
    """knows: 3 and 4 against 1 and 0, AUC 1, n 4; likes: 2 against 4, AUC 0, n 2: GAUC (4 * 1 + 2 * 0) / 6.

    The pooled AUC is of 3 positives and 3 negatives: 4 > 4 is a tie; 3 > 1, 0; 4 > 1, 0; 2 > 1, 0: 6.5 of 9.
    """
    dataset = small(test=[(0, 0, 3), (0, 0, 4), (0, 1, 2)])
    negatives = {"valid": [[0, 0, 1]], "test": [[1, 0, 1], [1, 0, 0], [1, 1, 4]]}
    result = kg.classify(by_object, dataset, negatives)
    assert result["gauc"] == pytest.approx(4 / 6)
    assert result["auc"] == pytest.approx(6.5 / 9)
    assert result["macro.gauc"] == result["macro.auc"] == result[" MACRO.AUC"] == 0.5
    assert result["Micro.AUC"] == result["micro.auc"] == result["auc"]
    assert result.by("relation", metrics="gauc,auc")["gauc"].to_dict() == {"knows": 1.0, "likes": 0.0}


def test_means_say_what_they_leave_out():
    """likes has no negative in test: no AUC of its own; 1 of 5 triples."""
    dataset = small(test=[(0, 0, 3), (0, 0, 2), (0, 1, 2)])
    result = kg.classify(by_object, dataset, NEGATIVES)
    assert result["macro.auc"] == 1.0
    assert result.by("relation", metrics="auc")["reason"].to_dict() == {
        "knows": "",
        "likes": "auc: no negative example",
    }
    left_out = "leaves out 1 of 2 relations, for which it is undefined (20.0% of the test triples)"
    said = [f"{mean} {left_out}" for mean in ("macro AUC", "micro GAUC", "macro GAUC")]
    assert result.cautions("auc,gauc,accuracy") == said
    assert f"note: macro AUC {left_out}" in repr(result)
    undefined = kg.classify(lambda s, p, o: o - 9 * p, small(test=[(0, 1, 3)]), {**NEGATIVES, "test": [[1, 1, 2]]})
    assert undefined.value("macro.precision").excluded == 1
    assert undefined.cautions("precision") == []  # it has no value, and says why


def test_infinite_scores_and_thresholds():
    """A wrong order on valid: the best cut is +inf, under which only a score of +inf is positive."""
    table = {0: -math.inf, 1: 2.0, 2: 3.0, 3: 1.0, 4: math.inf}
    dataset = small(test=[(0, 0, 3), (0, 0, 2), (0, 0, 4)])
    negatives = {**NEGATIVES, "valid": [[0, 0, 1], [0, 0, 0]]}
    result = kg.classify(lambda s, p, o: np.array([table[i] for i in o.tolist()]), dataset, negatives)
    assert result.global_threshold == math.inf  # two of three right, as under 1
    assert result.table["predicted"].tolist() == [False, False, True, False, False]
    assert result["precision"] == 1.0
    assert result.notes[-1] == "3 scores are infinite; infinities are compared as numbers"


@pytest.mark.parametrize("bad", [(4, 0, 1), (4, 0, 2)], ids=["negative", "positive"])
def test_nan_is_an_error_and_not_called_false(bad):
    """A NaN is at or above no threshold; that of a valid triple, which the probe does not see, is named."""
    table = {(s, o): float(o) for s in range(5) for o in range(5)} | {(bad[0], bad[2]): math.nan}
    dataset = small(valid=[(4, 0, 2)], test=[(0, 0, 3), (0, 0, 2)])
    with pytest.raises(kg.ScoreError, match=r"gave NaN for \('Ed', 'knows', '(Bo|Cy)'\)"):
        kg.classify(
            lambda s, p, o: np.array([table[pair] for pair in zip(s.tolist(), o.tolist())]),
            dataset,
            {"valid": [[4, 0, 1]], "test": [[0, 0, 1]]},
        )


def test_a_constant_scorer_gets_no_credit():
    """As many positives as negatives: nothing is called positive, accuracy 1/2, AUC 1/2, F1 0, precision undefined."""
    result = kg.classify(lambda s, p, o: np.zeros(len(s)), small(), NEGATIVES)
    assert [result[name] for name in ("accuracy", "auc", "f1", "recall")] == [0.5, 0.5, 0.0, 0.0]
    assert result.value("precision").reason == "no example is predicted positive: 0 / 0"
    assert result.summary("precision").loc["macro", "reason"].startswith("precision: no relation has a value: no")


def test_distances_in_place_of_scores_are_noticed():
    """20 positives below 20 negatives: AUC 0, 5.4 standard deviations (sqrt(41 / 4800)) below 1/2; a warning too."""
    valid, false = [(i, 0, 2) for i in range(20)], [(i, 0, 7) for i in range(20)]
    dataset = kg.Dataset.from_arrays(valid=valid, test=[(0, 0, 2)], n_entities=20, n_relations=1)
    negatives = {"valid": false, "test": [(0, 0, 7)]}
    with pytest.warns(KgevalWarning, match="are distances given as scores") as caught:
        result = kg.classify(by_object, dataset, negatives)
    assert caught[0].filename == __file__
    assert result.notes == (
        "positives of valid score far lower than negatives (AUC 0.000); are distances given as scores? Higher must be "
        "better: negate them",
    )
    assert kg.classify(lambda s, p, o: -o, dataset, negatives).notes == ()


def test_known_and_repeated_negatives_are_kept_and_counted():
    """Of three test negatives one is a test positive and two are the same."""
    negatives = {"valid": [[0, 0, 1], [0, 0, 3]], "test": [[0, 0, 2], [1, 0, 0], [1, 0, 0]]}
    result = kg.classify(by_object, small(), negatives)
    assert result.notes == (
        "1 of 2 negatives of valid are known triples; they count as false",
        "1 of 3 negatives of test are known triples; they count as false",
        "1 of 3 negatives of test repeat an earlier negative; each counts",
    )
    assert len(result.table) == 5
    assert result.facts["n_test_negative"] == 3


def test_uniform_negatives_are_the_sampled_ones():
    """The same as sampling first: every row and the hash; they are named, and another seed gives others."""
    rng = np.random.default_rng(1)
    parts = {split: rng.integers(0, 40, (30, 3)) % [40, 3, 40] for split in ("train", "valid", "test")}
    dataset = kg.Dataset.from_arrays(**parts, n_entities=40, n_relations=3)
    drawn = kg.classify(by_object, dataset, "uniform", sample_seed=7)
    given = {split: kg.sample_negatives(dataset, split, sample_seed=7, distinct="query") for split in ("valid", "test")}
    same = kg.classify(by_object, dataset, given)
    assert drawn.table.equals(same.table)
    assert drawn.facts["negatives_sha256"] == same.facts["negatives_sha256"]
    assert (drawn.facts["negatives"], drawn.facts["sample_seed"]) == ("uniform", 7)
    assert (same.facts["negatives"], same.facts["sample_seed"]) == ("given", None)
    other = kg.classify(by_object, dataset, "uniform", sample_seed=8)
    assert other.facts["negatives_sha256"] != drawn.facts["negatives_sha256"]
    assert "negatives: uniform, seed 7, sha256 " + drawn.facts["negatives_sha256"][:8] in repr(drawn)


def test_too_few_candidates_are_noted():
    """Of (0, 0, ?) and (?, 0, 1) only one entity is unknown with two entities: valid's two positives share it."""
    dataset = kg.Dataset.from_arrays(valid=[[0, 0, 1]] * 3, test=[[0, 0, 1]], n_entities=2, n_relations=1)
    result = kg.classify(by_object, dataset, "uniform")
    with pytest.warns(kg.KgevalWarning, match="of 3 positives got fewer than 1 negatives"):
        n = len(kg.sample_negatives(dataset, "valid", distinct="query"))
    assert n < 3
    assert result.notes[0] == (
        f"{3 - n} positives of valid have no negative: their queries have fewer unknown triples than positives"
    )


def test_the_hash_of_negatives_is_of_triples():
    """Neither the order of rows nor that of ids matters; a triple more or moved to the other part does."""
    rows = [[0, 0, 1], [1, 0, 2], [2, 1, 0]]
    first = kg.classify(by_object, small(), {"valid": rows, "test": rows[:1]}).facts["negatives_sha256"]
    assert kg.classify(by_object, small(), {"valid": rows[::-1], "test": rows[:1]}).facts["negatives_sha256"] == first
    turned = kg.Dataset.from_arrays(
        valid=[[4, 1, 1]],
        test=[[4, 1, 1], [4, 1, 2]],
        entity_labels=["Ed", "Di", "Cy", "Bo", "Ada"],
        relation_labels=["likes", "knows"],
    )
    other_ids = [[4, 1, 3], [3, 1, 2], [2, 0, 4]]
    found = kg.classify(by_object, turned, {"valid": other_ids, "test": other_ids[:1]})
    assert found.facts["negatives_sha256"] == first
    assert found.facts["dataset_fingerprint"] == small().fingerprint
    for valid, test in ((rows, rows[:2]), (rows[:1], rows), (rows[:2], rows[:1]), (rows + rows[:1], rows[:1])):
        changed = kg.classify(by_object, small(), {"valid": valid, "test": test})
        assert changed.facts["negatives_sha256"] != first


def test_negatives_drawn_as_ids_or_as_labels_are_the_same():
    """A frame of `sample_negatives` holds ids where it was asked to, also where labels are numbers themselves."""
    labels = ["3", "2", "1", "0", "4"]
    dataset = kg.Dataset.from_arrays(
        valid=[[0, 0, 3], [1, 0, 4]], test=[[0, 0, 2], [3, 0, 1]], entity_labels=labels, n_relations=1
    )
    drawn = {of: {p: kg.sample_negatives(dataset, p, ids=of) for p in ("valid", "test")} for of in (True, False)}
    by_ids, by_labels = (kg.classify(lambda s, p, o: s + o, dataset, drawn[of]) for of in (True, False))
    assert by_ids == by_labels
    wanted = [drawn[True]["test"][name].tolist() for name in "spo"]
    assert [by_ids.table[name].tolist()[2:] for name in "spo"] == wanted


@pytest.mark.parametrize("key", ["accuracy(threshold=0.5)", "f1(threshold=0.3)"])
def test_a_threshold_of_its_own_is_refused(key):
    """Also the one that is the default elsewhere."""
    dataset = kg.Dataset.from_arrays(valid=[[0, 0, 3]], test=[[0, 0, 2]], n_entities=4, n_relations=1)
    result = kg.classify(lambda s, p, o: o, dataset, "uniform")
    with pytest.raises(kg.MetricError, match="has its own threshold"):
        result[key]
