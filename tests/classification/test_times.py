"""Classification of facts with times: scorers that take the time get it, and negatives have a time."""

import numpy as np
import pandas as pd
import pytest
from grids import light
from key_cases import N, R, as_dataset, random_facts, score_of, with_time, without_time

import kgeval as kg

PARTS = ("valid", "test")
pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")


def negatives_with_times(seed, n=30):
    """Random triples with a time that some fact has, as frames of labels."""
    rng = np.random.default_rng(seed)
    frames = {}
    for part in ("valid", "test"):
        frame = pd.DataFrame(rng.integers(0, (N, R, N), (n, 3)).astype(str), columns=["s", "p", "o"])
        frames[part] = frame.assign(time=rng.choice(["2", "9", "10.0"], n))
    return frames


def scored(table, facts, frame):
    """Whether each score of the table is that of a loop over positives and negatives, each with its own time."""
    wanted = [score_of(*row[:4]) for row in facts]
    wanted += [score_of(int(s), int(p), int(o), int(float(t))) for s, p, o, t in frame.to_numpy()]
    return table["score"].tolist() == wanted


@pytest.mark.parametrize("seed", light(range(100), 3))
def test_each_triple_is_scored_at_its_time(seed):
    """Positives at their own, negatives at that of their column."""
    facts, frames = random_facts(seed), negatives_with_times(seed)
    result = kg.classify(with_time, as_dataset(facts), frames)
    assert scored(result.table, facts["test"], frames["test"])
    assert "the scorer was given time" in result.notes
    plain = kg.classify(without_time, as_dataset(facts), frames)
    assert plain.table["score"].tolist() == [
        score_of(s, p, o, None) for s, p, o in plain.table[["s", "p", "o"]].to_numpy().tolist()
    ]
    assert any(note.startswith("the scorer was not given time") for note in plain.notes)
    known = {row[:4] for part in facts.values() for row in part}
    n = sum((int(s), int(p), int(o), int(float(t))) in known for s, p, o, t in frames["test"].to_numpy())
    text = f"{n} of 30 negatives of test are known triples of the same time; they count as false"
    assert (text in result.notes) == (n > 0)


@pytest.mark.parametrize("seed", light(range(100), 3))
@pytest.mark.parametrize("key", [(), ("time",), ("time", "qualifiers")])
def test_uniform_negatives_have_the_time_of_their_positive(seed, key):
    """And are unknown by the key; the frames of sample_negatives give the same."""
    facts = random_facts(seed, 60)
    dataset = as_dataset(facts)
    result = kg.classify(with_time, dataset, "uniform", filter_by=key, sample_seed=seed)
    which = f"the same {' and '.join(key)}" if key else "any time and qualifiers"
    assert f"no uniform negative is a known triple of {which} (filter_by={key})" in result.notes
    place = {"time": 3, "qualifiers": 4}
    known = {(*row[:3], *(row[place[name]] for name in key)) for part in facts.values() for row in part}
    first = {}
    for number, row in enumerate(facts["test"]):
        first.setdefault(row[:3], number)
    frame = kg.sample_negatives(dataset, "test", filter_by=key, sample_seed=seed, distinct="query", ids=True)
    negatives = result.table[~result.table["label"]]
    assert len(negatives) == len(frame)
    for one, drawn in zip(negatives.itertuples(), frame.itertuples(), strict=True):
        own = facts["test"][drawn.positive]
        assert (one.s, one.p, one.o, one.positive) == (drawn.s, drawn.p, drawn.o, first[own[:3]])
        assert (one.s, one.p, one.o, *(own[place[name]] for name in key)) not in known
        assert one.score == score_of(one.s, one.p, one.o, own[3])
    same = {
        part: kg.sample_negatives(dataset, part, filter_by=key, sample_seed=seed, distinct="query") for part in PARTS
    }
    again = kg.classify(with_time, dataset, {part: frame[["s", "p", "o", "positive"]] for part, frame in same.items()})
    assert again.table["score"].tolist() == result.table["score"].tolist()
    assert again.facts["negatives_sha256"] == result.facts["negatives_sha256"]


def test_negatives_at_other_times_are_other_negatives():
    """So the results are not compared."""
    dataset, frames = as_dataset(random_facts(3)), negatives_with_times(3)
    later = {part: frame.assign(time="2") for part, frame in frames.items()}
    one, other = kg.classify(with_time, dataset, frames), kg.classify(with_time, dataset, later)
    assert one.facts["negatives_sha256"] != other.facts["negatives_sha256"]
    with pytest.raises(kg.ProtocolError):
        kg.compare_classifications([one, other], names=["A", "B"])


def test_negatives_without_a_time_are_refused_if_the_scorer_takes_it(tmp_path):
    """The error says what to do; no time is invented."""
    dataset, frames = as_dataset(random_facts(3)), negatives_with_times(3)
    arrays = {part: [[0, 0, 1]] for part in frames}
    remedy = (
        " Pass DataFrames of labels with a column 'time', or the frames of kgeval.sample_negatives, whose negatives "
        "have the time of their positives, as negatives='uniform' does"
    )
    for given in (arrays, {part: frame.drop(columns="time") for part, frame in frames.items()}):
        with pytest.raises(kg.DataError) as caught:
            kg.classify(with_time, dataset, given)
        assert str(caught.value) == (
            f"the scorer takes time, but the negatives of valid have no column 'time'.{remedy}"
        )
    for part in frames:
        (tmp_path / f"{part}_negatives.txt").write_text("0\t0\t1\n")
    with pytest.raises(kg.DataError) as caught:
        kg.classify(with_time, dataset, tmp_path)
    assert str(caught.value) == f"the scorer takes time, but files hold triples alone.{remedy}"
    assert kg.classify(without_time, dataset, tmp_path).facts["n_test_negative"] == 1
    wrong = {**frames, "test": frames["test"].assign(time="77")}
    with pytest.raises(kg.DataError, match=r"^negatives of test, row 0: no fact of the dataset has the time '77'$"):
        kg.classify(with_time, dataset, wrong)


def test_uniform_negatives_of_facts_with_times_need_a_key():
    """As a ranking does; given negatives have no filter."""
    dataset = as_dataset(random_facts(3))
    with pytest.raises(kg.ProtocolError, match="which known answers does the filter remove"):
        kg.classify(without_time, dataset, "uniform")
    with pytest.raises(kg.ProtocolError, match="these negatives are given, so leave it out"):
        kg.classify(with_time, dataset, negatives_with_times(3), filter_by="time")
