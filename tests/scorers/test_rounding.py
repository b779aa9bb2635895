"""What counts as rounding: masks are no scale, and honest rounding in float32 is no fault."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from grids import size

import kgeval as kg
from kgeval.ranking.executors import dispatch
from kgeval.ranking.shards import Finished
from kgeval.results.explanations import could_have_stood
from kgeval.scorers.identity import ScorerIdentity
from kgeval.scorers.libraries import bound
from kgeval.scorers.rounding import Rounding
from kgeval.scorers.row_scorers import as_row_scorer, score_triples

N, M, D, N_TEST = 200, 3, 32, 60
MASKS = (-1e4, -1e9, -1e30, float(np.finfo(np.float32).min))
SHARES = (0.05, 0.5, 0.99)
KINDS = ("dot", "transe", "around 1e6", "around 1e-6", "softmax", "log softmax")


def graph(seed=0):
    rng = np.random.default_rng(seed)
    test = np.column_stack([rng.integers(0, N, N_TEST), np.arange(N_TEST) % M, rng.integers(0, N, N_TEST)])
    return kg.Dataset.from_arrays(test=test, n_entities=N, n_relations=M)


DATASET = graph()
TEST = DATASET["test"].array


class Masked:
    """Scores whole rows in float32; impossible candidates of a relation get `mask`. The positives are never masked.

    `permuted`: each call adds the dimensions up in another order. `change`: what is done to the scores of a call.
    """

    def __init__(self, kind, mask, share, model_seed=0, permuted=False, change=lambda scores: scores):
        rng = np.random.default_rng(1)
        self.kind, self.mask, self.change = kind, mask, change
        self.masked = {}
        for side, column in (("subject", 0), ("object", 2)):
            self.masked[side] = rng.random((M, N)) < share
            self.masked[side][TEST[:, 1], TEST[:, column]] = False
        rng = np.random.default_rng(model_seed)
        self.entities = rng.normal(size=(N, D)).astype(np.float32)
        self.relations = rng.normal(size=(M, D)).astype(np.float32)
        self.orders = np.random.default_rng(2) if permuted else None

    def score_objects(self, s, p):
        return self._scores("object", s, p)

    def score_subjects(self, p, o):
        return self._scores("subject", o, p)

    def _scores(self, side, given, relation):
        dims = np.arange(D) if self.orders is None else self.orders.permutation(D)
        e, r = self.entities[:, dims], self.relations[:, dims]
        if self.kind == "transe":
            queries = e[given] + (r[relation] if side == "object" else -r[relation])
            scores = -np.abs(queries[:, None, :] - e[None]).sum(axis=2, dtype=np.float32)
        else:
            scores = (e[given] * r[relation]) @ e.T
        if self.kind == "around 1e6":
            scores = np.float32(1e6) + np.tanh(scores / 10)
        if self.kind == "around 1e-6":
            scores = scores * np.float32(1e-7)
        scores = scores.astype(np.float32)
        masked = self.masked[side][relation]
        if "softmax" in self.kind:
            scores = np.where(masked, np.float32(max(self.mask, -1e30)), scores)
            scores = scores - scores.max(axis=1, keepdims=True)
            scores = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
            scores = np.exp(scores) if self.kind == "softmax" else scores
        else:
            scores = np.where(masked, np.float32(self.mask), scores)
        return self.change(scores).astype(np.float32)


CASES = pytest.mark.parametrize(("kind", "mask", "share"), list(itertools.product(KINDS, MASKS, SHARES)))


def identity_of(scorer):
    rows = as_row_scorer(bound(scorer, DATASET), N)
    triples, candidates = (dict.fromkeys(("subject", "object"), ids) for ids in (TEST, np.arange(N)))
    return ScorerIdentity(scorer, rows, DATASET, triples, candidates)


@CASES
@pytest.mark.light(6)
def test_honest_rounding_is_accepted(kind, mask, share):
    """Sums in another order in each call: the check of a scorer, a resumed run and another process accept them."""
    scorer = Masked(kind, mask, share, permuted=True)
    kg.check_scorer(scorer, DATASET)
    before = identity_of(Masked(kind, mask, share, permuted=True)).describe()
    assert identity_of(scorer).differences(before) == []
    _compare_with_worker(Masked(kind, mask, share), scorer)


@CASES
@pytest.mark.light(6)
def test_noise_in_each_call_is_found(kind, mask, share):
    """H1: noise of a hundredth (around 1e6: of the whole) of the spread of the scores that are not masked."""
    rng = np.random.default_rng(5)
    plain = Masked(kind, mask, share)
    scores = plain.score_objects(TEST[:, 0], TEST[:, 1])
    sd = scores[~plain.masked["object"][TEST[:, 1]]].std() * (1.0 if kind == "around 1e6" else 0.01)
    noisy = Masked(kind, mask, share, change=lambda scores: scores + rng.normal(0, sd, scores.shape))
    with pytest.raises(kg.ScoreError, match="a score must depend only on its triple"):
        kg.check_scorer(noisy, DATASET)


@CASES
@pytest.mark.light(6)
def test_another_model_is_found(kind, mask, share):
    """H1: a run is resumed with another model, which masks the same candidates."""
    before = identity_of(Masked(kind, mask, share)).describe()
    (found,) = identity_of(Masked(kind, mask, share, model_seed=7)).differences(before)
    assert "probed scores differ" in found


@CASES
@pytest.mark.light(6)
def test_a_worker_with_another_model_is_found(kind, mask, share):
    """H1: a scorer that depends on the process, for example on hashes of str."""
    with pytest.raises(kg.ScoreError, match="a score must not depend on the process"):
        _compare_with_worker(Masked(kind, mask, share), Masked(kind, mask, share, model_seed=7))


def _compare_with_worker(here, worker):
    """Compare the scores of the first positives as the dispatcher does."""
    rows = as_row_scorer(here, N)
    score_triples(rows, TEST, "object")  # so that its speed is known
    scores = worker.score_objects(TEST[:, 0], TEST[:, 1])[np.arange(N_TEST), TEST[:, 2]]
    outcome = Finished(SimpleNamespace(task=0, start=0, stop=N_TEST), SimpleNamespace(scores=scores))
    task = SimpleNamespace(dataset=DATASET, side="object")
    job = SimpleNamespace(rows=rows, tasks=[task], dataset=DATASET)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatch, "triples_of", lambda _, start, stop: TEST[start:stop])
        dispatch._check_scores(job, [outcome], is_first=True)


@CASES
@pytest.mark.light(6)
def test_an_explanation_of_another_model_is_refused(kind, mask, share):
    """H1: the stored counts of a positive, and the scores of the same model or of another one."""
    before = Masked(kind, mask, share).score_objects(TEST[:, 0], TEST[:, 1])
    again = Masked(kind, mask, share, permuted=True).score_objects(TEST[:, 0], TEST[:, 1])
    other = Masked(kind, mask, share, model_seed=7).score_objects(TEST[:, 0], TEST[:, 1])
    accepted = 0
    for i, answer in enumerate(TEST[:, 2]):
        score = float(before[i, answer])
        counts = int((before[i] > score).sum()), int((before[i] == score).sum()) - 1
        assert could_have_stood(again[i], answer, score, counts)
        accepted += could_have_stood(other[i], answer, score, counts)
    # Many probabilities, and scores of 1e6 +- 1, come to lie near those of the other model.
    assert accepted <= {"around 1e6": 50, "softmax": 40}.get(kind, 4)


def test_the_size_without_masks():
    """By hand: -1, 3 and -250 are scores, each at most 100 times the one before; -1e9 and -2e9 are masks."""
    scores = np.array([-1.0, 3.0, -250.0, -1e9, -2e9, np.nan, -np.inf])
    assert Rounding.of(scores, -1.0).size == 250
    assert Rounding.of(scores[:2], -1.0).size == 3
    assert Rounding.of(np.array([-1.0, 3.0, -301.0, -1e9]), -1.0).size == 3
    assert Rounding.of(scores).size == 250
    assert Rounding.of(np.array([np.nan, -np.inf])).size == 0
    assert Rounding.of(np.array([1e12, 2.0, -1e9]), 2.0).size == 1e12  # above the positive: it may be its rival


def test_sums_that_are_nearly_zero_are_no_scale():
    """A model that fits perfectly: its positives are 0 but for rounding, the other scores are no masks."""
    scores = -np.concatenate([[1e-7, 0.0], np.linspace(0.5, 5, 100)])
    assert Rounding.of(scores, -1e-7).size == 5
    assert Rounding.of(scores, 0.0).size == 5


def test_noise_around_a_large_number():
    """Scores of 1e6 to 1e6 + 2: 0.2 is a tenth of their range, 0.5 is 5e-7 of their size, 100 is 1e-4."""
    scores = 1e6 + np.linspace(0, 2, 50)
    assert Rounding.of(scores).slack(scores[:1], scores[:1]) == pytest.approx([0.5], rel=1e-5)
    masked = np.concatenate([scores, np.full(50, -1e4)])
    assert Rounding.of(masked, scores[3]).slack(scores[:1], scores[:1]) == pytest.approx([0.5], rel=1e-5)
    wide = 1e6 + np.linspace(0, 200, 50)
    assert Rounding.of(wide).slack(wide[:1], wide[:1]) == pytest.approx([20.0])
    wider = 1e6 + np.linspace(0, 2000, 50)
    assert Rounding.of(wider).slack(wider[-1:], wider[-1:]) == pytest.approx([100.2])


def test_a_pair_of_masked_scores_has_its_own_scale():
    """In float32 neighbours of -1e9 differ by 64: rounding for a mask, not for scores near 1."""
    rounding = Rounding.of(np.array([*np.linspace(0.1, 1, 50), -1e9]), 0.5)
    assert rounding.slack(np.float32(-1e9), np.float32(-1e9 + 64)) >= 64
    assert rounding.slack(np.float32(0.5), np.float32(0.5)) == pytest.approx(1e-4)


def test_every_size_of_a_table_is_measured_alike():
    """The tolerance of scaled scores is scaled: nothing depends on absolute sizes."""
    rng = np.random.default_rng(0)
    for _ in range(size(20, 500)):
        scores = rng.normal(size=60)
        scores[rng.random(60) < rng.random()] = -1e9
        one, other = Rounding.of(scores, scores[0]), Rounding.of(scores * 2.0**-20, scores[0] * 2.0**-20)
        assert other.size == one.size * 2.0**-20
