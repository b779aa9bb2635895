"""kgeval itself in the harness that measures the peers: the same embeddings, the same triples, the same line of output.

    python tests/bench/peer_kgeval.py --bench FOLDER --work W1 --model distmult --backend numpy --reps 3

FOLDER holds the harness (`work.py`) and the peers' own scripts. With --limit the other test triples stay known:
the filter is always train, valid and the whole of test.
"""

import argparse
import sys
import warnings

import measure
import numpy as np

import kgeval as kg

MODELS = {
    "distmult": lambda entities, relations: kg.models.DistMult(entities, relations),
    "complex": lambda entities, relations: kg.models.ComplEx(entities, relations),
    "transe_l1": lambda entities, relations: kg.models.TransE(entities, relations, norm=1),
    "transe_l2": lambda entities, relations: kg.models.TransE(entities, relations, norm=2),
    "rotate": lambda entities, relations: kg.models.RotatE(entities, relations, norm=1),
}
METRICS = {"mrr": "mrr", "mr": "mr", "h1": "hits@1", "h3": "hits@3", "h10": "hits@10"}  # the harness's names: ours


def add_arguments(parser):
    parser.add_argument("--bench", required=True, metavar="FOLDER", help="the folder of work.py")
    parser.add_argument("--backend", choices=measure.BACKENDS, default="numpy")


def ranks(result, triples):
    """Return filtered realistic ranks (n, 2), of head and tail, in the order of `triples`."""
    columns = []
    for side in ("subject", "object"):
        rows = result.table[(result.table["side"] == side).to_numpy()]
        if not np.array_equal(rows[["s", "p", "o"]].to_numpy(), triples):
            raise ValueError("the ranks are not in the order of the test triples")
        columns.append(rows["better_filtered"].to_numpy() + rows["tied_filtered"].to_numpy() / 2 + 1)
    return np.stack(columns, axis=1)


def setup(work, embeddings, given):
    """Return what the harness asks for: a function that evaluates once, and what there is to say of it."""
    options = measure.backend_options(given.backend)
    measure.load_backend(given.backend)  # so that loading it is no part of the first evaluation
    model = MODELS[given.model](*embeddings)
    left_out = work.all_test[len(work.test) :]
    dataset = kg.Dataset.from_arrays(
        train=work.train,
        valid=np.concatenate([work.valid, left_out]),
        test=work.test,
        n_entities=work.ne,
        n_relations=work.nr,
    )

    def run():
        fresh = kg.Dataset(dataset.entities, dataset.relations, dataset.splits)
        result = kg.evaluate(model, fresh, progress=False, **options)
        return {"metrics": {name: result[key] for name, key in METRICS.items()}, "ranks": ranks(result, work.test)}

    return run, {"batch": given.backend}


def main():
    warnings.simplefilter("ignore", kg.KgevalWarning)
    parser = argparse.ArgumentParser(add_help=False)
    add_arguments(parser)
    sys.path.insert(0, parser.parse_known_args()[0].bench)
    import work

    work.main("kgeval", setup, tuple(MODELS), add_arguments)


if __name__ == "__main__":
    main()
