"""The numbers of TGB, against a loop of its rule: lists keyed by time, or all entities filtered by time."""

import numpy as np
import pandas as pd
import pytest

import kgeval as kg

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")
N, R, TIMES = 16, 2, 4
TGB = kg.conventions["tgb"]


def quadruples(seed):
    """Splits of (s, p, o, t) that share triples and times, with repeated facts; every entity is a destination."""
    rng = np.random.default_rng(seed)
    rows = {
        split: [tuple(row) for row in rng.integers(0, (4, R, N, TIMES), (n, 4)).tolist()]
        for split, n in {"train": 15, "valid": 10, "test": 25}.items()
    }
    rows["train"] += [(e, 0, e, 0) for e in range(N)] + rows["test"][:4]  # known in train at the same time
    rows["test"] += rows["test"][:2]
    return rows


def as_dataset(rows):
    """The same with a column of time."""
    return kg.Dataset.from_arrays(
        **{split: [row[:3] for row in part] for split, part in rows.items()},
        n_entities=N,
        n_relations=R,
        columns={split: pd.DataFrame({"time": [row[3] for row in part]}) for split, part in rows.items()},
    )


def score(s, p, o, time):
    """Scores that tie often and depend on the time."""
    return ((3 * s + 5 * o + p + o * np.asarray(time)) % 4).astype(float)


def with_inverse(part):
    """tgb/utils/utils.py, lines 31-66: the inverse facts follow, their relations are p + the number of relations."""
    return [*part, *((o, p + R, s, t) for s, p, o, t in part)]


def conflicts(part):
    """tkg_negative_generator.py, lines 202-217: (t, s, p) -> the destinations of the facts of the split."""
    found = {}
    for s, p, o, t in with_inverse(part):
        found.setdefault((t, s, p), set()).add(o)
    return found


def negatives_by_time(rows):
    """tkg_negative_sampler.py, line 130: from the first to the last destination, the conflicts deleted by place."""
    last = max(o for part in rows.values() for _, _, o, _ in with_inverse(part))
    return {
        key: [e for place, e in enumerate(range(last + 1)) if place not in conflict]
        for key, conflict in conflicts(rows["test"]).items()
    }


def loop(rows, negatives):
    """evaluate.py, lines 107-115, one positive a call: (mrr, hits@10) over the facts and their inverses."""
    ranks = []
    for s, p, o, t in with_inverse(rows["test"]):

        def scored(entity, s=s, p=p, t=t):
            ids = (s, p, entity) if p < R else (entity, p - R, s)
            return float(score(*map(np.int64, ids), t))

        others = [scored(e) for e in negatives[t, s, p]]
        optimistic = sum(x > scored(o) for x in others)
        pessimistic = sum(x >= scored(o) for x in others)
        ranks.append(0.5 * (optimistic + pessimistic) + 1)
    hits = sum(rank <= 10 for rank in ranks) / len(ranks)
    assert 0 < hits < 1
    return sum(1 / rank for rank in ranks) / len(ranks), hits


def numbers(result):
    """MRR and hits@10 as TGB prints them; they do not depend on an order of ties."""
    table = TGB.table(result)
    assert (table["low"] == table["high"]).all()
    return table.loc[["mrr", "hits@10"], "low"].tolist()


def lists_of(rows, negatives):
    """The lists of both sides, one for each test fact, from lists keyed by (t, s, p)."""
    return kg.candidates.Listed(
        objects=[negatives[t, s, p] for s, p, o, t in rows["test"]],
        subjects=[negatives[t, o, p + R] for s, p, o, t in rows["test"]],
    )


@pytest.mark.parametrize("seed", range(6))
def test_all_entities_filtered_by_split_and_time(seed):
    """Without lists: all entities, known are the answers of the same split and time; pools serve alike."""
    rows = quadruples(seed)
    dataset = as_dataset(rows)
    protocol = TGB.protocol(dataset)
    assert (protocol.filter, protocol.filter_by, protocol.splits) == (("test",), ("time",), ("test",))
    wanted = pytest.approx(loop(rows, negatives_by_time(rows)), rel=1e-12)
    assert numbers(kg.evaluate(score, dataset, protocol, progress=False)) == wanted
    pools = kg.candidates.ByRelation(*[{p: np.arange(N) for p in range(R)}] * 2)
    assert numbers(kg.evaluate(score, dataset, TGB.protocol(dataset, pools), progress=False)) == wanted


@pytest.mark.parametrize("seed", range(6))
def test_destinations_that_do_not_begin_at_zero(seed):
    """Pools from the first to the last destination: the rule as meant, where the sampler deletes by place."""
    rows = {
        split: [(s + 2, p, o + 2, t) for s, p, o, t in part if max(s, o) < N - 3]
        for split, part in quadruples(seed).items()
    }
    dataset, first, last = as_dataset(rows), 2, N - 2
    meant = {
        key: [e for e in range(first, last + 1) if e not in conflict]
        for key, conflict in conflicts(rows["test"]).items()
    }
    pools = kg.candidates.ByRelation(*[{p: np.arange(first, last + 1) for p in range(R)}] * 2)
    found = numbers(kg.evaluate(score, dataset, TGB.protocol(dataset, pools), progress=False))
    assert found == pytest.approx(loop(rows, meant), rel=1e-12)
    listed = kg.evaluate(score, dataset, TGB.protocol(dataset, lists_of(rows, meant)), progress=False)
    assert numbers(listed) == found
    by_place = {
        key: np.delete(np.arange(first, last + 1), [e for e in conflict if e <= last - first]).tolist()
        for key, conflict in conflicts(rows["test"]).items()
    }
    assert loop(rows, by_place) != loop(rows, meant)


@pytest.mark.parametrize("seed", range(6))
def test_lists_keyed_by_time(seed, tmp_path):
    """Lists as in the files of tkgl-wikidata, whose filler holds true answers, which stay; also from a saved result."""
    rows, rng = quadruples(seed), np.random.default_rng(seed)
    dataset = as_dataset(rows)
    answers = {}
    for s, p, o, t in with_inverse(rows["test"]):
        answers.setdefault((t, s, p), set()).add(o)
    negatives = {  # the other answers of a query among them
        key: [e for e in rng.permutation(N).tolist() if e != min(own)][:14] for key, own in answers.items()
    }
    kept = [
        (s, p, o, t) for s, p, o, t in rows["test"] if o not in negatives[t, s, p] and s not in negatives[t, o, p + R]
    ]
    rows = {**rows, "test": kept}
    dataset = as_dataset(rows)
    assert any(set(negatives[t, s, p]) & answers[t, s, p] for s, p, o, t in with_inverse(kept))
    result = kg.evaluate(score, dataset, TGB.protocol(dataset, lists_of(rows, negatives)), progress=False)
    wanted = pytest.approx(loop(rows, negatives), rel=1e-12)
    assert numbers(result) == wanted
    filtered = kg.Protocol(
        candidates=result.protocol.candidates, filter=("train", "valid", "test"), filter_by=("time",)
    )
    filtered = kg.evaluate(score, dataset, filtered, progress=False)
    assert filtered["mrr"] > filtered["raw.mrr"]
    assert numbers(filtered) == wanted
    result.save(tmp_path / "run.kgeval")
    assert numbers(kg.load_result(tmp_path / "run.kgeval")) == wanted


@pytest.mark.parametrize("seed", range(6))
def test_calls_of_the_evaluator(seed):
    """The input of TGB's evaluator, one dict per positive; a negative that is the answer itself ties, as there."""
    rows = quadruples(seed)
    negatives = {key: [*others, 3] for key, others in negatives_by_time(rows).items()}
    dataset = as_dataset(rows)
    calls = {"objects": [], "subjects": []}
    for s, p, o, t in rows["test"]:
        others = np.array(negatives[t, s, p])
        calls["objects"].append({"y_pred_pos": score(s, p, o, t), "y_pred_neg": score(s, p, others, t)})
        others = np.array(negatives[t, o, p + R])
        calls["subjects"].append({"y_pred_pos": score(s, p, o, t), "y_pred_neg": score(others, p, o, t)})
    wanted = pytest.approx(loop(rows, negatives), rel=1e-12)
    assert numbers(kg.evaluate_candidates(dataset, **calls)) == wanted


def test_what_differs_from_the_rule_is_refused():
    """The slips: the filter of any time, known answers of train, a list with the answer of its positive."""
    rows = quadruples(0)
    dataset = as_dataset(rows)
    cases = {
        "it is filtered by train+valid+test, tgb by test": kg.Protocol(filter_by="time"),
        "it does not rank the subject side, which tgb ranks": kg.Protocol("object", filter="test", filter_by="time"),
        "it removes known answers of any time, tgb of the same time, or ranks among lists": kg.Protocol(
            filter="test", filter_by=()
        ),
    }
    lists = lists_of(rows, {key: [*others, 3] for key, others in negatives_by_time(rows).items()})
    n = sum(row[2] == 3 for row in rows["test"])
    n_listed = len(lists.lists["object"].values)
    cases[
        f"object side: {n} of {n_listed} listed negatives are the answer of their own positive, and are left out; "
        "tgb counts them"
    ] = kg.Protocol(sides="object", candidates=lists, filter=())
    for said, protocol in cases.items():
        with pytest.raises(kg.ProtocolError) as caught:
            TGB.table(kg.evaluate(score, dataset, protocol, progress=False))
        assert str(caught.value) == (
            f"this result does not give the numbers of tgb: {said}. Evaluate with "
            "kgeval.conventions['tgb'].protocol(dataset), or --as tgb"
        )
    by_time = kg.evaluate(score, dataset, kg.Protocol(filter_by="time"), progress=False)
    with pytest.raises(kg.ProtocolError, match="it removes known answers of the same time, openke of any time"):
        kg.conventions["openke"].table(by_time)
    assert kg.conventions["openke"].protocol(dataset).filter_by == ()
    assert kg.conventions["ogb"].differences(by_time) == [
        "it ranks among all entities, ogb among a list of negatives for each positive"
    ]
    plain = kg.Dataset.from_arrays(test=[[0, 0, 1]], n_entities=3, n_relations=1)
    with pytest.raises(kg.ProtocolError) as caught:
        TGB.protocol(plain)
    assert str(caught.value) == (
        "tgb ranks each positive among its own list of negatives, and 'dataset' has no times to filter by; give them: "
        "protocol(dataset, candidates=kgeval.candidates.Listed(...)), or --candidates FILE"
    )
    pools = kg.candidates.ByRelation(objects={p: np.arange(N) for p in range(R)})
    ranked = kg.evaluate(score, dataset, kg.Protocol(candidates=pools, filter=()), progress=False)
    with pytest.raises(kg.ProtocolError, match="it ranks among pools of 2 relations, ogb among a list of negatives"):
        kg.conventions["ogb"].table(ranked)
    with pytest.raises(kg.ProtocolError, match="openke ranks among all entities; leave the candidates out"):
        kg.conventions["openke"].protocol(dataset, pools)


def test_a_raw_ranking_needs_no_filter_key():
    """Nothing is removed, so nobody is asked which times the filter compares."""
    dataset = as_dataset(quadruples(1))
    result = kg.evaluate(score, dataset, kg.Protocol(filter=()), progress=False)
    assert result.protocol.filter_by == ()
    assert result["mrr"] == result["raw.mrr"]
    assert kg.conventions["pyg"].table(result)["low"].notna().all()


def test_what_the_convention_says():
    """The setting of each kind of candidates."""
    assert str(TGB) == (
        "TGB: filtered by the same split and time, all entities; or raw, a list of negatives for each positive, both "
        "sides; rank = 1 + rivals with a higher score and half of the ties; that the lists are those of TGB is not "
        "checked"
    )
    assert str(kg.conventions["ogb"]) == (
        "OGB: raw, a list of negatives for each positive, both sides; rank = 1 + rivals with a higher score and half "
        "of the ties"
    )
