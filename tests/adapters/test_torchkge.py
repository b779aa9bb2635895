"""Live models of TorchKGE: its own evaluator as the oracle, unnormalised vectors, marks that are restored."""

from types import SimpleNamespace

import grids
import numpy as np
import pytest
from adapter_cases import check_counts, labelled_graph, random_scores

import kgeval as kg
from kgeval.adapters import from_function, from_model

EXACT = {  # the classes that kgeval.models has, how they are made, and what a state dict does not say
    "TransE, L1": ("TransEModel", lambda n, m: (12, n, m, "L1"), {"model": "transe", "norm": 1}),
    "TransE, L2": ("TransEModel", lambda n, m: (12, n, m, "L2"), {"model": "transe", "norm": 2}),
    "DistMult": ("DistMultModel", lambda n, m: (12, n, m), {"model": "distmult"}),
    "HolE": ("HolEModel", lambda n, m: (12, n, m), {"model": "hole"}),
    "RESCAL": ("RESCALModel", lambda n, m: (8, n, m), {}),
    "ComplEx": ("ComplExModel", lambda n, m: (8, n, m), {}),
    "Analogy": ("AnalogyModel", lambda n, m: (12, n, m), {}),
}
SCORED = {
    "TransH": ("TransHModel", lambda n, m: (12, n, m)),
    "TransR": ("TransRModel", lambda n, m: (12, 8, n, m)),
    "TransD": ("TransDModel", lambda n, m: (12, 8, n, m)),
    "ConvKB": ("ConvKBModel", lambda n, m: (8, 4, n, m)),
    "TorusE": ("TorusEModel", lambda n, m: (12, n, m, "torus_L2")),
}


def stand_in(entities, relations, table):
    """A model as TorchKGE has them, without torch: heads, tails, relations; scoring changes a mark."""

    def scoring_function(self, h_idx, t_idx, r_idx):
        assert not self.training
        self.evaluated_projections = False
        return table[np.asarray(h_idx), np.asarray(r_idx), np.asarray(t_idx)]

    members = {
        "__module__": "torchkge.models.interfaces",
        "scoring_function": scoring_function,
        "eval": lambda self: setattr(self, "training", False),
        "named_parameters": lambda self: [],
    }
    model = type("Model", (), members)()
    model.n_ent, model.n_rel, model.training, model.evaluated_projections = len(entities), len(relations), True, True
    return model


@pytest.mark.parametrize("seed", range(grids.size(2, 60)))
def test_counts_are_those_of_a_loop_over_labels(seed):
    """Ids in another order, train-only vocabularies, an entity that the dataset lacks, ties; marks are restored."""
    dataset, entities, relations = labelled_graph(seed)
    table = random_scores(seed, entities, relations)
    model = stand_in(entities, relations, table)
    graph = SimpleNamespace(
        ent2ix={label: i for i, label in enumerate(entities)}, rel2ix={label: i for i, label in enumerate(relations)}
    )
    adapter = from_model(model, ids=graph)
    check_counts(adapter, dataset, entities, relations, lambda s, p, o, side: table[s, p, o])
    assert (model.training, model.evaluated_projections) == (True, True)


@pytest.fixture(scope="module")
def torchkge(shared, one_torch_thread):
    pytest.importorskip("torch", reason="needs kgeval[peers]")
    return pytest.importorskip("torchkge", reason="needs kgeval[peers]")


@pytest.fixture(scope="module")
def graphs(torchkge, shared):
    """A dataset, and TorchKGE's graph of it with its test part; the ids of TorchKGE are in another order."""
    import pandas as pd

    made = {}
    for folder in ("nations", "umls"):
        dataset = kg.read_dataset(shared / "data" / folder)
        labels = [list(vocabulary.labels) for vocabulary in (dataset.entities, dataset.relations)]
        rng = np.random.default_rng(7)
        for part in labels:
            rng.shuffle(part)
        columns = [np.array(vocabulary.labels) for vocabulary in (dataset.entities, dataset.relations)]
        rows = np.concatenate([dataset[split].array for split in ("train", "valid", "test")])
        frame = pd.DataFrame(
            {"from": columns[0][rows[:, 0]], "to": columns[0][rows[:, 2]], "rel": columns[1][rows[:, 1]]}
        )
        dictionaries = [{label: i for i, label in enumerate(part)} for part in labels]
        graph = torchkge.KnowledgeGraph(frame, ent2ix=dictionaries[0], rel2ix=dictionaries[1])
        sizes = tuple(len(dataset[split].array) for split in ("train", "valid", "test"))
        made[folder] = dataset, graph, *graph.split_kg(sizes=sizes)
    return made


@pytest.fixture(scope="module")
def trained(torchkge, graphs):
    """A function that trains a model for a second, and normalises its vectors as TorchKGE asks for."""
    import torch
    from torchkge.sampling import BernoulliNegativeSampler
    from torchkge.utils import DataLoader, MarginLoss

    def train(case, folder, normalise=True):
        _, graph, part, *_ = graphs[folder]
        kind, arguments = (EXACT | SCORED)[case][:2]
        torch.manual_seed(1)
        model = getattr(torchkge.models, kind)(*arguments(graph.n_ent, graph.n_rel))
        sampler, loss = BernoulliNegativeSampler(part), MarginLoss(0.5)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        model.train()
        for _ in range(3):
            for h, t, r in DataLoader(part, batch_size=512):
                optimizer.zero_grad()
                loss(*model(h, t, r, *sampler.corrupt_batch(h, t, r))).backward()
                optimizer.step()
            if normalise:
                model.normalize_parameters()
        return model

    return train


def own_ranks(torchkge, model, test):
    """The ranks and metrics of TorchKGE's evaluator: rival scores that are equal count, known answers are -inf."""
    import torch

    evaluator = torchkge.evaluation.LinkPredictionEvaluator(model, test)
    with torch.no_grad():
        evaluator.evaluate(64, verbose=False)
    ranks = {
        ("subject", "raw"): evaluator.rank_true_heads,
        ("object", "raw"): evaluator.rank_true_tails,
        ("subject", "filtered"): evaluator.filt_rank_true_heads,
        ("object", "filtered"): evaluator.filt_rank_true_tails,
    }
    metrics = {"mr": evaluator.mean_rank(), "mrr": evaluator.mrr()}
    metrics |= {f"hits@{k}": evaluator.hit_at_k(k) for k in (1, 3, 10)}
    return {key: values.numpy() for key, values in ranks.items()}, metrics


@pytest.mark.parametrize("folder", ["nations", "umls"])
@pytest.mark.parametrize("case", [*EXACT, *SCORED])
def test_own_metrics_of_trained_models(torchkge, graphs, trained, case, folder, tmp_path):
    """Every single rank is that of TorchKGE's evaluator, which ranks pessimistically; live and saved are the same."""
    import torch

    dataset, graph, *_, test = graphs[folder]
    model = trained(case, folder)
    before = {name: values.clone() for name, values in model.state_dict().items()}
    live = kg.evaluate(from_model(model, ids=graph), dataset)
    assert model.training
    assert all(
        torch.equal(values.nan_to_num(), before[name].nan_to_num()) for name, values in model.state_dict().items()
    )
    ranks, metrics = own_ranks(torchkge, model, test)
    for (side, setting), theirs in ranks.items():
        rows = live.table[live.table["side"] == side]
        mine = rows[f"better_{setting}"] + rows[f"tied_{setting}"] + 1
        assert np.array_equal(mine, theirs), (side, setting)
    for key, (raw, filtered) in metrics.items():
        assert live[f"raw.pessimistic.{key}"] == pytest.approx(raw, rel=1e-6)
        assert live[f"pessimistic.{key}"] == pytest.approx(filtered, rel=1e-6)
    notes = " | ".join(live.notes)
    assert ("ranked by kgeval's exact kernels" in notes) == (case in EXACT)
    assert ("L2 dissimilarity is the squared distance" in notes) == (case == "TransE, L2")
    if case in EXACT:
        torch.save(model.state_dict(), tmp_path / "model.pt")
        labels = {"entity_labels": list(graph.ent2ix), "relation_labels": list(graph.rel2ix)}
        saved = kg.evaluate(kg.load_model(tmp_path / "model.pt", dataset, **EXACT[case][2], **labels), dataset)
        assert saved.table.equals(live.table)


@pytest.mark.parametrize("case", ["TransE, L1", "DistMult", "HolE", "RESCAL", "TransH", "TransR", "TransD"])
def test_vectors_of_other_norms_are_asked_about(torchkge, graphs, trained, case):
    """The training divides them by their norms, the evaluator does not: two scores, and no number without a word."""
    dataset, graph, *_, test = graphs["nations"]
    model = trained(case, "nations", normalise=False)
    model.ent_emb.weight.data[::2] *= 3
    message = r"row \d+ of \w+ has the norm .*, not 1, .*two scores.*normalize_parameters.*order='sop'"
    with pytest.raises(kg.ScoreError, match=message):
        kg.evaluate(from_model(model, ids=graph), dataset)
    training = kg.evaluate(from_function(model.scoring_function, order="sop", ids=graph), dataset)
    assert model.training
    evaluator = own_ranks(torchkge, model, test)[1]["mrr"][1]
    assert abs(training["pessimistic.mrr"] - evaluator) > 1e-3  # the two scores do differ
    model.normalize_parameters()
    if hasattr(model, "evaluated_projections"):
        model.evaluated_projections = False  # else TorchKGE's evaluator ranks the projections of the old vectors
    normalised = kg.evaluate(from_model(model, ids=graph), dataset)["pessimistic.mrr"]
    assert normalised == pytest.approx(own_ranks(torchkge, model, test)[1]["mrr"][1], rel=1e-6)


def test_parameters_are_read_in_each_evaluation(torchkge, graphs, trained):
    """An adapter made once follows the parameters, also where TorchKGE's evaluator keeps old projections."""
    dataset, graph, *_, test = graphs["nations"]
    for case in ("TransH", "DistMult"):
        model = trained(case, "nations")
        adapter = from_model(model, ids=graph)
        first = kg.evaluate(adapter, dataset)["mr"]
        own_ranks(torchkge, model, test)
        model.ent_emb.weight.data = model.ent_emb.weight.data.flip(0).contiguous()
        second = kg.evaluate(adapter, dataset)["mr"]
        assert first != second
        if case == "TransH":
            model.evaluated_projections = False
        theirs = own_ranks(torchkge, model, test)[1]["mr"][1]
        assert kg.evaluate(adapter, dataset)["pessimistic.mr"] == pytest.approx(theirs, rel=1e-6)


def test_ids_of_a_dataset_of_the_graphs(torchkge, graphs, trained):
    """A dataset made of TorchKGE's graphs has its ids, so that the bare model is enough."""
    dataset, graph, *parts = graphs["nations"]
    model = trained("ComplEx", "nations")
    said = kg.evaluate(from_model(model, ids=graph), dataset)
    with pytest.raises(
        kg.ScoreError, match="nothing says to which entities and relations the ids of TorchKGE's ComplEx"
    ):
        kg.evaluate(model, dataset)
    theirs = kg.Dataset.of(dict(zip(("train", "valid", "test"), parts)))
    bare = kg.evaluate(model, theirs)
    assert bare["mrr"] == pytest.approx(said["mrr"], rel=1e-12)
    wrong = kg.evaluate(from_model(model, ids="dataset"), dataset)
    assert abs(wrong["mrr"] - said["mrr"]) > 0.01  # the trap of id orders


def test_a_changed_formula_is_not_ranked_exactly(graphs, trained):
    """A subclass that scores in another way keeps its own scores, and the result says why."""
    dataset, graph, *_ = graphs["nations"]
    model = trained("DistMult", "nations")
    scoring = type(model).scoring_function
    model.__class__ = type("Mine", (type(model),), {"scoring_function": lambda self, h, t, r: -scoring(self, h, t, r)})
    changed = kg.evaluate(from_model(model, ids=graph), dataset)
    assert (
        "not ranked by kgeval's exact kernels: the class of the model defines its own scoring_function" in changed.notes
    )
    assert changed.facts["scorer"] == "Mine"


def test_large_batches_are_scored_in_parts(graphs, trained, monkeypatch):
    """The number of vectors at a time is limited; the scores are the same."""
    from kgeval.adapters import triples

    dataset, graph, *_ = graphs["nations"]
    model = trained("TransR", "nations")
    whole = kg.evaluate(from_model(model, ids=graph), dataset)
    sizes = []
    scoring = type(model).scoring_function
    monkeypatch.setattr(triples, "MAX_NUMBERS", 5000)
    model.scoring_function = lambda h, t, r: sizes.append(len(h)) or scoring(model, h, t, r)
    assert kg.evaluate(from_model(model, ids=graph), dataset).table.equals(whole.table)
    assert max(sizes) == 5000 // (12 * 8)
