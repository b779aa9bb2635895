"""`from_texts` and `from_encoder`: text scorers rank as functions of ids do; the cache on disk; what may go wrong."""

import os
import random
import sqlite3
import subprocess
import sys
import textwrap
import threading
import zlib
from functools import partial

import numpy as np
import oracle
import pytest
from grids import size

import kgeval as kg
from kgeval.adapters import from_encoder, from_texts
from kgeval.adapters.text_cache import FILE_NAME, TextCache

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")

LEVELS = 5  # few distinct scores, so many ties


def number(*texts):
    """A number that depends on the texts of one triple only."""
    return zlib.crc32("\0".join(texts).encode()) % LEVELS / 4


class Scorer:
    """A function of texts that counts its calls and the triples that it was given."""

    def __init__(self, dtype=np.float64, number=number):
        self.dtype, self.number = dtype, number
        self.calls, self.seen = [], []
        self.__name__ = "scorer"

    def __call__(self, *lists):
        assert len({len(part) for part in lists}) == 1
        self.calls.append(len(lists[0]))
        self.seen += zip(*lists)
        return np.array([self.number(*texts) for texts in zip(*lists)], dtype=self.dtype)


def draw(seed, n_texts=None):
    """A random graph, a text for each entity (some entities share a text), and a table of the scores by id."""
    rng = random.Random(seed)
    n, m, splits = oracle.random_graph(rng)
    labels = [f"Q{i}" for i in range(n)], [f"P{i}" for i in range(m)]
    splits = {name: np.array(rows or np.zeros((0, 3), int)) for name, rows in splits.items()}
    dataset = kg.Dataset.from_arrays(**splits, entity_labels=labels[0], relation_labels=labels[1])
    texts = {label: f"text {rng.randrange(n_texts or 2 * n)} é" for label in labels[0]}
    relation_texts = {label: f"relation {label}" for label in labels[1]}
    parts = [[texts[label] for label in labels[0]], list(relation_texts.values())]
    table = np.array([[[number(s, p, o) for o in parts[0]] for p in parts[1]] for s in parts[0]])
    return dataset, texts, relation_texts, table


def tiny():
    return kg.Dataset.from_frames(
        train=[("Q1", "P1", "Q2"), ("Q2", "P2", "Q3"), ("Q4", "P1", "Q1")],
        test=[("Q3", "P1", "Q1"), ("Q1", "P2", "Q4")],
    )


TEXTS = {"Q1": "Jack", "Q2": "Rome", "Q3": "Oslo", "Q4": "Bonn", "Q9": "elsewhere"}
RELATION_TEXTS = {"P1": "lives in", "P2": "knows"}
COUNTS = [f"{count}_{setting}" for setting in ("raw", "filtered") for count in ("better", "tied", "rivals")]


def adapter(score, **options):
    return from_texts(score, **({"texts": TEXTS, "relation_texts": RELATION_TEXTS} | options))


def test_text_scorers_rank_as_functions_of_ids_do(tmp_path):
    """Random graphs with unseen entities and equal texts: one table of ranks, with and without a cache."""
    n_shared = 0
    for seed in range(size(4, 120)):
        dataset, texts, relation_texts, table = draw(seed)
        protocol = kg.Protocol(unseen=("rank", "drop", "worst")[seed % 3])
        try:
            wanted = kg.evaluate(lambda s, p, o, table=table: table[s, p, o], dataset, protocol)
        except kg.DataError:  # no triple is left to rank
            continue
        score = Scorer()
        cached = {"cache": tmp_path, "model_name": f"model {seed}"} if seed % 4 == 1 else {}
        options = {"texts": texts, "relation_texts": relation_texts, "batch_size": 64 if cached else 1 + 3 * seed}
        result = kg.evaluate(from_texts(score, **options, **cached), dataset, protocol)
        assert result.table.equals(wanted.table), seed
        assert max(score.calls) <= options["batch_size"]
        said = "have the same text as another entity, and so the same scores"
        shared = [note for note in result.notes if said in note]
        n_expected = sum(list(texts.values()).count(text) > 1 for text in texts.values())
        assert bool(shared) == bool(n_expected)
        assert all(note.startswith(f"{n_expected} entities have") for note in shared)
        n_shared += bool(shared)
        if cached:
            again = Scorer()
            assert kg.evaluate(from_texts(again, **options, **cached), dataset, protocol).table.equals(wanted.table)
            assert again.calls == []
            assert len(score.seen) <= len(set(score.seen)) + 3  # each triple once; three are checked
    assert n_shared > size(1, 20)


def test_lists_of_negatives_and_labels_as_texts():
    """The texts are the labels by default; a list of negatives needs few scores."""
    dataset = tiny()
    candidates = kg.candidates.Listed(objects=[[1, 2], [2]])
    score = Scorer()
    result = kg.evaluate(from_texts(score), dataset, kg.Protocol(candidates=candidates))
    labels = dataset.entities.labels
    expected = [
        [number(labels[s], dataset.relations.labels[p], labels[o]) for o in (answer, *negatives)]
        for (s, p, answer), negatives in zip(dataset["test"].array.tolist(), [[1, 2], [2]])
    ]
    assert result.table["better_raw"].tolist() == [sum(x > row[0] for x in row[1:]) for row in expected]
    assert result.facts["scorer"] == "scorer"


def test_a_triple_is_scored_once_in_a_call():
    """Equal triples, and triples with equal texts, are one triple for the function."""
    dataset = tiny()
    score = Scorer()
    scorer = adapter(score, texts=TEXTS | {"Q4": "Jack"}, batch_size=2).for_dataset(dataset)
    s, o = np.array([0, 0, 3, 1, 0]), np.array([1, 1, 1, 2, 2])
    scores = scorer(s, np.zeros(5, dtype=np.int64), o)
    assert sorted(score.seen) == [
        ("Jack", "lives in", "Oslo"),
        ("Jack", "lives in", "Rome"),
        ("Rome", "lives in", "Oslo"),
    ]
    assert score.calls == [2, 1]
    assert scores.tolist() == [number(*triple) for triple in (
        ("Jack", "lives in", "Rome"), ("Jack", "lives in", "Rome"), ("Jack", "lives in", "Rome"),
        ("Rome", "lives in", "Oslo"), ("Jack", "lives in", "Oslo"))]  # fmt: skip
    assert scorer(s[:0], s[:0], o[:0]).shape == (0,)


def test_template_makes_one_text():
    """Braces and fields within a text stay as they are."""
    texts = TEXTS | {"Q2": "{object} {x} {subject}"}
    score = Scorer()
    scorer = adapter(score, texts=texts, template="{subject} [SEP] {relation} [SEP] {object}").for_dataset(tiny())
    scorer(np.array([1]), np.array([0]), np.array([2]))
    assert score.seen == [("{object} {x} {subject} [SEP] lives in [SEP] Oslo",)]
    with pytest.raises(kg.ScoreError, match="template= must contain {subject}, {relation}, {object}; got '{subject}'"):
        adapter(score, template="{subject}")


def no_call(*lists):
    """A function that must not be called, since every score is stored."""
    raise AssertionError(lists)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64, np.uint8, np.dtype(">f4")])
@pytest.mark.light(3)
def test_the_cache_keeps_dtype_and_bytes(tmp_path, dtype):
    """Thirds in every dtype: the second run gets the same bytes, from the file alone."""
    dataset = tiny()
    ids = np.indices((4, 2, 4)).reshape(3, -1)
    values = {"number": lambda *texts: len("".join(texts)) / (1 if np.dtype(dtype).kind in "iu" else 3)}
    first = adapter(Scorer(dtype, **values), cache=tmp_path, model_name="m", batch_size=5).for_dataset(dataset)(*ids)
    second = adapter(no_call, cache=tmp_path, model_name="m").for_dataset(dataset)
    again = second(*ids)
    assert again.dtype == first.dtype == np.dtype(dtype).newbyteorder("=")
    assert again.tobytes() == first.tobytes()
    assert (tmp_path / FILE_NAME).is_file()


def test_models_do_not_share_scores(tmp_path):
    """Another name, other texts, a template: nothing is taken from the cache."""
    dataset, ids = tiny(), np.indices((4, 2, 4)).reshape(3, -1)
    for options in (
        {"model_name": "a"},
        {"model_name": "b"},
        {"model_name": "a", "texts": {label: text + "!" for label, text in TEXTS.items()}},
        {"model_name": "a", "template": "{subject}{relation}{object}"},
    ):
        score = Scorer()
        adapter(score, cache=tmp_path / "scores.sqlite", **options).for_dataset(dataset)(*ids)
        assert len(set(score.seen)) == 32, options
    score = Scorer()
    adapter(score, cache=tmp_path / "scores.sqlite", model_name="a").for_dataset(dataset)(*ids)
    assert score.seen == []


def test_an_interrupted_run_goes_on(tmp_path):
    """The batches before the failure are stored; the message shows the texts."""
    dataset, ids = tiny(), np.indices((4, 2, 4)).reshape(3, -1)

    class Fails(Scorer):
        def __call__(self, *lists):
            if sum(self.calls) > 20:
                raise RuntimeError("out of memory")
            return super().__call__(*lists)

    with pytest.raises(kg.ScoreError) as caught:
        adapter(Fails(), cache=tmp_path, model_name="m", batch_size=6).for_dataset(dataset)(*ids)
    assert str(caught.value) == (
        "m raised RuntimeError when given 6 triples of texts, first ('Oslo', 'lives in', 'Oslo'): out of memory"
    )
    score = Scorer()
    found = adapter(score, cache=tmp_path, model_name="m", batch_size=6).for_dataset(dataset)(*ids)
    assert found.tolist() == kg_scores(dataset, ids)
    assert len(score.seen) == 32 - 18 + 6  # three of the new triples and three of the stored ones are checked


def kg_scores(dataset, ids):
    """The scores of triples of ids, in a loop."""
    labels, relations = dataset.entities.labels, dataset.relations.labels
    return [number(TEXTS[labels[s]], RELATION_TEXTS[relations[p]], TEXTS[labels[o]]) for s, p, o in ids.T]


def test_another_model_under_the_same_name_is_noticed(tmp_path):
    """A part is stored; the new function gives other scores: an error before anything is mixed."""
    dataset, ids = tiny(), np.indices((4, 2, 4)).reshape(3, -1)
    options = {"cache": tmp_path, "model_name": "m"}
    adapter(Scorer(), **options).for_dataset(dataset)(*ids[:, :10])
    other = Scorer(number=lambda *texts: 1 + number(*texts))
    path = tmp_path / FILE_NAME
    message = (
        rf"^m: \('Jack', 'lives in', 'Jack'\) got the score {number('Jack', 'lives in', 'Jack'):.9g} from {path} and "
        rf"{1 + number('Jack', 'lives in', 'Jack'):.9g} now; is this still the model 'm'\?"
    )
    with pytest.raises(kg.ScoreError, match=message):
        adapter(other, **options).for_dataset(dataset)(*ids)
    assert count(path) == 10
    # The stored triples come in an earlier call than the new ones, or in a later one.
    for first, second in ((ids[:, :10], ids[:, 10:]), (ids[:, 10:12], ids[:, :10])):
        scorer = adapter(other, **options).for_dataset(dataset)
        scorer(*first)
        with pytest.raises(kg.ScoreError, match="is this still the model"):
            scorer(*second)
    scorer = adapter(Scorer(np.float32), **options).for_dataset(dataset)
    with pytest.raises(kg.ScoreError, match=r"\(float64\) from .* and .* \(float32\) now"):
        scorer(*ids)


def test_stored_scores_of_an_earlier_run_are_told(tmp_path):
    """If every score is stored, the function is not called, and only the name tells whose scores they are."""
    options = {"cache": tmp_path, "model_name": "m"}
    note = f"scores that an earlier run stored were read from {FILE_NAME}; only the name 'm' identifies the model"
    first, second = (kg.evaluate(adapter(Scorer(), **options), tiny()) for _ in range(2))
    assert not any(line.startswith(note) for line in first.notes)
    assert second.notes[0].startswith(note)
    assert second["mrr"] == first["mrr"]


def count(path):
    """The number of stored scores."""
    connection = sqlite3.connect(path)
    try:
        return connection.execute("SELECT count(*) FROM scores").fetchone()[0]
    finally:
        connection.close()


def test_dropout_is_not_stored(tmp_path):
    """Without the check, the first random scores would stay in the file, and every later check would pass."""
    rng = np.random.default_rng(0)
    noisy = Scorer(number=lambda *texts: number(*texts) + rng.normal(0, 0.1))
    with pytest.raises(kg.ScoreError, match=r"in a batch and .* in another; a score must depend on its own texts only"):
        kg.evaluate(adapter(noisy, cache=tmp_path, model_name="m"), tiny())
    assert count(tmp_path / FILE_NAME) == 0
    nearly = Scorer(number=lambda *texts: number(*texts) + rng.normal(0, 1e-9))
    kg.evaluate(adapter(nearly, cache=tmp_path, model_name="m"), tiny())


@pytest.mark.parametrize(
    ("returns", "message"),
    [
        (lambda n: [0.5] * (n + 1), "scorer was given 2 triples of texts, first ('Jack', 'lives in', 'Rome'), and "
         "must return shape (2,); got (3,)"),
        (lambda n: np.zeros((n, 1)), "scorer was given 2 triples of texts, first ('Jack', 'lives in', 'Rome'), and "
         "must return shape (2,); got (2, 1); return scores.squeeze(1)"),
        (lambda n: [0.5, np.nan], "scorer gave NaN for ('Rome', 'lives in', 'Oslo') (NaN scores: 1 of 2); NaN cannot "
         "be ranked"),
        (lambda n: ["0.5"] * n, "scorer must give real numbers (float or integer); got dtype <U3. It was given "
         "('Jack', 'lives in', 'Rome') first"),
        (lambda n: None, "scorer returned None; is a return statement missing? It was given ('Jack', 'lives in', "
         "'Rome') first"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_cached", [False, True])
@pytest.mark.light(6)
def test_wrong_scores_show_the_texts(tmp_path, returns, message, is_cached):
    def scorer(subjects, relations, objects):
        return returns(len(subjects))

    options = {"cache": tmp_path, "model_name": "scorer"} if is_cached else {}
    bound = adapter(scorer, **options).for_dataset(tiny())
    with pytest.raises(kg.ScoreError) as caught:
        bound(np.array([0, 1]), np.array([0, 0]), np.array([1, 2]))
    assert str(caught.value) == message


def test_lists_of_numbers_and_dtypes_that_change():
    """Whole numbers in one list and fractions in the next are float64; arrays of two dtypes are refused."""
    dataset, ids = tiny(), np.indices((4, 2, 4)).reshape(3, -1)
    answers = iter([[1] * 16, [0.5] * 16, np.ones(16, np.float32), np.ones(16)])
    scorer = adapter(lambda *lists: next(answers), batch_size=16).for_dataset(dataset)
    scores = scorer(*ids)
    assert scores.dtype == np.float64
    assert scores.tolist() == [1] * 16 + [0.5] * 16
    with pytest.raises(
        kg.ScoreError, match=r"different kinds of results \(float32, shape \(n\) and float64, shape \(n\)"
    ):
        scorer(*ids)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"texts": {"Q1": "Jack", "Q2": " "}},
            kg.DataError,
            "texts: no text for 3 entities of 4 ('Q2', 'Q3', 'Q4'); it has texts for 2 labels, such as 'Q1'. Texts "
            "belong to the labels of the dataset; missing='label' takes the label of each entity or relation without a "
            "text",
        ),
        (
            {"relation_texts": {"knows": "P1"}, "missing": "label"},
            kg.DataError,
            "relation_texts: no text for 2 relations of 2 ('P1', 'P2'); it has texts for 1 label, such as 'knows'. "
            "Texts belong to the labels of the dataset; missing='label' takes the label of each entity or relation "
            "without a text",
        ),
        ({"texts": {"Q1": 5}}, kg.DataError, "texts: expected labels and texts as str; got 'Q1': 5"),
        (
            {"texts": ["Jack"]},
            kg.DataError,
            "texts must be a dict {label: text} or the path of a file; got list. From texts in the order of the ids: "
            "dict(zip(dataset.entities.labels, texts))",
        ),
        (
            {"cache": "here"},
            kg.ScoreError,
            "cache= requires model_name=, such as model_name='bert-base, epoch 3': without a name, the stored scores "
            "of another model would be used for this model; got None",
        ),
        ({"missing": "drop"}, kg.ScoreError, "missing must be one of 'error', 'label'; got 'drop'"),
        ({"batch_size": 0}, kg.ScoreError, "batch_size must be an integer of at least 1; got 0"),
    ],
)
def test_wrong_options_are_refused(options, error, message):
    with pytest.raises(error) as caught:
        adapter(Scorer(), **options).for_dataset(tiny())
    assert str(caught.value) == message


def test_what_is_no_function_is_refused():
    with pytest.raises(kg.ScoreError, match="expected a function score"):
        from_texts("bert-base")


def test_labels_in_the_place_of_texts_are_counted():
    result = kg.evaluate(adapter(Scorer(), texts={"Q1": "Jack", "Q3": "Q2"}, missing="label"), tiny())
    assert list(result.notes[:2]) == [
        "2 entities have no text: the function gets the label (missing='label')",
        "2 entities have the same text as another entity, and so the same scores (such as 'Q2' and 'Q3': 'Q2')",
    ]


def test_files_of_texts(tmp_path):
    """`entity2text.txt` of KG-BERT: label, tab, text."""
    path = tmp_path / "entity2text.txt"
    path.write_text("".join(f"{label}\t{text}\r\n" for label, text in TEXTS.items()) + "\n", encoding="utf-8")
    result = kg.evaluate(adapter(Scorer(), texts=path), tiny())
    assert result == kg.evaluate(adapter(Scorer()), tiny())
    for content, message in [
        ("Q1 Jack\n", "line 1: expected label<TAB>text; found 0 tabs. Read other files into a dict {label: text}"),
        (
            "Q1\tJack\tman\n",
            "line 1: expected label<TAB>text; found 2 tabs. Read other files into a dict {label: text}",
        ),
        ("Q1\tJack\nQ1\tJill\n", "line 2: a second text for the label 'Q1'"),
    ]:
        path.write_text(content, encoding="utf-8")
        with pytest.raises(kg.DataError) as caught:
            adapter(Scorer(), texts=path).for_dataset(tiny())
        assert str(caught.value) == f"{path}, {message}"
    with pytest.raises(kg.DataError, match="no such file"):
        adapter(Scorer(), texts=tmp_path / "texts.txt").for_dataset(tiny())


def test_two_threads_write_one_cache(tmp_path):
    """Two scorers with connections of their own, at the same time: each score is stored once, and right."""
    dataset, ids = tiny(), np.indices((4, 2, 4)).reshape(3, -1)
    wanted, found, barrier = np.array(kg_scores(dataset, ids)), {}, threading.Barrier(2)

    def work(seed):
        order = np.random.default_rng(seed).permutation(32)
        barrier.wait(timeout=30)
        scorer = adapter(Scorer(), cache=tmp_path, model_name="m", batch_size=4).for_dataset(dataset)
        found[seed] = (scorer(*ids[:, order]) == wanted[order]).all()

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert found == {0: True, 1: True}
    assert count(tmp_path / FILE_NAME) == 32


@pytest.mark.thorough
def test_two_processes_write_one_cache(tmp_path):
    """Both start with no file and score the same 1,200 triples, in one order; a third run calls nothing."""
    code = """
        import sys, time, zlib
        import numpy as np
        from pathlib import Path
        from kgeval import Dataset
        from kgeval.adapters import from_texts

        folder, n_calls = Path(sys.argv[1]), 0
        def score(subjects, relations, objects):
            global n_calls
            n_calls += len(objects)
            time.sleep(0.001)
            return np.array([zlib.crc32(f"{s} {o}".encode()) for s, o in zip(subjects, objects)]) / 3
        dataset = Dataset.from_arrays(test=[[0, 0, 1]], n_entities=40, n_relations=1)
        s, o = np.arange(1200) // 40, np.arange(1200) % 40
        (folder / f"ready{sys.argv[2]}").touch()
        while not (folder / "go").exists():
            time.sleep(0.001)
        scorer = from_texts(score, cache=folder / "scores.sqlite", model_name="m", batch_size=20).for_dataset(dataset)
        found = scorer(s, np.zeros(1200, dtype=np.int64), o)
        wanted = np.array([zlib.crc32(f"{a} {b}".encode()) for a, b in zip(s, o)]) / 3
        assert found.tobytes() == wanted.tobytes()
        print(n_calls)
    """

    def start(name):
        command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path), name]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    processes = [start(name) for name in "ab"]
    while not all((tmp_path / f"ready{name}").exists() for name in "ab"):
        assert all(process.poll() is None for process in processes)
    (tmp_path / "go").touch()
    numbers = [int(process.communicate(timeout=120)[0]) for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert min(numbers) >= 0
    assert sum(numbers) >= 1200
    assert count(tmp_path / "scores.sqlite") == 1200
    third = start("c")
    assert third.communicate(timeout=120)[0].split() == ["0"]
    assert third.returncode == 0


def test_the_first_stored_score_stays(tmp_path):
    """Two processes with rounding noise: the second gets the score that the first stored, as all later runs do."""
    caches = TextCache(tmp_path, "m"), TextCache(tmp_path, "m")
    keys = [caches[0].key(("a", "b", str(i))) for i in range(1200)]
    assert caches[0].store(keys[:2], np.array([1.0, 2.0]), "one").tolist() == [1.0, 2.0]
    assert caches[1].store(keys[1:3], np.array([2.5, 3.5]), "two").tolist() == [2.0, 3.5]
    found = caches[1].find(keys[::-1], "two")
    assert (found.places.tolist(), found.scores.tolist(), found.is_own.tolist()) == (
        [1197, 1198, 1199], [3.5, 2.0, 1.0], [True, False, False])  # fmt: skip
    assert len({caches[0].key(texts) for texts in (("a", "b"), ("ab", ""), ("", "ab"), ("a", "b", ""))}) == 4
    caches[0].store(keys[5:6], np.array([1], dtype=np.float32), "one")
    with pytest.raises(kg.DataError, match="holds scores of the model 'm' in different dtypes, float32 and float64"):
        caches[0].find(keys, "one")


def test_damaged_and_foreign_files(tmp_path):
    """A file that is no cache, a cut file, a changed byte, another program's database: each is said, none is read."""
    path = tmp_path / "scores.sqlite"
    options = {"cache": path, "model_name": "m"}
    ids = np.indices((4, 2, 4)).reshape(3, -1)
    path.write_text("label\tscore\n" * 100)
    with pytest.raises(
        kg.DataError, match=r"scores\.sqlite: is damaged, or no cache that kgeval wrote: file is not a da"
    ):
        adapter(Scorer(), **options).for_dataset(tiny())
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE notes (text)")
    connection.close()
    with pytest.raises(kg.DataError, match="is a SQLite file of another program; give the cache another name"):
        adapter(Scorer(), **options).for_dataset(tiny())
    path.unlink()
    adapter(Scorer(), **options).for_dataset(tiny())(*ids)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(kg.KgevalError, match="is damaged, or no cache that kgeval wrote"):
        adapter(Scorer(), **options).for_dataset(tiny())(*ids)
    path.write_bytes(whole.replace(np.float64(0.75).tobytes(), np.float64(0.5).tobytes()))
    with pytest.raises(
        kg.DataError, match=r"a score does not have its checksum, so the file is damaged\. Delete the fil"
    ):
        adapter(Scorer(), **options).for_dataset(tiny())(*ids)
    path.write_bytes(whole)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    with pytest.raises(kg.DataError, match="is a cache of another version of kgeval"):
        adapter(Scorer(), **options).for_dataset(tiny())


def test_files_that_cannot_be_written(tmp_path, monkeypatch):
    """No folder, a full disk, a locked file, a read-only file."""
    with pytest.raises(kg.DataError, match=r"none/scores\.sqlite: the folder .*none does not exist; create it first"):
        adapter(Scorer(), cache=tmp_path / "none/scores.sqlite", model_name="m").for_dataset(tiny())
    if os.path.isdir("/proc/self"):
        with pytest.raises(kg.DataError, match=r"/proc/scores\.sqlite: cannot be opened: unable to open database file"):
            adapter(Scorer(), cache="/proc/scores.sqlite", model_name="m").for_dataset(tiny())
    ids = np.indices((4, 2, 4)).reshape(3, -1)
    path = tmp_path / "scores.sqlite"
    scorer = adapter(Scorer(), cache=path, model_name="m").for_dataset(tiny())
    scorer(*ids[:, :3])
    opened = TextCache._open

    def on_a_full_disk(cache):
        connection = opened(cache)
        connection.execute("PRAGMA max_page_count = 1")
        return connection

    def read_only(cache):
        return sqlite3.connect(f"file:{cache.path}?mode=ro", uri=True, isolation_level=None)

    many = np.indices((4, 2, 4)).reshape(3, -1)
    monkeypatch.setattr(TextCache, "_open", read_only)
    assert scorer(*ids[:, :3]).tolist() == kg_scores(tiny(), ids[:, :3])  # a full cache may be read-only
    with pytest.raises(kg.DataError, match=r"scores\.sqlite: cannot be written: attempt to write a readonly database"):
        scorer(*many)
    monkeypatch.setattr(TextCache, "_open", on_a_full_disk)
    long = {label: f"{text} {i}" for i, (label, text) in enumerate(TEXTS.items())}
    full = adapter(Scorer(), cache=path, model_name="n" * 9, texts=long, batch_size=32).for_dataset(tiny())
    keys = [full.cache.key((str(i),)) for i in range(1000)]
    with pytest.raises(kg.DataError, match=r"scores\.sqlite: cannot be written: database or disk is full"):
        full.cache.store(keys, np.zeros(1000), "run")
    monkeypatch.setattr(TextCache, "_open", opened)
    monkeypatch.setattr("kgeval.adapters.text_cache.SECONDS_TO_WAIT", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(kg.DataError, match=r"scores\.sqlite: another process has locked the file for more than"):
        scorer(*many)
    other.close()


def place(text):
    """A vector of small integers for a text, so that sums are exact."""
    return [zlib.crc32(f"{i}{text}".encode()) % 5 - 2.0 for i in range(3)]


class Encoder:
    """Encodes texts and counts them."""

    def __init__(self):
        self.texts, self.queries = [], []

    def encode(self, texts):
        self.texts += texts
        return np.array([place(text) for text in texts])

    def encode_query(self, entities, relations, side):
        self.queries += zip(entities, relations)
        return np.array([place(f"{e}|{r}|{side}") for e, r in zip(entities, relations)])


def loop_counts(dataset, texts, relation_texts, geometry):
    """The counts of the rank table by loops, from the vectors of texts."""
    entities, relations = dataset.entities.labels, dataset.relations.labels
    known = {tuple(t) for split in dataset.splits.values() for t in split.array.tolist()}

    def score(side, s, p, o):
        given, answer = (o, s) if side == "subject" else (s, o)
        query = np.array(place(f"{texts[entities[given]]}|{relation_texts[relations[p]]}|{side}"))
        entity = np.array(place(texts[entities[answer]]))
        if geometry == "dot":
            return float(query @ entity)
        return -float((abs(query - entity) ** (1 if geometry == "l1" else 2)).sum())

    rows = []
    for side in ("subject", "object"):
        for triple in dataset["test"].array.tolist():
            (row,) = oracle.rank_counts(partial(score, side), [tuple(triple)], known, set(range(len(entities))), side)
            rows.append([row[name] for name in COUNTS])
    return rows


@pytest.mark.parametrize("geometry", ["dot", "l1", "l2"])
@pytest.mark.light(2)
def test_encoders_rank_as_a_loop_does(geometry):
    """Random graphs: exact ranks of the vectors, each text encoded once (up to three again), and equal texts tie."""
    for seed in range(size(2, 40)):
        dataset, texts, relation_texts, _ = draw(seed)
        encoder = Encoder()
        both = {"texts": texts, "relation_texts": relation_texts}
        made = from_encoder(encoder.encode, encoder.encode_query, **both, geometry=geometry, batch_size=3)
        result = kg.evaluate(made, dataset)
        assert result.table[COUNTS].to_numpy().tolist() == loop_counts(dataset, **both, geometry=geometry), seed
        assert set(encoder.texts) == set(texts.values())
        assert len(encoder.texts) <= len(set(texts.values())) + 3


@pytest.mark.parametrize("batch_size", [1024, 3])
def test_vectors_that_depend_on_the_batch_are_refused(batch_size):
    """Each text of an entity is encoded in one batch only, so dropout or a norm over the batch would go unnoticed."""
    encoder, rng = Encoder(), np.random.default_rng(0)

    def centred(texts):
        vectors = np.asarray(encoder.encode(texts), dtype=float)
        return vectors - vectors.mean(axis=0)

    def dropped(texts):
        vectors = np.asarray(encoder.encode(texts), dtype=float)
        return vectors * rng.integers(0, 2, size=vectors.shape)

    for encode in (centred, dropped):
        with pytest.raises(
            kg.ScoreError, match="one vector in a batch and another vector alone; .* is dropout still on"
        ):
            kg.evaluate(from_encoder(encode, encoder.encode_query, batch_size=batch_size), tiny())


def test_encoders_that_return_a_wrong_shape():
    encoder = Encoder()
    wrong = from_encoder(lambda texts: [1.0], encoder.encode_query)
    with pytest.raises(
        kg.ScoreError, match=r"encode was given 4 texts, first 'Q1', and must return shape \(4, d\); got \(1,\)"
    ):
        kg.evaluate(wrong, tiny())
    with pytest.raises(kg.ScoreError, match="encode_query must be a function; got None"):
        from_encoder(encoder.encode, None)
    with pytest.raises(kg.ScoreError, match="geometry must be one of 'dot', 'l1', 'l2'; got 'cosine'"):
        from_encoder(encoder.encode, encoder.encode_query, geometry="cosine")


def test_a_changed_text_is_found_when_a_run_is_resumed(tmp_path):
    """The function is the same, the text of one entity is another: the checkpoint is refused."""
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1]], entity_labels=["Q1", "Q2", "Q3"], relation_labels=["P1"])

    def run(name, **options):
        texts = {"Q1": "Jack", "Q2": "Rome", "Q3": name}
        scorer = from_texts(lambda s, p, o: np.zeros(len(s)), texts=texts, relation_texts={"P1": "likes"})
        return kg.evaluate(scorer, dataset, run_folder=tmp_path / "run", progress=False, **options)

    wanted = run("Oslo")
    assert run("Oslo") == wanted
    with pytest.raises(kg.DataError, match="scorer: texts of entities"):
        run("Oslo!")
