"""Custom scorers that return torch tensors: ranked as numpy's are, and on a device without a matrix leaving it."""

import re

import numpy as np
import pytest
from tiles import evaluate_in_tiles

import kgeval as kg
from kgeval.data.queries import Queries
from kgeval.kernels.arrays import is_on_device
from kgeval.scorers.row_scorers import Limits, as_row_scorer, score_triples
from kgeval.scorers.values import as_rows, as_scores, check_no_nan

torch = pytest.importorskip("torch", reason="the extra torch is not installed")

N, M = 30, 3
RNG = np.random.default_rng(0)
TEST = RNG.integers(0, (N, M, N), (40, 3))
TRAIN = RNG.integers(0, (N, M, N), (60, 3))
TABLE = RNG.integers(-40, 40, (N, M, N))
COUNTS = [f"{count}_{s}" for s in ("raw", "filtered") for count in ("better", "tied", "rivals")]
DTYPES = ("float64", "float32", "float16", "bfloat16", "int64", "int8")
KINDS = ("function", "rows", "columns")
PROBED = 4  # rows that the probe may fetch


def dataset():
    return kg.Dataset.from_arrays(train=TRAIN, test=TEST, n_entities=N, n_relations=M)


class Tables:
    """Scores from a table, each answer through `change`; the ids arrive as numpy arrays."""

    def __init__(self, table, change=lambda scores: scores):
        self.table, self.change = table, change

    def score(self, s, p, o):
        assert all(isinstance(ids, np.ndarray) and ids.dtype == np.int64 for ids in (s, p, o))
        return self.change(self.table[s, p, o])


class WholeRows(Tables):
    def score_objects(self, s, p):
        return self.change(self.table[s, p])

    def score_subjects(self, p, o):
        return self.change(self.table[:, p, o].T)


class Columns(Tables):
    def score_objects(self, s, p, candidates=None):
        return self.change(self.table[s, p][:, candidates])

    def score_subjects(self, p, o, candidates=None):
        return self.change(self.table[:, p, o].T[:, candidates])


def make(kind, table, change=lambda scores: scores):
    """A scorer of one of `KINDS`; a function is called by a name of its own."""
    if kind == "function":
        return Tables(table, change).score
    return {"rows": WholeRows, "columns": Columns}[kind](table, change)


class HostCopy(Exception):
    """A matrix left the device."""


def forbid_copies(monkeypatch):
    """Refuse to turn a tensor of more than a few rows into numpy's, or into Python's numbers."""

    def guarded(method):
        def checked(tensor, *arguments, **options):
            if tensor.dim() > 1 and len(tensor) > PROBED:
                raise HostCopy(f"{tuple(tensor.shape)}")
            return method(tensor, *arguments, **options)

        return checked

    # The search for the fault of a scorer that ranks train triples low takes the few scores that it needs.
    monkeypatch.setattr("kgeval.evaluation.evaluator.find_fault", lambda *_: ("", ""))
    for name in ("cpu", "numpy", "tolist", "__array__"):
        monkeypatch.setattr(torch.Tensor, name, guarded(getattr(torch.Tensor, name)))


@pytest.fixture(params=["host", "other memory", *(["cuda"] if torch.cuda.is_available() else [])])
def device(request, monkeypatch):
    """Where the tensors are: with numpy's arrays, or elsewhere, in truth or by the word of one function."""
    if request.param == "other memory":
        monkeypatch.setattr("kgeval.scorers.values.is_on_device", lambda values: isinstance(values, torch.Tensor))
    if request.param != "host":
        forbid_copies(monkeypatch)
    return "cuda" if request.param == "cuda" else "cpu"


def assert_same_ranks(result, expected):
    """The same counts and scores, to the last one."""
    assert (result.table[COUNTS] == expected.table[COUNTS]).all(axis=None)
    assert result.table["score"].tolist() == expected.table["score"].tolist()


def table_of(dtype, device="cpu"):
    """The table as a tensor, and the same numbers for numpy, which has no bfloat16; many of them tie."""
    tensor = torch.from_numpy(TABLE).to(device=device, dtype=getattr(torch, dtype))
    return tensor, TABLE.astype("float32" if dtype == "bfloat16" else dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_tensors_rank_as_arrays(kind, dtype, device):
    """Equal counts and scores, in numpy's dtype of the same name, or float32 for bfloat16."""
    tensor, array = table_of(dtype, device)
    expected = kg.evaluate(make(kind, array), dataset())
    result = kg.evaluate(make(kind, tensor), dataset())
    assert_same_ranks(result, expected)
    assert result.table["score"].dtype == array.dtype


@pytest.mark.parametrize("limits", [{"n_queries": 7}, {"n_candidates": 4}, {"n_queries": 5, "n_candidates": 29}])
@pytest.mark.parametrize("protocol", [None, kg.Protocol(unseen="drop")], ids=["all", "some candidates"])
@pytest.mark.parametrize("kind", KINDS)
def test_blocks_and_subsets(kind, protocol, limits, device):
    """Blocks of candidates are put together, and columns of whole rows taken, where the tensors are."""
    data = kg.Dataset.from_arrays(train=TRAIN[:25], test=TEST, n_entities=N, n_relations=M)
    expected = kg.evaluate(make(kind, TABLE), data, protocol)
    if protocol is not None:
        assert 3 < expected.table["rivals_raw"].max() < N - 1
    scorer = make(kind, table_of("int64", device)[0])
    assert_same_ranks(evaluate_in_tiles(scorer, data, protocol, **limits, n_pairs=70), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_a_buffer_may_be_used_again(kind, device):
    """The same ranks as from fresh tensors, also where several calls make one row."""
    buffer = torch.empty(4000, dtype=torch.float64, device=device)

    def into_buffer(scores):
        return buffer[: scores.numel()].view(scores.shape).copy_(scores)

    scorer = make(kind, table_of("float64", device)[0], into_buffer)
    expected = kg.evaluate(make(kind, TABLE.astype(float)), dataset())
    assert_same_ranks(evaluate_in_tiles(scorer, dataset(), n_queries=9, n_candidates=7, n_pairs=50), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_scorers_keep_no_graph(kind, device):
    """Called without gradients, also where a parameter is the answer; the caller's mode is back after."""
    modes = []

    def note(scores):
        modes.append(torch.is_grad_enabled())
        return torch.nn.Parameter(scores)

    tensor, array = table_of("float32", device)
    tensor.requires_grad_()
    result = kg.evaluate(make(kind, tensor, note), dataset())
    assert set(modes) == {False}
    assert torch.is_grad_enabled()
    assert_same_ranks(result, kg.evaluate(make(kind, array), dataset()))
    with pytest.raises(kg.ScoreError, match="raised ZeroDivisionError"):
        kg.evaluate(make(kind, tensor, lambda scores: 1 / 0), dataset())
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("kind", KINDS)
def test_nan_is_named(kind, device):
    """Query and candidate of the first NaN, and how many more, as for numpy; the probe does not meet it."""
    chain = np.column_stack([np.arange(N), np.zeros(N, int), (np.arange(N) + 1) % N])
    labels = [f"e{i}" for i in range(N)]
    data = kg.Dataset.from_arrays(test=chain, entity_labels=labels, relation_labels=["r", "r1", "r2"])
    tensor, array = table_of("float32", device)
    tensor[1, 0, [4, 9]] = array[1, 0, [4, 9]] = np.nan
    message = (
        "gave NaN for ('e1', 'r', ?) with candidate 'e4' (NaN scores: 2 of the 900 scores of 30 queries); NaN cannot be"
    )
    for scorer in (make(kind, array), make(kind, tensor)):
        with pytest.raises(kg.ScoreError, match=re.escape(message)):
            kg.evaluate(scorer, data, kg.Protocol(sides="object"))


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("function", lambda x: x[1:], "; got (K-1,); the function must score each triple by itself"),
        ("function", lambda x: x[:, None], "triples and must return shape (K,); got (K, 1)"),
        (
            "rows",
            lambda x: x[:, :-1],
            "WholeRows.score_subjects must return shape (queries, candidates) = (3, 30); got",
        ),
        ("rows", lambda x: x.T, "= (3, 30); got (30, 3); is it transposed?"),
        ("columns", lambda x: x.ravel(), "Columns.score_subjects must return shape (queries, candidates) = (3, 30)"),
        ("function", lambda x: x > 3, "must give real numbers (float or integer); got dtype bool"),
        ("rows", lambda x: x > 3, "must give real numbers (float or integer); got dtype bool"),
        ("columns", lambda x: x + 0j, "must give real numbers (float or integer); got dtype complex64"),
    ],
)
def test_faults_have_the_same_texts(kind, change, message, device):
    """Shapes and dtypes are told as those of arrays are, without a word of torch."""
    tensor, _ = table_of("float32", device)
    with pytest.raises(kg.ScoreError) as caught:
        kg.evaluate(make(kind, tensor, change), dataset())
    n = 3 * N
    assert message.replace("K-1", str(n - 1)).replace("K", str(n)) in str(caught.value)
    assert "torch" not in str(caught.value)


@pytest.mark.parametrize("kind", ["function", "columns"])
def test_one_dtype_throughout(kind, device):
    """Calls that differ in dtype are refused by the names of both."""
    tensor, _ = table_of("float64", device)
    scorer = make(kind, tensor, lambda scores: scores.float() if scores.shape[-1] < 8 else scores)
    rows = as_row_scorer(scorer, N, Limits(batch_size=8))
    with pytest.raises(kg.ScoreError, match="gave float64 scores, then float32 scores; keep to one dtype"):
        rows.rows("object", (np.zeros(1, np.int64), np.arange(1)), np.arange(12))


@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_single_triples(kind, device):
    """Those that classification asks for: the scores themselves are fetched, whole rows are not."""
    tensor, array = table_of("float16", device)
    scores = score_triples(as_row_scorer(make(kind, tensor), N, Limits(batch_size=11)), TEST)
    assert isinstance(scores, np.ndarray)
    assert scores.dtype == np.float16
    assert scores.tolist() == array[tuple(TEST.T)].tolist()


def test_infinities_are_noted(device):
    """Plus infinity is noted, minus infinity alone is not, though it be all that a scorer gives."""
    note = "some scores are +infinity; infinities are ranked as numbers, and tie with each other"
    for value in (np.inf, -np.inf):
        tensor = torch.full((N, M, N), value, device=device)
        result = kg.evaluate(WholeRows(tensor), dataset())
        assert (note in result.notes) == (value > 0)
        assert (result.table["tied_raw"] == N - 1).all()


def test_what_stays_where_it_is(monkeypatch):
    """A tensor with numpy's memory becomes an array without a copy; one elsewhere is left there."""
    tensor = torch.ones(2, 3, requires_grad=True)
    array = as_rows(tensor, "it")
    assert isinstance(array, np.ndarray)
    assert np.shares_memory(array, tensor.detach().numpy())
    assert is_on_device(torch.empty(2, 3, device="meta"))
    assert not is_on_device(tensor)
    assert not is_on_device(array)
    monkeypatch.setattr("kgeval.scorers.values.is_on_device", lambda values: isinstance(values, torch.Tensor))
    kept = as_rows(tensor, "it")
    assert (kept.data_ptr(), kept.requires_grad) == (tensor.data_ptr(), False)


def test_tensors_that_are_read():
    """A postponed sign, lists of single numbers and of rows, bfloat16 with a gradient."""
    ones = torch.ones(2, 3)
    negated = torch.complex(ones, ones).conj().imag
    assert negated.is_neg()
    for scores, expected in (
        (negated, [[-1.0] * 3] * 2),
        ([torch.tensor(1.0), torch.tensor(2.0, requires_grad=True)], [1.0, 2.0]),
        ([ones[0].bfloat16(), ones[1].bfloat16()], [[1.0] * 3] * 2),
        ([[torch.tensor(1)], [torch.tensor(2)]], [[1], [2]]),
    ):
        assert as_scores(scores, "it").tolist() == expected
    model = lambda s, p, o: torch.view_as_complex(torch.tensor(np.stack([p, o], 1) + 0.0)).conj().imag  # noqa: E731
    assert_same_ranks(kg.evaluate(model, dataset()), kg.evaluate(lambda s, p, o: -1.0 * o, dataset()))


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (
            torch.ones(2, 3).to_sparse(),
            "it returned a tensor with layout sparse_coo; return a dense tensor: scores.to_dense()",
        ),
        (torch.ones(2, device="meta"), "it returned a tensor on the device 'meta', which holds no numbers; load the"),
        (torch.ones(2).to(torch.float8_e4m3fn), "it gave float8_e4m3fn scores, which kgeval cannot compare; convert"),
        (
            torch.ones(2, dtype=torch.complex64).conj(),
            "it must give real numbers (float or integer); got dtype complex64",
        ),
        (
            [torch.tensor(1.0), torch.tensor(1)],
            "it returned a list of different values (float32 tensor of shape () on cpu",
        ),
        (
            [torch.ones(1), torch.ones(2)],
            "it returned a list of different values (float32 tensor of shape (1,) on cpu, ",
        ),
        ([[torch.ones(1).requires_grad_()]], "it returned a list that numpy cannot read (Can't call numpy() on Tensor"),
    ],
)
def test_tensors_that_are_refused(scores, message):
    """Nothing of torch's or numpy's own errors comes through."""
    for read in (as_scores, as_rows):
        with pytest.raises(kg.ScoreError, match="^" + re.escape(message)):
            read(scores, "it")


def test_the_guard_of_these_tests_bites(monkeypatch):
    """Were a matrix fetched, the tests of other memory would fail."""
    forbid_copies(monkeypatch)
    with pytest.raises(HostCopy, match=re.escape("(5, 2)")):
        as_scores(torch.zeros(5, 2), "it")
    with pytest.raises(HostCopy):
        np.asarray(torch.zeros(5, 2))


def test_no_scores_have_no_nan():
    """An empty matrix has no largest score."""
    queries = Queries.of(TEST[:0], "object")
    for scores in (np.zeros((0, N)), torch.zeros(0, N)):
        assert check_no_nan(scores, queries, np.arange(N), dataset(), "it") == -np.inf
