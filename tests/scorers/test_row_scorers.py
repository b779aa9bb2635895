"""What scorers may and may not do: every fault gets its error, and every promise to a scorer is kept."""

import inspect
import re
import sys
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from grids import light
from scorer_cases import (
    CHAIN,
    COUNTS,
    TABLE,
    TEST,
    Columns,
    M,
    N,
    Rows,
    Tensor,
    dataset,
    integer_model,
    make,
    raises,
    same_ranks,
)
from tiles import evaluate_in_tiles

import kgeval as kg
from kgeval.scorers import call_size, row_scorers
from kgeval.scorers.models.distances import TransE
from kgeval.scorers.row_scorers import as_row_scorer
from kgeval.scorers.values import as_rows, as_scores


def function(s, p, o):
    """Scores from the table."""
    return TABLE[s, p, o]


KINDS = ("function", "rows", "columns")


@pytest.mark.parametrize(
    ("scorer", "message"),
    [
        (Rows, "expected a scorer; got the class Rows. Make an instance of it first"),
        (TransE, "expected a scorer; got the class TransE. Make an instance of it first"),
        (
            5,
            "expected a function score(s, p, o), an object with score_objects and score_subjects, or a model of",
        ),
        (TABLE, "or a model of kgeval.models; got ndarray"),
        (
            type("Far", (), {"query_vectors": 0, "candidate_vectors": 0, "geometry": "l3"})(),
            "Far.geometry must be",
        ),
        (type("Bare", (), {"query_vectors": 0, "candidate_vectors": 0})(), "'l2', 'modulus'; got None"),
    ],
)
def test_what_is_no_scorer(scorer, message):
    """Classes, numbers, arrays and unknown geometries are refused before anything is scored."""
    with raises(message):
        kg.evaluate(scorer, dataset())


def test_what_can_be_done_decides():
    """Geometry before matrix before function; a callable object with rows is asked for rows, as torch modules are."""

    class Callable(Rows):
        def __call__(self, s, p, o):
            raise AssertionError

    kinds = [as_row_scorer(scorer, N).kind for scorer in (function, Callable(), Columns(), integer_model())]
    assert kinds == ["function", "matrix", "matrix", "geometry"]
    assert same_ranks(kg.evaluate(Callable(), dataset()), kg.evaluate(function, dataset()))


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        (
            "function",
            lambda x: x[1:],
            "was given 18 triples and must return shape (18,); got (17,); the function",
        ),
        ("function", lambda x: x[:, None], "was given 18 triples and must return shape (18,); got (18, 1)"),
        (
            "function",
            lambda x: x[0],
            "must return shape (18,); got (); the function must score each triple by itself",
        ),
        (
            "rows",
            lambda x: x[:, :-1],
            "Rows.score_subjects must return shape (queries, candidates) = (3, 6); got (3, 5)",
        ),
        ("rows", lambda x: x[:-1], "must return shape (queries, candidates) = (3, 6); got (2, 6)"),
        ("rows", lambda x: x[:, :, None], "= (3, 6); got (3, 6, 1)"),
        ("rows", lambda x: x.ravel(), "= (3, 6); got (18,)"),
        ("rows", lambda x: x.T, "= (3, 6); got (6, 3); is it transposed?"),
        (
            "columns",
            lambda x: x.T,
            "Columns.score_subjects must return shape (queries, candidates) = (3, 6); got (6, 3)",
        ),
    ],
)
def test_wrong_shapes(kind, change, message):
    """What was expected and what came, although a batch of six queries would hide a transpose of 6 by 6."""
    with raises(message):
        kg.evaluate(make(kind, change), dataset(), batch_size=N * N)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: x > 3, "must give real numbers (float or integer); got dtype bool"),
        (lambda x: x + 0j, "got dtype complex128"),
        (lambda x: x.astype(object), "got dtype object"),
        (lambda x: x.astype(str), "got dtype <U32"),
        (lambda x: x.astype("datetime64[s]"), "got dtype datetime64[s]"),
        (lambda x: x.astype("timedelta64[s]"), "got dtype timedelta64[s]"),
        (
            np.ma.masked_less_equal,
            "returned a masked array; fill the array first (a masked candidate still has a rank)",
        ),
        (lambda x: [None] * len(x), "must give real numbers (float or integer); got dtype object"),
        (lambda x: None, "returned None; is a return statement missing?"),
        (lambda x: [[1.0], [1.0, 2.0]], "gave rows of different lengths: setting an array element with a sequence"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_wrong_dtypes(kind, change, message):
    """What cannot be compared exactly is refused, by its dtype."""
    change = (lambda x: np.ma.masked_less_equal(x, 3)) if change is np.ma.masked_less_equal else change
    with raises(message):
        kg.evaluate(make(kind, change), dataset())


@pytest.mark.parametrize("kind", KINDS)
def test_one_dtype_throughout(kind):
    """Scores rounded in some calls only would be compared across dtypes."""
    scorer = make(kind, lambda x: x.astype(np.float32) if len(x) < 3 else x)
    with pytest.raises(kg.ScoreError, match=r"gave float(32|64) scores.* float(32|64) scores.*keep to one dtype"):
        kg.evaluate(scorer, dataset(), batch_size=4 if kind == "function" else None)


def test_one_dtype_in_every_block():
    """Blocks of candidates in different dtypes are refused before they are put side by side."""
    scorer = Columns(lambda x: x.astype(np.float32) if x.shape[1] == 2 else x)
    with raises("Columns gave float64 scores, then float32 scores; keep to one dtype"):
        evaluate_in_tiles(scorer, dataset(), n_candidates=4)


@pytest.mark.parametrize("kind", KINDS)
def test_an_exception_keeps_its_cause(kind):
    """The scorer's own exception is chained; the message says in which method, and which triples or queries it got."""
    where = "<lambda> raised ZeroDivisionError when given 18 triples, with the ids (0, 0, 1) to (5, 1, 0): "
    if kind != "function":
        where = f"{kind.title()}.score_subjects raised ZeroDivisionError when given 3 queries, with the ids (?, 0, 1) "
        where += "to (?, 1, 0): "
    with raises(where + "division by zero") as caught:
        kg.evaluate(make(kind, lambda scores: 1 / 0), dataset())
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("kind", KINDS)
def test_an_exception_midway_names_its_queries(kind):
    """A fault of entity 4, which the probe (queries 0, 2 and 5) does not meet, is found by the ids in the message."""

    def fail(row):
        raise KeyError(f"row {row}")

    scorer = make(kind, table=Failing(lambda: fail(4)))
    asked = (
        "6 triples, with the ids (4, 0, 0) to (4, 0, 5)" if kind == "function" else "1 queries, with the ids (4, 0, ?)"
    )
    with pytest.raises(kg.ScoreError, match=re.escape(f" raised KeyError when given {asked}: 'row 4'")):
        kg.evaluate(scorer, dataset(test=CHAIN), kg.Protocol(sides="object"), batch_size=N)


class Failing:
    """A table of scores whose row of entity 4 cannot be read."""

    def __init__(self, fail):
        self.fail = fail

    def __getitem__(self, key):
        return self.fail() if (key[0] == 4).any() else TABLE[key]


@pytest.mark.parametrize("kind", [*KINDS, "model"])
def test_leaving_the_program_is_an_error(kind):
    """sys.exit(0) in a scorer would end the program as if it had succeeded, without a result."""
    scorer = integer_model() if kind == "model" else make(kind, lambda scores: sys.exit(0))
    if kind == "model":
        scorer.query_vectors = lambda side, given, relation: sys.exit(0)
    with pytest.raises(kg.ScoreError, match=r" raised SystemExit when given .* with the ids .*: 0$"):
        kg.evaluate(scorer, dataset())


def test_one_method_serves_one_side():
    """Without score_subjects the subject side cannot be asked; the error gives the protocol that can be."""
    scorer = type("Tails", (), {"score_objects": lambda self, s, p: TABLE[s, p]})()
    message = "Tails has no score_subjects, which the subject side needs; add it, or evaluate one side: "
    with raises(message + "Protocol(sides=('object',))"):
        kg.evaluate(scorer, dataset())
    objects = kg.Protocol(sides="object")
    assert same_ranks(kg.evaluate(scorer, dataset(), objects), kg.evaluate(function, dataset(), objects))


@pytest.mark.parametrize("kind", KINDS)
def test_nan_is_named(kind):
    """NaN in a row beyond the probe (queries 0, 2 and 5 of six): query, candidate and how many more."""
    name = "<lambda>" if kind == "function" else kind.title()
    table = TABLE.copy()
    table[1, 0, [3, 4]] = np.nan
    scorer = make(kind, table=table)
    message = f"{name} gave NaN for ('Belize', 'borders', ?) with candidate 'Denmark' (NaN scores: 2 of the "
    message += "36 scores of 6 queries); NaN cannot be ranked. "
    with raises(message + "Check the parameters of these entities and this relation, or run kgeval.check_scorer"):
        kg.evaluate(scorer, dataset(test=CHAIN), kg.Protocol(sides="object"))
    table[1, 0, [3, 4]], table[0, 0, 4] = 0, np.nan
    with raises("NaN for (?, 'borders', 'Egypt') with candidate 'Andorra' (NaN scores: 1 of the 12 scores of 2 q"):
        kg.evaluate(scorer, dataset(test=CHAIN), kg.Protocol(sides="subject"), batch_size=2 * N)


def test_nan_of_the_positive_is_no_rank():
    """NaN at every answer is as much an error as at a rival, not rank 1."""
    table = TABLE.copy()
    table[TEST[:, 0], TEST[:, 1], TEST[:, 2]] = np.nan
    with raises("NaN for ('Andorra', 'borders', ?) with candidate 'Belize'"):
        kg.evaluate(Rows(table=table), dataset(), kg.Protocol(sides="object"))


@pytest.mark.parametrize("limits", [{}, {"n_queries": 2}, {"n_candidates": 2}, {"n_queries": 1, "n_candidates": 1}])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.light(4)
def test_an_output_buffer_may_be_used_again(kind, limits):
    """The same ranks as from fresh arrays, also where several calls make one row."""
    buffer = np.empty(100)

    def into_buffer(scores):
        out = buffer[: scores.size].reshape(scores.shape)
        out[...] = scores
        return out

    found = evaluate_in_tiles(make(kind, into_buffer), dataset(), **limits, n_pairs=7)
    assert same_ranks(found, kg.evaluate(function, dataset()))


def ruining(method):
    """Overwrite every array that the method is given, once it has its answer."""

    def ruined(*arguments, **options):
        answer = method(*arguments, **options)
        for array in (*arguments, *options.values()):
            if isinstance(array, np.ndarray):
                array[...] = 0
        return answer

    ruined.__signature__ = inspect.signature(method)
    return ruined


@pytest.mark.parametrize("limits", [{}, {"n_queries": 2, "n_candidates": 2, "n_pairs": 4}])
@pytest.mark.parametrize("kind", [*KINDS, "model"])
@pytest.mark.light(4)
def test_inputs_may_be_overwritten(kind, limits):
    """A scorer that writes on its arguments changes neither ranks nor dataset."""
    plain, data = (integer_model if kind == "model" else lambda: make(kind))(), dataset()
    scorer = integer_model() if kind == "model" else make(kind)
    for name in ("query_vectors", "score_objects", "score_subjects"):
        if hasattr(scorer, name):
            setattr(scorer, name, ruining(getattr(scorer, name)))
    scorer = ruining(scorer) if kind == "function" else scorer
    assert same_ranks(evaluate_in_tiles(scorer, data, **limits), kg.evaluate(plain, dataset()))
    assert np.asarray(data["test"]).tolist() == TEST.tolist()


class Recording:
    """Notes what it is asked."""

    def __init__(self):
        self.calls = []

    def note(self, *arrays):
        assert all(array.dtype == np.int64 for array in arrays)
        self.calls.append([array.tolist() for array in arrays])


class RecordingFunction(Recording):
    def __call__(self, s, p, o):
        self.note(s, p, o)
        return (7 * s + 5 * p + 3 * o) % 11


class RecordingColumns(Recording):
    def score_objects(self, s, p, candidates):
        self.note(s, p, candidates)
        return (7 * s[:, None] + 5 * p[:, None] + 3 * candidates) % 11

    def score_subjects(self, p, o, candidates):
        self.note(o, p, candidates)
        return (3 * o[:, None] + 5 * p[:, None] + 7 * candidates) % 11


@pytest.mark.parametrize("batch_size", [1, 5, 6, 7, 1000])
def test_the_batch_size_is_never_exceeded(batch_size):
    """No call is longer, the probe's included; each has three arrays of one length."""
    scorer = RecordingFunction()
    kg.evaluate(scorer, dataset(), batch_size=batch_size)
    lengths = [{len(part) for part in call} for call in scorer.calls]
    assert all(len(each) == 1 for each in lengths)
    longest = max(max(each) for each in lengths)
    assert longest == {1: 1, 5: 5, 6: 6, 7: 7, 1000: 5 * N}[batch_size]  # 5 queries a side, whole rows where they fit


@pytest.mark.parametrize("limits", [{}, {"n_candidates": 2, "n_queries": 1}, {"n_candidates": 5, "n_queries": 3}])
@pytest.mark.parametrize("make_scorer", [RecordingFunction, RecordingColumns])
def test_no_query_is_scored_twice(make_scorer, limits):
    """16 ranks are 5 + 5 queries, each asked once for each of 6 candidates, beside what the probe asks."""

    def asked(run):
        scorer = make_scorer()
        run(scorer)
        pairs = Counter()
        for first, p, last in scorer.calls:
            if make_scorer is RecordingFunction:
                pairs.update(zip(first, p, last, strict=True))
            else:
                pairs.update((x, y, z) for x, y in zip(first, p, strict=True) for z in last)
        return pairs

    test = np.concatenate([TEST, TEST[:2]])
    for side in ("subject", "object"):
        protocol = kg.Protocol(sides=side)
        ranked = asked(lambda scorer, p=protocol: evaluate_in_tiles(scorer, dataset(test=test), p, **limits))
        ranked -= asked(lambda scorer, s=side: kg.check_scorer(scorer, dataset(test=test), [s]))
        queries = {tuple(row) for row in (TEST[:, [1, 2]] if side == "subject" else TEST[:, [0, 1]]).tolist()}
        assert set(ranked.values()) == {1}
        assert ranked.total() == len(queries) * N


@pytest.mark.parametrize("make_scorer", [RecordingFunction, RecordingColumns])
def test_answers_are_never_shown(make_scorer, monkeypatch):
    """Two datasets with equal queries and different answers: the scorer is asked exactly the same."""
    monkeypatch.setattr(call_size, "clock", lambda: 0.0)  # the sizes of calls depend on time
    calls = []
    for shift in (1, 2):
        test = [[s, 0, (7 * s + shift) % 300] for s in range(0, 300, 20)]
        scorer = make_scorer()
        kg.evaluate(scorer, dataset(300, test), kg.Protocol(sides="object"), batch_size=4 * 300)
        calls.append(scorer.calls)
    assert calls[0] == calls[1]


@pytest.mark.parametrize("dtype", ["torch.float32", "torch.bfloat16"])
@pytest.mark.parametrize("kind", KINDS)
def test_tensors(kind, dtype):
    """What can be detached and fetched to the processor is; bfloat16 becomes float32, which holds all of it."""
    result = kg.evaluate(make(kind, lambda scores: Tensor(scores.astype(np.float32), dtype=dtype)), dataset())
    assert result.table["score"].dtype == np.float32
    assert same_ranks(result, kg.evaluate(function, dataset()))


class StandIn:
    """As much of a torch tensor as the check of scores looks at."""

    is_nested, layout, device, dtype, size = False, "torch.strided", SimpleNamespace(type="cpu"), "torch.float32", 4

    def __init__(self, values=None, negated=False, **changes):
        self.values, self.negated = values, negated
        vars(self).update(changes)

    shape = property(lambda self: self.values.shape)
    is_floating_point = lambda self: "float" in self.dtype  # noqa: E731
    element_size = lambda self: self.size  # noqa: E731
    detach = cpu = lambda self: self
    resolve_neg = lambda self: StandIn(-self.values if self.negated else self.values)  # noqa: E731

    def numpy(self):
        if self.negated:
            raise RuntimeError
        return self.values


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"layout": "torch.sparse_coo"},
            "it returned a tensor with layout sparse_coo; return a dense tensor: scores.to_dense()",
        ),
        ({"is_nested": True}, "it returned a tensor with layout nested; return a dense tensor: scores.to_dense()"),
        (
            {"device": SimpleNamespace(type="meta")},
            "it returned a tensor on the device 'meta', which holds no numbers; load the model's parameters first",
        ),
        (
            {"dtype": "torch.float8_e4m3fn", "size": 1},
            "it gave float8_e4m3fn scores, which kgeval cannot compare; convert them: scores.float()",
        ),
        ({"dtype": "torch.complex64"}, "it must give real numbers (float or integer); got dtype complex64"),
    ],
)
def test_unreadable_tensors(monkeypatch, changes, message):
    """Each kind of tensor that numpy or a comparison cannot read has its message; a postponed sign is carried out."""
    stack = lambda tensors: StandIn(np.stack([tensor.values for tensor in tensors]))  # noqa: E731
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=StandIn, stack=stack))
    numbers = np.arange(3.0)
    for read in (as_scores, as_rows):
        with pytest.raises(kg.ScoreError, match=f"^{re.escape(message)}$"):
            read(StandIn(numbers, **changes), "it")
    assert as_scores(StandIn(numbers, negated=True), "it").tolist() == [0.0, -1.0, -2.0]
    assert as_scores([StandIn(np.array(1.0)), StandIn(np.array(2.0), negated=True)], "it").tolist() == [1.0, -2.0]
    with raises("it returned a list of different values (float, float32 tensor of shape () on "):
        as_scores([StandIn(np.array(1.0)), 2.0], "it")


MANY = 40
HUBS = np.array([[s, 0, o] for s, n in ((0, 1), (1, 8), (2, 9), (3, 30)) for o in range(MANY - n, MANY)])
SMALL = np.random.default_rng(1).integers(0, 50, (MANY, M, MANY))


@pytest.mark.parametrize("dtype", light(["f2", "f8", ">f4", "u2", "f4", "g", "i1", "i4", "u8"], 4))
@pytest.mark.parametrize(
    "layout",
    [
        np.ascontiguousarray,
        np.asfortranarray,
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        lambda x: x[:, ::-1].copy()[:, ::-1],
    ],
    ids=["rows", "columns", "apart", "backwards"],
)
@pytest.mark.light(4)
def test_any_dtype_and_layout(layout, dtype):
    """The same counts however a row lies in memory, for queries of 1, 8, 9 and 30 positives with many ties."""
    data = dataset(MANY, HUBS)
    expected = kg.evaluate(make("rows", table=SMALL), data)
    naive = [
        [(row[o] < row).sum(), (row[o] == row).sum() - 1] for row, o in ((SMALL[s, p], o) for s, p, o in HUBS.tolist())
    ]
    of_objects = expected.table[expected.table["side"] == "object"]
    assert of_objects[["better_raw", "tied_raw"]].to_numpy().tolist() == np.array(naive).tolist()
    answers = []

    def answer(scores):
        made = layout(scores.astype(dtype))
        answers.append((made, made.copy()))
        return made

    result = kg.evaluate(make("rows", answer, SMALL), data)
    assert all(np.array_equal(made, before) for made, before in answers)  # the scorer's own memory is only read
    assert (result.table[COUNTS] == expected.table[COUNTS]).all(axis=None)
    assert result.table["score"].dtype == np.dtype(dtype).newbyteorder("=")


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_neighbouring_numbers_and_zeros(dtype):
    """No rounding between a score and its neighbour, zeros of both signs tie, infinities are numbers."""
    one = np.array(1, dtype)
    row = np.tile([one, 0, -0.0, np.inf, -np.inf, np.nextafter(one, one + one)], 2).astype(dtype)
    table = np.broadcast_to(row, (12, M, 12))
    test = [[s, 0, o] for s, n in ((0, 12), (1, 6)) for o in range(n)]  # of many positives, and of few
    found = kg.evaluate(make("rows", table=table), dataset(12, test), kg.Protocol(sides="object")).table
    found = found.sort_values(["s", "o"])
    assert found["better_raw"].tolist() == [4, 6, 6, 0, 10, 2] * 3
    assert found["tied_raw"].tolist() == [1, 3, 3, 1, 1, 1] * 3


def test_infinity_is_noted_where_it_is_plus():
    """Minus infinity alone is no reason for the note."""
    note = "some scores are +infinity; infinities are ranked as numbers, and tie with each other"
    for value in (np.inf, -np.inf):
        assert (note in kg.evaluate(make("rows", table=np.full((N, M, N), value)), dataset()).notes) == (value > 0)


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        (
            np.array([True, False, True]),
            "missing_entities must be a 1-dimensional array of ids (integers); got ndarray, ",
        ),
        ([18.7], "missing_entities must be a 1-dimensional array of ids (integers); got list, dtype float64, "),
        (["18"], "missing_entities must be a 1-dimensional array of ids (integers); got list, dtype <U2, "),
        ([-1], "missing_entities contains -1; ids are at least 0"),
        ({1, 2}, "missing_entities must be a 1-dimensional array of ids (integers); got set, "),
    ],
)
def test_missing_entities_are_ids(missing, message):
    """A mask would be read as the ids 0 and 1."""
    from kgeval.scorers.row_scorers import missing_ids

    class Scorer:
        missing_entities = missing

    with pytest.raises(kg.ScoreError) as caught:
        missing_ids(Scorer(), "entities")
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "keep", [lambda x: x, lambda x: x[1:3], lambda x: memoryview(x)], ids=["it", "a view", "bytes"]
)
def test_ids_that_a_function_keeps_stay_as_they_were(keep):
    """The arrays of ids are used again for the next call, but not those that the function holds on to."""
    kept, addresses = [], []

    def score(s, p, o):
        kept.append([(keep(ids), ids.tolist()) for ids in (s, p, o)])
        addresses.append(s.__array_interface__["data"][0])
        return o.astype(np.float64)

    rows = as_row_scorer(score, n_entities=6)
    ids = np.arange(6)
    for start in range(5):
        found = rows.rows("object", (ids[:2][: len(ids[start : start + 2])], ids[start : start + 2]), ids)
        assert found.tolist() == [list(range(6))] * len(found)
    for call in kept:
        for held, before in call:
            assert list(held) == (before[1:3] if len(held) == 2 else before)


def test_ids_that_nobody_keeps_are_used_again():
    """Calls of one size get the same memory."""
    addresses = []

    def score(s, p, o):
        addresses.append([ids.__array_interface__["data"][0] for ids in (s, p, o)])
        return np.zeros(len(s))

    rows = as_row_scorer(score, n_entities=6)
    for _ in range(3):
        rows.rows("subject", (np.array([0, 0]), np.array([1, 2])), np.arange(6))
    assert len(addresses) == 3
    assert addresses[0] == addresses[1] == addresses[2]


def test_many_queries_are_asked_by_a_block_of_candidates(monkeypatch):
    """H26: a scorer that copies the vectors of the candidates copies each block once for many queries."""
    monkeypatch.setattr(row_scorers, "BLOCK_CANDIDATES", 100)
    rng = np.random.default_rng(2)
    entities, relations = rng.integers(-9, 10, (730, 3)).astype(float), rng.integers(-3, 4, (2, 3)).astype(float)
    test = np.column_stack([rng.permutation(730)[:40], rng.integers(0, 2, 40), rng.permutation(730)[:40]])
    graph = kg.Dataset.from_arrays(test=test, n_entities=730, n_relations=2)
    calls = []

    class Copying:
        def score_objects(self, s, p, candidates):
            calls.append((len(s), len(candidates)))
            return (entities[s] * relations[p]) @ entities[candidates].T

        def score_subjects(self, p, o, candidates):
            return self.score_objects(o, p, candidates)

    result = kg.evaluate(Copying(), graph, check_rows=False, progress=False)
    assert same_ranks(result, kg.evaluate(lambda s, p, o: (entities[s] * relations[p] * entities[o]).sum(1), graph))
    asked = [call for call in calls if call[1] == 100]
    assert max(n for _, n in calls) <= 256  # the check before the run; else no more than a block
    assert sum(n_queries == 40 for n_queries, _ in asked) >= 10  # of 7 whole blocks on each side
    copied = sum(n for n_queries, n in calls if n <= 100)
    assert copied < 80 * 730 / 3  # each query by itself would copy 80 * 730 rows
    few = evaluate_in_tiles(Copying(), graph, n_candidates=50, n_queries=5, check_rows=False, progress=False)
    assert same_ranks(result, few)
    assert max(n_queries for n_queries, n in calls[-100:] if n == 50) == 5


def test_a_slow_copy_of_candidates_does_not_keep_batches_small(monkeypatch):
    """H26, on a slow machine: a call of a block copies for 0.06 s, and needs 0.005 s for each query.

    20 blocks, so a query by itself takes 1.3 s: in batches of a second each of the 40 queries would stay by itself, and
    copy the table, on both sides.
    """
    monkeypatch.setattr(row_scorers, "BLOCK_CANDIDATES", 100)
    now = [0.0]
    monkeypatch.setattr(call_size, "clock", lambda: now[0])
    calls = []

    class Slow:
        def score_objects(self, s, p, candidates):
            now[0] += 6e-4 * len(candidates) + 5e-5 * len(s) * len(candidates)
            calls.append(len(candidates))
            return np.add.outer(s * 1.0, candidates)

        def score_subjects(self, p, o, candidates):
            return self.score_objects(o, p, candidates)

    test = np.column_stack([np.arange(40), np.zeros(40, dtype=int), np.arange(40)])
    graph = kg.Dataset.from_arrays(test=test, n_entities=2000, n_relations=1)
    kg.evaluate(Slow(), graph, check_rows=False, progress=False)
    assert sum(calls) < 10 * 2000  # about 2 copies of the table on each side, and one of the check before the run
