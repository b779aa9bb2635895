"""How the time grows: DistMult with random numbers, entities times 1, 2, 4, 8 and test triples times 1, 2, 4, 8."""

import statistics

import numpy as np
from measure import Others, backend_options, seconds, take_turns

import kgeval as kg

FACTORS = (1, 2, 4, 8)
DIMENSION = 64
N_ENTITIES = 10_000
N_RELATIONS = 2_000  # so many that few of the random triples share a query, whatever their number
LEAST_SECONDS = 0.3  # of the smallest evaluation; the number of triples is doubled until it takes as long
FIRST_TRIPLES, MOST_TRIPLES = 4_000, 256_000


def evaluation(n_entities, n_triples, options):
    """Return a function that evaluates `n_triples` random triples over `n_entities` random vectors once."""
    rng = np.random.default_rng(0)
    entities = rng.standard_normal((n_entities, DIMENSION), dtype=np.float32)
    model = kg.models.DistMult(entities, rng.standard_normal((N_RELATIONS, DIMENSION), dtype=np.float32))
    highest = (n_entities, N_RELATIONS, n_entities)
    triples = np.column_stack([rng.integers(0, n, size=n_triples) for n in highest])
    dataset = kg.Dataset.from_arrays(test=triples, n_entities=n_entities, n_relations=N_RELATIONS)

    def evaluate():
        fresh = kg.Dataset(dataset.entities, dataset.relations, dataset.splits)
        return kg.evaluate(model, fresh, progress=False, **options)

    return evaluate


def exponent(factors, times):
    """Return the slope of the least squares line of log time on log size: 1 where time grows linearly."""
    return float(np.polyfit(np.log(factors), np.log(times), 1)[0])


def grow(what, backend, n_runs, quick=False):
    """Measure the exponent of one growth.

    Parameters
    ----------
    what : str
        ``"entities"`` or ``"triples"``: which of the two grows.
    backend : str
    n_runs : int
        Rounds over the four sizes.
    quick : bool
        Tiny sizes, to see that it runs.
    """
    options = backend_options(backend)
    n_entities = N_ENTITIES // 10 if quick else N_ENTITIES
    n_triples = FIRST_TRIPLES // 10 if quick else FIRST_TRIPLES
    evaluation(n_entities, n_triples, options)()
    while not quick and n_triples < MOST_TRIPLES:
        once = evaluation(n_entities, n_triples, options)
        if min(seconds(once) for _ in range(2)) >= LEAST_SECONDS:
            break
        n_triples *= 2
    sizes = [
        (n_entities * factor, n_triples) if what == "entities" else (n_entities, n_triples * factor)
        for factor in FACTORS
    ]
    works = [evaluation(*size, options) for size in sizes]
    with Others() as others:
        times = take_turns([lambda work=work: seconds(work) for work in works], n_runs)
    medians = [statistics.median(values) for values in times]
    rounds = [exponent(FACTORS, run) for run in zip(*times, strict=True)]
    return {
        "kgeval_s": medians[0],
        "value": exponent(FACTORS, medians),
        "lowest": min(rounds),
        "highest": max(rounds),
        "kgeval_runs_s": times,
        "others": others.cores,
        "about": f"{n_entities:,} entities, {n_triples:,} triples; {what} times 1, 2, 4, 8 took "
        + ", ".join(f"{median:.2f}" for median in medians)
        + " s",
    }
