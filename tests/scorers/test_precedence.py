"""H2: a scorer with several ways to score a triple; what the used way would leave out is refused."""

import numpy as np
import pytest

import kgeval as kg

N, M, D = 12, 2, 4
RNG = np.random.default_rng(5)
E, R = RNG.normal(size=(N, D)), RNG.normal(size=(M, D))
BIAS = RNG.normal(size=N) * 9
TRIPLES = np.unique(RNG.integers(0, [N, M, N], (40, 3)), axis=0)
DATASET = kg.Dataset.from_arrays(train=TRIPLES[8:], test=TRIPLES[:8], n_entities=N, n_relations=M)


def exact(s, p, o):
    return (E[s] * R[p] * E[o]).sum(axis=1)


class Biased(kg.models.DistMult):
    def score(self, s, p, o):
        return super().score(s, p, o) + BIAS[o]


class WithRows(kg.models.DistMult):
    def score_objects(self, s, p):
        return (E[s] * R[p]) @ E.T + BIAS

    def score_subjects(self, p, o):
        return (E[o] * R[p]) @ E.T + BIAS[o][:, None]


class Called(kg.models.DistMult):
    def __call__(self, s, p, o):
        return exact(s, p, o) + BIAS[o]


class Forward(kg.models.DistMult):
    def forward(self, s, p, o):
        return exact(s, p, o) + BIAS[o]


class Wrapper:
    """Everything but its own method is that of the wrapped model."""

    def __init__(self, model):
        self.model = model

    def __getattr__(self, name):
        return getattr(self.__dict__["model"], name)

    def __call__(self, s, p, o):
        return exact(s, p, o) + BIAS[o]


class Proxy:
    """A wrapper whose own method is in no class."""

    def __init__(self, model):
        object.__setattr__(self, "model", model)

    def __getattribute__(self, name):
        if name in ("__class__", "__dict__"):
            return object.__getattribute__(self, name)
        if name == "score":
            return lambda s, p, o: exact(s, p, o) + BIAS[o]
        return getattr(object.__getattribute__(self, "model"), name)


class Rows:
    def score_objects(self, s, p):
        return (E[s] * R[p]) @ E.T

    def score_subjects(self, p, o):
        return (E[o] * R[p]) @ E.T


class CalledRows(Rows):
    def __call__(self, s, p, o):
        return exact(s, p, o) + BIAS[o]


class Plain:
    def __call__(self, s, p, o):
        return exact(s, p, o)


class ForwardRows(Rows):
    def forward(self, s, p, o):
        return exact(s, p, o) + BIAS[o]


class ForwardBatch(kg.models.DistMult):
    def forward(self, triples):
        return exact(*triples.T) + BIAS[triples[:, 2]]


class OneEntity(Rows):
    """The call agrees for all but one of the 12 entities."""

    def __call__(self, s, p, o):
        return exact(s, p, o) + (o == 3)


class OneRelation(Rows):
    def __call__(self, s, p, o):
        return exact(s, p, o) + (p == 1)


class TorchModule:
    """As in torch, the call runs forward and the hooks."""

    __module__ = "torch.nn.modules.module"
    hook = None

    def __call__(self, *args):
        scores = self.forward(*args)
        return scores if self.hook is None else self.hook(args, scores)


def hooked():
    """A module whose hook changes what its call gives."""

    class Module(TorchModule, Own):
        def forward(self, s, p, o):
            return exact(s, p, o)

        query_vectors, candidate_vectors = Own.query_vectors, Own.candidate_vectors

    module = Module()
    kg.check_scorer(module, DATASET)
    module.hook = lambda triples, scores: scores + BIAS[triples[2]]
    return module


def on_the_object():
    model = kg.models.DistMult(E, R)
    model.score = lambda s, p, o: exact(s, p, o) + BIAS[o]
    return model


REDEFINED = {
    "score": (lambda: Biased(E, R), r"Biased\.score is defined in Biased, but query_vectors and candidate_vectors are"),
    "score_objects": (lambda: WithRows(E, R), r"WithRows\.score_objects is defined in WithRows, but query_vectors"),
    "__call__": (lambda: Called(E, R), r"Called\.__call__ is defined in Called"),
    "forward": (lambda: Forward(E, R), r"Forward\.forward is defined in Forward"),
    "object": (on_the_object, r"DistMult\.score is defined in the object itself"),
    "wrapper": (lambda: Wrapper(kg.models.DistMult(E, R)), r"Wrapper\.__call__ is defined in Wrapper"),
    "wrapped rows": (lambda: Wrapper(Rows()), r"Wrapper\.__call__ gives .* but score_objects and score_subjects give"),
    "proxy": (lambda: Proxy(kg.models.DistMult(E, R)), r"Proxy\.score gives .* but query_vectors and candidate_vec"),
    "score of rows": (type("Scored", (Rows,), {"score": Called.__call__}), r"Scored\.score gives .* but score_objects"),
    "score of a function": (type("Scored", (Plain,), {"score": Called.__call__}), r"score gives .* but __call__ give"),
    "rows": (CalledRows, r"CalledRows\.__call__ gives .* but score_objects and score_subjects give"),
    "forward of rows": (ForwardRows, r"ForwardRows\.forward gives .* but score_objects and score_subjects give"),
    "wrapped forward": (
        lambda: type("Passing", (Wrapper,), {"__call__": None, "forward": Wrapper.__call__})(Rows()),
        r"Passing\.forward gives .* but score_objects",
    ),
    "batches": (lambda: ForwardBatch(E, R), r"ForwardBatch\.forward gives .* but query_vectors and candidate_vectors"),
    "hook": (hooked, r"Module\.forward gives .* but query_vectors and candidate_vectors give"),
    "one entity": (OneEntity, r"OneEntity\.__call__ gives .*'3'\) the score .* but score_objects"),
    "one relation": (OneRelation, r"OneRelation\.__call__ gives .*'1', .* but score_objects"),
    "further down": (lambda: type("Further", (Biased,), {})(E, R), r"Further\.score is defined in Biased"),
}  # fmt: skip
NEGATIVES = {"valid": TRIPLES[8:12], "test": TRIPLES[12:16]}


@pytest.mark.parametrize("case", REDEFINED)
def test_what_inherited_vectors_would_leave_out_is_refused(case):
    make, message = REDEFINED[case]
    scorer = make()
    s, p, o = TRIPLES[0].tolist()
    dataset = kg.Dataset.from_arrays(valid=TRIPLES[8:10], test=TRIPLES[:2], n_entities=N, n_relations=M)
    for ask in (
        lambda: kg.evaluate(scorer, DATASET, progress=False),
        lambda: kg.Evaluator(DATASET).evaluate(scorer, progress=False),
        lambda: kg.Evaluator(DATASET).explain(scorer, s, p, o),
        lambda: kg.check_scorer(scorer, DATASET),
        lambda: kg.classify(scorer, dataset, NEGATIVES),
    ):
        with pytest.raises(kg.ScoreError, match=message):
            ask()


def test_the_ways_out():
    """The function ranks with the bias, the inherited model without it."""
    biased = Biased(E, R)
    with_bias = kg.evaluate(lambda s, p, o: exact(s, p, o) + BIAS[o], DATASET, progress=False)
    without = kg.evaluate(kg.models.DistMult(E, R), DATASET, progress=False)
    assert kg.evaluate(biased.score, DATASET, progress=False)["mrr"] == with_bias["mrr"] != without["mrr"]


class Own:
    """Vectors and a function, defined by one class."""

    geometry = "dot"
    shift = 0.0
    fails = False

    def query_vectors(self, side, given, relation):
        return E[given] * R[relation]

    def candidate_vectors(self, side):
        return E

    def score(self, s, p, o):
        if self.fails:
            raise RuntimeError("a batch of the training, not ids")
        return exact(s, p, o).astype(np.float32) + self.shift


def test_two_ways_of_one_class_must_agree():
    """Equal but for rounding: accepted; another score: refused; a method for something else: not asked."""
    own, expected = Own(), kg.evaluate(kg.models.DistMult(E, R), DATASET, progress=False)
    assert kg.evaluate(own, DATASET, progress=False)["mrr"] == expected["mrr"]
    own.fails = True
    assert kg.evaluate(own, DATASET, progress=False)["mrr"] == expected["mrr"]
    shifted = type("Shifted", (Own,), {"shift": 1.0})()
    with pytest.raises(
        kg.ScoreError, match=r"Shifted\.score gives \('\d+', '\d', '\d+'\) the score .*, but query_vectors"
    ):
        kg.evaluate(shifted, DATASET, progress=False)


def test_a_subclass_that_changes_vectors_is_ranked_by_them():
    """New vectors, and forward for batches of training, are no conflict."""

    class Doubled(kg.models.DistMult):
        def query_vectors(self, side, given, relation):
            return -super().query_vectors(side, given, relation)

        def forward(self, batch):
            raise NotImplementedError

    turned = kg.evaluate(lambda s, p, o: -exact(s, p, o), DATASET, progress=False)
    assert kg.evaluate(Doubled(E, R), DATASET, progress=False)["mrr"] == turned["mrr"]


def test_forward_for_training_is_no_conflict():
    """One loss for a batch, or another meaning of forward beside rows of the same class."""

    class Trained(kg.models.DistMult):
        def forward(self, batch):
            return exact(*np.asarray(batch).T).sum()

    class Both(Rows):
        score_objects = Rows.score_objects

        def forward(self, s, p, o):
            return 1 / (1 + np.exp(-exact(s, p, o)))

    expected = kg.evaluate(exact, DATASET, progress=False)["mrr"]
    assert kg.evaluate(Trained(E, R), DATASET, progress=False)["mrr"] == expected
    assert kg.evaluate(Both(), DATASET, progress=False)["mrr"] == expected


def test_the_check_shows_no_triples_of_the_dataset():
    """The triples of the check are random, so that a function cannot learn the answers from it."""
    asked = []

    class Spy(Own):
        def query_vectors(self, side, given, relation):
            return super().query_vectors(side, given, relation)

        def score(self, s, p, o):
            asked.extend(zip(s.tolist(), p.tolist(), o.tolist()))
            return exact(s, p, o)

    small = kg.Dataset.from_arrays(test=TRIPLES[:3], n_entities=N, n_relations=M)
    kg.check_scorer(Spy(), small)
    first = list(asked)
    asked.clear()
    kg.check_scorer(Spy(), kg.Dataset.from_arrays(test=TRIPLES[3:6], n_entities=N, n_relations=M))
    assert first == asked
    assert len(first) == 256
