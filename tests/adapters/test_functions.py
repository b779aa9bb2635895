"""Functions, modules and objects of tensors as scorers: ids by label, signs, argument orders, modes, devices."""

import sys
import threading
from contextlib import suppress
from types import SimpleNamespace

import grids
import numpy as np
import pytest
from adapter_cases import check_counts, labelled_graph, random_scores

import kgeval as kg
from kgeval.adapters import from_function

LABELS = ["Oslo", "Rome", "Bonn"], ["in", "near"]
TRAIN, TEST = [("Rome", "near", "Bonn"), ("Bonn", "in", "Oslo"), ("Oslo", "in", "Rome")], [("Rome", "in", "Bonn")]


def towns():
    """A dataset whose ids (Bonn, Oslo, Rome; in, near) are not those of `LABELS`."""
    return kg.Dataset.from_frames(train=TRAIN, test=TEST, name="towns")


def mrr(score, **options):
    return kg.evaluate(from_function(score, arrays="numpy", **options), towns(), kg.Protocol(sides="object"))["mrr"]


@pytest.mark.parametrize("seed", range(grids.size(6, 100)))
@pytest.mark.light(2)
def test_counts_are_those_of_a_loop_over_labels(seed):
    """Ids in another order, train-only vocabularies, unknown labels, ties; functions of triples and of queries."""
    dataset, entities, relations = labelled_graph(seed)
    table = random_scores(seed, entities, relations)
    options = {"ids": (entities, relations), "arrays": "numpy"}
    rows = SimpleNamespace(
        score_objects=lambda s, p: table[s, p], score_subjects=lambda p, o: table[:, p, o].T, name="rows"
    )
    chosen = SimpleNamespace(
        score_objects=lambda s, p, candidates: table[s, p][:, candidates],
        score_subjects=lambda p, o, candidates: table[:, p, o].T[:, candidates],
    )
    for adapter in (
        from_function(lambda s, p, o: table[s, p, o], **options),
        from_function(lambda o, s, p: -table[s, p, o], order="thr", distances=True, **options),
        from_function(rows, **options),
        from_function(chosen, **options),
    ):
        check_counts(adapter, dataset, entities, relations, lambda s, p, o, side: table[s, p, o])


def test_ids_come_by_label_and_else_are_those_of_the_dataset():
    """By label, Bonn is 2; by the dataset's ids it is 0. Nothing is guessed, and the result says which it was."""
    prefers_bonn = lambda s, p, o: o == 2  # noqa: E731
    assert mrr(lambda *ids: prefers_bonn(*ids).astype(float), ids=LABELS) == 1.0
    assert mrr(lambda *ids: prefers_bonn(*ids).astype(float)) == 0.4
    adapter = from_function(lambda s, p, o: o, arrays="numpy")
    note = "the function gets the ids of the dataset (from_function was called without ids=)"
    assert note in kg.evaluate(adapter, towns()).notes
    assert note not in kg.evaluate(from_function(lambda s, p, o: o, ids=LABELS, arrays="numpy"), towns()).notes


@pytest.mark.parametrize("order", ["spo", "hrt", "sop", "htr", "pso", "rth", "ops"])
def test_order_of_arguments(order):
    """Each argument gets the ids of its role, in the letters of kgeval or of many libraries."""
    roles = [{"h": "s", "r": "p", "t": "o"}.get(letter, letter) for letter in order]
    seen = {}

    def score(*ids):
        seen.update(zip(roles, ids))
        return ids[0] * 0.0

    from_function(score, order=order, arrays="numpy").for_dataset(towns())(np.array([1]), np.array([0]), np.array([2]))
    assert {role: ids.tolist() for role, ids in seen.items()} == {"s": [1], "p": [0], "o": [2]}


def test_distances_are_negated_only_if_the_caller_says_so():
    """The trap of signs: distances taken for scores rank the best last."""
    distance = lambda s, p, o: np.array([0, 2, 1])[o]  # noqa: E731
    assert mrr(distance, distances=True) == 1.0
    assert mrr(distance) == pytest.approx(1 / 3)
    adapter = from_function(distance, distances=True, arrays="numpy")
    assert "the values of the function are distances: they were negated" in kg.evaluate(adapter, towns()).notes


def test_unsigned_distances_do_not_wrap_around():
    """In uint8, the negative of 0 is 0 and that of 1 is 255: the nearest would rank last."""
    distance = lambda s, p, o: np.array([0, 2, 1], dtype=np.uint8)[o]  # noqa: E731
    assert mrr(distance, distances=True) == 1.0
    flags = from_function(lambda s, p, o: o > 1, distances=True, arrays="numpy")
    with pytest.raises(kg.ScoreError, match="must give real numbers"):
        kg.evaluate(flags, towns())


def test_an_object_with_one_side_is_evaluated_on_that_side():
    """The other side is refused by name, not by an AttributeError."""
    one = SimpleNamespace(score_objects=lambda s, p: np.tile([3.0, 1.0, 2.0], (len(s), 1)))
    adapter = from_function(one, arrays="numpy")
    assert kg.evaluate(adapter, towns(), kg.Protocol(sides="object"))["mrr"] == 1.0
    with pytest.raises(kg.ScoreError, match=r"no score_subjects, which the subject side needs; .*sides=\('object',\)"):
        kg.evaluate(adapter, towns())


@pytest.mark.parametrize(
    "scores",
    [
        lambda s, p: np.zeros((3, len(s) + 4)),
        lambda s, p: np.zeros((len(s), 2)),
        lambda s, p: np.zeros(len(s)),
        lambda s, p: np.zeros((len(s), 4)),  # the column of padding may come first, and then every id is wrong by one
    ],
)
def test_rows_of_a_wrong_shape_are_refused(scores):
    """Rows are cut to the candidates; without a check, a transposed array might have the right shape afterwards."""
    adapter = from_function(SimpleNamespace(score_objects=scores, score_subjects=scores), arrays="numpy")
    with pytest.raises(kg.ScoreError, match=r"the scores of . queries with all entities .*, shape \(., 3\); got \("):
        kg.evaluate(adapter, towns())


def test_what_cannot_be_called_is_refused_at_once():
    """The errors come from `from_function`, not from the evaluation."""
    for wrong, message in (
        (3, "expected a function score.s, p, o., a torch module, or an object .*; got int"),
        (dict, "got the class dict. Make an instance of it"),
    ):
        with pytest.raises(kg.ScoreError, match=message):
            from_function(wrong, arrays="numpy")
    with pytest.raises(kg.ScoreError, match="order= must contain s, p and o .*once each.*; got 'ssp'"):
        from_function(max, order="ssp", arrays="numpy")
    with pytest.raises(kg.ScoreError, match="order= must contain"):
        from_function(max, order=None, arrays="numpy")
    with pytest.raises(kg.ScoreError, match="arrays must be one of 'torch', 'numpy'; got 'jax'"):
        from_function(max, arrays="jax")


def test_unknown_labels_are_missing_entities():
    """Oslo occurs in train, so a model without it was trained on another dataset."""
    adapter = from_function(lambda s, p, o: o, ids=(["Bonn", "Rome"], LABELS[1]), arrays="numpy")
    scorer = adapter.for_dataset(towns())
    assert scorer.missing_entities.tolist() == [towns().entities.labels.index("Oslo")]
    with pytest.raises(kg.ScoreError, match="no vector for 1 entity that it should know .such as 'Oslo'"):
        kg.evaluate(adapter, towns())


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="needs kgeval[torch]")


@pytest.fixture
def net(torch):
    """A module whose scores change in training mode, with a part that is frozen in evaluation mode."""

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Embedding(3, 2)
            self.dropout, self.frozen = torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(2)
            self.table.weight.data = torch.tensor([[1.0, 0.0], [3.0, 0.0], [2.0, 0.0]])
            self.seen = []

        def forward(self, s, p, o):
            self.seen.append((s.dtype, self.training, torch.is_grad_enabled()))
            return self.dropout(self.frozen(self.table(o))).sum(dim=1)

    module = Net().train()
    module.frozen.eval()
    return module


def test_a_module_is_evaluated_in_evaluation_mode_and_put_back(torch, net):
    """Dropout is off and no gradients are recorded; the frozen part stays frozen afterwards."""
    result = kg.evaluate(from_function(net), towns(), kg.Protocol(sides="object"))
    assert result["mrr"] == pytest.approx(1 / 3)  # the dataset's ids: Bonn is 0, whose number 1 is the smallest
    assert set(net.seen) == {(torch.int64, False, False)}
    assert [part.training for part in (net, net.dropout, net.frozen)] == [True, True, False]
    assert kg.evaluate(from_function(net, ids=LABELS), towns(), kg.Protocol(sides="object"))["mrr"] == 0.5


@pytest.mark.parametrize("how", ["method", "module="])
def test_the_module_behind_a_function(torch, net, how):
    """A method tells its module; a function that calls one needs ``module=``, or else dropout is noticed."""
    inner = net.forward if how == "method" else (lambda s, p, o: net(s, p, o))
    adapter = from_function(inner, module=None if how == "method" else net)
    kg.evaluate(adapter, towns())
    assert set(net.seen) == {(torch.int64, False, False)}
    assert net.training
    with pytest.raises(kg.ScoreError, match="is dropout still on"):
        kg.evaluate(from_function(lambda s, p, o: net(s, p, o)), towns())


def test_modes_are_restored_after_an_error(net):
    """A failing evaluation leaves the module as it was."""
    net.forward = lambda s, p, o: 1 / 0
    with pytest.raises(kg.ScoreError, match="ZeroDivisionError"):
        kg.evaluate(from_function(net), towns())
    assert [part.training for part in (net, net.dropout, net.frozen)] == [True, True, False]


def test_two_threads_that_score_with_one_module(torch, net):
    """The thread that is done first must not switch dropout on for the other, nor leave evaluation mode behind."""
    inner, both_are_here, first_is_done = net.forward, threading.Barrier(2, timeout=0.2), threading.Event()

    def slow(s, p, o):
        if not first_is_done.is_set():
            with suppress(threading.BrokenBarrierError):
                both_are_here.wait()  # with a lock the other thread never comes
        return inner(s, p, o)

    net.forward = slow
    values = []

    def run():
        values.append(kg.evaluate(from_function(net), towns(), kg.Protocol(sides="object"))["mrr"])
        first_is_done.set()

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values == [pytest.approx(1 / 3)] * 2
    assert set(net.seen) == {(torch.int64, False, False)}
    assert [part.training for part in (net, net.dropout, net.frozen)] == [True, True, False]


def test_a_module_without_numbers_is_refused(torch, net):
    with pytest.raises(kg.ScoreError, match="Net has parameters on the device 'meta', which holds no numbers"):
        kg.evaluate(from_function(net.to("meta")), towns())


def test_parameters_are_read_in_each_evaluation(torch, net):
    """An adapter that is made once follows the training."""
    adapter, protocol = from_function(net), kg.Protocol(sides="object")
    assert kg.evaluate(adapter, towns(), protocol)["mrr"] == pytest.approx(1 / 3)
    net.table.weight.data = -net.table.weight.data
    assert kg.evaluate(adapter, towns(), protocol)["mrr"] == 1.0


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int32"])
def test_scores_of_any_real_dtype(torch, dtype):
    """Tensors come back as they are; half floats are ranked without rounding."""
    values = torch.tensor([3, 1, 2]).to(getattr(torch, dtype))
    for sign, distances in ((1, False), (-1, True)):
        adapter = from_function(lambda s, p, o: sign * values[o], distances=distances)  # noqa: B023
        assert kg.evaluate(adapter, towns(), kg.Protocol(sides="object"))["mrr"] == 1.0


def test_a_bare_module_says_how_to_wrap_it(torch, net):
    """kgeval calls scorers with numpy arrays, which a module of torch cannot look up."""
    with pytest.raises(kg.ScoreError, match=r"must be Tensor, not numpy.*give kg.adapters.from_function\(model, ids="):
        kg.evaluate(net, towns())
    with pytest.raises(kg.ScoreError, match=r"from_function\(model, ids="):
        kg.evaluate(lambda s, p, o: net.table(o).sum(1), towns())
    with pytest.raises(kg.ScoreError, match="ZeroDivisionError") as raised:
        kg.evaluate(lambda s, p, o: 1 / 0, towns())
    assert "from_function" not in str(raised.value)


def test_objects_of_tensors(torch):
    """Rows of all entities are cut to the candidates on the device of the tensors."""

    class Rows(torch.nn.Module):
        def score_objects(self, s, p):
            assert (s.dtype, self.training) == (torch.int64, False)
            return torch.tensor([[3.0, 1.0, 2.0]]).expand(len(s), 3)

        def score_subjects(self, p, o, candidates):
            assert candidates.dtype == torch.int64
            return torch.tensor([3.0, 1.0, 2.0])[candidates].expand(len(o), -1)

    result = kg.evaluate(from_function(Rows(), ids=LABELS), towns())
    assert (result["object.mrr"], result["subject.mrr"]) == (0.5, pytest.approx(1 / 3))
    assert result.facts["scorer"] == "Rows"


def test_without_torch_the_message_names_both_ways_out(monkeypatch):
    """Tensors need torch; numpy arrays do not."""
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(kg.MissingExtra, match=r'pip install "kgeval\[torch\]".*arrays=.numpy.'):
        from_function(lambda s, p, o: o)
    assert mrr(lambda s, p, o: -o) == 1.0


def test_a_bare_keras_model_says_how_to_wrap_it():
    """Keras passes all inputs in one argument: three are a TypeError of its own."""
    model = type("Net", (), {"__module__": "keras.src.models.model", "__call__": lambda self, inputs: inputs})()
    with pytest.raises(kg.ScoreError, match=r"positional arguments.*from_function.lambda s, p, o: model.\[s, p, o\]."):
        kg.evaluate(model, towns())


def timed():
    """A dataset with times, weights and days."""
    rng = np.random.default_rng(3)
    facts = {split: np.column_stack([rng.integers(0, n, 30) for n in (6, 2, 6)]) for split in ("train", "test")}
    columns = {
        split: {"date": rng.integers(0, 4, 30), "weight": rng.integers(1, 9, 30) / 8, "day": ["2014-05-01"] * 30}
        for split in facts
    }
    return kg.Dataset.from_arrays(**facts, n_entities=6, n_relations=2, columns=columns)


@pytest.mark.parametrize("arrays", ["numpy", "torch"])
def test_columns_are_passed_on(arrays):
    """Numbers as the function expects them, dates as arrays; fractions are not cut. The ranks are those without it."""
    if arrays == "torch":
        pytest.importorskip("torch")
    dataset, seen = timed(), set()

    def score(s, p, o, time, weight, day):
        seen.add((type(s).__name__, type(time).__name__, str(weight.dtype), str(day.dtype)))
        return (3 * s + 5 * p + o * o + time * o) % 5 + weight * (s - o)

    protocol = kg.Protocol(filter_by="time")
    plain = kg.evaluate(score, dataset, protocol, progress=False)
    seen.clear()
    result = kg.evaluate(
        from_function(lambda r, h, t, time, weight, day: score(h, r, t, time, weight, day), order="rht", arrays=arrays),
        dataset,
        protocol,
        progress=False,
    )
    counts = [name for name in plain.table if name.startswith(("better", "tied", "rivals"))]
    assert (result.table[counts] == plain.table[counts]).all(axis=None)
    assert result.facts["scorer_columns"] == ["date", "weight", "day"]
    kind, dtype = {"numpy": ("ndarray", "float64"), "torch": ("Tensor", "torch.float64")}[arrays]
    assert seen == {(kind, kind, dtype, "datetime64[D]")}


def test_columns_that_are_not_passed_on_are_an_error():
    """The methods of an object, and qualifiers, whose ids are those of the dataset."""
    rows = SimpleNamespace(score_objects=lambda s, p, time: np.zeros((len(s), 6)), __name__="rows")
    with pytest.raises(kg.ScoreError) as caught:
        kg.evaluate(from_function(rows, arrays="numpy"), timed(), kg.Protocol(filter_by=(), sides="object"))
    assert str(caught.value) == (
        "rows takes 'time', which kg.adapters.from_function does not pass on: give kg.evaluate an object with "
        "score_objects and score_subjects of arrays that makes the tensors itself"
    )
    qualified = {"test": {"qualifiers": [[(0, 1)]]}}
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1]], n_entities=2, n_relations=1, columns=qualified)
    with pytest.raises(kg.ScoreError, match=r"takes 'qualifiers', which .* give kg.evaluate a function of arrays"):
        kg.evaluate(from_function(lambda s, p, o, qualifiers: o, arrays="numpy"), dataset, kg.Protocol(filter_by=()))
