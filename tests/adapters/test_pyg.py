"""Live models of PyTorch Geometric: ids by label, the exact kernels, and its own test loop as the oracle."""

import grids
import numpy as np
import pytest
from adapter_cases import check_counts, labelled_graph, random_scores

import kgeval as kg
from kgeval.adapters import from_model

MODELS = {
    "TransE": ({"hidden_channels": 16}, "TransE, L1, 16 dimensions, entities divided by their L1 norms"),
    "TransE, L2": ({"hidden_channels": 16, "p_norm": 2.0}, "TransE, L2, 16 dimensions, entities divided by their L2"),
    "TransE, L1.5": ({"hidden_channels": 16, "p_norm": 1.5}, None),  # no model of kgeval: scored by the library
    "DistMult": ({"hidden_channels": 16}, "DistMult, 16 dimensions"),
    "ComplEx": ({"hidden_channels": 8}, "ComplEx, 8 complex dimensions (halves)"),
    "RotatE": ({"hidden_channels": 8, "margin": 9.0}, "RotatE, L2, 8 complex dimensions (halves)"),
}


def stand_in(entities, relations, table):
    """A model as PyTorch Geometric has them, without torch: it scores with a table of its own ids."""

    def call(self, head_index, rel_type, tail_index):
        assert not self.training
        return table[np.asarray(head_index), np.asarray(rel_type), np.asarray(tail_index)]

    members = {
        "__module__": "torch_geometric.nn.kge.base",
        "__call__": call,
        "eval": lambda self: setattr(self, "training", False),
        "named_parameters": lambda self: [],
    }
    model = type("KGEModel", (), members)()
    model.num_nodes, model.num_relations, model.training = len(entities), len(relations), True
    return model


@pytest.mark.parametrize("seed", range(grids.size(2, 60)))
def test_counts_are_those_of_a_loop_over_labels(seed):
    """Ids in another order, train-only vocabularies, a node that the dataset lacks, ties."""
    dataset, entities, relations = labelled_graph(seed)
    table = random_scores(seed, entities, relations)
    model = stand_in(entities, relations, table)
    adapter = from_model(model, ids=(entities, relations))
    check_counts(adapter, dataset, entities, relations, lambda s, p, o, side: table[s, p, o])
    assert model.training


def test_bare_models_have_no_labels():
    """Only a dataset without labels has ids that can be meant; else ids= is asked for."""
    triples, names = [[0, 0, 1], [1, 0, 2]], ["a", "b", "c"]
    model = stand_in(names, ["r"], np.arange(9.0).reshape(3, 1, 3))
    bare = kg.Dataset.from_arrays(train=triples, test=[[0, 0, 2]], n_entities=3, n_relations=1)
    assert "the model's ids were read as the ids of the dataset, which has no labels" in kg.evaluate(model, bare).notes
    labelled = kg.Dataset.from_frames(train=[("a", "r", "b"), ("b", "r", "c")], test=[("a", "r", "c")])
    with pytest.raises(kg.ScoreError, match=r"nothing says .* of PyTorch Geometric's KGEModel belong.*ids='dataset'"):
        kg.evaluate(model, labelled)
    said = kg.evaluate(from_model(model, ids="dataset"), labelled)
    assert "row i of the model was read as label i of the dataset (ids='dataset')" in said.notes
    with pytest.raises(kg.ScoreError, match="PyTorch Geometric's KGEModel has 3 entities, but there are 2 labels"):
        kg.evaluate(from_model(model, ids=(["a", "b"], ["r"])), labelled)


@pytest.fixture(scope="module")
def trained(shared, one_torch_thread):
    """A function that trains a model for a second on a dataset whose labels are in another order than its ids."""
    torch = pytest.importorskip("torch", reason="needs kgeval[peers]")
    kge = pytest.importorskip("torch_geometric.nn.kge", reason="needs kgeval[peers]")

    def train(case, folder):
        dataset = kg.read_dataset(shared / "data" / folder)
        rng = np.random.default_rng(5)
        labels = [list(vocabulary.labels) for vocabulary in (dataset.entities, dataset.relations)]
        for part in labels:
            rng.shuffle(part)
        id_of = [{label: i for i, label in enumerate(part)} for part in labels]
        place = [
            np.array([ids[label] for label in vocabulary.labels])
            for ids, vocabulary in zip(id_of, (dataset.entities, dataset.relations))
        ]
        splits = {
            name: [torch.tensor(part) for part in (place[0][rows[:, 0]], place[1][rows[:, 1]], place[0][rows[:, 2]])]
            for name, rows in ((name, dataset[name].array) for name in dataset.splits)
        }
        torch.manual_seed(2)
        model = getattr(kge, case.split(",")[0])(len(labels[0]), len(labels[1]), **MODELS[case][0])
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        model.train()
        for _ in range(3):
            for h, r, t in model.loader(*splits["train"], batch_size=500, shuffle=True):
                optimizer.zero_grad()
                model.loss(h, r, t).backward()
                optimizer.step()
        return model, dataset, tuple(id_of), splits["test"]

    return train


@pytest.mark.parametrize("folder", ["nations", "umls"])
@pytest.mark.parametrize("case", MODELS)
def test_own_metrics_of_trained_models(trained, case, folder, tmp_path):
    """PyTorch Geometric's `test`: objects, all nodes, a mean rank that counts from 0. Live and saved are the same."""
    import torch

    model, dataset, id_of, test = trained(case, folder)
    live = kg.evaluate(from_model(model, ids=id_of), dataset)
    assert model.training
    mean_rank, mrr, hits = model.test(*test, batch_size=500, k=3, log=False)
    assert live["raw.object.mr"] == pytest.approx(mean_rank + 1, rel=1e-6)
    assert live["raw.object.mrr"] == pytest.approx(mrr, rel=1e-6)
    assert live["raw.object.hits@3"] == pytest.approx(hits, abs=1e-9)
    assert live.tie_rate == 0  # else its order of tied scores would matter
    options, description = MODELS[case]
    notes = " | ".join(live.notes)
    assert ("ranked by kgeval's exact kernels" in notes) == (description is not None)
    assert "the constant margin=9 of RotatE is left out" in notes if case == "RotatE" else "margin" not in notes
    if description is None:
        return
    assert live.notes[0].startswith(description)
    torch.save(model.state_dict(), tmp_path / "model.pt")
    settings = {"model": case.split(",")[0].lower()} | (
        {"norm": int(options.get("p_norm", 1))} if "TransE" in case else {}
    )
    labels = {f"{kind}_labels": list(ids) for kind, ids in zip(("entity", "relation"), id_of)}
    saved = kg.evaluate(kg.load_model(tmp_path / "model.pt", dataset, **settings, **labels), dataset)
    assert saved.table.equals(live.table)


def test_ids_of_the_dataset_are_not_those_of_the_model(trained):
    """The trap of id orders: taken by position, the same model has the numbers of chance."""
    model, dataset, id_of, _ = trained("ComplEx", "umls")
    right = kg.evaluate(from_model(model, ids=id_of), dataset)["mrr"]
    wrong = kg.evaluate(from_model(model, ids="dataset"), dataset)["mrr"]
    assert right > 0.25 > 0.1 > wrong


def test_a_changed_formula_is_not_ranked_exactly(trained):
    """A subclass that scores in another way keeps its own scores, and the result says why.

    Probes alone would miss a method that changes few scores, such as those of one node.
    """
    import torch

    model, dataset, id_of, _ = trained("DistMult", "nations")
    kind = type("Mine", (type(model),), {"forward": lambda self, h, r, t: -(self.node_emb(t) ** 2).sum(1) + 0 * h})
    model.__class__ = kind
    result = kg.evaluate(from_model(model, ids=id_of), dataset)
    assert "not ranked by kgeval's exact kernels: the class of the model defines its own forward" in result.notes
    norms = (model.node_emb.weight.detach() ** 2).sum(1)
    positions = torch.argsort(torch.argsort(norms)) + 1  # the rank of each node as an object
    objects = [id_of[0][dataset.entities.labels[o]] for o in dataset["test"].array[:, 2]]
    assert result["raw.object.mr"] == pytest.approx(positions[objects].double().mean().item())


def test_a_method_that_changes_one_score_only():
    """No probe need meet the changed triple, so the library's own method is a condition of the exact kernels."""
    torch = pytest.importorskip("torch", reason="needs kgeval[torch]")
    kge = pytest.importorskip("torch_geometric.nn.kge", reason="needs kgeval[peers]")
    triples = np.array([[i, 0, i + 1] for i in range(200)])
    dataset = kg.Dataset.from_arrays(train=triples[:100], test=triples[100:], n_entities=201, n_relations=1)
    protocol = kg.Protocol(sides="object")

    class Mine(kge.DistMult):
        def forward(self, h, r, t):
            return super().forward(h, r, t) + 1e3 * ((h == 151) & (t == 152))

    torch.manual_seed(0)
    model = Mine(num_nodes=201, num_relations=1, hidden_channels=4)
    row = 151 - 100
    assert kg.evaluate(model, dataset, protocol).table["better_filtered"].iloc[row] == 0
    model.__class__ = kge.DistMult
    assert kg.evaluate(model, dataset, protocol).table["better_filtered"].iloc[row] > 0
