"""`evaluate_candidates` as the evaluators of OGB and TGB: their numbers, shapes of input and split dictionaries."""

import random

import numpy as np
import pandas as pd
import pytest
from grids import size
from kgeval.candidates import Listed

import kgeval as kg
from kgeval.data.triples import TripleSet
from kgeval.data.vocabulary import Vocabulary

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")


def by_rule(positive, negatives, k):
    """The reciprocal rank and hits@k of one positive by the rule that OGB and TGB document, in a loop.

    The best and the worst place among negatives with an equal score are averaged; the average decides hits@k too.
    """
    best = 1 + sum(score > positive for score in negatives)
    worst = 1 + sum(score >= positive for score in negatives)
    rank = (best + worst) / 2
    return 1 / rank, float(rank <= k)


def graph(n=3, n_entities=20):
    return kg.Dataset.from_arrays(test=[[0, 0, 1 + i] for i in range(n)], n_entities=n_entities, n_relations=1)


def draw(seed, n=None, m=None):
    """Scores with many ties of n positives and m negatives each, float32."""
    rng = np.random.default_rng(seed)
    n, m = n or int(rng.integers(1, 9)), m or int(rng.integers(1, 14))
    levels = int(rng.integers(1, 8))
    return tuple(rng.integers(0, levels, shape).astype(np.float32) / 4 for shape in ((n,), (n, m)))


class Tensor:
    """What looks like a tensor of torch on another device: numbers come out by ``detach().cpu().numpy()`` only."""

    def __init__(self, values):
        self.values = np.asarray(values)
        self.ndim, self.shape, self.dtype = self.values.ndim, self.values.shape, self.values.dtype

    def __len__(self):
        return len(self.values)

    def __getitem__(self, key):
        return Tensor(self.values[key])

    def __array__(self, *_, **__):
        raise TypeError("on a device")

    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return self.values


def test_the_numbers_are_those_of_the_rule():
    """Both sides and each side, with ties: MRR and hits@k of the evaluators' rule, to float64."""
    for seed in range(size(4, 150)):
        (pos, neg), (pos2, neg2) = draw(seed), draw(seed + 9999)
        pos2, neg2 = np.resize(pos2, len(pos)), np.resize(neg2, (len(pos), neg2.shape[1]))
        result = kg.evaluate_candidates(
            graph(len(pos)),
            objects={"y_pred_pos": pos, "y_pred_neg": neg, "eval_metric": ["mrr"]},
            subjects={"y_pred_pos": Tensor(pos2), "y_pred_neg": Tensor(neg2)},
        )
        for k in (1, 3, 10):
            sides = {
                "object": [by_rule(*row, k) for row in zip(pos, neg)],
                "subject": [by_rule(*row, k) for row in zip(pos2, neg2)],
            }
            for side, rows in sides.items():
                assert result[f"{side}.mrr"] == pytest.approx(np.mean([row[0] for row in rows]), rel=1e-12), seed
                assert result[f"{side}.hits@{k}"] == pytest.approx(np.mean([row[1] for row in rows]), rel=1e-12), seed
            both = sides["object"] + sides["subject"]  # OGB concatenates the lists of both sides
            assert result["mrr"] == pytest.approx(np.mean([row[0] for row in both]), rel=1e-12)
            assert result["raw.mrr"] == result["mrr"]
            assert result[f"hits@{k}"] == pytest.approx(np.mean([row[1] for row in both]), rel=1e-12)


def test_every_shape_gives_the_same_result(tmp_path):
    """A pair, a dict, tensors, a file, one dict per call, one dict per positive: one result."""
    for seed in range(size(3, 40)):
        pos, neg = draw(seed)
        np.savez(tmp_path / "predictions.npz", y_pred_pos=pos, y_pred_neg=neg)
        wanted = kg.evaluate_candidates(graph(len(pos)), objects=(pos, neg))
        cut = len(pos) // 2
        forms = {
            "dict": {"y_pred_pos": pos, "y_pred_neg": neg},
            "tensors": {"y_pred_pos": Tensor(pos), "y_pred_neg": Tensor(neg)},
            "file": tmp_path / "predictions.npz",
            "name of a file": str(tmp_path / "predictions.npz"),
            "opened file": np.load(tmp_path / "predictions.npz"),
            "batches": [
                {"y_pred_pos": pos[part], "y_pred_neg": neg[part]} for part in (slice(0, cut), slice(cut, None))
            ],
            "calls": [{"y_pred_pos": pos[i : i + 1], "y_pred_neg": neg[i]} for i in range(len(pos))],
            "calls with numbers": [{"y_pred_pos": pos[i], "y_pred_neg": list(neg[i])} for i in range(len(pos))],
        }
        for form, given in forms.items():
            found = kg.evaluate_candidates(graph(len(pos)), objects=given)
            assert found == wanted, (seed, form)
        assert any("the filtered setting equals the raw setting" in note for note in wanted.notes)


def test_lists_of_different_lengths_in_calls():
    """TGB: one call per positive, each with as many negatives as are left after its filter."""
    for seed in range(size(4, 100)):
        rng = random.Random(seed)
        n = rng.randint(2, 6)
        lists = [[rng.randrange(4) / 2 for _ in range(rng.randint(1, 7))] for _ in range(n)]
        positives = [rng.randrange(4) / 2 for _ in range(n)]
        calls = [{"y_pred_pos": np.array([p]), "y_pred_neg": np.array(row)} for p, row in zip(positives, lists)]
        result = kg.evaluate_candidates(graph(n), objects=calls)
        rows = [by_rule(p, row, 3) for p, row in zip(positives, lists)]
        assert result["mrr"] == pytest.approx(np.mean([row[0] for row in rows]), rel=1e-12)
        assert result["hits@3"] == pytest.approx(np.mean([row[1] for row in rows]), rel=1e-12)
        ragged = np.empty(n, dtype=object)
        ragged[:] = [np.array(row) for row in lists]
        pair = kg.evaluate_candidates(graph(n), objects={"y_pred_pos": np.array(positives), "y_pred_neg": ragged})
        assert pair == result


THREE = np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        (
            {"y_pred_pos": THREE},
            "objects must have the keys y_pred_pos, shape (n,), and y_pred_neg, shape (n, m); got y_pred_pos",
        ),
        (
            {"y_pred_pos": THREE, "y_pred_neg": THREE[:, None], "y_pred_neg_tail": THREE},
            "objects must have the keys y_pred_pos, shape (n,), and y_pred_neg, shape (n, m); got y_pred_pos, "
            "y_pred_neg, y_pred_neg_tail",
        ),
        (
            {"y_pred_pos": THREE, "y_pred_neg": np.arange(9.0)},
            "objects['y_pred_neg'] has shape (9,) for 3 positives: negatives that all positives share, as in ogbl-ppa "
            "and ogbl-collab. kgeval ranks each positive among its own list: give shape (n, m)",
        ),
        (
            {"y_pred_pos": THREE[:, None], "y_pred_neg": np.ones((3, 2))},
            "objects['y_pred_pos'] must have shape (n,), one score per positive; got shape (3, 1)",
        ),
        (
            {"y_pred_pos": np.array([1.0, np.nan, 3.0]), "y_pred_neg": np.ones((3, 2))},
            "objects['y_pred_pos']: the score of positive 1 is NaN",
        ),
        (
            {"y_pred_pos": THREE.astype(np.float32), "y_pred_neg": np.ones((3, 2))},
            "objects has scores of different dtypes, float32 and float64, so ties could be lost; give positives and "
            "negatives in one dtype",
        ),
        (
            [
                {"y_pred_pos": THREE[:2], "y_pred_neg": np.ones((2, 2))},
                {"y_pred_pos": THREE[2:], "y_pred_neg": [[1.0]] * 2},
            ],
            "objects[1]: y_pred_pos has shape (1,) and y_pred_neg has 2 rows; expected (n,) and n rows",
        ),
        (
            [
                {"y_pred_pos": THREE[:2], "y_pred_neg": np.ones((2, 2))},
                {"y_pred_pos": THREE[2:].astype(np.float32), "y_pred_neg": np.ones(2)},
            ],
            "objects, y_pred_pos has scores of different dtypes, float32 and float64, so ties could be lost; give "
            "positives and negatives in one dtype",
        ),
        (
            [{"y_pred_pos": THREE, "y_pred_neg": np.ones((3, 2))}] * 2,
            "objects has 6 positives, but split test has 3 triples; give one row per triple, in the order of the "
            "triples, including duplicate triples; OGB's evaluator takes the rows of both sides in one array, but "
            "kgeval takes one array per side: subjects= and objects=",
        ),
    ],
)
def test_wrong_input_of_evaluators_is_refused(objects, message):
    with pytest.raises(kg.KgevalError) as caught:
        kg.evaluate_candidates(graph(), objects=objects)
    assert str(caught.value) == message


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "predictions.npz"
    path.write_bytes(b"PK\x03\x04 cut off")
    with pytest.raises(kg.DataError, match=r"predictions\.npz: is damaged, cut off, or not an \.npz archive"):
        kg.evaluate_candidates(graph(), objects=path)
    np.savez(path, scores=THREE)
    with pytest.raises(kg.ScoreError, match=r"^objects \(.*predictions\.npz\) must have the keys y_pred_pos"):
        kg.evaluate_candidates(graph(), objects=path)


def split_of(triples, **negatives):
    """A split dictionary as OGB's ``get_edge_split()`` gives it."""
    return dict(zip(("head", "relation", "tail"), np.array(triples).T)) | negatives


def shuffled(seed):
    """A dataset whose ids are not OGB's, the split dictionary in OGB's ids, and the lists as ids of the dataset."""
    rng = np.random.default_rng(seed)
    n, n_relations, n_test, m = (int(rng.integers(low, high)) for low, high in ((4, 9), (1, 3), (1, 6), (1, 5)))
    entities, relations = [f"e{i}" for i in range(n)], [f"r{i}" for i in range(n_relations)]
    ogb = np.column_stack([rng.integers(0, k, n_test) for k in (n, n_relations, n)])
    order, relation_order = rng.permutation(n), rng.permutation(n_relations)  # the dataset's id of each OGB id
    labels = [entities[i] for i in np.argsort(order)], [relations[i] for i in np.argsort(relation_order)]
    test = np.column_stack([order[ogb[:, 0]], relation_order[ogb[:, 1]], order[ogb[:, 2]]])
    dataset = kg.Dataset(
        Vocabulary(labels[0]),
        Vocabulary(labels[1]),
        {"test": TripleSet(test, n, n_relations)},
        dictionaries={"entities": entities, "relations": relations},
        id_format="ogb",
    )
    negatives = {key: rng.integers(0, n, (n_test, m)) for key in ("head_neg", "tail_neg")}
    wanted = Listed(subjects=order[negatives["head_neg"]], objects=order[negatives["tail_neg"]])
    return dataset, split_of(ogb, **negatives), wanted


def test_ids_of_ogb_go_through_the_labels():
    """Datasets whose ids are permuted: every negative is the entity with the same label."""
    for seed in range(size(6, 300)):
        dataset, split, wanted = shuffled(seed)
        assert Listed.from_ogb(split, dataset) == wanted, seed
        assert Listed.from_ogb({key: Tensor(value) for key, value in split.items()}, dataset) == wanted, seed


def test_ids_of_the_dataset_are_taken_as_they_are(tmp_path):
    """Without the dictionaries of a tool, ids are the dataset's; a dict, an .npz file and plain ids give one result."""
    dataset = graph()
    split = split_of(dataset["test"].array, tail_neg=np.array([[4, 5], [6, 1], [7, 8]]))
    np.savez(tmp_path / "negatives.npz", **split)
    scores = (THREE, np.array([[1.0, 2], [3, 1], [1, 1]]))
    wanted = kg.evaluate_candidates(dataset, objects=scores, negatives={"objects": split["tail_neg"]})
    path = tmp_path / "negatives.npz"
    for negatives in (split, path, str(path), np.load(path), kg.read_candidates(path, dataset)):
        assert kg.evaluate_candidates(dataset, objects=scores, negatives=negatives) == wanted
    assert wanted.protocol.filter == ("test",)
    assert wanted.table["rivals_filtered"].tolist() == [2, 1, 2]  # (0, 0, 1) is known


def test_only_the_sides_with_scores_are_ranked():
    dataset = graph()
    split = split_of(dataset["test"].array, tail_neg=np.array([[4], [6], [7]]), head_neg=np.array([[4], [6], [7]]))
    result = kg.evaluate_candidates(dataset, objects=(THREE, np.ones((3, 1))), negatives=split)
    assert result.protocol.sides == ("object",)
    del split["tail_neg"]
    with pytest.raises(kg.DataError, match="expected head, relation and tail"):
        kg.evaluate_candidates(dataset, objects=(THREE, np.ones((3, 1))), negatives=split)


def test_ids_that_count_within_types():
    """ogbl-biokg: id 1 of the drugs is the fourth entity of all; a negative has the type of the replaced entity."""
    entities = ["disease:a", "disease:b", "drug:c", "drug:d", "drug:e"]
    columns = ["drug:e", "drug:c"], ["treats"] * 2, ["disease:b", "drug:d"]
    dataset = kg.Dataset.from_labels(
        {"test": [pd.Categorical(column) for column in columns]},
        dictionaries={"entities": entities, "relations": ["treats"]},
    )
    split = split_of([[2, 0, 1], [0, 0, 1]], head_neg=np.array([[0, 1], [2, 1]]), tail_neg=np.array([[0, 0], [2, 0]]))
    split |= {"head_type": ["drug", "drug"], "tail_type": ["disease", "drug"]}
    found = Listed.from_ogb(split, dataset)
    labels = np.array(dataset.entities.labels)
    assert labels[found.lists["subject"].values].tolist() == ["drug:c", "drug:d", "drug:e", "drug:d"]
    assert labels[found.lists["object"].values].tolist() == ["disease:a", "disease:a", "drug:e", "drug:c"]
    for change, message in [
        ({"tail_type": ["disease", "gene"]}, "tail_type[1] is 'gene'; the types of entities are disease, drug"),
        ({"tail_type": ["disease"]}, "tail_type must name the type of the entity in each of 2 rows; got (1,)"),
        (
            {"tail_neg": np.array([[0, 2], [2, 0]])},
            "row 0 of tail_neg contains the id 2, but 'dataset' has 2 entities of the type 'disease'",
        ),
    ]:
        with pytest.raises(kg.DataError) as caught:
            Listed.from_ogb(split | change, dataset)
        assert str(caught.value) == f"negatives: {message}"
    with pytest.raises(kg.DataError, match="'dataset' was not made from OGB data; read the dataset"):
        Listed.from_ogb(split_of([[0, 0, 1]] * 3, tail_neg=np.ones((3, 1), int), head_type=["a"] * 3), graph())


ROWS = [[0, 0, 1], [0, 0, 2], [0, 0, 3]]


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (
            {"head_neg": [[1]]},
            "negatives: expected head, relation and tail, shape (n,), and head_neg, tail_neg or both, shape (n, m); "
            "found head_neg. The triples are needed to check that ids and rows match the dataset. For ids of the "
            "dataset, without triples: {'subjects': ids, 'objects': ids}",
        ),
        (
            split_of([ROWS[1], ROWS[0], ROWS[2]], tail_neg=[[4]] * 3),
            "negatives: row 0 is (0, 0, 2), which is ('0', '0', '2'), but row 0 of test of 'dataset' is ('0', '0', "
            "'1') (2 of 3 rows differ). Rows must follow the ranked split, and ids must be those of the dataset, or of "
            "the OGB data from which the dataset was made",
        ),
        (
            split_of(ROWS[:2], tail_neg=[[4]] * 2),
            "negatives: head has 2 rows, but split test of 'dataset' has 3 triples; give one row for each triple, in "
            "their order",
        ),
        (
            split_of(ROWS, tail_neg=[[4], [20], [4]]),
            "negatives: row 1 of tail_neg contains the id 20, but 'dataset' has 20 entities, 0 .. 19. Rows must "
            "follow the ranked split, and ids must be those of the dataset, or of the OGB data from which the dataset "
            "was made",
        ),
        (
            split_of(ROWS, tail_neg=[[4.0]] * 3),
            "negatives: tail_neg must be an array of integer ids, shape (n, m); got list, dtype float64, shape (3, 1)",
        ),
        (
            split_of(ROWS, tail_neg=[4, 5, 6]),
            "negatives: tail_neg must be an array of integer ids, shape (n, m); got list, dtype int64, shape (3,)",
        ),
    ],
)
def test_split_dictionaries_of_other_data_are_refused(split, message):
    with pytest.raises(kg.DataError) as caught:
        Listed.from_ogb(split, graph())
    assert str(caught.value) == message


def test_two_meanings_of_ids_are_asked_about():
    """Entities of test keep their ids in the tool's order, others do not: negatives would differ without a word."""
    labels = ["a", "b", "c", "d"]
    dataset = kg.Dataset(
        Vocabulary(labels),
        Vocabulary(["r"]),
        {"test": TripleSet(np.array([[0, 0, 1]]), 4, 1)},
        dictionaries={"entities": ["a", "b", "d", "c"], "relations": ["r"]},
        id_format="libkge",
    )
    split = split_of([[0, 0, 1]], tail_neg=[[2]])
    with pytest.raises(kg.DataError, match="fit both the ids of 'dataset' and the ids of the tool"):
        Listed.from_ogb(split, dataset)
    dataset.id_format = "ogb"  # now the dictionary is OGB's own
    assert Listed.from_ogb(split, dataset).lists["object"].values.tolist() == [3]
    both = split_of([[0, 0, 1]], tail_neg=[[1]])  # the same under both meanings
    dataset.id_format = ""
    assert Listed.from_ogb(both, dataset).lists["object"].values.tolist() == [1]


def test_files_of_negatives_are_for_one_split(tmp_path):
    dataset = kg.Dataset.from_arrays(valid=[[0, 0, 1]], test=ROWS, n_entities=9, n_relations=1)
    path = tmp_path / "negatives.npz"
    np.savez(path, **split_of(ROWS, tail_neg=[[4]] * 3))
    with pytest.raises(
        kg.ProtocolError, match="a file of negatives is for one split, but the protocol ranks valid, te"
    ):
        kg.evaluate_candidates(
            dataset, objects=(THREE, [[1]] * 3), negatives=path, protocol=kg.Protocol(splits=("valid", "test"))
        )
    with pytest.raises(kg.DataError, match="holds the negatives of all sides; give this file alone"):
        kg.read_candidates([path, path], dataset)
    valid = split_of([[0, 0, 1]], tail_neg=[[4, 5]])
    result = kg.evaluate_candidates(
        dataset, objects=([2], [[1, 3]]), negatives=valid, protocol=kg.Protocol(splits="valid")
    )
    assert result["mrr"] == 0.5


@pytest.mark.thorough
def test_ogb_and_its_evaluator_agree():
    """The package's own evaluator (torch), on 500 negatives a side with planted ties; it averages float32 numbers."""
    torch = pytest.importorskip("torch", reason="needs torch")
    ogb = pytest.importorskip("ogb.linkproppred", reason="needs the package ogb")
    evaluator = ogb.Evaluator(name="ogbl-wikikg2")
    rng = np.random.default_rng(5)
    n = 400
    dataset = graph(n, n_entities=n + 501)
    given, lists = {}, {}
    for side in ("subjects", "objects"):
        pos, neg = torch.tensor(rng.normal(2, 1, n)).float(), torch.tensor(rng.normal(0, 1, (n, 500))).float()
        pos[: n // 2], neg[: n // 2] = pos[: n // 2].round(), neg[: n // 2].round()  # half of the rows: many ties
        neg[::7, :9] = pos[::7, None]
        given[side] = {"y_pred_pos": pos, "y_pred_neg": neg}
        for name, values in evaluator.eval(given[side]).items():
            lists.setdefault(name, []).append(values)
    result = kg.evaluate_candidates(dataset, **given)
    for name, parts in lists.items():
        key = name.removesuffix("_list")
        assert result[key] == pytest.approx(float(torch.cat(parts).double().mean()), abs=1e-7)
        for side, part in zip(("subject", "object"), parts):
            assert result[f"{side}.{key}"] == pytest.approx(float(part.double().mean()), abs=1e-7)
    assert result["optimistic.mrr"] - result["pessimistic.mrr"] > 0.01  # the ties matter
    split = dict(zip(("head", "relation", "tail"), torch.tensor(dataset["test"].array.copy()).T))
    split |= {key: torch.tensor(rng.integers(n + 1, n + 501, (n, 500))) for key in ("head_neg", "tail_neg")}
    listed = kg.evaluate_candidates(dataset, **given, negatives=split)
    assert listed["mrr"] == result["mrr"]
    assert listed.protocol.filter == ("test",)


def test_padding_is_said():
    """A list that is padded with -inf has more candidates: AMRI is 1/2 instead of 0, MRR is the same."""
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1]], n_entities=5, n_relations=1)
    plain = kg.evaluate_candidates(dataset, objects=([0.5], [[0.9, 0.1]]))
    padded = kg.evaluate_candidates(dataset, objects=([0.5], [[0.9, 0.1, -np.inf, -np.inf]]))
    assert (plain["mrr"], padded["mrr"]) == (0.5, 0.5)
    assert (plain["amri"], padded["amri"]) == (0.0, 0.5)
    said = "object side: 2 of 4 negatives score -infinity and count as candidates"
    assert any(note.startswith(said) for note in padded.notes)
    assert not any("-infinity" in note for note in plain.notes)
