"""Train ComplEx embeddings of the Countries graph with plain numpy and write ``complex.npz``.

Queries are scored against all entities (softmax cross entropy) with reciprocal relations, N3 regularisation
and Adagrad; the number of epochs is the one with the best MRR on valid.  Usage: ``python train.py``.
"""

from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
Array = np.ndarray

SEED = 0
DIM = 32  # complex numbers per vector
EPOCHS = 200
EVALUATE_EVERY = 10
BATCH = 128
RATE = 0.2
N3_WEIGHT = 0.1
INIT_SCALE = 0.1


def read_triples(name: str) -> list[tuple[str, ...]]:
    """Read the labels of one split."""
    lines = (HERE / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [tuple(line.split("\t")) for line in lines]


def both_queries(triples: Array, n_relations: int) -> Array:
    """Return rows (source, relation, answer): each triple, then each triple turned round."""
    s, p, o = triples.T
    return np.concatenate([triples, np.stack([o, p + n_relations, s], axis=1)])


def product(a: Array, b: Array) -> Array:
    """Multiply complex rows whose first half is real and second half imaginary."""
    (a_re, a_im), (b_re, b_im) = np.split(a, 2, axis=1), np.split(b, 2, axis=1)
    return np.concatenate([a_re * b_re - a_im * b_im, a_re * b_im + a_im * b_re], axis=1)


def conjugate(a: Array) -> Array:
    """Return the complex conjugate of rows in halves layout."""
    real, imaginary = np.split(a, 2, axis=1)
    return np.concatenate([real, -imaginary], axis=1)


def modulus(a: Array) -> Array:
    """Return the modulus of every complex number, repeated over both halves."""
    real, imaginary = np.split(a, 2, axis=1)
    return np.tile(np.hypot(real, imaginary), 2)


def gradients(entities: Array, relations: Array, batch: Array) -> tuple[Array, Array]:
    """Return the gradients of the mean regularised loss of a batch of queries.

    With q = e_s w, score(o) = Re <q, conj e_o> is the real dot product of q and e_o in halves layout, so the
    gradient g of q gives g conj(w) for e_s and g conj(e_s) for w.  N3 adds weight * |x|^3 for each of the
    three vectors, whose gradient is 3 * weight * |x| x.
    """
    source, relation, answer = batch.T
    e_s, w, e_o = entities[source], relations[relation], entities[answer]
    query = product(e_s, w)
    scores = query @ entities.T
    scores -= scores.max(axis=1, keepdims=True)
    error = np.exp(scores)
    error /= error.sum(axis=1, keepdims=True)
    error[np.arange(len(batch)), answer] -= 1.0
    grad_query = error @ entities
    grad_entities = error.T @ query
    grad_relations = np.zeros_like(relations)
    penalty = [3.0 * N3_WEIGHT * modulus(x) * x for x in (e_s, w, e_o)]
    np.add.at(grad_entities, source, product(grad_query, conjugate(w)) + penalty[0])
    np.add.at(grad_relations, relation, product(grad_query, conjugate(e_s)) + penalty[1])
    np.add.at(grad_entities, answer, penalty[2])
    return grad_entities / len(batch), grad_relations / len(batch)


def filtered_ranks(entities: Array, relations: Array, queries: Array, known: dict[tuple[int, int], list[int]]) -> Array:
    """Return filtered ranks, better + 1 + tied / 2, of the answers of the queries."""
    ranks = np.empty(len(queries))
    for i, (source, relation, answer) in enumerate(queries):
        query = product(entities[[source]], relations[[relation]])[0]
        scores = entities @ query
        others = np.ones(len(entities), dtype=bool)
        others[known[source, relation]] = False
        others[answer] = False
        better = np.count_nonzero(scores[others] > scores[answer])
        tied = np.count_nonzero(scores[others] == scores[answer])
        ranks[i] = better + 1 + tied / 2
    return ranks


def main() -> None:
    """Train, print filtered metrics of valid (both sides) and write the model of the best epoch."""
    labels = {name: read_triples(name) for name in ("train", "valid", "test")}
    everything = [triple for rows in labels.values() for triple in rows]
    entity_labels = sorted({label for s, _, o in everything for label in (s, o)})
    relation_labels = sorted({p for _, p, _ in everything})
    entity_id = {label: i for i, label in enumerate(entity_labels)}
    relation_id = {label: i for i, label in enumerate(relation_labels)}
    queries = {}
    for name, rows in labels.items():
        ids = np.array([(entity_id[s], relation_id[p], entity_id[o]) for s, p, o in rows])
        queries[name] = both_queries(ids, len(relation_labels))
    known: dict[tuple[int, int], list[int]] = {}
    for source, relation, answer in np.concatenate(list(queries.values())).tolist():
        known.setdefault((source, relation), []).append(answer)

    rng = np.random.default_rng(SEED)
    sizes = len(entity_labels), 2 * len(relation_labels)
    tables = [rng.normal(0.0, INIT_SCALE, (size, 2 * DIM)) for size in sizes]
    squares = [np.full_like(table, 1e-10) for table in tables]
    best_mrr, best_epoch, best_tables, best_ranks = -1.0, 0, tables, np.empty(0)
    for epoch in range(1, EPOCHS + 1):
        shuffled = rng.permutation(queries["train"])
        for start in range(0, len(shuffled), BATCH):
            grads = gradients(*tables, shuffled[start : start + BATCH])
            for table, square, grad in zip(tables, squares, grads, strict=True):
                square += grad**2
                table -= RATE * grad / np.sqrt(square)
        if epoch % EVALUATE_EVERY == 0:
            # Rounding to half precision keeps the file small; the metrics are those of the rounded model.
            rounded = [table.astype(np.float16).astype(np.float64) for table in tables]
            ranks = filtered_ranks(*rounded, queries["valid"], known)
            mrr = float(np.mean(1.0 / ranks))
            if mrr > best_mrr:
                best_mrr, best_epoch, best_tables, best_ranks = mrr, epoch, rounded, ranks
    print(f"epochs {best_epoch}")
    print(f"MRR {best_mrr:.12f}")
    for k in (1, 3, 10):
        print(f"hits@{k} {np.mean(best_ranks <= k):.12f}")
    print(f"MR {best_ranks.mean():.12f}")
    np.savez_compressed(
        HERE / "complex.npz",
        model=np.array("complex"),
        layout=np.array("halves"),
        inverse_relations=np.array("after"),
        entities=best_tables[0].astype(np.float32),
        relations=best_tables[1].astype(np.float32),
        entity_labels=np.array(entity_labels),
        relation_labels=np.array(relation_labels),
    )


if __name__ == "__main__":
    main()
