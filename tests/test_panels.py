"""Cards in notebooks: the numbers are those of the objects, labels make no element, and nothing is loaded or run."""

import math
import re
from collections import namedtuple
from fractions import Fraction
from html.parser import HTMLParser

import pytest
from grids import light

import kgeval as kg
from kgeval.base.wording import enough_decimals, signed, written
from kgeval.comparison.verdict import verdict_of
from kgeval.display import differences, html
from kgeval.display.html import VOID

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")
HOSTILE = "<script>alert('x')</script><img src=x onerror=alert(1)></td></table></div>&amp;\u202e\x1b[31m"
ELEMENTS = {
    "bdi", "details", "div", "li", "path", "strong", "style", "summary", "svg", "table", "tbody", "td", "th", "thead",
    "small", "span", "sup", "title", "tr", "ul", "wbr",
}  # fmt: skip
ATTRIBUTES = {
    "aria-hidden", "class", "colspan", "d", "data-h", "data-l", "data-v", "dir", "fill", "height", "open",
    "preserveaspectratio", "scope", "stroke", "stroke-linecap", "stroke-opacity", "stroke-width", "title",
    "vector-effect", "viewbox", "width",
}  # fmt: skip

Node = namedtuple("Node", "name attributes children")  # children: nodes and texts


class Tree(HTMLParser):
    """The elements of a panel; raises an AssertionError if an end tag does not fit."""

    def __init__(self, text):
        super().__init__()
        self.path = [Node("", {}, [])]
        self.feed(text)
        self.close()
        assert len(self.path) == 1

    def handle_starttag(self, name, attributes):
        node = Node(name, dict(attributes), [])
        self.path[-1].children.append(node)
        if name not in VOID:
            self.path.append(node)

    def handle_endtag(self, name):
        assert self.path.pop().name == name

    def handle_data(self, text):
        self.path[-1].children.append(text)


def nodes(node, *names):
    """Return the nodes below a node, of some names; all if there are no names."""
    found = []
    for child in node.children:
        if isinstance(child, Node):
            found += [child] if not names or child.name in names else []
            found += nodes(child, *names)
    return found


def text_of(node):
    """Return the text of a node, without that of drawings."""
    parts = (child if isinstance(child, str) else text_of(child) for child in node.children)
    return "" if node.name == "svg" else "".join(parts)


def read(thing):
    """Return the panel of an object; each panel is checked for what it must not have."""
    text = thing._repr_html_()
    page = Tree(text).path[0]
    assert {node.name for node in nodes(page)} <= ELEMENTS
    assert {name for node in nodes(page) for name in node.attributes} <= ATTRIBUTES
    assert not re.search(r"url\(|@import|https?:|Fraction\(", text)
    assert [text_of(node) for node in nodes(page, "style")] == [html.STYLE]
    return page


def title_of(page):
    return next(text_of(node) for node in nodes(page, "div") if node.attributes.get("class") == "title")


def is_folded(page, text):
    """Return whether a text is in details that are closed at first."""
    return any(text in text_of(node) for node in nodes(page, "details") if "open" not in node.attributes)


def tables(page):
    """Return the tables; each is a list of rows, and each row a dict from heading to text."""
    found = []
    for table in nodes(page, "table"):
        head = [text_of(cell) for row in nodes(table, "thead") for cell in nodes(row, "th")]
        rows = [nodes(row, "th", "td") for row in nodes(nodes(table, "tbody")[0], "tr")]
        names = head or ["name", "value"]
        assert {len(row) for row in rows} == {len(names)}
        found.append([dict(zip(names, map(text_of, row))) for row in rows])
    return found


def bold_cells(page):
    """Return, for each table, whether each row has a bold number."""
    return [
        [any("best" in cell.attributes.get("class", "") for cell in nodes(row, "td")) for row in nodes(body, "tr")]
        for body in nodes(page, "tbody")
    ]


def drawn(page, width):
    """Return, for each drawing, the first and the last x of its lines of a width."""
    found = []
    for drawing in nodes(page, "svg"):
        paths = [node.attributes for node in nodes(drawing, "path") if float(node.attributes["stroke-width"]) == width]
        points = [[float(x) for x in re.findall(r"[-\d.]+", path["d"])] for path in paths]
        found.append([(x1, x2) for x1, _, x2, _ in points])
    return found


def ring_dataset(n_train=8, **names):
    triples = [[i, 0, (i + 1) % 12] for i in range(12)]
    return kg.Dataset.from_arrays(train=triples[:n_train], test=triples, n_entities=12, n_relations=1, **names)


def ring(shift=1, **names):
    """Return a result on a ring of 12 entities; every right object has rank 1 if `shift` is 1."""
    dataset = ring_dataset(**names)
    return kg.evaluate(lambda s, p, o: -(((o - s - shift) % 12) * (1 + (s * 5 + o) % 4)), dataset, progress=False)


def mean_over_ranks(result, function):
    """Return the mean of a function of the realistic filtered ranks, by a loop."""
    ranks = [row.better_filtered + 1 + row.tied_filtered / 2 for row in result.table.itertuples()]
    return sum(function(rank) for rank in ranks) / len(ranks)


def test_a_result_shows_three_metrics_with_intervals():
    result = ring(3)
    page = read(result)
    first, summary = tables(page)
    functions = {
        "MRR": lambda rank: 1 / rank,
        "hits@1": lambda rank: rank <= 1,
        "hits@10": lambda rank: rank <= 10,
    }
    assert [row[""] for row in first] == list(functions)
    for row, bands, dots in zip(first, drawn(page, 9), drawn(page, 6)):
        key, value = row[""].lower(), mean_over_ranks(result, functions[row[""]])
        interval = result.interval(key)
        assert row["value"] == f"{value:.4f}"
        assert row["95% interval"] == f"[{interval.low:.4f}, {interval.high:.4f}]"
        assert row["chance"] == f"{result.chance(key).value:.4f}"
        assert bands == [pytest.approx((1000 * interval.low, 1000 * interval.high), abs=0.06)]
        assert [x for x, _ in dots] == pytest.approx([1000 * value], abs=0.06)
    assert summary[0]["MR"] == f"{mean_over_ranks(result, float):.2f}"
    assert is_folded(page, "AMRI")
    assert is_folded(page, result.protocol.fingerprint)


def test_a_result_says_on_which_relations_it_is_best_and_worst():
    """As the verdict on it, below the title; the line about the dataset is folded then."""
    triples = [[i, p, (i + 1) % 12] for i in range(12) for p in range(2)]
    dataset = kg.Dataset.from_arrays(test=triples, n_entities=12, n_relations=2)
    result = kg.evaluate(lambda s, p, o: -((o - s - 1 - p) % 12), dataset, progress=False)
    said = f"MRR: {verdict_of({'A': result}).parts[-1]}."
    page = read(result)
    assert said.startswith("MRR: best on relation 0 (1.0000), worst on relation 1 (0.")
    assert [text_of(node) for node in nodes(page, "div") if node.attributes.get("class") == "line"] == [said]
    assert is_folded(page, "dataset: 12 entities, 2 relations")


def test_a_result_shows_the_range_over_tie_policies():
    """Above 1% of ties: the values with pessimistic and optimistic ties, as numbers and as a thin line."""
    result = kg.evaluate(lambda s, p, o: o // 3, ring_dataset(), progress=False)
    page = read(result)
    worst, best = result["pessimistic.mrr"], result["optimistic.mrr"]
    assert worst < result["mrr"] < best
    assert tables(page)[0][0]["worst to best ties"] == f"{worst:.4f} to {best:.4f}"
    assert pytest.approx((1000 * worst, 1000 * best), abs=0.06) in drawn(page, 1.5)[0]
    few = kg.evaluate(lambda s, p, o: o - s / 100, ring_dataset(), progress=False)
    assert few.tie_rate == 0
    assert "worst to best ties" not in tables(read(few))[0][0]


def test_a_result_with_unknown_numbers_says_why():
    """NaN is a dash with its reason, not an empty bar alone."""
    result = ring()
    unknown = result.__replace__(
        table=result.table.assign(rivals_raw=-1, rivals_filtered=-1),
        facts={**result.facts, "unknown": {"rivals": "the file does not tell"}},
    )
    assert math.isnan(unknown.chance("mrr").value)
    first = tables(read(unknown))[0]
    assert first[0]["value"] == f"{mean_over_ranks(result, lambda rank: 1 / rank):.4f}"
    assert first[0]["95% interval"] != ""
    hidden = dict.fromkeys(("better_filtered", "tied_filtered", "rivals_filtered"), -1)
    unranked = result.__replace__(
        table=result.table.assign(**hidden), facts={**result.facts, "unknown": {"filtered": "no filter <was> used"}}
    )
    for row in tables(read(unranked))[0]:
        assert row["value"] == "-"
        assert "no filter <was> used" in row["note"]
        assert "95% interval" not in row
    bare = result.__replace__(facts={key: value for key, value in result.facts.items() if key != "scorer"})
    shown = result.interval("mrr")
    assert title_of(read(bare)) == f"dataset: MRR {shown.value:.4f} [{shown.low:.4f}, {shown.high:.4f}]"
    assert title_of(read(unranked)).endswith("dataset")


@pytest.mark.parametrize("metrics", light(["mr,mrr,gmr", "mr", "mrr,mr,hits@1,hits@3,hits@10"], 1))
def test_a_comparison_of_two_starts_with_its_verdict(metrics):
    """One scale for all bars: only metrics with the same bounds stand beside each other."""
    comparison = kg.compare({"A": ring(2), "B": ring(6)}, metrics=metrics, n_resamples=99)
    page = read(comparison)
    assert title_of(page) == comparison.verdict.parts[0]
    shown = {"mrr,mr,hits@1,hits@3,hits@10": ["MRR", "hits@1", "hits@10"], "mr": ["MR"], "mr,mrr,gmr": ["MR", "GMR"]}
    values, rows = tables(page)[:2]
    first, second = comparison.differences.loc[0, ["first", "second"]]
    pair = f"{first} - {second}"
    assert [row[""] for row in values] == [first, second]  # the leader of each pair stands first
    assert [row[pair] for row in rows] == shown[metrics]
    table = comparison.differences.set_index("metric")
    edge = float(next(name for name in rows[0] if name.startswith("-") and "0+" in name).partition("0+")[2])
    bars = list(zip(drawn(page, 6), drawn(page, 9)))[len(values) :]  # after those of the values
    for row, (dots, bands) in zip(rows, bars):
        wanted = table.loc[row[pair].lower()]
        decimals = 2 if row[pair] in ("MR", "GMR") else 4
        difference, _, interval = row["difference"].partition(" ")
        assert float(difference) == pytest.approx(wanted["difference"], abs=0.6 * 10**-decimals)
        has_interval = not math.isnan(wanted["low"])
        limits = f"[{wanted['low']:+.{decimals}f}, {wanted['high']:+.{decimals}f}]"
        assert interval == (limits if has_interval else "")
        assert "better" not in row
        ends = [500 + 500 * wanted[name] / edge for name in ("difference", "low", "high")]
        assert dots[0][0] == pytest.approx(ends[0], abs=0.06)
        assert bands == ([pytest.approx(ends[1:], abs=0.06)] if has_interval else [])
        assert all(0 <= end <= 1000 for end in ends if not math.isnan(end))


def test_a_comparison_says_undecided():
    """At the start of the panel and in each row without a winner; also where there is no verdict."""
    comparison = kg.compare({"A": ring(3), "B": ring(4)}, n_resamples=99)
    page = read(comparison)
    assert comparison.verdict.outcome == "undecided"
    assert title_of(page).startswith("Undecided: ")
    assert not any(bold_cells(page)[1])
    hidden = ring(5)
    hidden = hidden.__replace__(protocol=kg.Protocol(filter=("train",)).resolved(ring_dataset()))
    accepted = kg.compare({"A": ring(3), "B": hidden}, n_resamples=99, override="filter")
    assert accepted.verdict.sentence.startswith("No verdict")
    assert title_of(read(accepted)) == f"Undecided: {accepted.verdict.sentence}"


@pytest.mark.parametrize(("n_models", "is_open"), light([(3, True), (5, True), (6, False)], 1, unpack=True))
def test_a_comparison_of_several(n_models, is_open):
    """The value of each model, best first, then all pairs in the metric of the verdict; more than 10 are folded."""
    results = {f"model {i}": ring(i) for i in range(1, n_models + 1)}
    comparison = kg.compare(results, metrics="mrr,mr", n_resamples=19)
    page = read(comparison)
    values, pairs = tables(page)[:2]
    means = {name: mean_over_ranks(result, lambda rank: 1 / rank) for name, result in results.items()}
    order = sorted(means, key=lambda name: -means[name])
    assert [row[""] for row in values] == order
    assert [row["MRR"] for row in values] == [f"{means[name]:.4f}" for name in order]
    wanted = comparison.differences[comparison.differences["metric"] == "mrr"]
    wanted = wanted.sort_values(["first", "second"], key=lambda names: names.map(order.index))
    assert [row["difference of"] for row in pairs] == [f"{a} - {b}" for a, b in zip(wanted["first"], wanted["second"])]
    shown = [float(row["MRR difference"].partition(" ")[0]) for row in pairs]
    assert shown == pytest.approx(wanted["difference"].tolist(), abs=6e-5)
    assert bold_cells(page)[1] == [better != "" for better in wanted["better"]]
    assert is_folded(page, f"{len(pairs)} differences") is not is_open


def test_a_significant_difference_never_reads_as_zero():
    numbers = [0.0000004, -0.25]
    assert signed(numbers[0], enough_decimals(numbers, 4)) == "+0.0000004"
    assert enough_decimals([math.nan, 0.0, 0.5], 4) == 4
    assert written(-0.00001) == "0.0000"
    assert signed(-0.00001) == "0.0000"


@pytest.mark.parametrize("sizes", [[0.0312], [0.1], [9.99, 3.0], [math.nan, 1e-7], [12345.0]])
def test_the_edge_of_a_scale_holds_all_differences(sizes):
    """Rounded up, and by less than a tenth, so that bars keep their place."""
    largest = max(size for size in sizes if not math.isnan(size))
    assert largest * (1 - 1e-9) <= differences.edge_of(sizes) < 1.11 * largest


def test_a_dataset_shows_its_splits():
    """Counted by loops over the rows."""
    rows = {
        "train": [[0, 0, 1], [0, 0, 1], [1, 0, 2]],
        "valid": [[1, 0, 2], [0, 0, 1]],
        "test": [[0, 0, 1], [2, 0, 3], [3, 0, 3]],
    }
    dataset = kg.Dataset.from_arrays(**rows, n_entities=4, n_relations=1, name="small")
    page = read(dataset)
    seen = {entity for s, _, o in rows["train"] for entity in (s, o)}
    for row in tables(page)[0]:
        triples = rows[row["split"]]
        repeats = sum(triple in triples[:i] for i, triple in enumerate(triples))
        assert (row["triples"], row["duplicate rows"]) == (str(len(triples)), str(repeats))
        if row["split"] != "train":
            assert row["rows also in train"] == str(sum(triple in rows["train"] for triple in triples))
            unseen = sum(s not in seen or o not in seen for s, _, o in triples)
            assert row["triples with unseen parts"] == str(unseen)
    assert title_of(page) == "Dataset small"
    assert len(dataset.observations()) > 3
    assert all(is_folded(page, sentence) for sentence in dataset.observations())
    without_train = tables(read(kg.Dataset.from_arrays(test=rows["test"], n_entities=4, n_relations=1)))[0]
    assert list(without_train[0]) == ["split", "triples", "duplicate rows"]


def test_a_protocol_shows_all_settings():
    protocol = kg.Protocol(sides="object", filter=(), unseen="drop", splits=("valid", "test"))
    page = read(protocol)
    assert title_of(page) == f"Protocol {protocol.fingerprint}"
    assert protocol.describe() in text_of(page)
    assert [row["value"] for row in tables(page)[0]] == [
        "valid, test",
        "object",
        "all entities",
        "none",
        "not chosen",
        "drop",
        "all triples",
    ]
    assert "all splits of the dataset" in text_of(read(kg.Protocol()))


def test_an_interval_shows_its_limits():
    interval = ring(3).interval("mr")
    page = read(interval)
    first, facts = tables(page)
    low, high = map(float, next(name for name in first[0] if " to " in name).split(" to "))
    assert low < interval.low < interval.high < high
    assert first[0]["95% interval"] == f"[{interval.low:.4f}, {interval.high:.4f}]"
    ends = [1000 * (end - low) / (high - low) for end in (interval.low, interval.high)]
    assert drawn(page, 9)[0] == [pytest.approx(ends, abs=0.06)]
    assert {row["name"]: row["value"] for row in facts}["clusters"] == "12"
    nothing = kg.evaluate(lambda s, p, o: o, kg.Dataset.from_arrays(test=[[0, 0, 1]], n_entities=3, n_relations=1))
    row = tables(read(nothing.interval("mrr")))[0][0]
    assert row["note"] == nothing.interval("mrr").reason
    assert "95% interval" not in row


def test_a_table_check_shows_decimals():
    """The ranges of reported numbers are fractions; the panel and the text show them as decimals."""
    check = kg.check_table(
        {
            "A": {"hits@1": "0.06", "hits@10": "0.30", "MRR": "0.06"},
            "B": {"hits@1": "22.7%", "hits@10": "48.6%", "MRR": "0.314", "MR": "219"},
        }
    )
    page = read(check)
    rows, ranges = tables(page)
    assert title_of(page) == "1 of 2 rows possible"
    assert [(row["row"], row["verdict"]) for row in rows] == [("A", "impossible"), ("B", "possible")]
    assert rows[1]["hits@1"] == "22.7%"
    found = {(row["row"], row["metric"]): (Fraction(row["least"]), Fraction(row["greatest"])) for row in ranges}
    assert found["B", "MR"] == (Fraction("218.5"), Fraction("219.5"))
    assert found["B", "hits@1"] == (Fraction("0.2265"), Fraction("0.2275"))
    assert found == {
        (row.label, name): (value.low, value.high) for row in check.rows for name, value in row.values.items()
    }
    assert check.findings[0].message in text_of(page)
    assert not is_folded(page, check.findings[0].message)
    assert repr(check) == str(check)


def test_a_classification_shows_three_metrics():
    """Accuracy by a loop; its interval is Wilson's, with as many clusters as positives."""
    triples = [[i, 0, (i + 1) % 12] for i in range(12)]
    dataset = kg.Dataset.from_arrays(train=triples, valid=triples[:6], test=triples[6:], n_entities=12, n_relations=1)
    result = kg.classify(lambda s, p, o: -((o - s) % 12) - (s == 7) * 20, dataset, "uniform", sample_seed=1)
    page = read(result)
    rows = tables(page)[0]
    n_right = sum(row.label == row.predicted for row in result.table.itertuples())
    found = result.interval("accuracy")
    assert rows[0] | {"0 to 1": ""} == {
        "": "accuracy",
        "value": f"{n_right / len(result.table):.4f}",
        "95% interval": f"[{found.low:.4f}, {found.high:.4f}]",
        "0 to 1": "",
        "note": "6 effective clusters",
    }
    assert [row[""] for row in rows] == ["accuracy", "F1", "AUC"]
    assert [row["value"] for row in rows[1:]] == [f"{result[key]:.4f}" for key in ("f1", "auc")]
    assert is_folded(page, "macro")


def test_hostile_labels_stay_text():
    """In every panel that shows a label; `read` refuses foreign elements and attributes."""
    dataset = ring_dataset(name=HOSTILE, entity_labels=[HOSTILE + str(i) for i in range(12)], relation_labels=[HOSTILE])
    result = kg.evaluate(lambda s, p, o: (s * 7 + o * 3) % 5, dataset, progress=False)
    result = result.__replace__(facts={**result.facts, "scorer": HOSTILE}, notes=(HOSTILE,))
    others = {HOSTILE: result, HOSTILE + " 2": ring(2, name=HOSTILE).__replace__(notes=(HOSTILE,)), "\u05d0": result}
    shown = "alert('x')"
    classified = kg.classify(lambda s, p, o: o, kg.Dataset.from_arrays(
        train=[[0, 0, 1]], valid=[[0, 0, 2], [1, 0, 3]], test=[[0, 0, 3], [2, 0, 1]], n_entities=9, n_relations=1,
        name=HOSTILE,
    ), "uniform", sample_seed=0)  # fmt: skip
    things = [dataset, result, classified, kg.check_table({HOSTILE: {"hits@1": 0.5, "MRR": 0.1}})]
    things += [kg.compare({name: others[name] for name in list(others)[::2]}, n_resamples=19)]
    for thing in things:
        text = text_of(read(thing))
        assert shown in text
        assert "\u202e" not in text
        assert "\x1b" not in text


def test_a_long_label_is_shortened():
    long = "x" * 1_000_000
    dataset = ring_dataset(name=long)
    result = kg.evaluate(lambda s, p, o: o - s, dataset, progress=False)
    comparison = kg.compare({long: result, long + "y": result}, n_resamples=19)
    for thing in (dataset, result, comparison):
        assert len(thing._repr_html_()) < 50_000
    read(comparison)
