"""What all adapters share: modes that are restored, ids mapped by label, and scores in the order of the dataset."""

import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from grids import size

import kgeval as kg
from kgeval.adapters.base import LibraryScorer, evaluation_mode, map_ids

LABELS = ("Oslo", "Rome", "Bonn", "Fiji"), ("near", "in")


class Part:
    """As much of a module of torch as `evaluation_mode` needs."""

    def __init__(self, training, *parts):
        self.training, self.parts = training, parts

    def modules(self):
        return [self, *(inner for part in self.parts for inner in part.modules())]

    def eval(self):
        for part in self.modules():
            part.training = False

    def train(self, stop):
        self.training = True
        if stop:
            raise KeyError("stop")


def frames(*triples):
    return kg.Dataset.from_frames(train=list(triples), name="towns")


def towns():
    return frames(("Rome", "in", "Bonn"), ("Oslo", "near", "Rome"))


def mapped(dataset, library="pykeen", ids=None, own_labels=None, n_entities=4, n_relations=2):
    numbers = {"n_entities": n_entities, "n_relations": n_relations, "name": "PyKEEN's TransE"}
    return map_ids(dataset, library, ids, own_labels, **numbers)


def test_modes_are_restored_part_by_part():
    """A frozen part stays frozen; what a library sets inside the context is undone, also after an exception."""
    module = Part(True, Part(False), Part(True, Part(False), Part(True)))
    modes = [True, False, True, False, True]
    with evaluation_mode(module):
        assert [part.training for part in module.modules()] == [False] * 5
    assert [part.training for part in module.modules()] == modes
    with pytest.raises(KeyError, match="stop"), evaluation_mode(module):
        module.parts[0].train(stop=True)
    assert [part.training for part in module.modules()] == modes
    evaluating = Part(False)
    with evaluation_mode(evaluating):
        evaluating.training = True
    assert evaluating.training is False
    for other in (None, object(), SimpleNamespace(predict=print)):  # nothing to set
        with evaluation_mode(other):
            pass


def test_modes_and_gradients_of_torch():
    torch = pytest.importorskip("torch", reason="needs kgeval[torch]")
    module = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(0.9), torch.nn.BatchNorm1d(2))
    module[2].eval()
    with evaluation_mode(module):
        assert not torch.is_grad_enabled()
        assert not module(torch.ones(3, 2)).requires_grad
        assert [part.training for part in module.modules()] == [False] * 4
    assert [part.training for part in module.modules()] == [True, True, True, False]
    assert torch.is_grad_enabled()
    assert int(module[2].num_batches_tracked) == 0
    with torch.no_grad(), evaluation_mode(module):
        pass
    assert torch.is_grad_enabled()


def test_the_sources_of_ids_in_their_order():
    """What the user says, what the model knows, what the dataset was made of, and ids without labels."""
    data = towns()  # Bonn, Oslo, Rome; in, near
    said = ("Rome", "Oslo", "Bonn", "Fiji"), ("near", "in")
    found = mapped(data, ids=said, own_labels=LABELS)
    assert (found.entities.tolist(), found.relations.tolist()) == ([2, 1, 0], [1, 0])
    assert found.notes[0] == "ids= gives the labels of the model's ids"
    assert (found.entity_labels, found.relation_labels) == said

    as_dicts = tuple({label: i for i, label in enumerate(labels)} for labels in said)
    factory = SimpleNamespace(entity_to_id=as_dicts[0], relation_to_id=as_dicts[1])
    for ids in (as_dicts, factory, [list(labels) for labels in said]):
        assert mapped(data, ids=ids).entities.tolist() == [2, 1, 0]

    found = mapped(data, own_labels=LABELS)
    assert (found.entities.tolist(), found.relations.tolist()) == ([2, 0, 1], [1, 0])
    assert found.notes[0] == "the labels in the model name its ids"

    dictionaries = dict(zip(("entities", "relations"), LABELS))
    made = kg.Dataset(data.entities, data.relations, data.splits, dictionaries=dictionaries, id_format="pykeen")
    assert mapped(made).entities.tolist() == [2, 0, 1]
    assert mapped(made).notes[0] == (
        "the model's ids were read as the ids of the PyKEEN object from which the dataset was made"
    )
    with pytest.raises(kg.ScoreError, match="nothing says to which entities"):
        mapped(made, library="torchkge")  # ids of another tool

    plain = kg.Dataset.from_arrays(train=[[0, 1, 2]], n_entities=4, n_relations=2)
    assert mapped(plain).entities.tolist() == [0, 1, 2, 3]
    assert mapped(plain).notes == ("the model's ids were read as the ids of the dataset, which has no labels",)
    assert mapped(data, ids="dataset", n_entities=3).entities.tolist() == [0, 1, 2]
    assert mapped(data, ids="dataset", n_entities=3).notes == (
        "row i of the model was read as label i of the dataset (ids='dataset')",
    )


def test_id_files(tmp_path):
    """The same files as `load_model` takes."""
    (tmp_path / "e.tsv").write_text("".join(f"{i}\t{label}\n" for i, label in enumerate(LABELS[0])))
    (tmp_path / "r.tsv").write_text("".join(f"{i}\t{label}\n" for i, label in enumerate(LABELS[1])))
    files = [tmp_path / "e.tsv", tmp_path / "r.tsv"]
    for ids in (files, [str(file) for file in files], ",".join(map(str, files))):
        assert mapped(towns(), ids=ids).entities.tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {},
            "nothing says to which entities and relations the ids of PyKEEN's TransE belong. Give the labels with",
        ),
        (
            {"ids": 3},
            "ids= holds no labels: got 3 (int). Give the labels with kg.adapters.from_model(model, ids=...), or from_",
        ),
        ({"ids": {"Rome": 0}}, "ids= holds no labels: got {'Rome': 0} (dict). Give the labels with"),
        (
            {"ids": LABELS, "n_entities": 5},
            "PyKEEN's TransE has 5 entities, but there are 4 labels of entities (ids= gives the labels of the model's "
            "ids). Was it trained with other ids? Give the labels with",
        ),
        (
            {"own_labels": LABELS, "n_relations": 1},
            "PyKEEN's TransE has 1 relations, but there are 2 labels of relations (the labels in the model name its "
            "ids); are inverse relations among these labels? They must not be. Was it",
        ),
        ({"ids": "dataset"}, "PyKEEN's TransE has 4 entities, but there are 3 labels of entities (row i of the model"),
        (
            {"ids": (("a", "b", "c", "d"), ("near", "in"))},
            "PyKEEN's TransE: dataset 'towns' has none of the 4 entities of the model (such as 'a'; the dataset has "
            "'Bonn'). Was the model trained on another dataset? If not: Give",
        ),
        (
            {"ids": (("Rome", "b", "c", "d"), ("p0", "p1"))},
            "PyKEEN's TransE: dataset 'towns' has none of the 2 relations of the model (such as 'p0'; the dataset has "
            "'in')",
        ),
    ],
)
def test_what_is_refused(options, message):
    """A model of another graph, and ids that nothing says: never the ids that happen to fit."""
    with pytest.raises(kg.ScoreError, match=f"^{re.escape(message)}"):
        mapped(towns(), **options)


def test_damaged_ids_are_refused():
    with pytest.raises(kg.DataError, match="id 1 has no label, and 'Bonn' has the id 7"):
        mapped(towns(), ids=({"Rome": 0, "Bonn": 7}, {"in": 0, "near": 1}), n_entities=2)


@pytest.mark.parametrize("seed", range(size(6, 50)))
def test_ids_against_a_loop(seed):
    """Permuted labels of which either side lacks some: a loop over the labels gives the same ids and notes."""
    rng = np.random.default_rng(seed)
    words = [f"e{i}" for i in range(12)], [f"r{i}" for i in range(5)]
    theirs = [rng.permutation(part)[: rng.integers(3, len(part) + 1)].tolist() for part in words]
    triples = [(*rng.choice(words[0], 1), *rng.choice(words[1], 1), *rng.choice(words[0], 1)) for _ in range(6)]
    data = frames((theirs[0][0], theirs[1][0], theirs[0][1]), *triples)
    found = mapped(data, ids=theirs, n_entities=len(theirs[0]), n_relations=len(theirs[1]))
    lacking = []
    for kind, vocabulary, labels, ids, missing in (
        ("entit", data.entities, theirs[0], found.entities, found.missing_entities),
        ("relation", data.relations, theirs[1], found.relations, found.missing_relations),
    ):
        expected = [labels.index(label) if label in labels else -1 for label in vocabulary.labels]
        assert ids.tolist() == expected
        assert missing.tolist() == [i for i, j in enumerate(expected) if j == -1]
        unknown = [label for label in labels if label not in vocabulary.labels]
        if unknown:
            ends = {"entit": ("y", "ies"), "relation": ("", "s")}[kind][len(unknown) > 1]
            lacking.append(f"{len(unknown)} {kind}{ends} that the model knows (such as {unknown[0]!r})")
    assert [note for note in found.notes if "lacks" in note] == ([found.notes[1]] if lacking else [])
    if lacking:
        assert found.notes[1].startswith(f"the dataset lacks {' and '.join(lacking)}; ")


@pytest.mark.parametrize("seed", range(size(5, 40)))
def test_scores_come_in_the_order_of_the_dataset(seed):
    """Each score is that of its labels; a scorer that took ids of the dataset for ids of the library would differ."""
    rng = np.random.default_rng(seed)
    n_entities, n_relations = 6, 3
    table = rng.integers(0, 4, size=(n_entities, n_relations, n_entities)).astype(np.float32)  # by the library's ids
    theirs = [rng.permutation([f"{kind}{i}" for i in range(n)]).tolist() for kind, n in (("e", 6), ("r", 3))]
    kept = theirs[0][:5]  # the dataset has an entity more and an entity less
    triples = [(str(rng.choice(kept)), str(rng.choice(theirs[1])), str(rng.choice(kept))) for _ in range(8)]
    data = kg.Dataset.from_frames(train=triples, test=[*triples[:2], (kept[0], triples[0][1], "new")])
    module = Part(True, Part(False))

    def score_rows(side, given, relation, candidates):
        assert not module.training
        if side == "object":
            return table[given[:, None], relation[:, None], candidates]
        return table[candidates, relation[:, None], given[:, None]]

    ids = mapped(data, ids=theirs, n_entities=6, n_relations=3)
    scorer = LibraryScorer("TransE", ids, score_rows, module, ["a note"])
    assert scorer.notes[-1] == "a note"
    lacked = data.entities.labels.index("new")
    assert scorer.missing_entities.tolist() == [lacked]

    def expected(s, p, o):
        e, r = (dict(zip(labels, range(9))) for labels in theirs)
        labels = data.entities.labels
        return table[e[labels[s]], r[data.relations.labels[p]], e[labels[o]]]

    known = [i for i in range(len(data.entities)) if i != lacked]
    s, p, o = data["train"].array.T
    objects, subjects = scorer.score_objects(s, p), scorer.score_subjects(p, o)
    assert np.isnan(objects[:, lacked]).all() and np.isnan(subjects[:, lacked]).all()  # noqa: PT018
    some = rng.permutation(known)[:3]
    assert np.array_equal(scorer.score_objects(s, p, candidates=some), objects[:, some])
    for i, (given_s, relation, given_o) in enumerate(data["train"].array.tolist()):
        assert [objects[i, e] for e in known] == [expected(given_s, relation, e) for e in known]
        assert [subjects[i, e] for e in known] == [expected(e, relation, given_o) for e in known]
    result = kg.evaluate(scorer, data)
    assert result.facts["scorer"] == "TransE"
    assert result.table["score"].tolist() == [
        expected(s, p, o) for s, p, o in result.table[["s", "p", "o"]].itertuples(index=False)
    ]
    assert module.training
    with pytest.raises(kg.ScoreError, match=f"does not know the entity with id {lacked} of the dataset"):
        scorer.score_objects(np.array([known[0], lacked]), np.array([0, 0]))


def test_lacking_entities_of_train_are_an_error():
    """A model that does not know an entity of train was trained on other triples."""
    ids = mapped(towns(), ids=(("Rome", "Bonn"), ("in", "near")), n_entities=2)
    with pytest.raises(kg.ScoreError, match=r"has no vector for 1 entity that it should know \(such as 'Oslo'\)"):
        kg.evaluate(LibraryScorer("TransE", ids, None), towns(), kg.Protocol(splits="train"))


def test_from_model_takes_models_only():
    for thing, what in (("TransE", "str"), (len, "builtin_function_or_method"), (Part, "the class Part")):
        with pytest.raises(kg.ScoreError, match=f"^expected a live model of PyKEEN, TorchKGE, .*; got {what}. For any"):
            kg.adapters.from_model(thing)
    with pytest.raises(AttributeError, match="has no attribute 'from_nothing'"):
        kg.adapters.from_nothing  # noqa: B018


def test_a_fresh_process_knows_models_of_libraries():
    """``import kgeval`` alone is enough to evaluate a live model: nothing else has to be imported before."""
    code = (
        "import kgeval\n"
        "from kgeval.scorers.libraries import adapter_of\n"
        "Model = type('Model', (), {'__module__': 'torchkge.models.translation'})\n"
        "print(type(adapter_of(Model())).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["TorchKGEModel"]
