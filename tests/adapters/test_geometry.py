"""The exact kernels in the place of a library's scores: only if both agree on probes, and never without a note."""

import numpy as np
import pytest

import kgeval as kg
from kgeval.adapters.base import LibraryScorer, map_ids
from kgeval.adapters.geometry import certified

N_ENTITIES, N_RELATIONS = 20, 4


def graph(seed=0, n=30):
    rng = np.random.default_rng(seed)
    triples = np.column_stack([rng.integers(0, size, n) for size in (N_ENTITIES, N_RELATIONS, N_ENTITIES)])
    return kg.Dataset.from_arrays(train=triples[10:], test=triples[:10], n_entities=N_ENTITIES, n_relations=N_RELATIONS)


def tables(seed, n_relations=N_RELATIONS):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, 6)).astype(np.float32) for n in (N_ENTITIES, n_relations)]


def library_scorer(model, dataset, dtype=np.float32, change=lambda scores: scores):
    """The scores of a model of kgeval, as a library would give them: in single precision, for its own ids."""
    ids = map_ids(dataset, n_entities=N_ENTITIES, n_relations=N_RELATIONS, name="Lib")

    def score_rows(side, given, relation, candidates):
        every = np.meshgrid(np.arange(len(given)), candidates, indexing="ij")
        s, o = (every[1], given[every[0]]) if side == "subject" else (given[every[0]], every[1])
        scores = model.score(s.ravel(), relation[every[0]].ravel(), o.ravel())
        return change(scores.reshape(every[0].shape).astype(dtype))

    return LibraryScorer("Lib", ids, score_rows)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.light(2)
def test_a_model_that_agrees_is_ranked_exactly(seed):
    entities, relations = tables(seed)
    model = (kg.models.DistMult, kg.models.TransE)[seed % 2](entities, relations)
    dataset = graph(seed)
    scorer = library_scorer(model, dataset)
    found = certified(dataset, scorer, lambda: model)
    assert found is model
    assert model.notes[:2] == (model.description, scorer.notes[0])
    assert model.notes[2].startswith(
        "ranked by kgeval's exact kernels instead: 960 probed scores agree with those of the library"
    )
    ranks = "better_raw", "tied_raw", "better_filtered", "tied_filtered"
    theirs, ours = kg.evaluate(scorer, dataset), kg.evaluate(found, dataset)
    assert theirs.table[list(ranks)].equals(ours.table[list(ranks)])


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("another norm", lambda e, r: kg.models.TransE(e, r, norm=2)),
        ("another formula", kg.models.DistMult),
        ("rows of other entities", lambda e, r: kg.models.TransE(e[::-1].copy(), r)),
        ("rows of other relations", lambda e, r: kg.models.TransE(e, r[[1, 0, 2, 3]])),
        ("one row of one relation", lambda e, r: kg.models.TransE(e, r + np.eye(4, 6, k=2, dtype=np.float32) * 1e-3)),
    ],
)
@pytest.mark.light(3)
def test_a_model_that_differs_is_not_used(name, wrong):
    entities, relations = tables(3)
    model, dataset = kg.models.TransE(entities, relations), graph()
    scorer = library_scorer(model, dataset)
    found = certified(dataset, scorer, lambda: wrong(entities, relations))
    assert found is scorer, name
    assert found.notes[-1].startswith("not ranked by kgeval's exact kernels: the ")
    assert "which kgeval made of the same parameters; the scores are those of the library" in found.notes[-1]
    assert found.notes[-1] in kg.evaluate(found, dataset).notes


def test_inverse_rows_in_the_wrong_place_are_noticed():
    """Only the scores of subjects differ if the inverse relations are looked up wrongly."""
    entities, relations = tables(4, 2 * N_RELATIONS)
    dataset = graph()
    model, wrong = (
        kg.models.DistMult(entities, relations, inverse_relations=rows) for rows in ("alternating", "after")
    )

    def score_rows(side, given, relation, candidates):
        return (entities[given] * relations[2 * relation + (side == "subject")]) @ entities[candidates].T

    ids = map_ids(dataset, n_entities=N_ENTITIES, n_relations=N_RELATIONS, name="Lib")
    assert certified(dataset, LibraryScorer("Lib", ids, score_rows), lambda: model) is model
    scorer = LibraryScorer("Lib", ids, score_rows)
    assert certified(dataset, scorer, lambda: wrong) is scorer
    one_sided = LibraryScorer(
        "Lib", ids, lambda side, *given: score_rows(side, *given) * (1 if side == "object" else 1.001)
    )
    assert certified(dataset, one_sided, lambda: model) is one_sided
    assert "not ranked by kgeval's exact kernels: the subject score " in one_sided.notes[-1]


def test_scores_without_a_formula_of_kgeval_stay_as_they_are():
    dataset = graph()
    scorer = library_scorer(kg.models.TransE(*tables(0)), dataset)
    notes = scorer.notes
    for error in (kg.DataError, kg.ScoreError):

        def build(error=error):
            raise error("no such model")

        assert certified(dataset, scorer, build) is scorer
        assert scorer.notes == notes
    with pytest.raises(ZeroDivisionError):  # a fault of the adapter is no answer
        certified(dataset, scorer, lambda: 1 / 0)


def test_nan_and_halves_are_not_certified():
    model, dataset = kg.models.TransE(*tables(0)), graph()

    def spoiled(scores):
        scores[0, 0] = np.nan
        return scores

    for scorer in (library_scorer(model, dataset, change=spoiled), library_scorer(model, dataset, dtype=np.float16)):
        assert certified(dataset, scorer, lambda: model) is scorer
        assert scorer.notes[-1].startswith("not ranked by kgeval's exact kernels")


def test_equal_scores_everywhere():
    """A range of 0: the difference itself decides."""
    entities, relations = (np.zeros_like(table) for table in tables(0))
    model, dataset = kg.models.DistMult(entities, relations), graph()
    assert certified(dataset, library_scorer(model, dataset), lambda: model) is model
    scorer = library_scorer(model, dataset, change=lambda scores: scores + 1)
    assert certified(dataset, scorer, lambda: model) is scorer


def test_entities_that_the_model_lacks_are_not_probed():
    entities, relations = tables(1)
    triples = np.array([[0, 0, 1], [2, 1, 3], [19, 1, 3], [4, 3, 5]])
    dataset = kg.Dataset.from_arrays(
        train=triples[:2], test=triples[2:], n_entities=N_ENTITIES, n_relations=N_RELATIONS
    )
    known = [i for i in range(N_ENTITIES) if i != 19]
    labels = [str(i) for i in known], [str(i) for i in range(3)]
    ids = map_ids(dataset, ids=labels, n_entities=19, n_relations=3, name="Lib")
    scorer = LibraryScorer(
        "Lib", ids, lambda side, given, relation, pool: (entities[given] * relations[relation]) @ entities[pool].T
    )
    placed = [table.copy() for table in (entities, relations)]
    placed[0][19], placed[1][3] = np.nan, np.nan
    model = kg.models.DistMult(*placed)
    model.missing_entities, model.missing_relations = scorer.missing_entities, scorer.missing_relations
    assert certified(dataset, scorer, lambda: model) is model
    assert model.notes[-1].startswith("ranked by kgeval's exact kernels instead: 76 probed scores agree")
    nothing = kg.Dataset.from_arrays(test=[[19, 0, 1]], n_entities=N_ENTITIES, n_relations=N_RELATIONS)
    assert certified(nothing, scorer, lambda: model) is scorer
