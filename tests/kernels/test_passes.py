"""What a pass decides: the proof obligation of every bound, that no bound is idle, and the counting itself."""

import math

import numpy as np
import pytest
from grids import light, size, thinned
from kernel_cases import (
    DIFFERENT_COUNTERS,
    INPUTS,
    draw_places,
    drawn,
    exact_matrix,
    float32_neighbours,
    make_counter,
    scaled,
    wrong_blocks,
    wrong_cases,
)

from kgeval.kernels.counts import Places, count_known
from kgeval.kernels.rows import count_rows
from kgeval.kernels.tiles import count_true, decide

pytestmark = [pytest.mark.filterwarnings("error::RuntimeWarning"), pytest.mark.usefixtures("loops")]


def exact_in_order(counter, queries):
    """The exact scores of all queries, the candidates in the order of the passes, and each as a positive's."""
    exact = exact_matrix(counter.geometry, queries, counter.candidates[counter.order])
    return exact, np.repeat(np.arange(len(exact)), exact.shape[1]), exact.ravel()


def contradictions(screened, low, high, exact, mine):
    """How many pairs are decided against their exact scores."""
    return int(((screened > high) & ~(exact > mine)).sum() + ((screened < low) & ~(exact < mine)).sum())


def tiles(counter, one, state, asked):
    """Each (block, tile) of a pass, for some queries or all."""
    for start in range(0, len(counter.candidates), counter.block_size):
        block = slice(start, min(start + counter.block_size, len(counter.candidates)))
        yield block, one.tile(state, asked, block)


def contradictions_of_tiles(counter, queries):
    """For each pass, the number of wrong decisions, every candidate taken as positive, against all others."""
    exact, rows, scores = exact_in_order(counter, queries)
    found = {}
    for place, one in enumerate(counter.passes):
        state, n_wrong = one.prepare(queries), 0
        for asked in (None, np.arange(0, len(queries), 2)):
            mine = np.isin(rows, np.arange(len(queries)) if asked is None else asked)
            row_of = rows[mine] if asked is None else rows[mine] // 2
            for block, tile in tiles(counter, one, state, asked):
                low, high = one.interval(state, rows[mine], scores[mine], block)
                n_wrong += contradictions(
                    tile[row_of], low[:, None], high[:, None], exact[rows[mine], block], scores[mine, None]
                )
        found[place, type(one).__name__] = n_wrong
    return found


def contradictions_of_pairs(counter, queries):
    """The same for passes that score single pairs: with an interval for each pair, and one for all candidates."""
    exact, rows, scores = exact_in_order(counter, queries)
    n = exact.shape[1]
    which, columns = np.repeat(np.arange(len(rows)), n), np.tile(np.arange(n), len(rows))
    theirs, mine, found = exact[rows[which], columns], scores[which], []
    for one in counter.passes:
        if hasattr(one, "pairs"):
            state = one.prepare(queries)
            screened = one.pairs(state, rows[which], columns)
            of_pairs = one.interval(state, rows[which], mine, columns)
            of_all = [x[which] for x in one.interval(state, rows, scores, slice(0, n))]
            found += [contradictions(screened, *interval, theirs, mine) for interval in (of_pairs, of_all)]
    return found


def check_passes(counter, queries):
    """No pass of a counter may decide anything against the exact scores; one of them at least scores pairs."""
    found, of_pairs = contradictions_of_tiles(counter, queries), contradictions_of_pairs(counter, queries)
    assert found == dict.fromkeys(found, 0)
    assert len(found) == len(counter.passes) > 0
    assert set(of_pairs) == {0}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("draw", light(INPUTS, 2))
@DIFFERENT_COUNTERS
def test_no_pass_decides_against_the_exact_scores(geometry, multiplier, draw, dtype):
    """Above an interval means better, below it worse: every pass, query, positive and candidate; no exception."""
    for d in (2, 50, 8)[: size(2, 3)]:
        candidates, queries, _ = drawn(draw, dtype, 7, 40, d)
        check_passes(make_counter(geometry, candidates, 16, multiplier), queries)


@pytest.mark.parametrize(("e", "q"), [(99, 0), (-99, 0), (0, -99), (0, 14), (-130, 0), (100, 40), (-320, 0), (38, 38)])
@DIFFERENT_COUNTERS
def test_the_edges_of_what_is_screened(geometry, multiplier, e, q):
    """Sizes near 1e-100 and 1e100, and queries 1e14 times larger: screened or not, nothing is decided wrongly."""
    candidates, queries, _ = drawn(scaled(e, q), np.float64, 8, 40, 8)
    check_passes(make_counter(geometry, candidates, 40, multiplier), queries)


def open_shares(counter, queries):
    """For each pass, the share of pairs of a positive and another candidate that its tiles leave open."""
    exact, rows, scores = exact_in_order(counter, queries)
    shares = {}
    for one in counter.passes:
        state, n_open = one.prepare(queries), 0
        for block, tile in tiles(counter, one, state, None):
            low, high = (x[:, None] for x in one.interval(state, rows, scores, block))
            n_open += int(((tile[rows] >= low) & (tile[rows] <= high)).sum())
        shares[type(one).__name__] = (n_open - len(rows)) / (len(rows) * (exact.shape[1] - 1))
    return shares


LIMITS = {"DotPass": 1e-4, "DoubleDotPass": 1e-9, "DistancePass": 1e-4, "ByteDotPass": 0.12, "ShortDotPass": 0.003}


@DIFFERENT_COUNTERS
def test_the_bounds_are_not_vacuous(geometry, multiplier):
    """500 Gaussian candidates of 64 dimensions: float32 decides nearly all pairs, bytes most.

    Two scores of spread s differ by less than r with a probability of about 2 r / (2 sqrt(pi) s). In float32, r is 67
    units of 2**-24 times norms of 11, so 4e-5, and s is 1 on that scale: 2.5e-5. In bytes, a step of about
    4/127 is off by 12**-0.5 steps a number, 0.073 a vector, so that r is 1.2 where s is 8: 8%. In 16 bits, a step is
    127/5792 of that: 0.2%.
    """
    rng = np.random.default_rng(5)
    candidates, queries = rng.normal(size=(500, 64)).astype(np.float32), rng.normal(size=(4, 64))
    shares = open_shares(make_counter(geometry, candidates, 250, multiplier), queries)
    assert list(shares.values())[-1] < 1e-4
    for name, share in shares.items():
        assert 0 <= share < LIMITS.get(name, 1.0), name


@DIFFERENT_COUNTERS
def test_every_pass_decides_what_decaying_axes_leave(geometry, multiplier):
    """Sizes that fall by a tenth from axis to axis, as in trained embeddings: each pass decides most pairs."""
    rng = np.random.default_rng(6)
    sizes = 0.9 ** np.arange(64)
    candidates, queries = rng.normal(size=(500, 64)) * sizes, rng.normal(size=(4, 64)) * sizes
    shares = open_shares(make_counter(geometry, candidates, 250, multiplier), queries)
    assert max(shares.values()) < 0.5


class Narrowed:
    """A pass whose intervals are a part of what they should be."""

    def __init__(self, original, factor):
        self.original, self.factor = original, factor
        self.prepare, self.tile = original.prepare, original.tile
        self.pairs = getattr(original, "pairs", None)

    def interval(self, prepared, rows, scores, block):
        low, high = self.original.interval(prepared, rows, scores, block)
        is_open = np.isinf(low) | np.isinf(high)
        first, last = (np.where(is_open, 0.0, end.astype(np.float64)) for end in (low, high))
        centre, half = (first + last) / 2, (last - first) / 2 * self.factor
        first, last = centre - half, centre + half
        if low.dtype.kind != "f":
            first, last = np.ceil(first), np.floor(last)
            last = np.maximum(first, last)
        return np.where(is_open, low, first.astype(low.dtype)), np.where(is_open, high, last.astype(high.dtype))


def narrowing(place, factor):
    """What narrows the intervals of one pass of a counter."""

    def narrow(counter):
        original = counter.passes[place]
        counter.passes = [*counter.passes]
        counter.passes[place] = Narrowed(original, factor)
        for name, value in vars(counter).items():
            if value is original:
                setattr(counter, name, counter.passes[place])

    return narrow


@DIFFERENT_COUNTERS
@pytest.mark.thorough
def test_too_narrow_bounds_are_caught(geometry, multiplier):
    """The misleading inputs do test each bound: with a hundredth of any one pass's interval some counts are wrong."""
    some = np.random.default_rng(0).normal(size=(9, 8))
    for place, one in enumerate(make_counter(geometry, some, 9, multiplier).passes):
        change = narrowing(place, 0.01)
        with np.errstate(all="ignore"):  # a wrong interval may also divide by zero
            failed = {
                (draw, dtype)
                for draw in INPUTS
                for dtype in (np.float32, np.float64)
                if wrong_cases(geometry, multiplier, draw, dtype, (8, 50), change)
            }
        if type(one).__name__ == "DoubleDotPass":  # so sharp that few inputs are near its bound
            assert failed
        else:
            assert len(failed) >= 6, place
            assert (float32_neighbours, np.float64) in failed, place


@pytest.mark.parametrize(("multiplier", "largest"), [("torch", 127), ("numba", 5792)])
def test_the_bounds_of_integers_are_tight(multiplier, largest):
    """With aligned errors an interval narrower by 5% gives wrong counts; so each of its parts is needed.

    All numbers are multiples of the step but those of candidates 0 and 1, in every place 0.01 steps apart and both
    rounded up by nearly half a step: in integers both are further along the query than either really is. Of 64 numbers
    of 16 bits, the largest is 5,792: 64 * 5792^2 < 2^31.
    """
    half = np.random.default_rng(9).integers(-largest, largest + 1, (20, 64)).astype(float)
    half[0] = largest
    candidates = np.concatenate([[[10.52]] * np.ones(64), [[10.51]] * np.ones(64), half, -half, np.zeros((5, 64))])
    none = np.zeros(0, dtype=int)
    places = Places(np.zeros(2, dtype=int), np.arange(2), none, none)
    arguments = "dot", multiplier, np.ones((1, 64)), candidates, places, [1 << 30]
    assert wrong_blocks(*arguments) == []
    assert wrong_blocks(*arguments, narrowing(0, 0.95)) == [1 << 30]

    def without_rounding_errors(counter):
        one = counter.passes[0]
        one.bounds = {start: (*bounds[:2], 0.0) for start, bounds in one.bounds.items()}

    assert wrong_blocks(*arguments, without_rounding_errors) == [1 << 30]


def check_decided(tile, row_of, low, high, known=None):
    """`decide` must find, for each positive, what a loop over its row finds, or call it crowded."""
    before = tile.tobytes()
    known = np.zeros(tile.shape, dtype=bool) if known is None else known
    found = decide(tile, row_of, low, high, *np.nonzero(known))
    crowded = found.crowded.tolist()
    assert len(set(crowded)) == len(crowded)
    pairs = {i: [] for i in range(len(row_of))}
    for i, column, is_known in zip(found.which.tolist(), found.columns.tolist(), found.is_known.tolist()):
        pairs[i].append(column)
        assert is_known == known[row_of[i], column]
    for i, row in enumerate(row_of.tolist()):
        values, least, most = tile[row].tolist(), low[i].item(), high[i].item()
        open = [j for j, value in enumerate(values) if least <= value <= most]
        if i in crowded:
            assert (found.above[i], found.known_above[i], pairs[i]) == (0, 0, [])
            assert len(open) > max(1, tile.shape[1] // 64)
        else:
            assert found.above[i] == sum(value > most for value in values)
            assert found.known_above[i] == sum(value > most for value, is_known in zip(values, known[row]) if is_known)
            assert sorted(pairs[i]) == open
    assert tile.tobytes() == before
    return crowded


def draw_interval(rng, row, kind):
    """Two ascending cells of a row: equal, any, near its top or bottom; or the whole line."""
    whole = (-np.inf, np.inf) if row.dtype.kind == "f" else (np.iinfo(row.dtype).min, np.iinfo(row.dtype).max)
    ordered = np.sort(row)
    n = len(ordered)
    near = min(n, 3)
    first, second = sorted(
        {"any": rng.integers(0, n, 2), "top": n - 1 - rng.integers(0, near, 2), "bottom": rng.integers(0, near, 2)}.get(
            kind, rng.integers(0, n, 1).repeat(2)
        )
    )
    return whole if kind == "whole" else (ordered[first], ordered[second])


@pytest.mark.parametrize("kinds", [["top"], ["any", "whole"], ["equal", "bottom"], None], ids=str)
@pytest.mark.parametrize("width", thinned([1, 7, 8, 255 * 8 + 8, 4096, 255 * 8, 100], 3))
@pytest.mark.parametrize("dtype", light([np.float32, np.uint16, np.int32], 2))
def test_decide_equals_a_loop(dtype, width, kinds):
    """Random tiles with ties; one positive a row, and many; few candidates open, and all."""
    for seed in range(3):
        rng = np.random.default_rng([seed, width])
        n_rows = int(rng.integers(1, 5))
        spread = int(rng.choice([3, 60_000]))
        tile = rng.integers(0, spread, (n_rows, width)).astype(dtype)
        if np.dtype(dtype).kind == "f" and seed:
            tile *= rng.normal(size=(n_rows, 1)).astype(dtype)
            tile[rng.random(tile.shape) < 0.02] = np.inf
        more = rng.integers(0, n_rows, rng.choice([0, 12]))
        row_of = np.sort(np.concatenate([np.arange(n_rows), more]))
        chosen = rng.choice(kinds or ["top", "any", "equal", "bottom", "whole"], len(row_of))
        ends = [draw_interval(rng, tile[row], kind) for row, kind in zip(row_of, chosen)]
        known = rng.random(tile.shape) < rng.choice([0.0, 0.05, 0.7])
        check_decided(tile, row_of, *(np.array(end, dtype=dtype) for end in zip(*ends)), known)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint16])
def test_decide_when_all_candidates_are_alike(dtype):
    """4,096 equal scores: all above, all below, and all open, which is crowded and counts nothing."""
    tile, row_of = np.full((3, 4096), 5, dtype=dtype), np.repeat(np.arange(3), 3)
    low, high = np.array([6, 5, 3] * 3, dtype=dtype), np.array([7, 5, 4] * 3, dtype=dtype)
    found = decide(tile, row_of, low, high, *np.zeros((2, 0), dtype=np.int64))
    assert found.above.tolist() == [0, 0, 4096] * 3
    assert sorted(found.crowded.tolist()) == [1, 4, 7]
    assert found.which.tolist() == found.columns.tolist() == []
    assert check_decided(tile, row_of, low, high) == found.crowded.tolist()


@pytest.mark.parametrize("width", [*range(1, 41), 2040, 2048, 4104, 65_536])
def test_count_true(width):
    """All cells, none, the first, the last, and random ones; 2,040 columns are as many as a byte can count in words."""
    mask = np.zeros((5, width), dtype=bool)
    mask[0], mask[2, 0], mask[3, -1] = True, True, True
    mask[4] = np.random.default_rng(width).random(width) < 0.5
    assert count_true(mask).tolist() == [width, 0, 1, 1, sum(mask[4].tolist())]
    assert count_true(mask[:, ::-1]).tolist() == [width, 0, 1, 1, sum(mask[4].tolist())]
    assert count_true(mask[:0]).tolist() == []


BIG = 2**53
ROWS = {
    "ties": np.array([3.0, 1.0, 3.0, 5.0]),
    "infinities": np.array([math.inf, -math.inf, 0.0, math.inf, -math.inf, 1.0]),
    "signed zeros": np.array([0.0, -0.0, 1.0, -1.0]),
    "beyond 2**53": np.array([BIG, BIG + 1, BIG + 2, BIG + 1, -BIG - 1], dtype=np.int64),
    "near 2**62": np.array([2**62 - 1, 2**62, 2**62 + 1, 2**62, -(2**62) - 1, -(2**62)], dtype=np.int64),
    "uint64": np.array([2**64 - 1, 2**64 - 2, 0, 2**63, 2**63 - 1], dtype=np.uint64),
    "uint8": np.array([255, 0, 1, 255, 254], dtype=np.uint8),
    "int8": np.array([-128, 127, 0, -128], dtype=np.int8),
    "float16": np.array([0.1, 0.1001, 0.2, 65504.0, np.inf, 6e-8, 0], dtype=np.float16),
    "float32": np.array([1, 1 + 2**-23, 1 + 2**-24, 1 - 2**-24], dtype=np.float32),
    "one": np.array([7.0]),
    "big-endian": np.array([1.0, 256.0, 2.0], dtype=">f8"),
}


def naive(scores, places):
    """Counts of better and equal cells, and of known ones, by Python's comparison of single values."""
    counts = []
    known = list(zip(places.known_rows.tolist(), places.known.tolist()))
    for row, answer in zip(places.rows.tolist(), places.answers.tolist()):
        values = scores[row].tolist()
        mine, theirs = values[answer], [values[column] for of_row, column in known if of_row == row]
        counts.append(
            [sum(v > mine for v in values), values.count(mine), sum(v > mine for v in theirs), theirs.count(mine), mine]
        )
    return [list(column) for column in zip(*counts)] or [[]] * 5


def check_rows(scores, places):
    """`count_rows`, and `count_known` alone, against loops; the scores stay as they are."""
    before = scores.tobytes()
    counts = count_rows(scores, places)
    arrays = [counts.better, counts.equal, counts.known_better, counts.known_equal]
    assert {x.dtype for x in arrays} == {np.dtype(np.int64)}
    expected = naive(scores, places)
    assert [x.tolist() for x in (*arrays, counts.scores)] == expected
    assert counts.scores.dtype == scores.dtype
    mine, theirs = scores[places.rows, places.answers], scores[places.known_rows, places.known]
    assert [x.tolist() for x in count_known(places, theirs, mine)] == expected[2:4]
    assert scores.tobytes() == before


@pytest.mark.parametrize("repeats", [1, 2, 20], ids=["few", "nine or more", "many"])
@pytest.mark.parametrize("name", ROWS)
def test_count_rows_takes_scores_as_they_are(name, repeats):
    """Few and many positives of a row may take different ways and give the same: no cast, no tolerance."""
    row = ROWS[name]
    n = len(row)
    scores = np.stack([row, row[::-1], np.roll(row, 1)])
    answers = np.arange(n) if repeats == 1 else np.resize(np.arange(n), max(n * repeats, 9))
    places = Places(np.repeat([0, 2], len(answers)), np.tile(answers, 2), *np.nonzero(np.ones((3, n), dtype=bool)))
    check_rows(scores, places)
    check_rows(np.asfortranarray(scores), places)


@pytest.mark.parametrize("seed", light(range(60), 3))
def test_count_rows_on_random_rows(seed):
    """Shapes, dtypes, numbers of positives and of known answers at random; half of the matrices are views."""
    rng = np.random.default_rng(seed)
    dtype = rng.choice([np.float16, np.float32, np.float64, np.int64, np.uint64, np.int8])
    n_rows, n = int(rng.integers(1, 6)), int(rng.integers(1, 40))
    scores = rng.integers(0, 12, (n_rows, 2 * n)).astype(dtype)
    if np.dtype(dtype).kind == "f":
        scores[rng.random(scores.shape) < 0.2] = rng.choice([np.inf, -np.inf])
    check_rows(scores[:, ::2] if seed % 2 else scores[:, :n], draw_places(rng, n_rows, n, int(rng.integers(0, 40))))


def test_no_positives_and_no_known_answers():
    """Nothing is counted for nothing; without known answers none is better or equal."""
    empty = np.zeros(0, dtype=int)
    assert [x.tolist() for x in count_known(Places(empty, empty, empty, empty), np.zeros(0), np.zeros(0))] == [[], []]
    places = Places(np.array([0, 0, 3]), np.array([1, 2, 0]), empty, empty)
    better, equal = count_known(places, np.zeros(0), np.array([1.0, 2.0, 3.0]))
    assert better.tolist() == equal.tolist() == [0, 0, 0]
    counts = count_rows(np.ones((2, 3)), Places(empty, empty, np.array([1]), np.array([2])))
    assert counts.better.tolist() == counts.known_equal.tolist() == counts.scores.tolist() == []


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_known_answers_are_counted_by_value_at_every_size(dtype):
    """Infinities, both zeros, subnormals and neighbours: float32, sorted as integers, counts as float64 does."""
    tiny = float(np.finfo(np.float32).smallest_subnormal)
    values = np.array(
        [-np.inf, -3e38, -1.0, -tiny, -0.0, 0.0, tiny, 1.0, np.nextafter(np.float32(1), np.float32(2)), np.inf]
    )
    rows, n = np.repeat([0, 1], len(values)), len(values)
    places = Places(rows, np.tile(np.arange(n), 2), rows, np.tile(np.arange(n), 2))
    known, mine = np.concatenate([values, -values]), np.concatenate([values, values[::-1]])
    better, equal = count_known(places, known.astype(dtype), mine.astype(dtype))
    of_row = known.reshape(2, n)[rows]
    assert better.tolist() == (of_row > mine[:, None]).sum(axis=1).tolist()
    assert equal.tolist() == (of_row == mine[:, None]).sum(axis=1).tolist()
