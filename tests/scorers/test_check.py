"""The probe: scorers whose scores are not of the triple alone are refused, and models that lack vectors."""

import re
from functools import lru_cache

import numpy as np
import pytest
from scorer_cases import LABELS, TABLE, TEST, Columns, Rows, dataset, integer_model, make, raises

import kgeval as kg
from kgeval.data.dataset import triple_labels
from kgeval.data.queries import Queries
from kgeval.scorers import call_size, check
from kgeval.scorers.check import ScorerReport


@pytest.mark.parametrize("kind", ["function", "rows", "columns", "model"])
def test_a_sound_scorer_has_no_notes(kind):
    """The report says what it is and what dtype it gives."""
    scorer = integer_model() if kind == "model" else make(kind, lambda scores: scores.astype(np.float32))
    kinds = {"model": ("geometry", "float64"), "function": ("function", "float32")}
    assert kg.check_scorer(scorer, dataset()) == ScorerReport(*kinds.get(kind, ("matrix", "float32")), ())


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_a_transpose_shows_for_any_number_of_entities(n):
    """Also where queries are as many as entities: the probe never asks as many as there are candidates."""
    test = [[s, 0, (s + 1) % n] for s in range(n)]
    table = np.random.default_rng(n).permutation(n * n).reshape(n, 1, n) / 1.0
    with raises("is it transposed?"):
        kg.evaluate(Rows(np.transpose, table), dataset(n, test), batch_size=n * n)


def drop_out(scores, rng=np.random.default_rng(0)):  # noqa: B008
    return scores * (rng.random(scores.shape) < 0.5)


class Places(Columns):
    """Takes the places of the candidates for their ids."""

    def score_objects(self, s, p, candidates):
        return self.table[s, p][:, : len(candidates)]


@pytest.mark.parametrize(
    ("scorer", "how"),
    [
        (Rows(drop_out), "in a first call and .* in a second, equal call; .*: is dropout still on?"),
        (make("function", drop_out), "in a first call and .* in a second, equal call; .*: is dropout still on?"),
        (
            Rows(lambda x: x - x.mean(axis=0)),
            "in a batch and .* alone; .*: does the scorer normalise over the batch?",
        ),
        (
            make("function", lambda x: x - x.mean()),
            "in a batch and .* alone; .*: does the scorer normalise over the batch?",
        ),
        (
            Columns(lambda x: x - x.mean(axis=1)[:, None]),
            "among many candidates and .* among few; .* the other candidates",
        ),
        (Places(), "among many candidates and .* among few; .* treat positions as ids?"),
        (lambda s, p, o: np.arange(len(s)), "in a batch and .* alone; "),
    ],
    ids=[
        "dropout",
        "dropout function",
        "batch norm",
        "centred function",
        "centred columns",
        "places",
        "arange",
    ],
)
def test_scores_depend_on_the_triple_alone(scorer, how):
    """The message names the query, the candidate, both scores, and the likely reason."""
    with pytest.raises(kg.ScoreError, match=re.escape(how).replace(r"\.\*", ".*")) as caught:
        kg.evaluate(scorer, dataset(), kg.Protocol(sides="object"))
    named = re.search(
        r": \('(\w+)', '(\w+)', \?\) with candidate '(\w+)' got the score (\S+) \w.* and (\S+) [^;]+; a score must",
        str(caught.value),
    )
    assert (LABELS.index(named[1]), ["borders", "near"].index(named[2])) in {(s, p) for s, p, _ in TEST.tolist()}
    assert named[3] in LABELS
    assert float(named[4]) != float(named[5])


def test_both_scores_are_told():
    """Numbering 3 queries of 6 candidates: the second query has 6 to 11 in the batch and 0 to 5 alone."""
    message = "('Fiji', 'near', ?) with candidate 'Andorra' got the score 6 in a batch and 0 alone;"
    test = [[0, 0, 1], [5, 1, 0], [5, 1, 0]]
    with raises(message):
        kg.check_scorer(lambda s, p, o: np.where(s == 5, np.arange(len(s)), 0), dataset(test=test), ["object"])


def test_places_of_candidates_that_are_not_all():
    """Where unseen entities are no candidates, places and ids part ways for whole rows too."""
    data = dataset(test=TEST, train=[[1, 0, 2], [3, 0, 4], [5, 1, 5]])  # Andorra is unseen
    with raises("treat positions as ids?"):
        kg.evaluate(Places(), data, kg.Protocol(sides="object", unseen="drop"))


class Backwards(Columns):
    """Answers in the reversed order of the candidates."""

    def score_objects(self, s, p, candidates):
        return self.table[s, p][:, candidates[::-1]]


@pytest.mark.parametrize("n", [2, 3, 5, 6])
def test_columns_in_reversed_order(n):
    """The reversed first and last candidates would agree with the reversed whole; the last half does not."""
    table = np.random.default_rng(n).permutation(n * n).reshape(n, 1, n) / 1.0
    test = [[s, 0, (s + 1) % n] for s in range(n)]
    with raises("are the columns in another order than the candidates, or does the scorer treat positions as ids?"):
        kg.evaluate(Backwards(table=table), dataset(n, test), kg.Protocol(sides="object"))


def test_a_long_label_is_cut():
    """Of a label of 10 MB the message has the first 100 characters and the length."""
    labels = ["a" * 10_000_000, "b", "c"]
    data = kg.Dataset.from_arrays(test=[[0, 0, 1]], entity_labels=labels, relation_labels=["r"])
    cut = "a" * 100 + "... (10,000,000 characters)"
    for scorer, said in (
        (lambda s, p, o: np.full(len(s), np.nan), f"<lambda> gave NaN for ('{cut}', 'r', ?) with candidate '{cut}' ("),
        (lambda s, p, o: np.arange(len(s))[::-1] + 0.0, f"<lambda>: ('{cut}', 'r', ?) with candidate '{cut}' got the"),
    ):
        with raises(said) as caught:
            kg.evaluate(scorer, data, kg.Protocol(sides="object"))
        assert len(str(caught.value)) < 600
    for size, missing, said in (
        (1.0, [0], f"the model has no vector for 1 entity that it should know (such as '{cut}'); it has vectors"),
        (
            1e200,
            [],
            f"TransE: the vector of entity '{cut}' (and of 1 more entity) is so large that its scores overflow",
        ),
    ):
        scorer = kg.models.TransE([[size], [1.0], [size]], [[1.0]], norm=1)
        scorer.missing_entities = np.array(missing, dtype=np.int64)
        with raises(said):
            kg.evaluate(scorer, data)
    assert triple_labels(data, 0, 0, 1) == (cut, "r", "b")
    with raises("unknown label '" + "x" * 99 + "... (5,002 characters)", kg.DataError):
        data.entities.ids(["x" * 5000])


@pytest.mark.parametrize(
    ("error", "dtype", "fine"),
    [(3e-6, float, True), (1e-2, float, False), (0.5, "f2", True), (5, "f2", False)],
)
def test_rounding_is_a_note_and_more_is_an_error(error, dtype, fine):
    """Scores up to 71: 1e-4 of that is rounding for float64, 2e-2 of it for float16; said in report and result."""
    scorer = Rows(lambda x: (x + (error if len(x) > 1 else 0)).astype(dtype))
    if not fine:
        with raises("alone; a score must depend only on its triple"):
            kg.check_scorer(scorer, dataset())
        return
    note = f"scores in a batch and alone differ by up to {error:.1g}; "
    note += "the ranks of nearly equal scores may depend on the batch"
    assert kg.check_scorer(scorer, dataset()).notes == (note,)
    assert note in kg.evaluate(scorer, dataset()).notes


@pytest.mark.parametrize("sign", [1, -1])
def test_infinities_are_scores(sign):
    """An infinity equals itself whenever it is asked."""
    table = np.where(TABLE > 30, sign * np.inf, TABLE)
    assert kg.check_scorer(Rows(table=table), dataset()).notes == ()


def test_infinity_that_comes_and_goes():
    """Infinite in a batch and finite alone is no rounding."""
    with raises("got the score inf in a batch and"):
        kg.check_scorer(Rows(lambda x: x * (np.inf if len(x) > 1 else 1.0) + 1), dataset())


def test_nan_in_some_calls_only():
    """A row that is NaN when asked alone cannot be ranked, whatever it is in a batch."""
    with raises("nan alone; a score must depend only on its triple"):
        kg.check_scorer(Rows(lambda x: x * (np.nan if len(x) == 1 else 1.0)), dataset())


FAR = 1000  # entities, of which a function is asked for 256


def knows(s, p, o):
    """A smooth sound score."""
    return np.cos(1.0 * s * o + p)


class Counting:
    """Takes row i of a batch for test triple i, and puts its object first."""

    def __init__(self, test):
        self.test = np.asarray(test)

    def score_objects(self, s, p, candidates):
        scores = knows(s[:, None], p[:, None], candidates)
        place = np.searchsorted(candidates, self.test[: len(s), 2])
        is_there = candidates[np.minimum(place, len(candidates) - 1)] == self.test[: len(s), 2]
        scores[np.arange(len(s))[is_there], place[is_there]] += 9
        return scores


def asked_together(test):
    """A function that knows the tested triple by its question: many triples with one subject and relation."""
    answers = {(s, p): o for s, p, o in test}

    def score(s, p, o):
        scores = knows(s, p, o)
        is_question = np.append(False, (s[1:] == s[:-1]) & (p[1:] == p[:-1]))
        is_question[:-1] |= is_question[1:]
        is_answer = np.array([answers.get((a, b)) == c for a, b, c in zip(s.tolist(), p.tolist(), o.tolist())])
        return scores + 9 * (is_question & is_answer)

    return score


@pytest.mark.parametrize(
    ("peeks", "says"),
    [
        (lambda test: Counting(test), "in a batch and .* alone; "),
        (asked_together, "in a batch of queries and .* in a batch of mixed triples; .*the tested triple .peeking."),
    ],
    ids=["by the row", "by the question"],
)
def test_a_scorer_that_knows_which_triple_is_tested(peeks, says):
    """The tested triple has another score if it is asked as another row, or outside of its question.

    Train has no triple whose rank could tell, and of 1,000 entities only the answers of the queries show it.
    """
    rng = np.random.default_rng(0)
    test = np.column_stack([np.arange(60), np.zeros(60, dtype=int), rng.permutation(FAR)[:60]]).tolist()
    data = dataset(FAR, test)
    with pytest.raises(kg.ScoreError, match=says):
        kg.check_scorer(peeks(test), data, ["object"])


def test_the_answers_are_among_the_candidates_of_the_probe():
    """As many candidates as there is time for, with the answers of the queries, if they are candidates."""
    queries = Queries(
        "object", (np.arange(3), np.zeros(3, dtype=int)), np.array([7, 501, 998]), np.arange(3), np.arange(4)
    )
    for n in (4, 16, 256, 999, 1000):
        columns = check._with_answers(np.arange(1000), n, queries)
        assert n <= len(columns) <= n + 1
        assert {7, 501, 998} <= set(columns.tolist())
        assert (np.diff(columns) > 0).all()
    assert check._with_answers(np.arange(5), 4, queries).tolist() == [0, 1, 2, 4]


def test_only_the_sides_that_are_asked():
    """A fault of the subject side does not stop an evaluation of objects."""
    scorer = Rows()
    scorer.score_subjects = lambda p, o: 1 / 0
    assert kg.check_scorer(scorer, dataset(), ["object"]).kind == "matrix"
    with raises("Rows.score_subjects raised ZeroDivisionError"):
        kg.check_scorer(scorer, dataset())


def test_the_probe_looks_at_few(monkeypatch):
    """Of 1,000 entities a function is asked for 3 queries at 256 candidates, together, in parts and mixed, a side."""
    lengths = []
    monkeypatch.setattr(check, "find_fault", lambda *_: ("", ""))

    def score(s, p, o):
        lengths.append(len(s))
        return s + o

    test = [[s, 0, s + 1] for s in range(900)]
    kg.check_scorer(score, dataset(1000, test))
    assert max(lengths) <= 3 * 259
    assert sum(lengths) <= 2 * 13 * 259


@lru_cache
def large_table(n):
    """Scores of n entities that all differ."""
    table = np.random.default_rng(0).permutation(n * n).reshape(n, 1, n) / 1.0
    table.flags.writeable = False
    return table


class Slow:
    """Scores from a table at a given speed, by a simulated clock; `change` changes the scores of each call."""

    def __init__(self, monkeypatch, seconds, n=1000, change=lambda scores: scores, first=0.0):
        self.now, self.seconds, self.first, self.change = 0.0, seconds, first, change
        self.shapes = []
        self.table = large_table(n)
        monkeypatch.setattr(call_size, "clock", lambda: self.now)

    def spent(self, scores):
        self.now += scores.size * self.seconds + self.first
        self.first = 0.0
        self.shapes.append(scores.shape)
        return self.change(scores)

    def made(self, kind):
        """A function, or an object that takes candidates, or one that always scores all entities."""
        return make(kind, self.spent, self.table)


GRAPH = [[s, 0, s + 1] for s in range(900)]


@pytest.mark.parametrize("kind", ["function", "columns"])
@pytest.mark.parametrize(("seconds", "most"), [(1e-3, 1.0), (1e-2, 3.0), (1e-1, 15.0)])
@pytest.mark.light(2)
def test_the_probe_of_a_slow_scorer_is_short(kind, seconds, most, monkeypatch):
    """At 1 ms a triple, 256 candidates would take 7 s; 4 candidates are the fewest: 108 scores, and 24 timed."""
    slow = Slow(monkeypatch, seconds)
    kg.check_scorer(slow.made(kind), dataset(1000, GRAPH))
    assert slow.now < most
    assert sum(np.prod(shape) for shape in slow.shapes) * seconds == pytest.approx(slow.now)
    assert max(slow.shapes)[0] != 4  # 3 queries, never as many as candidates


@pytest.mark.parametrize("first", [0.0, 30.0])
@pytest.mark.parametrize("seconds", [0.0, 1e-5])
@pytest.mark.light(2)
def test_the_probe_of_a_fast_scorer_looks_at_all(seconds, first, monkeypatch):
    """A function at 10 microseconds a triple at 256 candidates, an object at all, also if the first call is slow."""
    monkeypatch.setattr(check, "find_fault", lambda *_: ("", ""))
    slow = Slow(monkeypatch, seconds, first=first)
    kg.check_scorer(slow.made("function"), dataset(1000, GRAPH))
    assert slow.shapes.count((3 * 256,)) == 6
    assert slow.shapes.count((256,)) == 6
    for kind in ("columns", "rows"):
        slow = Slow(monkeypatch, seconds / 10, first=first)
        kg.check_scorer(slow.made(kind), dataset(1000, GRAPH))
        assert slow.shapes.count((3, 1000)) == 4
        assert slow.shapes.count((1, 1000)) >= 6


def test_the_probe_of_slow_whole_queries(monkeypatch):
    """An object that always scores all entities, 10 s a query: three calls with four queries, on each side."""
    slow = Slow(monkeypatch, 1e-2)
    assert kg.check_scorer(slow.made("rows"), dataset(1000, GRAPH)).notes == ()
    assert slow.shapes == [(1, 1000), (1, 1000), (2, 1000)] * 2


@pytest.mark.parametrize("kind", ["function", "columns", "rows"])
@pytest.mark.parametrize(
    ("change", "how"),
    [
        (drop_out, "in a first call and .* in a second, equal call; .*: is dropout still on?"),
        (lambda scores: scores - scores.mean(axis=0), "in a batch and .* alone; "),
        (lambda scores: np.where(scores > 5e5, np.nan, scores), "gave NaN for "),
    ],
    ids=["dropout", "batch norm", "nan"],
)
@pytest.mark.light(3)
def test_faults_of_slow_scorers(kind, change, how, monkeypatch):
    """What the probe finds in fast scorers it finds in slow ones."""
    slow = Slow(monkeypatch, 1e-3, change=change)
    with pytest.raises(kg.ScoreError, match=how.replace("?", r"\?")):
        kg.check_scorer(slow.made(kind), dataset(1000, GRAPH))


@pytest.mark.parametrize(
    ("scorer", "how"), [(Backwards, "the columns in another order"), (Places, "treat positions as ids")]
)
def test_slow_columns_in_another_order(scorer, how, monkeypatch):
    """Few candidates show it too."""
    slow = Slow(monkeypatch, 1e-3)
    with raises(how):
        kg.check_scorer(scorer(slow.spent, slow.table), dataset(1000, GRAPH), ["object"])
