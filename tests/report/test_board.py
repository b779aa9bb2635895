"""The board: what stands in one table, what is averaged, what is said about doubtful files, and the page."""

import copy
import html
import json
import math
import re
import warnings

import numpy as np
import pytest
from grids import size
from page_cases import HOSTILE, Reader

import kgeval as kg
from kgeval.base.wording import shown_label
from kgeval.benchmarks import Card, write_card
from kgeval.errors import DataError
from kgeval.report import read_board, write_board


@pytest.fixture(scope="module")
def result():
    """A result on a small graph."""
    rng = np.random.default_rng(3)
    arrays = {name: rng.integers(0, [12, 2, 12], (n, 3)) for name, n in (("train", 40), ("valid", 5), ("test", 15))}
    dataset = kg.Dataset.from_arrays(**arrays, n_entities=12, n_relations=2, name="toy")
    scores = rng.normal(size=(12, 2, 12))
    return kg.evaluate(lambda s, p, o: scores[s, p, o], dataset, progress=False)


@pytest.fixture(scope="module")
def card(result):
    """A function that makes a card like that of `result`, with some facts changed."""
    whole = Card.of(result).content

    def made(model="A", seed=None, mrr=0.3, ranks=None, dataset=None, sides=None, dropped=None):
        content = copy.deepcopy(whole)
        for reason, n in (dropped or {}).items():
            content["counts"]["ranks"] -= n
            content["counts"]["dropped"][reason] = n
        content["model"] |= {"name": model, "name_from": "user", "seed": seed}
        if mrr is None:
            content["metrics"]["mrr"] = {"value": None, "low": None, "high": None, "reason": "no rank"}
        else:
            content["metrics"]["mrr"] = {"value": mrr, "low": mrr - 0.05, "high": mrr + 0.05}
            for name in ("hits@1", "hits@3", "hits@10", "mr", "amri"):  # without values, none contradicts this MRR
                content["metrics"][name] = {"value": None, "low": None, "high": None, "reason": "left out"}
        content["hashes"]["ranks"] = ranks or f"{model} {seed} {mrr}"
        if dataset:
            content["dataset"]["fingerprint"] = dataset
        if sides:
            content["protocol"] |= {"fingerprint": f"only {sides}"}
            content["protocol"]["sentence"] = content["protocol"]["sentence"].replace("both sides", f"{sides} side")
        return Card(content)

    return made


def rows_of(board):
    """(model, seeds, mean of MRR) of each row of the first table."""
    return [(row.model, [run.card.seed for run in row.runs], row.value("mrr")[0]) for row in board.tables[0].rows]


# ---- tables and means ----


def test_seeds_are_averaged_and_rows_sorted(card):
    """0.2, 0.3, 0.4: mean 0.3, standard deviation 0.1 (0.01 + 0 + 0.01, divided by 2); one run keeps its limits."""
    runs = [card("A", 3, 0.4), card("A", 1, 0.2), card("B", 1, 0.5), card("A", 2, 0.3), card("C", 1, None)]
    board = read_board(runs)
    assert [(model, seeds) for model, seeds, _ in rows_of(board)] == [("B", [1]), ("A", [1, 2, 3]), ("C", [1])]
    one, mean, none = board.tables[0].rows
    assert one.value("mrr")[:3] == pytest.approx((0.5, 0.45, 0.55))
    assert math.isnan(one.value("mrr")[3])
    value, low, high, deviation = mean.value("mrr")
    assert (value, deviation) == pytest.approx((0.3, 0.1))
    assert math.isnan(low)
    assert math.isnan(high)
    assert math.isnan(none.value("mrr")[0])
    assert board.notes == ()
    assert board.sentence() == "5 runs of 3 models on 1 dataset, in 1 table"


def test_a_missing_value_of_one_seed_gives_no_mean(card):
    board = read_board([card("A", 1, 0.2), card("A", 2, None), card("B", 1, 0.1)])
    assert [row.model for row in board.tables[0].rows] == ["B", "A"]
    assert all(math.isnan(part) for part in board.tables[0].rows[1].value("mrr"))
    assert board.notes == ("A on toy has no mean MRR: result 2 has no value",)


def test_a_card_without_the_sorting_metric_is_named(card):
    """The metric is not on the card at all."""
    content = copy.deepcopy(card("A", 2).content)
    del content["metrics"]["mrr"]
    board = read_board([card("A", 1, 0.2), Card(content), card("B", 1, 0.1)])
    assert [row.model for row in board.tables[0].rows] == ["B", "A"]
    assert board.notes == ("A on toy has no mean MRR: result 2 has no value",)


def test_metrics_are_the_filtered_ones_of_both_sides(card):
    """In the order MRR first; the others are in the card."""
    assert read_board([card()]).tables[0].metrics == ("mrr", "hits@1", "hits@3", "hits@10", "mr", "amri")


def test_a_protocol_with_one_side_shows_its_side(result):
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1], [1, 0, 2]], n_entities=4, n_relations=1)
    one_side = kg.evaluate(lambda s, p, o: o, dataset, kg.Protocol(sides="object"), progress=False)
    (made,) = read_board([one_side]).tables
    assert len(made.metrics) == 6
    assert made.rows[0].value(made.metrics[0])[0] == pytest.approx(one_side["mrr"])


def test_protocols_and_datasets_are_never_mixed(card):
    """A table for each; what sets it apart from the others is said once."""
    runs = [card("A"), card("B"), card("A", sides="object"), card("C", dataset="f" * 64)]
    board = read_board(runs)
    assert [[row.model for row in one.rows] for one in board.tables] == [["A", "B"], ["A"], ["C"]]
    first, second, third = (one.heading for one in board.tables)
    real = board.tables[0].card.dataset_fingerprint[:8]
    assert first.endswith(f"both sides; 30 of 30 ranks; dataset {real}, protocol 8fc05966")
    assert second.endswith(f"object side; 30 of 30 ranks; dataset {real}, protocol only object")
    assert third.endswith("both sides; 30 of 30 ranks; dataset ffffffff, protocol 8fc05966")
    (note,) = [note for note in board.notes if note.startswith("toy stands for 2 datasets with different contents")]
    assert f"(fingerprints {', '.join(sorted(['ffffffff', real]))})" in note


def test_a_run_on_the_easiest_triples_does_not_stand_first(tmp_path):
    """Lists for 20 of 50 triples, `missing="drop"`: the same protocol, a better MRR, and a table of its own."""
    n, m = 60, 50
    triples = np.column_stack([np.arange(m), np.zeros(m, np.int64), np.arange(m) + 1])
    dataset = kg.Dataset.from_arrays(test=triples, n_entities=n, n_relations=1, name="toy")

    def run(rows, name, seed=None):
        """Triple i has the rank i % 25 + 1; only the triples `rows` have a list."""
        answers = [[*[o for o in range(n) if o != i + 1][: i % 25], i + 1] for i in rows]
        lists = kg.Predictions.from_arrays(triples[rows], "object", answers)
        made = kg.evaluate_predictions(lists, dataset, filtered="no", missing="drop")
        return kg.benchmarks.named(made, name, seed=seed)

    easy = [*range(10), *range(25, 35)]
    board = read_board([run(range(m), "A"), run(range(m), "B"), run(easy, "C")])
    full, part = board.tables
    assert full.card.protocol_fingerprint == part.card.protocol_fingerprint
    assert [row.model for row in full.rows] == ["A", "B"]
    assert [row.value("mrr")[0] for row in full.rows] == pytest.approx([sum(1 / k for k in range(1, 26)) / 25] * 2)
    assert part.rows[0].value("mrr")[0] == pytest.approx(sum(1 / k for k in range(1, 11)) / 10)
    assert "; 50 of 50 ranks; dataset " in full.heading
    assert "; 20 of 50 ranks; dataset " in part.heading
    assert "toy: only 20 of 50 ranks. Left out: 30 ranks: the file has no list for it." in board.notes

    # Seeds with 50 and 20 ranks are no mean; 20 of these and 20 of those are one table, and this is said.
    write_board([run(range(m), "A", 1), run(easy, "A", 2), run(range(20), "A", 3)], tmp_path / "board.html")
    reader = Reader(tmp_path / "board.html")
    assert [len(reader.rows(name)) for name in ("board-1", "board-2", "board-2-runs-1")] == [1, 1, 2]
    said = "nly 20 of 50 ranks. Left out: 30 ranks: the file has no list for it. Cards do not list the ranked triples"
    assert f"toy: o{said}" in "".join(reader.text)
    assert f"O{said}: they may differ between the runs." in "".join(reader.text)
    said = [f"toy ({i}){one.heading}" for i, one in enumerate(board.tables[:2], 1)]
    assert [row[0][0].rpartition("; dataset")[0] for row in reader.rows("leaders")] == [
        text.rpartition("; dataset")[0] for text in said
    ]


def test_equal_numbers_for_other_reasons_are_other_tables(card):
    """30 = 2 * 15 rows were read; where dataset and protocol name the dropped triples, nothing is said."""
    unseen, listed = "an entity or relation that train lacks (unseen='drop')", "the file has no list for it"
    runs = [card("A", dropped={unseen: 4}), card("B", dropped={unseen: 4}), card("C", dropped={listed: 4})]
    board = read_board(runs)
    assert [[row.model for row in one.rows] for one in board.tables] == [["A", "B"], ["C"]]
    assert all("; 26 of 30 ranks; " in one.heading for one in board.tables)
    assert [reason in one.caution for one, reason in zip(board.tables, (unseen, listed))] == [True, True]
    assert not [note for note in board.notes if "cards do not say" in note]


def test_a_difference_that_the_sentence_hides_is_said(card):
    """Two protocols with one sentence: their fingerprints."""
    other = copy.deepcopy(card("B").content)
    other["protocol"] |= {"fingerprint": "12345678", "settings": {**other["protocol"]["settings"], "unseen": "worst"}}
    first, second = read_board([card("A"), card("A2"), Card(other)]).tables
    assert second.heading == first.heading.replace(f"protocol {first.card.protocol_fingerprint}", "protocol 12345678")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ([{"seed": 1, "mrr": 0.2}, {"seed": 1, "mrr": 0.3}], "seed 1 stands for different runs"),
        ([{"mrr": 0.2}, {"mrr": 0.3}], "some do not say their seed"),
        ([{"seed": 1, "mrr": 0.2}, {"mrr": 0.3}], "some do not say their seed"),
        ([{"seed": 1, "ranks": "x"}, {"seed": 2, "ranks": "x"}], "runs with different seeds have the same ranks"),
    ],
)
def test_doubtful_runs_are_not_averaged(card, changes, reason):
    board = read_board([card("A", **change) for change in changes])
    assert len(board.tables[0].rows) == 2
    assert f"toy: 2 runs of A are listed one by one, since {reason}" in board.notes


def test_runs_without_a_name_are_shown_by_their_file_and_not_averaged(card, tmp_path):
    """Two models of one class are no two seeds of one model; a lead is over another label; one note for all of them."""
    contents = [copy.deepcopy(card("A", seed, 0.2 + seed / 10).content) for seed in (1, 2)]
    for content in contents:
        content["model"]["name_from"] = "scorer"
    cards = [Card(content) for content in contents]
    board = read_board(cards)
    assert [row.model for row in board.tables[0].rows] == ["A (result 2)", "A (result 1)"]
    note = "2 runs have no name; they are shown by file name: name runs with kgeval evaluate --name"
    assert board.notes == (note,)
    for name, one in (
        ("first", cards[0]),
        ("second", cards[1]),
        ("below/B", cards[0]),
        ("third", card("B", None, 0.1)),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write_card(Card({**one.content, "hashes": {"ranks": name, "scores": None}}), tmp_path / f"{name}.json")
    board = read_board(tmp_path)
    assert [row.model for row in board.tables[0].rows] == ["second", "below/B.json", "first", "B"]
    assert board.notes == (note.replace("2", "3"),)
    write_board(board, tmp_path / "board.html")
    (row,) = Reader(tmp_path / "board.html").rows("leaders")
    assert [text for text, _ in row][1] == "second1 run, no name; A"
    assert [text for text, _ in row][4:] == ["below/B.json1 run, no name; A", "0.1000"]


def test_a_lead_is_over_another_model(card, tmp_path):
    """Two runs of A without seeds; ties could turn the lead where the range of B reaches the worst value of A."""
    runs = [card("A", None, 0.4), card("A", None, 0.39), card("B", 1, 0.3)]
    write_board(runs, tmp_path / "board.html")
    (row,) = Reader(tmp_path / "board.html").rows("leaders")
    values = ["A1 run", "0.4000 [0.3500, 0.4500]", "B1 run, seed 1"]
    assert [text for text, _ in row] == ["toy", *values[:2], "", values[2], "0.1000"]
    for top, said in ((0.41, "0.1000 ties could turn it"), (0.4, "0.1000 ties could turn it"), (0.35, "0.1000")):
        runs[2].content["ties"] |= {"share": 0.2, "range": {"mrr": {"pessimistic": 0.2, "optimistic": top}}}
        write_board(runs, tmp_path / "board.html", overwrite=True)
        (row,) = Reader(tmp_path / "board.html").rows("leaders")
        assert row[5][0] == said
    runs[2].content["ties"] |= {"share": 0.0, "range": {}}
    third = card("C", 1, 0.2)
    for top, said in ((0.41, "0.1000 ties could put C first"), (0.35, "0.1000")):
        third.content["ties"] |= {"share": 0.2, "range": {"mrr": {"pessimistic": 0.1, "optimistic": top}}}
        write_board([*runs, third], tmp_path / "board.html", overwrite=True)
        (row,) = Reader(tmp_path / "board.html").rows("leaders")
        assert row[5][0] == said  # neither A nor B has ties
    write_board(runs[:2], tmp_path / "board.html", overwrite=True)
    (row,) = Reader(tmp_path / "board.html").rows("leaders")
    assert [text for text, _ in row][4:] == ["only model"]  # no column without a text


def test_single_runs_beside_means_say_so(card, tmp_path):
    """At the lead; where both models have several seeds, or both one run, it says nothing."""
    path = tmp_path / "board.html"
    mean, single, other = [card("A", 1, 0.3), card("A", 2, 0.2)], card("B", 1, 0.4), card("B", 2, 0.5)
    for runs, names in (
        ([*mean, single], ["B1 run, seed 1", "A2 seeds"]),
        ([*mean, single, other], ["B2 seeds", "A2 seeds"]),
        ([mean[0], single], ["B1 run, seed 1", "A1 run, seed 1"]),
    ):
        write_board(runs, path, overwrite=True)
        reader = Reader(path)
        (leader,) = reader.rows("leaders")
        assert [row[0][0] for row in reader.rows("board-1")] == [leader[1][0], leader[4][0]] == names
        assert ("one run against a mean" in leader[5][0]) == (names == ["B1 run, seed 1", "A2 seeds"])
    write_board([*mean, single], path, overwrite=True)
    (leader,) = Reader(path).rows("leaders")
    assert [leader[place][0] for place in (4, 5)] == [
        "A2 seeds",
        "0.1500one run against a mean",
    ]  # the mean of A is 0.25


def test_the_same_ranks_under_two_names_are_marked(card, tmp_path):
    """With the seed of the other run, or with its file where its name is that of the row."""
    board = read_board([card("A", 1, ranks="same"), card("B", 2, ranks="same"), card("C", 1)])
    marks = {row.model: row.marks for row in board.tables[0].rows}
    assert marks == {"A": ("duplicate of B seed 2",), "B": ("duplicate of A seed 1",), "C": ()}
    for name, seed in (("A", None), ("B", 3)):
        write_card(card(name, seed, ranks="same"), tmp_path / f"run {name}.json")
    marks = {row.model: row.marks for row in read_board(tmp_path).tables[0].rows}
    assert marks == {"A": ("duplicate of B seed 3",), "B": ("duplicate of A",)}
    board = read_board([tmp_path / "run A.json", card("A", 1, ranks="same")])
    assert {run.marks for run in board.tables[0].rows} == {("duplicate of A seed 1",), ("duplicate of run A.json",)}
    assert board.sentence() == "2 runs (1 with the ranks of another) of 1 model on 1 dataset, in 1 table"
    board = read_board([card("A", 1, ranks="one"), card("A", 2, ranks="same"), card("B", 3, ranks="same")])
    marks = {row.model: row.marks for row in board.tables[0].rows}
    assert marks == {"A": ("seed 2: duplicate of B seed 3",), "B": ("duplicate of A seed 2",)}


# ---- files ----


def test_a_card_and_its_result_are_one_run(result, tmp_path):
    """Counted once, named both."""
    result.save(tmp_path / "run.kgeval")
    write_card(result, tmp_path / "run.json")
    board = read_board(tmp_path)
    (run,) = board.runs
    assert (run.place, run.copies) == ("run.json", ("run.kgeval",))
    assert "Counted once, though in more than one file: run.json (run.kgeval)" in board.notes
    assert board.n_files == 2


def test_equal_hashes_with_other_values_are_no_copies(card):
    """Both are shown and marked; values that differ in the 12th digit, as another version of numpy sums, are copies."""
    board = read_board([card("A", 1, 0.3, "x"), card("A", 1, 0.4, "x"), card("A", 1, 0.3 + 1e-12, "x")])
    assert [(row.value("mrr")[0], row.marks) for row in board.tables[0].rows] == [
        (0.4, ("duplicate of A seed 1",)),
        (0.3, ("duplicate of A seed 1",)),
    ]
    assert board.tables[0].rows[1].runs[0].copies == ("result 3",)
    assert "toy: 2 runs of A are listed one by one, since seed 1 stands for different runs" in board.notes


def test_files_that_cannot_be_read_are_listed(card, tmp_path):
    """Each with its reason, in folders too; a classification and an unknown metric are no runs."""
    (tmp_path / "below").mkdir()
    write_card(card("A"), tmp_path / "below" / "a.json")
    for name, text in (("broken.json", "{"), ("other.json", '{"a": 1}'), ("x.kgeval", "text"), ("notes.txt", "text")):
        (tmp_path / name).write_text(text)
    later = copy.deepcopy(card("B").content)
    later["metrics"]["wonder@3"] = later["metrics"]["mrr"]
    write_card(Card(later), tmp_path / "later.json")
    board = read_board(tmp_path)
    assert [place for place, _ in board.unread] == ["broken.json", "later.json", "other.json", "x.kgeval"]
    reasons = dict(board.unread)
    assert "wonder" in reasons["later.json"]
    assert str(tmp_path) not in str(board.unread)
    assert board.runs[0].place == "below/a.json"
    assert board.sentence().endswith("; 4 files could not be read")
    assert board.n_files == 5


def test_nothing_to_show_is_an_error(tmp_path):
    with pytest.raises(DataError, match="found no such file in"):
        read_board(tmp_path)
    with pytest.raises(DataError, match=r"there is no such file or folder"):
        read_board(tmp_path / "none")
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(DataError, match=r"none of 1 file can be read. The first error"):
        read_board(tmp_path)
    with pytest.raises(DataError, match=r"item 1 of the board: expected a path, a card or a result; got int"):
        read_board([3])


# ---- the page ----


LABELS = HOSTILE[: 12 : size(3, 1)]


@pytest.fixture(scope="module")
def folder(card, tmp_path_factory):
    """Cards with hostile names in a folder, and a file that is none; tests write boards beside them."""
    tmp_path = tmp_path_factory.mktemp("cards")
    for i, label in enumerate(LABELS):
        for seed in (1, 2):
            write_card(card(label or "none", seed, 0.2 + i / 100 + seed / 1000), tmp_path / f"{i} #{seed}%.json")
    write_card(card("alone", None, 0.9, sides="object"), tmp_path / "alone.json")
    (tmp_path / "<b>.json").write_text("{")
    return tmp_path


def test_the_page_has_every_row(folder):
    """Each model with mean and deviation as text and with more digits; the runs below; the tables as JSON."""
    write_board(folder, folder / "board.html", title="</title><b>&")
    reader = Reader(folder / "board.html")
    assert reader.title == "</title><b>&"
    assert {name for name, _ in reader.elements} & {"img", "iframe", "link", "object"} == set()
    names = [name for name in reader.tables if name.startswith("board-") and "runs" not in name]
    assert names == ["board-1", "board-2"]
    rows = reader.rows("board-1")
    assert len(rows) == len(LABELS)
    top = 0.2 + (len(LABELS) - 1) / 100  # of the last label; its runs have 0.001 and 0.002 more
    best, (first, second) = rows[0], reader.rows("board-1-runs-1")
    assert best[1][0] == f"{top + 0.0015:.4f} ± 0.0007"
    assert float(best[1][1]["data-v"]) == pytest.approx(top + 0.0015)
    assert (first[0][0], second[0][0]) == ("seed 1", "seed 2")
    assert first[1][0] == f"{top + 0.001:.4f} [{top - 0.049:.4f}, {top + 0.051:.4f}]"
    means = [float(row[1][1]["data-v"]) for row in rows]
    assert means == sorted(means, reverse=True)
    shown = {row[0][0].replace("2 seeds", "") for row in rows}
    assert {shown_label(label) for label in LABELS if label.isprintable() and len(label) < 30} <= shown
    data = reader.data()
    assert [len(data["tables"][name]) for name in names] == [len(LABELS), 1]
    assert data["tables"]["unread"][0]["file"] == "<b>.json"
    assert reader.rows("unread")[0][0][0] == "<b>.json"


def headline_of(path):
    page = html.unescape(path.read_text(encoding="utf-8"))
    return re.search(r'<p class="verdict"><bdi>(.*?)</bdi></p>', page)[1]


def test_the_headline_names_the_leaders(card, tmp_path):
    """And the list of the tables has values and leads."""
    path = tmp_path / "board.html"
    runs = [card("A", 1, 0.3), card("A", 2, 0.4), card("B", 1, 0.3), card("C", 1, 0.2)]
    write_board(runs, path)
    assert headline_of(path) == "Not tested: A leads on toy"
    write_board([*runs, card("D", 1, 0.9, sides="object")], path, overwrite=True)
    assert headline_of(path) == "Not tested: A leads on toy (1); D leads on toy (2)"
    reader = Reader(path)
    rows = [[text for text, _ in row] for row in reader.rows("leaders")]
    assert "both sides" in rows[0][0]
    assert "object side" in rows[1][0]
    assert rows[0][1:] == [
        "A2 seeds",
        "0.3500 ± 0.0707",
        "",
        "B1 run, seed 1",
        "0.0500 within SD or intervalone run against a mean",
    ]
    assert rows[1][1:] == ["D1 run, seed 1", "0.9000 [0.8500, 0.9500]", "", "", "only model"]
    assert "compare values within a row alone" in reader.tables["leaders"]["caption"]
    first = path.read_text(encoding="utf-8").partition('data-name="leaders"')[2].partition("</tr><tr>")[0]
    a, b, c = (float(x) for x in re.findall(r'<path d="M([\d.]+) 3L', first))
    assert (a - b) / (b - c) == pytest.approx(0.05 / 0.1, rel=0.01)
    assert "A board sorts, it does not test" in "".join(reader.text)


def test_a_few_tables_stand_beside_each_other(card, tmp_path):
    """A row per model on several datasets, by the sum of the places: B 0 + 1, A 1 + 0 (ahead on the second)."""
    path, runs = tmp_path / "board.html", [card("C", 1, 0.1), card("B", 1, 0.2), card("A", 1, 0.3), card("A", 2, 0.4)]
    write_board(runs, path)
    assert "matrix" not in Reader(path).tables
    others = [card("A", 1, 0.5, dataset="1" * 64), card("B", 1, 0.6, dataset="1" * 64)]
    for one in others:
        one.content["dataset"]["name"] = "other"
    write_board([*others, *runs], path, overwrite=True)
    reader = Reader(path)
    assert [[text for text, _ in row] for row in reader.rows("matrix")] == [
        ["B", "0.6000leads", "0.2000-0.1500"],
        ["A", "0.5000-0.1000", "0.3500 ± 0.0707leads"],  # of 0.3 and 0.4: 0.1 / sqrt(2)
    ]
    assert headline_of(path) == "Not tested: B leads on other; A leads on toy"
    assert [row[0][0] for row in reader.rows("leaders")] == ["other", "toy"]
    for one in others:  # as a result has it if most of its test triples are reversed in train
        one.content["facts"]["leak_notes"] = ["92.5% of the 40 triples of test may be copied from train, which has ..."]
    write_board([*others, *runs], path, overwrite=True)
    assert [row[0][0] for row in Reader(path).rows("leaders")] == ["other92.5% copied?", "toy"]
    assert "does not lead" not in "".join(reader.text)  # each leads one
    rows = reader.rows("matrix")
    best = [[row[0][0] for row in rows if "best" in (row[place][1].get("class") or "")] for place in (1, 2)]
    assert best == [["B"], ["A"]]
    caption = "MRR, distance to the leader of the dataset below: models on several datasets."
    assert reader.tables["matrix"]["caption"] == caption
    write_board([*others, *runs, card("D", 1, 0.9, sides="object")], path, overwrite=True)  # two tables of a dataset
    assert "matrix" not in Reader(path).tables
    two = card("C", 1, 0.6, dataset="1" * 64)  # equal to B
    two.content["dataset"]["name"] = "other"
    write_board([*others, two, *runs], path, overwrite=True)
    shown = {row[0][0]: "best" in (row[1][1].get("class") or "") for row in Reader(path).rows("matrix")}
    assert shown == {"A": False, "B": True, "C": True}
    many = [card(f"M{i:02}", 1, 0.3 + 0.01 * i) for i in range(20)]
    write_board([*others, *many], path, overwrite=True)  # no model on both
    assert "matrix" not in Reader(path).tables
    copies = [card(f"M{i:02}", 1, 0.1 + 0.01 * i, dataset="1" * 64) for i in range(20)]
    for one in copies:
        one.content["dataset"]["name"] = "other"
    write_board([*copies, *many], path, overwrite=True)
    reader = Reader(path)
    assert [row[0][0] for row in reader.rows("matrix")] == [f"M{i:02}" for i in range(19, 4, -1)]
    assert reader.tables["matrix"]["caption"].startswith(
        "MRR, distance to the leader of the dataset below: 15 of 20 models on "
    )


def test_where_the_leader_of_most_tables_does_not_lead(card, tmp_path):
    """A leads on x and y; on z it is behind, has no value, ties, or is not there; MR is better if lower."""

    def made(name, model, mrr, seed=1):
        one = card(model, seed, mrr, dataset=name * 64)
        one.content["dataset"]["name"] = name
        return one

    both = [made(name, model, value) for name in "xy" for model, value in (("A", 0.5), ("B", 0.4))]
    for more, said in (
        ([("A", 0.3), ("B", 0.4)], "A does not lead on z (-0.1000 to B)."),
        ([("A", 0.4), ("B", 0.4)], ""),
        ([("A", None), ("B", 0.4)], "A does not lead on z (no ranked value)."),
        ([("B", 0.4)], "A does not lead on z (no ranked value)."),
        ([("A", 0.6), ("B", 0.4)], ""),
    ):
        write_board([*both, *(made("z", *of) for of in more)], tmp_path / "board.html", overwrite=True)
        text = "".join(Reader(tmp_path / "board.html").text)
        assert said in text
        assert ("does not lead" in text) == bool(said)
    write_board([*both[:2], made("z", "A", 0.3), made("z", "B", 0.4)], tmp_path / "board.html", overwrite=True)
    assert "does not lead" not in "".join(Reader(tmp_path / "board.html").text)  # each leads one


def test_the_headline_names_all_datasets_where_they_fit_two_lines(card, tmp_path):
    """Five of a model as they are; of forty, the first three and the number of the others."""
    for n, said in (
        (5, "A leads on set 0, set 1, set 2, set 3 and set 4"),
        (40, "A leads on set 0, set 1, set 10 and 37 more"),
    ):
        cards = [card("A", 1, 0.3, dataset=f"{i:064}") for i in range(n)]
        for i, one in enumerate(cards):
            one.content["dataset"]["name"] = f"set {i}"
        write_board(cards, tmp_path / "board.html", overwrite=True)
        assert headline_of(tmp_path / "board.html") == f"Not tested: {said}"


def test_a_board_without_a_ranked_run_has_no_leader(card, tmp_path):
    write_board([card("A", mrr=None)], tmp_path / "board.html")
    assert headline_of(tmp_path / "board.html") == "no ranked run"


def test_three_notes_stand_open(card, tmp_path):
    """The first three in frames, the others in a fold below them."""
    runs = [("A", 1, 0.2), ("A", 1, 0.4), ("B", None, 0.2), ("B", None, 0.4)]
    others = [card(*run, dataset="f" * 64) for run in (("C", 1, 0.3), ("D", 1, 0.2), ("D", 1, 0.1))]
    cards = [*(card(*run) for run in runs), *others]
    board = read_board(cards)
    assert [note.partition(" ")[0] for note in board.notes] == ["toy", "toy:", "toy:", "toy:"]
    write_board(board, tmp_path / "board.html")
    page = html.unescape((tmp_path / "board.html").read_text(encoding="utf-8"))
    places = [page.index(f"<bdi>{note}.</bdi>") for note in board.notes]
    assert places == sorted(places)
    assert places[2] < page.index('id="notes"') < places[3] < page.index('id="table-1"')


def test_values_show_their_range_over_ties_where_ties_matter(card, tmp_path):
    """Mean of the worst 0.2 and 0.3, of the best 0.4 and 0.5; the whisker is drawn for a run; few ties show nothing."""
    path = tmp_path / "board.html"
    runs = [card("A", 1, 0.3), card("A", 2, 0.4), card("B", 1, 0.35)]
    for run, ends in zip(runs[:2], ((0.2, 0.4), (0.3, 0.5))):
        run.content["ties"] = {
            "counted": "realistic",
            "share": 0.2,
            "range": {"mrr": dict(zip(("pessimistic", "optimistic"), ends))},
        }
    runs[2].content["ties"] |= {"share": 0.0, "range": {}}
    write_board(runs, path)
    rows = {row[0][0][0]: row for row in Reader(path).rows("board-1")}
    assert rows["A"][1][0] == "0.3500 ± 0.0707ties: 0.2500 to 0.4500"
    assert "ties: " not in rows["B"][1][0]
    assert "warn" in rows["A"][8][1]["class"].split()
    assert rows["A"][8][0] == "20.0%"
    assert [row[1][0] for row in Reader(path).rows("board-1-runs-1")] == [
        "0.3000 [0.2500, 0.3500]ties: 0.2000 to 0.4000",
        "0.4000 [0.3500, 0.4500]ties: 0.3000 to 0.5000",
    ]


def test_a_row_names_its_files(folder):
    """Under the pointer on the model, of each run that a model opens too; every link leads to a place of the page."""
    write_board(folder, folder / "files.html")
    reader = Reader(folder / "files.html")
    rows, opened = ([row[0][1]["title"] for row in reader.rows(name)] for name in ("board-1", "board-1-runs-1"))
    titles = [*rows, *opened]
    assert opened == rows[0].split(", ") == [f"{rows[0].partition(' ')[0]} #{seed}%.json" for seed in (1, 2)]
    assert {name for title in titles for name in title.split(", ")} <= {run.place for run in read_board(folder).runs}
    targets = {a["href"] for name, a in reader.elements if name == "a"}
    assert {target.removeprefix("#") for target in targets} <= {a["id"] for _, a in reader.elements if "id" in a}


def test_the_same_files_give_the_same_bytes(folder, tmp_path_factory):
    """Also in another folder."""
    import shutil

    write_board(folder, folder / "bytes.html")
    other = tmp_path_factory.mktemp("other") / "copy"
    shutil.copytree(folder, other)
    write_board(other, other / "board.html", overwrite=True)
    assert (other / "board.html").read_bytes() == (folder / "bytes.html").read_bytes()
    assert not re.search(str(folder), (folder / "bytes.html").read_text(encoding="utf-8"))


def test_the_page_is_not_written_over_a_file(folder):
    (folder / "taken.html").write_text("mine")
    with pytest.raises(DataError, match="exists"):
        write_board(folder, folder / "taken.html")
    with pytest.raises(DataError, match="HTML"):
        write_board(folder, folder / "board.pdf")
    assert (folder / "taken.html").read_text() == "mine"


def test_bounded_values_show_their_bounds(card, tmp_path):
    content = copy.deepcopy(card("A").content)
    content["metrics"]["mrr"] = {"value": None, "low": None, "high": None, "least": 0.2, "greatest": 0.4}
    write_board([Card(content)], tmp_path / "board.html")
    row = Reader(tmp_path / "board.html").rows("board-1")[0]
    assert row[1][0] == "0.2000 to 0.4000"


def test_the_json_of_the_page_is_strict(card, tmp_path):
    """An unknown share of ties and an undefined value are null."""
    content = copy.deepcopy(card("A", mrr=None).content)
    content["ties"]["share"] = None
    write_board([Card(content)], tmp_path / "board.html")
    (row,) = Reader(tmp_path / "board.html").data()["tables"]["board-1"]
    assert [row[name] for name in ("MRR ↑", "MRR ↑ low", "MRR ↑ high", "ties")] == [None] * 4


# ---- cards that contradict themselves ----


def changed_card(result, model, **values):
    """The card of `result` with another name, and with some values of metrics changed by hand."""
    content = copy.deepcopy(Card.of(result).content)
    content["model"] |= {"name": model, "name_from": "user"}
    content["hashes"]["ranks"] = model
    for name, value in values.items():
        content["metrics"][name.replace("_", "@")] = {"value": value, "low": value, "high": value}
    return Card(content)


def test_a_card_that_contradicts_itself_is_marked_and_not_ranked(result, tmp_path):
    """With half ranks, MRR is at most 0.37 + 0.13/1.5 + 0.4/3.5 + 0.1/10.5 = 0.580476; numbers may be off by 1e-6."""
    rows = [
        changed_card(result, "good"),
        changed_card(result, "wrong", mrr=0.9, hits_1=0.37, hits_3=0.5, hits_10=0.9),
        changed_card(result, "other"),
    ]
    said = (
        "MRR 0.9000000000 (at least 0.899999) exceeds 0.580477, the largest value that hits@1 0.3700000000, "
        "hits@3 0.5000000000 and hits@10 0.9000000000 allow: "
    )
    assert [card.contradictions for card in (rows[0], rows[2])] == [(), ()]
    assert rows[1].contradictions[0].startswith(said)
    for card in rows:
        write_card(card, tmp_path / f"{card.model}.json")
    board = read_board(tmp_path)
    (table,) = board.tables
    assert [(row.model, row.is_ranked, row.marks) for row in table.rows] == [
        ("good", True, ()),
        ("other", True, ()),
        ("wrong", False, ("contradicts itself, not ranked",)),
    ]
    (note,) = [text for text in board.notes if "contradicts" in text]
    assert note.startswith("wrong.json: contradicts itself, not ranked: ")
    write_board(board, tmp_path / "board.html")
    page = (tmp_path / "board.html").read_text(encoding="utf-8")
    row = page[page.index(">wrong<") :].partition("</tr>")[0]
    assert ">contradicts itself, not ranked</strong>" in row
    assert "0.9000" in row
    assert 'data-v="0.9"' not in row  # a click on the heading cannot rank it
    assert note in html.unescape(page.replace("<wbr>", ""))


def test_a_seed_that_contradicts_itself_is_in_no_mean(result):
    cards = [changed_card(result, "A"), changed_card(result, "A"), changed_card(result, "A", mrr=0.9)]
    for seed, card in enumerate(cards):
        card.content["model"]["seed"] = seed
        card.content["hashes"]["ranks"] = str(seed)
    mrr = cards[0].metrics["mrr"][0]
    (table,) = read_board(cards).tables
    assert [(len(row.runs), row.is_ranked, row.value("mrr")[0]) for row in table.rows] == [
        (2, True, pytest.approx(mrr)),
        (1, False, 0.9),
    ]


@pytest.mark.parametrize("seed", range(size(4, 60)))
def test_no_card_of_kgeval_contradicts_itself(seed):
    """Random graphs; constant scores, scores with many ties, and scores without; both sides or one."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 40))
    arrays = {name: rng.integers(0, [n, 3, n], (k, 3)) for name, k in (("train", 30), ("test", rng.integers(1, 12)))}
    dataset = kg.Dataset.from_arrays(**arrays, n_entities=n, n_relations=3)
    scores = rng.integers(0, rng.choice([1, 2, 5, 10**6]), (n, 3, n)).astype(float)
    sides = ["both", "object"][seed // 2 % 2]
    protocol = kg.Protocol(sides=sides)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kg.KgevalWarning)
        card = Card.of(kg.evaluate(lambda s, p, o: scores[s, p, o], dataset, protocol, progress=False))
    assert card.contradictions == ()


@pytest.mark.parametrize("date", ["today", "2026-13-01", "2026-02-29", "20260228", "2026-1-1", ""])
def test_a_card_whose_date_is_no_date_is_not_read(result, tmp_path, date):
    card = changed_card(result, "A")
    write_card(Card({**card.content, "date": "2024-02-29"}), tmp_path / "good.json")
    write_card(Card({**card.content, "date": date}), tmp_path / "bad.json")
    board = read_board(tmp_path)
    assert board.unread == (
        ("bad.json", f"bad.json, date: expected a date, written YYYY-MM-DD, or null; got {json.dumps(date)}"),
    )
    with pytest.raises(DataError, match="must have the form YYYY-MM-DD and be a day of the calendar; got"):
        card.dated(date)
