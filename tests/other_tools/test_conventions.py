"""What another tool prints, against loops that follow the tool's own rule, and against the tools that are installed."""

import numpy as np
import pytest
from dataset_folders import write

import kgeval as kg
from kgeval.cli import main

NAMES = list(kg.conventions)
ON_ALL = [name for name in NAMES if not kg.conventions[name].is_listed]


def openke(scores, own, known):
    """OpenKE, openke/base/Test.h, lines 74-86: lower is better there, known triples do not count, strict."""
    return 1 + sum(-scores[j] < -scores[own] and j not in known for j in range(len(scores)) if j != own)


def pessimistic(scores, own, known):
    """ULTRA, ultra/tasks.py, compute_ranking, and NBFNet, nbfnet/task.py, evaluate: the positive is masked.

    So it is in DGL-KE, general_models.py, lines 453-465, and AmpliGraph, AbstractScoringLayer.py, get_ranks ("worst").
    """
    mask = [j not in known and j != own for j in range(len(scores))]
    return 1 + sum(scores[own] <= x and m for x, m in zip(scores, mask, strict=True))


def torchkge(scores, own, known):
    """TorchKGE, utils/modeling.py, lines 91-102, and utils/operations.py, line 61: -inf, then >=, itself included."""
    filtered = [float("-inf") if j in known and j != own else x for j, x in enumerate(scores)]
    return sum(x >= scores[own] for x in filtered)


def libkge(scores, own, known):
    """LibKGE, eval_entity_ranking.py, _get_ranks_and_num_ties, _get_ranks: the ties include the positive itself."""
    kept = [x for j, x in enumerate(scores) if j == own or j not in known]
    return 1 + sum(x > scores[own] for x in kept) + sum(x == scores[own] for x in kept) // 2


def kgt5(scores, own, known):
    """KGT5, kgt5_model.py, evaluate: true answers are skipped, half of the ties rounded down."""
    kept = [x for j, x in enumerate(scores) if j != own and j not in known]
    return sum(x > scores[own] for x in kept) + sum(x == scores[own] for x in kept) // 2 + 1


def pykeen(scores, own, known):
    """PyKEEN, evaluation/rank_based_evaluator.py, lines 68-85: NaN for known answers, the mean of two ranks."""
    kept = [x for j, x in enumerate(scores) if j == own or j not in known]
    return 0.5 * ((sum(x > scores[own] for x in kept) + 1) + sum(x >= scores[own] for x in kept))


def sort_positions(scores, own, known):
    """The places that a sort may give to the positive: PyG, nn/kge/base.py, lines 126-127; SimKGC, evaluate.py."""
    kept = [j for j in range(len(scores)) if j == own or j not in known]
    orders = (lambda j: (-scores[j], j != own)), (lambda j: (-scores[j], j == own))
    return tuple(1 + sorted(kept, key=order).index(own) for order in orders)


RULES = {
    "pykeen": pykeen,
    "libkge": libkge,
    "openke": openke,
    "torchkge": torchkge,
    "ultra": pessimistic,
    "dglke": pessimistic,
    "ampligraph": pessimistic,
    "pyg": sort_positions,
    "nbfnet": pessimistic,
    "kgt5": kgt5,
    "simkgc": sort_positions,
}


def looped_ranks(name, dataset, rows_of):
    """Per side, the (rank, rivals) pairs that the tool's loop gives; a rank is a pair of bounds where a sort decides.

    `rows_of(side, given, relation)` are the scores of all entities. PyKEEN knows the entities of train alone.
    """
    splits = {split: [tuple(row) for row in dataset[split].array.tolist()] for split in dataset.splits}
    known = {triple for rows in splits.values() for triple in rows} if name != "pyg" else set()
    everyone = set(range(len(dataset.entities)))
    if name == "pykeen":
        everyone = {e for s, _, o in splits["train"] for e in (s, o)}
        relations = {p for _, p, _ in splits["train"]}
        kept = [t for t in splits["test"] if {t[0], t[2]} <= everyone and t[1] in relations]
    else:
        kept = splits["test"]
    found = {}
    for side in ("object",) if name == "pyg" else ("subject", "object"):
        found[side] = []
        answers = {}
        for s, p, o in known:
            answers.setdefault((s, p) if side == "object" else (o, p), set()).add(o if side == "object" else s)
        for s, p, o in kept:
            given, own = (s, o) if side == "object" else (o, s)
            scores = list(rows_of(side, given, p))
            out = answers.get((given, p), set()) - {own}
            order = sorted(everyone)  # the tool's own ids: those of its entities alone
            mine = {e: i for i, e in enumerate(order)}
            hidden = {mine[e] for e in out if e in mine}
            rank = RULES[name]([scores[e] for e in order], mine[own], hidden)
            found[side].append((rank, len(order) - 1 - len(hidden)))
    return found


def metric_of(meaning, pairs):
    """One of the tool's metrics over (rank, rivals) pairs, as loops."""
    n = len(pairs)
    if meaning == "mr":
        return sum(r for r, _ in pairs) / n
    if meaning == "mr0":
        return sum(r - 1 for r, _ in pairs) / n
    if meaning == "mrr":
        return sum(1 / r for r, _ in pairs) / n
    if meaning == "amri":  # PyKEEN: 1 - (MR - 1) / (expected MR - 1), where all ranks are equally likely
        return 1 - (sum(r for r, _ in pairs) / n - 1) / (sum((m + 2) / 2 for _, m in pairs) / n - 1)
    k, _, drawn = meaning.removeprefix("hits@").partition("_of_")
    if not drawn:
        return sum(r <= int(k) for r, _ in pairs) / n
    total = 0  # ULTRA, script/run.py, test: the sum of the terms of a binomial with the share of false positives
    for rank, rivals in pairs:
        q, m = (rank - 1) / rivals, int(drawn)
        total += sum(binomial(m, i) * q**i * (1 - q) ** (m - i) for i in range(int(k)))
    return total / n


def binomial(n, k):
    """The number of ways to choose k of n, by Pascal's rule."""
    row = [1]
    for _ in range(n):
        row = [1, *(a + b for a, b in zip(row, row[1:], strict=False)), 1]
    return row[k]


def check_against_loop(name, dataset, scored, rows_of):
    """Every number of the convention equals the loop's; SimKGC rounds each side to four digits first."""
    convention = kg.conventions[name]
    is_result = isinstance(scored, kg.EvaluationResult)
    result = scored if is_result else kg.evaluate(scored, dataset, convention.protocol(dataset), progress=False)
    table, found = convention.table(result), looped_ranks(name, dataset, rows_of)
    assert list(table.index) == list(convention.metrics)
    for metric, meaning in convention.metrics.items():
        ends = []
        for end in (0, 1):
            sides = [[(r[end] if isinstance(r, tuple) else r, m) for r, m in pairs] for pairs in found.values()]
            if name == "simkgc":
                ends.append(round(sum(round(metric_of(meaning, pairs), 4) for pairs in sides) / 2, 4))
            else:
                ends.append(metric_of(meaning, [pair for pairs in sides for pair in pairs]))
        assert table.loc[metric, ["low", "high"]].tolist() == pytest.approx(sorted(ends), rel=1e-12), (name, metric)


def graph(seed, unseen=True):
    """A small graph with entities outside train, whose scores tie often, and the scores of each query."""
    rng = np.random.default_rng(seed)
    splits = {"train": rng.integers(0, (9, 2, 9), (25, 3)), "valid": rng.integers(0, (12, 2, 12), (6, 3))}
    splits["test"] = rng.integers(0, (12, 2, 12) if unseen else (9, 2, 9), (9, 3))
    dataset = kg.Dataset.from_arrays(**splits, n_entities=12, n_relations=2)
    scores = {"subject": rng.integers(0, 4, (2, 12, 12)) / 2, "object": rng.integers(0, 4, (2, 12, 12)) / 2}
    return dataset, scores


class Table:
    """A scorer that looks the score of each entity up."""

    def __init__(self, scores):
        self.scores = scores

    def score_objects(self, s, p):
        return self.scores["object"][p, s]

    def score_subjects(self, p, o):
        return self.scores["subject"][p, o]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ON_ALL)
@pytest.mark.light(11)
def test_a_convention_is_the_loop_of_its_tool(name, seed):
    """On ties of all kinds, with unseen entities, known answers and a constant scorer."""
    dataset, scores = graph(seed)
    check_against_loop(name, dataset, Table(scores), lambda side, given, p: scores[side][p, given])
    constant = {side: np.zeros_like(part) for side, part in scores.items()}
    check_against_loop(name, dataset, Table(constant), lambda side, given, p: constant[side][p, given])


@pytest.mark.parametrize("name", ON_ALL)
def test_conventions_on_umls(name, shared):
    """UMLS with the frequency scorer, whose scores tie."""
    dataset = kg.read_dataset(shared / "data" / "umls")
    model, p = kg.baselines.Frequency(dataset), np.arange(46)
    rows = {"object": model.score_objects(p, p), "subject": model.score_subjects(p, p)}
    check_against_loop(name, dataset, model, lambda side, given, p: rows[side][p].tolist())


@pytest.fixture(scope="module", params=["transe", "complex"])
def fb15k_237_part(request, shared):
    """30 test triples of FB15k-237, the others known as train, and the scores of a model for their queries."""
    folder = shared / "data" / "models"
    whole = kg.read_dataset(shared / "data" / "fb15k-237")
    if request.param == "transe":
        model = kg.load_model(folder / "fb15k-237-pykeen" / "transe", whole)
    else:
        said = {"model": "complex", "layout": "halves", "inverse_relations": "after"}
        model = kg.load_model(folder / "fb15k-237-complex.npz", whole, **said)
    has_vector = np.isin(np.arange(len(whole.entities)), np.unique(whole["train"].array[:, [0, 2]]))
    test, valid = (whole[split].array[whole.is_seen(split)] for split in ("test", "valid"))
    is_chosen = np.isin(np.arange(len(test)), np.random.default_rng(0).choice(len(test), 30, replace=False))
    splits = {"train": np.vstack([whole["train"].array, test[~is_chosen]]), "valid": valid, "test": test[is_chosen]}
    ids, old = np.cumsum(has_vector) - 1, np.flatnonzero(has_vector)  # the entities that have vectors, numbered anew
    splits = {name: np.column_stack([ids[t[:, 0]], t[:, 1], ids[t[:, 2]]]) for name, t in splits.items()}
    dataset = kg.Dataset.from_arrays(**splits, n_entities=len(old), n_relations=len(whole.relations))
    every = {side: model.candidate_vectors(side).astype(np.float64) for side in ("subject", "object")}
    rows = {}
    for s, p, o in dataset["test"].array.tolist():
        for side, given in (("object", s), ("subject", o)):
            query = model.query_vectors(side, old[[given]], np.array([p]))[0].astype(np.float64)
            vectors = every[side]
            scores = vectors @ query if request.param == "complex" else -np.abs(vectors - query).sum(axis=1)
            rows[side, given, p] = scores[old] if len(scores) > len(old) else scores
    return dataset, rows


class Looked:
    """A scorer that looks up the rows of the queries that it is asked."""

    def __init__(self, rows):
        self.rows = rows

    def score_objects(self, s, p):
        return np.array([self.rows["object", a, b] for a, b in zip(s.tolist(), p.tolist(), strict=True)])

    def score_subjects(self, p, o):
        return np.array([self.rows["subject", b, a] for a, b in zip(p.tolist(), o.tolist(), strict=True)])


@pytest.mark.parametrize("name", ON_ALL)
def test_conventions_on_fb15k_237(name, fb15k_237_part):
    """Published models whose scores hardly tie."""
    dataset, rows = fb15k_237_part
    protocol = kg.conventions[name].protocol(dataset)
    result = kg.evaluate(Looked(rows), dataset, protocol, check_rows=False, progress=False)
    check_against_loop(name, dataset, result, lambda side, given, p: rows[side, given, p].tolist())


def listed_run(dataset, seed=0):
    """A result among lists of four negatives for each positive on both sides, and the scores of both."""
    rng = np.random.default_rng(seed)
    n = len(dataset["test"])
    scores = {side: (rng.integers(0, 3, n) / 2, rng.integers(0, 3, (n, 4)) / 2) for side in ("subjects", "objects")}
    return kg.evaluate_candidates(dataset, **scores), scores


@pytest.mark.parametrize("name", ["ogb", "tgb"])
def test_lists_of_ogb_and_tgb_are_their_loop(name):
    """OGB, evaluate.py, lines 245-263; TGB, evaluate.py, _eval_hits_and_mrr: half of the sum of two counts, plus 1."""
    dataset, _ = graph(0)
    result, scores = listed_run(dataset)
    ranks = []
    for own, others in scores.values():
        for x, negatives in zip(own, others, strict=True):
            ranks.append(0.5 * (sum(y > x for y in negatives) + sum(y >= x for y in negatives)) + 1)
    for metric, row in kg.conventions[name].table(result).iterrows():
        assert row["low"] == row["high"] == pytest.approx(metric_of(row["meaning"], [(r, 4) for r in ranks])), metric


def check_lists_against_loop(name, dataset, scorer, rows_of):
    """Lists of 20 random negatives, without the answer: the numbers of OGB and TGB equal the loop's."""
    rng, triples = np.random.default_rng(0), dataset["test"].array
    lists, ranks = {}, []
    for side, place in (("subject", 0), ("object", 2)):
        drawn = rng.integers(0, len(dataset.entities) - 1, (len(triples), 20))
        lists[f"{side}s"] = drawn + (drawn >= triples[:, [place]])
        for (s, p, o), others in zip(triples.tolist(), lists[f"{side}s"].tolist(), strict=True):
            given, own = (s, o) if side == "object" else (o, s)
            scores = rows_of(side, given, p)
            higher = sum(scores[j] > scores[own] for j in others)
            ranks.append(0.5 * (higher + sum(scores[j] >= scores[own] for j in others)) + 1)
    convention = kg.conventions[name]
    protocol = convention.protocol(dataset, kg.candidates.Listed(**lists))
    table = convention.table(kg.evaluate(scorer, dataset, protocol, check_rows=False, progress=False))
    for metric, row in table.iterrows():
        wanted = metric_of(row["meaning"], [(rank, 20) for rank in ranks])
        assert row["low"] == row["high"] == pytest.approx(wanted, rel=1e-12), metric


@pytest.mark.parametrize("name", ["ogb", "tgb"])
def test_lists_on_fb15k_237(name, fb15k_237_part):
    """Published models."""
    dataset, rows = fb15k_237_part
    check_lists_against_loop(name, dataset, Looked(rows), lambda side, given, p: rows[side, given, p].tolist())


@pytest.mark.parametrize("name", ["ogb", "tgb"])
def test_lists_on_umls(name, shared):
    """The frequency scorer, whose scores tie, and a constant scorer."""
    dataset = kg.read_dataset(shared / "data" / "umls")
    model = kg.baselines.Frequency(dataset)
    rows = {"object": model.score_objects(None, np.arange(46)), "subject": model.score_subjects(np.arange(46), None)}
    check_lists_against_loop(name, dataset, model, lambda side, given, p: rows[side][p].tolist())
    check_lists_against_loop(name, dataset, lambda s, p, o: 0.0 * s, lambda *_: [0.0] * len(dataset.entities))


@pytest.mark.thorough
def test_the_evaluator_of_ogb_agrees():
    """Live, on ties, in its branch for torch; the one for numpy fails."""
    torch = pytest.importorskip("torch")
    evaluate = pytest.importorskip("ogb.linkproppred").Evaluator(name="ogbl-wikikg2")
    dataset, _ = graph(1)
    result, scores = listed_run(dataset, 1)
    parts = [evaluate.eval({"y_pred_pos": torch.tensor(x), "y_pred_neg": torch.tensor(y)}) for x, y in scores.values()]
    table = kg.conventions["ogb"].table(result)
    for metric in table.index:
        assert table.loc[metric, "low"] == pytest.approx(float(torch.cat([part[metric] for part in parts]).mean()))


@pytest.mark.thorough
def test_the_evaluator_of_pykeen_agrees():
    """Live, with half of the entities' vectors equal, so that scores tie."""
    pytest.importorskip("pykeen", reason="needs kgeval[peers]")
    from pykeen.datasets import get_dataset
    from pykeen.evaluation import RankBasedEvaluator
    from pykeen.models import DistMult

    nations = get_dataset(dataset="nations")
    model = DistMult(triples_factory=nations.training, embedding_dim=4, random_seed=0).eval()
    vectors = model.entity_representations[0]._embeddings.weight.data
    vectors[::2] = vectors[0].clone()
    known = [nations.training.mapped_triples, nations.validation.mapped_triples]
    triples = nations.testing.mapped_triples
    own = RankBasedEvaluator().evaluate(model, triples, additional_filter_triples=known, use_tqdm=False).to_flat_dict()
    dataset = kg.Dataset.of(nations)
    result = kg.evaluate(model, dataset, kg.conventions["pykeen"].protocol(dataset), progress=False)
    assert result.tie_rate > 0.1
    table = kg.conventions["pykeen"].table(result)
    assert table["low"].to_dict() == pytest.approx({key: float(own[key]) for key in table.index}, rel=1e-5)


@pytest.mark.thorough
def test_the_evaluators_of_torchkge_and_pyg_agree():
    """Live models whose vectors repeat, so that scores tie; PyG's sort lies within the bounds."""
    torch = pytest.importorskip("torch")
    torchkge = pytest.importorskip("torchkge")
    pyg = pytest.importorskip("torch_geometric.nn.kge")
    from torchkge.evaluation import LinkPredictionEvaluator

    frames = {"train": 40, "valid": 6, "test": 12}
    rng = np.random.default_rng(5)
    arrays = {k: rng.integers(0, (10, 2, 10), (n, 3)) for k, n in frames.items()}
    arrays["train"] = np.unique(
        np.vstack([arrays["train"], np.column_stack([np.arange(10), np.arange(10) % 2, np.arange(10)])]), axis=0
    )
    seen = set(map(tuple, arrays["train"]))
    for split in ("valid", "test"):
        rows = [tuple(row) for row in np.unique(arrays[split], axis=0) if tuple(row) not in seen]
        seen |= set(rows)
        arrays[split] = np.array(rows)
    dataset = kg.Dataset.from_arrays(**arrays, n_entities=10, n_relations=2)
    vectors, relations = rng.integers(-1, 2, (10, 2)).astype(np.float32), rng.integers(-1, 2, (2, 2)).astype(np.float32)

    class Product:
        def score_objects(self, s, p):
            return (vectors[s] * relations[p]) @ vectors.T

        def score_subjects(self, p, o):
            return (vectors[o] * relations[p]) @ vectors.T

    model = torchkge.models.DistMultModel(2, 10, 2)
    model.ent_emb.weight.data, model.rel_emb.weight.data = torch.tensor(vectors), torch.tensor(relations)
    every = np.vstack(list(arrays.values()))
    ids = {f"e{i}": i for i in range(10)}, {f"r{i}": i for i in range(2)}
    graphs = torchkge.KnowledgeGraph(
        kg={
            "heads": torch.tensor(every[:, 0]),
            "tails": torch.tensor(every[:, 2]),
            "relations": torch.tensor(every[:, 1]),
        },
        ent2ix=ids[0],
        rel2ix=ids[1],
    )
    sizes = [len(arrays["train"]), len(arrays["valid"]), len(arrays["test"])]
    _, _, test = graphs.split_kg(sizes=sizes)
    evaluator = LinkPredictionEvaluator(model, test)
    evaluator.evaluate(b_size=4, verbose=False)
    table = kg.conventions["torchkge"].table(kg.evaluate(Product(), dataset, progress=False))
    theirs = {"Hit@10": evaluator.hit_at_k(10)[1], "Mean Rank": evaluator.mean_rank()[1], "MRR": evaluator.mrr()[1]}
    assert table["low"].to_dict() == pytest.approx(theirs, rel=1e-6)

    model = pyg.DistMult(10, 2, 2)
    model.node_emb.weight.data, model.rel_emb.weight.data = torch.tensor(vectors), torch.tensor(relations)
    own = model.test(*torch.tensor(arrays["test"]).T, batch_size=5, k=10, log=False)
    table = kg.conventions["pyg"].table(kg.evaluate(Product(), dataset, progress=False))
    for number, (_, row) in zip(own, table.iterrows(), strict=True):
        assert row["low"] - 1e-6 <= number <= row["high"] + 1e-6
    assert table.loc["mean_rank", "low"] < table.loc["mean_rank", "high"]


INDUCTIVE = {
    "train": "x\tr\ty\ny\tr\tz\nz\tr\tu\nu\tq\tx\n",
    "valid": "x\tr\tz\nu\tr\ty\n",
    "test": "z\tr\tx\ny\tq\tu\n",
}
TRAINING = "a\tr\tb\nb\tr\tc\n"
FOLDERS = {  # the files, the splits that ULTRA ranks, and those that it filters by
    "grail_ind": (
        {"train.txt": INDUCTIVE["train"], "valid.txt": INDUCTIVE["valid"], "test.txt": INDUCTIVE["test"]},
        ("valid", "test"),
        ("train", "valid", "test"),
    ),
    "ilpc": (
        {
            "train.txt": TRAINING,
            "inference.txt": INDUCTIVE["train"],
            "inference_validation.txt": INDUCTIVE["valid"],
            "inference_test.txt": INDUCTIVE["test"],
        },
        ("test",),
        ("train", "valid", "test"),
    ),
    "indigo": (
        {
            "train/train.txt": TRAINING,
            "train/valid.txt": "a\tr\tc\n",
            "test/test-graph.txt": INDUCTIVE["train"],
            "test/test-fact.txt": INDUCTIVE["test"],
        },
        ("test",),
        ("train", "test"),
    ),
    "mtdea-ind": (
        {"observe.txt": INDUCTIVE["train"], "test.txt": INDUCTIVE["test"]},
        ("test",),
        ("train", "test"),
    ),
}


def written(path, files):
    """Write files, also in folders of the folder."""
    for name, text in files.items():
        write((path / name).parent, {(path / name).name: text})
    return path


def letters(s, p, o):
    """Scores that tie often and differ by side and relation."""
    return ((3 * s + 5 * o + p) % 4).astype(float)


SCORER = """
def letters(s, p, o):
    return ((3 * s + 5 * o + p) % 4).astype(float)
"""


def in_one_command(tmp_path, folder):
    """The result of ``kgeval evaluate FOLDER --as ultra`` with the scores of `letters`."""
    scorer = tmp_path / "letters.py"
    scorer.write_text(SCORER, encoding="utf-8")
    options = ["--scorer", f"{scorer}:letters", "--as", "ultra", "--no-progress", "--out", str(tmp_path / "run.kgeval")]
    assert main(["evaluate", str(folder), *options]) == 0
    return kg.load_result(tmp_path / "run.kgeval")


def ultra_loop(triples, ranked, known):
    """MRR and hits@10_50 of ULTRA: script/run.py, test, with the filter of its families; labels in, numbers out."""
    entities = sorted({e for rows in triples.values() for s, _, o in rows for e in (s, o)})
    names = sorted({p for rows in triples.values() for _, p, _ in rows})
    facts = {triple for split in known for triple in triples[split]}
    pairs = []
    for s, p, o in (triple for split in ranked for triple in triples[split]):
        for side in ("object", "subject"):
            made = [(s, p, e) if side == "object" else (e, p, o) for e in entities]
            scores = [
                float(letters(*(np.array(entities.index(a)), np.array(names.index(p)), np.array(entities.index(b)))))
                for a, _, b in made
            ]
            hidden = {i for i, triple in enumerate(made) if triple in facts}
            own = made.index((s, p, o))
            pairs.append((pessimistic(scores, own, hidden), len(made) - len(hidden | {own})))
    return metric_of("mrr", pairs), metric_of("hits@10_of_49", pairs)


def nbfnet_on_grail(triples):
    """NBFNet, nbfnet/dataset.py, load_inductive_tsvs, and task.py, InductiveKnowledgeGraphCompletion, target, evaluate.

    The mask leaves out the facts of the inference graph alone, so that the positive is one of the negatives. Returns
    MRR and hits@10_50, whose binomial has n = 50.
    """
    entities = sorted({e for rows in triples.values() for s, _, o in rows for e in (s, o)})
    names = sorted({p for rows in triples.values() for _, p, _ in rows})
    ranks, terms = [], []
    for s, p, o in triples["test"]:
        for made in ([(s, p, e) for e in entities], [(e, p, o) for e in entities]):
            scores = [
                float(letters(*(np.array(entities.index(a)), np.array(names.index(p)), np.array(entities.index(b)))))
                for a, _, b in made
            ]
            mask = [triple not in triples["train"] for triple in made]
            own = scores[made.index((s, p, o))]
            ranks.append(1 + sum(own <= x and m for x, m in zip(scores, mask, strict=True)))
            q = (ranks[-1] - 1) / sum(mask)
            terms.append(sum(binomial(50, i) * q**i * (1 - q) ** (50 - i) for i in range(10)))
    return sum(1 / rank for rank in ranks) / len(ranks), sum(terms) / len(terms)


def labelled(dataset):
    """The triples of each split, as labels."""
    return {
        split: [
            (dataset.entities.labels[s], dataset.relations.labels[p], dataset.entities.labels[o])
            for s, p, o in dataset[split].array.tolist()
        ]
        for split in dataset.splits
    }


@pytest.mark.parametrize("family", FOLDERS)
def test_ultra_ranks_each_family_by_its_own_rule(family, tmp_path):
    """GraIL: valid and test are ranked together; ILPC: valid filters; INDIGO and MTDEA: valid is of another graph."""
    files, ranked, known = FOLDERS[family]
    dataset = kg.read_dataset(written(tmp_path / family, files))
    protocol = kg.conventions["ultra"].protocol(dataset)
    assert (protocol.splits, protocol.filter) == (ranked, known)
    table = kg.conventions["ultra"].table(kg.evaluate(letters, dataset, protocol, progress=False))
    assert kg.conventions["ultra"].table(in_one_command(tmp_path, tmp_path / family)).equals(table)
    assert {"a", "b", "c"}.isdisjoint(dataset.entities.labels)
    assert table.loc[["mrr", "hits@10_50"], "low"].tolist() == pytest.approx(
        ultra_loop(labelled(dataset), ranked, known)
    )


@pytest.mark.parametrize(
    ("folder", "ranked"), [("grail-nell_v1/nell_v1_ind", ("valid", "test")), ("ingram-nl-0", ("test",))]
)
def test_ultra_on_real_folders(folder, ranked, shared, tmp_path):
    """In one command, equal to the loop."""
    dataset = kg.read_dataset(shared / "data" / "formats" / folder)
    result = kg.evaluate(letters, dataset, kg.conventions["ultra"].protocol(dataset), progress=False)
    command = in_one_command(tmp_path, shared / "data" / "formats" / folder)
    assert kg.conventions["ultra"].table(command).equals(kg.conventions["ultra"].table(result))
    triples = labelled(dataset)
    if "nl-0" in folder:  # the loop on a part: the others stay in the filter and among the entities
        triples = {
            "train": triples["train"] + triples["test"][40:],
            "valid": triples["valid"],
            "test": triples["test"][:40],
        }
        ids = {
            split: [
                (dataset.entities.labels.index(s), dataset.relations.labels.index(p), dataset.entities.labels.index(o))
                for s, p, o in rows
            ]
            for split, rows in triples.items()
        }
        part = kg.Dataset.from_arrays(**ids, n_entities=len(dataset.entities), n_relations=len(dataset.relations))
        dataset = part.with_notes(dataset.notes)
    protocol = kg.conventions["ultra"].protocol(dataset)
    assert protocol.splits == ranked
    table = kg.conventions["ultra"].table(kg.evaluate(letters, dataset, protocol, progress=False))
    assert table.loc[["mrr", "hits@10_50"], "low"].tolist() == pytest.approx(
        ultra_loop(triples, ranked, tuple(triples))
    )


def test_a_folder_above_several_graphs_says_which_to_name(shared, capsys):
    """GraIL's nell_v1: one folder for training, one for the inference graph."""
    folder = shared / "data" / "formats" / "grail-nell_v1"
    assert main(["evaluate", str(folder), "--scorer", "letters.py:letters", "--as", "ultra"]) == 2
    text = " ".join(capsys.readouterr().err.split())
    assert "Splits seem to be in the folders nell_v1, nell_v1_ind: give the path of one of them" in text


def test_nbfnet_on_grail(tmp_path):
    """It ranks test alone, knows the inference graph alone, and the positive is its own rival; elsewhere as ULTRA."""
    dataset = kg.read_dataset(written(tmp_path / "grail_ind", FOLDERS["grail_ind"][0]))
    nbfnet = kg.conventions["nbfnet"]
    protocol = nbfnet.protocol(dataset)
    assert (protocol.splits, protocol.filter) == (("test",), ("train",))
    table = nbfnet.table(kg.evaluate(letters, dataset, protocol, progress=False))
    wanted = nbfnet_on_grail(labelled(dataset))
    assert table.loc[["mrr", "hits@10_50"], "low"].tolist() == pytest.approx(wanted, rel=1e-12)
    with pytest.raises(kg.ProtocolError, match="it ranks test, ultra valid\\+test; it is filtered by train, ultra by"):
        kg.conventions["ultra"].table(kg.evaluate(letters, dataset, protocol, progress=False))


def test_ultra_averages_the_object_side_of_five_datasets():
    """WDsinger, NELL23k and the sparse FB15k-237."""
    dataset, _ = graph(0)
    for name in ("WDsinger", "NELL23K", "FB15K-237-10", "fb15k237_50"):
        dataset.name = name
        assert kg.conventions["ultra"].protocol(dataset).sides == ("object",)
        assert len(kg.conventions["openke"].protocol(dataset).sides) == 2


def test_a_result_of_another_protocol_is_refused():
    """The message names what differs and what to do."""
    dataset, scores = graph(0)
    model, table = Table(scores), kg.conventions["openke"].table
    cases = {
        "it is filtered by train, openke by train+valid+test": kg.Protocol(filter="train"),
        "it does not rank the subject side, which openke ranks": kg.Protocol(sides="object"),
        "it ranks valid, openke test": kg.Protocol(splits="valid"),
        "its unseen entities are treated by 'drop', openke by 'rank'": kg.Protocol(unseen="drop"),
        "it ranks 2 of 9 triples (chosen by the user), openke all triples": kg.Protocol(sample=[0, 1]),
    }
    for said, protocol in cases.items():
        with pytest.raises(kg.ProtocolError) as caught:
            table(kg.evaluate(model, dataset, protocol, progress=False))
        assert str(caught.value) == (
            f"this result does not give the numbers of openke: {said}. Evaluate with "
            "kgeval.conventions['openke'].protocol(dataset), or --as openke"
        )
    both = kg.evaluate(model, dataset, progress=False)
    assert (
        kg.conventions["pyg"]
        .table(both)
        .equals(
            kg.conventions["pyg"].table(
                kg.evaluate(model, dataset, kg.conventions["pyg"].protocol(dataset), progress=False)
            )
        )
    )
    with pytest.raises(kg.ProtocolError, match="it ranks among all entities, ogb among a list of negatives for each"):
        kg.conventions["ogb"].table(both)
    with pytest.raises(kg.ProtocolError, match="ogb ranks each positive among its own list of negatives; give them"):
        kg.conventions["ogb"].protocol(dataset)
    with pytest.raises(kg.ProtocolError, match=r"must be one of 'pykeen', .*'openk'"):
        kg.conventions["openk"]
