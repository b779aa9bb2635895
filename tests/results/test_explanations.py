"""Explaining a rank: the candidates above it are those that a loop over all entities finds."""

import numpy as np
import pandas as pd
import pytest
from grids import light, thinned

import kgeval as kg
from kgeval.evaluation import rescoring
from kgeval.results.evaluation_result import kept_rivals
from kgeval.results.explanations import could_have_stood, extreme_rows
from kgeval.results.rank_table import RankTable

N = 8


def graph(seed=0):
    """Return a dataset of random triples, and a function of random scores with ties."""
    rng = np.random.default_rng(seed)
    triples = np.unique(rng.integers(0, [N, 2, N], (40, 3)), axis=0)
    rng.shuffle(triples)
    names = {split: pd.DataFrame([[f"e{s}", f"r{p}", f"e{o}"] for s, p, o in part]) for split, part in
             (("train", triples[12:]), ("valid", triples[8:12]), ("test", triples[:8]))}  # fmt: skip
    dataset = kg.Dataset.from_frames(**names)
    scores = rng.integers(0, 5, (len(dataset.entities), 2, len(dataset.entities))).astype(float)
    return dataset, lambda s, p, o: scores[s, p, o]


@pytest.mark.parametrize("seed", light(range(15), 2))
@pytest.mark.parametrize("side", ["subject", "object"])
@pytest.mark.light(2)
def test_what_stands_above_by_a_loop(seed, side):
    """Candidate, score, where it stands, and the splits that know it, for every test triple."""
    dataset, score = graph(seed)
    result = kg.evaluate(score, dataset, progress=False)
    known = {split: set(map(tuple, dataset[split].array.tolist())) for split in dataset.splits}
    for s, p, o in dataset["test"].array.tolist():
        frame = result.explain(s, p, o, side)
        mine = score(s, p, o)
        wanted = {"above": [], "tied": []}
        for e in range(len(dataset.entities)):
            triple = (e, p, o) if side == "subject" else (s, p, e)
            value = score(*triple)
            if triple != (s, p, o) and value >= mine:
                where = "+".join(split for split in dataset.splits if triple in known[split])
                wanted["above" if value > mine else "tied"].append((-value, e, where))
        rows = list(zip(frame["stands"], -frame["score"], frame["id"], frame["known_in"], strict=True))
        assert rows[:-1] == [("above", *row) for row in sorted(wanted["above"])] + [
            ("tied", *row) for row in sorted(wanted["tied"])
        ]
        assert frame["candidate"].tolist() == [dataset.entities.labels[i] for i in frame["id"]]
        assert rows[-1][:3] == ("answer", -mine, s if side == "subject" else o)
        free = {where: sum(not row[2] for row in rows) for where, rows in wanted.items()}
        assert frame.attrs == {
            "n_above": len(wanted["above"]), "n_tied": len(wanted["tied"]), "n_above_counting": free["above"],
            "n_tied_counting": free["tied"], "n_candidates": len(dataset.entities),
        }  # fmt: skip
        row = result.table[(result.table[["s", "p", "o"]] == [s, p, o]).all(axis=1) & (result.table["side"] == side)]
        counts = frame[frame["counts"]]["stands"].value_counts()
        assert counts.get("above", 0) == row["better_filtered"].item()
        assert counts.get("tied", 0) == row["tied_filtered"].item()


def test_labels_and_a_limit():
    """Labels name the same triple as ids; `limit` cuts each kind."""
    dataset, score = graph(1)
    result = kg.evaluate(score, dataset, progress=False)
    s, p, o = dataset["test"].array[0].tolist()
    labels = dataset.entities.labels[s], dataset.relations.labels[p], dataset.entities.labels[o]
    pd.testing.assert_frame_equal(result.explain(*labels, "tail"), result.explain(s, p, o))
    short = result.explain(s, p, o, limit=1)
    assert (short["stands"] == "above").sum() <= 1
    assert short.attrs["n_above"] == (result.explain(s, p, o)["stands"] == "above").sum()


def test_models_are_asked_for_exact_scores():
    """An embedding model's rivals are those of its float64 scores, the same as of the function that computes them."""
    rng = np.random.default_rng(0)
    entities, relations = rng.normal(size=(N, 4)), rng.normal(size=(2, 4))
    dataset = kg.Dataset.from_arrays(test=rng.integers(0, [N, 2, N], (6, 3)), n_entities=N, n_relations=2)
    model = kg.evaluate(kg.models.TransE(entities, relations, norm=1), dataset, progress=False)
    plain = kg.evaluate(
        lambda s, p, o: -np.abs(entities[s] + relations[p] - entities[o]).sum(axis=1), dataset, progress=False
    )
    for s, p, o in dataset["test"].array.tolist():
        for side in ("subject", "object"):
            one, other = model.explain(s, p, o, side), plain.explain(s, p, o, side)
            assert one["id"].tolist() == other["id"].tolist()
            assert one["score"].to_numpy() == pytest.approx(other["score"].to_numpy(), rel=1e-12)


def test_listed_scores_explain_themselves():
    """In the worked example Ireland scores .789 and beats Italy's .753."""
    columns = ["s", "p", "o"]
    test = pd.DataFrame([["Jack", "born_in", "Italy"]], columns=columns)
    table = pd.DataFrame(
        [
            ["Jack", "born_in", "Italy", 0.753],
            ["Jack", "born_in", "Ireland", 0.789],
            ["Jack", "born_in", "Germany", 0.5],
        ],
        columns=[*columns, "score"],
    )
    train = pd.DataFrame([["Ireland", "borders", "Germany"]], columns=columns)
    result = kg.evaluate_scores(table, kg.Dataset.from_frames(train=train, test=test))
    frame = result.explain("Jack", "born_in", "Italy")
    assert frame[["candidate", "score", "stands"]].values.tolist() == [
        ["Ireland", 0.789, "above"], ["Italy", 0.753, "answer"],
    ]  # fmt: skip
    rivals, reason = kept_rivals(result)
    assert rivals["entity"].map(lambda i: result.entities.labels[i]).tolist() == ["Ireland", "Germany"]
    assert reason == ""


def test_a_model_that_changed_is_noticed():
    """The counts of the rank and those of now differ: nothing is explained by another model's scores."""
    dataset, _ = graph(2)
    weights = np.random.default_rng(0).normal(size=(len(dataset.entities), len(dataset.entities)))
    result = kg.evaluate(lambda s, p, o: weights[s, o], dataset, progress=False)
    weights *= -1.0
    s, p, o = dataset["test"].array[0].tolist()
    with pytest.raises(kg.ScoreError, match=r"Has the model changed since\? Evaluate it again"):
        result.explain(s, p, o)


def test_refused_questions():
    """A triple that was not ranked, an unknown label, an unknown side, an unseen entity under `worst`."""
    dataset, score = graph(3)
    result = kg.evaluate(score, dataset, progress=False)
    s, p, o = dataset["train"].array[0].tolist()
    with pytest.raises(kg.DataError, match=r"was not ranked on the object side; is the triple in test\?"):
        result.explain(s, p, o)
    with pytest.raises(kg.DataError, match="nobody"):
        result.explain("nobody", "r0", "e1")
    with pytest.raises(kg.ProtocolError, match="side must be 'subject' or 'object'"):
        result.explain(s, p, o, side="middle")
    dataset = kg.Dataset.from_arrays(train=[[0, 0, 1]], test=[[0, 0, 2], [1, 0, 0]], n_entities=3, n_relations=1)
    worst = kg.evaluate(lambda s, p, o: s - o, dataset, kg.Protocol(unseen="worst"), progress=False)
    with pytest.raises(kg.DataError, match=r"was not scored on the object side"):
        worst.explain(0, 0, 2)


def test_rivals_of_the_worst_and_the_best_ranks():
    """By a loop: known answers are left out, the best first, whether above the positive or below."""
    dataset, score = graph(4)
    result = kg.evaluate(score, dataset, progress=False)
    known = {tuple(t) for split in dataset.splits for t in dataset[split].array.tolist()}
    rows = extreme_rows(result.rank_table, 10)
    ranks = result.ranks(labels=True)["rank_filtered"].to_numpy()[rows]
    assert ranks[0] == ranks.max()
    assert (np.diff(ranks[:8]) <= 0).all()
    assert len(set(rows.tolist())) == len(rows)
    found, reason = kept_rivals(result)
    assert reason == ""
    assert list(dict.fromkeys(found["row"])) == rows.tolist()
    for row, mine in found.groupby("row"):
        s, p, o, side = result.table.loc[row, ["s", "p", "o", "side"]]
        wanted = []
        for e in range(len(dataset.entities)):
            triple = (e, p, o) if side == "subject" else (s, p, e)
            if triple not in known:
                wanted.append((-score(*triple), e))
        assert len(mine) == min(5, len(wanted))
        assert mine["score"].tolist() == [-value for value, _ in sorted(wanted)[: len(mine)]]
        assert mine["place"].tolist() == list(range(1, len(mine) + 1))


MODELS = {
    "DistMult": lambda e, r: kg.models.DistMult(e, r),
    "TransE l1": lambda e, r: kg.models.TransE(e, r, norm=1),
    "TransE l2": lambda e, r: kg.models.TransE(e, r, norm=2),
    "RotatE": lambda e, r: kg.models.RotatE(e, r[:, :2]),
}
CANDIDATES = {
    "all": {},
    "drop": {"unseen": "drop"},
    "listed": {"candidates": kg.candidates.Listed(*([np.arange(i % 7, 40, 2) for i in range(20)] for _ in range(2)))},
    "unfiltered": {"filter": ()},
}


@pytest.mark.parametrize("pools", CANDIDATES)
@pytest.mark.parametrize("name", thinned(MODELS, 2))
@pytest.mark.light(2)
def test_rivals_of_models_equal_those_of_whole_rows(name, pools):
    """Entities of few distinct vectors, so that most scores tie; the rows of exact scores are sorted as a whole."""
    rng = np.random.default_rng(7)
    entities = rng.integers(-1, 2, (40, 4)).astype(np.float32)[rng.integers(0, 25, 40)]
    triples = np.unique(rng.integers(0, [40, 2, 40], (90, 3)), axis=0)
    rng.shuffle(triples)
    dataset = kg.Dataset.from_arrays(train=triples[20:], test=triples[:20], n_entities=40, n_relations=2)
    model = MODELS[name](entities, rng.integers(-1, 2, (2, 4)).astype(np.float32))
    result = kg.evaluate(model, dataset, kg.Protocol(**CANDIDATES[pools]), progress=False)
    found, reason = kept_rivals(result)
    assert (reason, found["row"].nunique()) == ("", 20)

    class WholeRows:
        """The source of the result without its short way."""

        dataset, is_exact = result._source.dataset, True
        candidate_scores = staticmethod(result._source.candidate_scores)

    slow, reason = kept_rivals(result.__replace__(source=WholeRows()))
    assert reason == ""
    pd.testing.assert_frame_equal(found, slow)


def test_a_table_is_read_once_for_both_sides(monkeypatch):
    """All entities are the candidates of both sides, so the queries of both are searched together."""
    rng, asked = np.random.default_rng(0), []
    best_candidates = rescoring.best_candidates

    def counted(geometry, queries, *others):
        asked.append(len(queries))
        return best_candidates(geometry, queries, *others)

    monkeypatch.setattr(rescoring, "best_candidates", counted)
    dataset = kg.Dataset.from_arrays(test=rng.integers(0, [N, 2, N], (30, 3)), n_entities=N, n_relations=2)
    model = kg.models.DistMult(rng.normal(size=(N, 4)), rng.normal(size=(2, 4)))
    result = kg.evaluate(model, dataset, progress=False)
    assert kept_rivals(result)[0]["row"].nunique() == 20
    assert asked == [20]


def test_rivals_of_an_embedding_model_that_changed():
    """No rivals, and the reason: other counts, or a vector with a NaN."""
    rng = np.random.default_rng(0)
    entities, relations = rng.normal(size=(N, 4)), rng.normal(size=(2, 4))
    dataset = kg.Dataset.from_arrays(test=rng.integers(0, [N, 2, N], (6, 3)), n_entities=N, n_relations=2)
    result = kg.evaluate(kg.models.DistMult(entities, relations), dataset, progress=False)
    relations *= -1.0
    rivals, reason = kept_rivals(result)
    assert (len(rivals), "Has the model changed since? Evaluate it again" in reason) == (0, True)
    entities[3, 1] = np.nan
    rivals, reason = kept_rivals(result)
    assert len(rivals) == 0
    assert reason.startswith("no rivals of the worst and best ranks are kept: ")


def test_rounding_of_a_batch_is_no_change():
    """A scorer that rounds otherwise in a batch is explained as it answers now; one that moved is refused."""
    dataset, _ = graph(5)
    n = len(dataset.entities)
    base = np.random.default_rng(1).integers(1, 6, (n, 2, n)).astype(float)
    state = {"factor": 1.0}

    def score(s, p, o):
        noise = 1e-9 * (o % 3) if len(s) <= n else 0.0  # ties of a batch are broken when a query is alone
        return state["factor"] * base[s, p, o] + noise

    result = kg.evaluate(score, dataset, progress=False)
    for s, p, o in dataset["test"].array.tolist():
        assert (result.explain(s, p, o)["stands"] == "answer").sum() == 1
    state["factor"] = -1.0
    with pytest.raises(kg.ScoreError, match="Has the model changed since"):
        result.explain(
            *dataset["test"].array[int(np.argmax(result.table["better_raw"][: len(dataset["test"])]))].tolist()
        )


def test_saving_outlives_a_model_that_changed(tmp_path):
    """The counts are saved; rivals are not, and the file says why."""
    dataset, _ = graph(2)
    weights = np.random.default_rng(0).normal(size=(len(dataset.entities), len(dataset.entities)))
    result = kg.evaluate(lambda s, p, o: weights[s, o], dataset, progress=False)
    weights *= -1.0
    result.save(tmp_path / "run.kgeval")
    again = kg.load_result(tmp_path / "run.kgeval")
    assert again["mrr"] == result["mrr"]
    assert len(kept_rivals(again)[0]) == 0
    assert again.notes[-1].startswith("no rivals of the worst and best ranks are kept: (")


@pytest.mark.parametrize("limit", [-1, 1.5, True])
def test_a_limit_is_a_count(limit):
    dataset, score = graph(1)
    s, p, o = dataset["test"].array[0].tolist()
    with pytest.raises(kg.DataError, match="limit must be an integer of at least 0, or None"):
        kg.evaluate(score, dataset, progress=False).explain(s, p, o, limit=limit)


def test_ids_are_integers():
    dataset, score = graph(1)
    with pytest.raises(kg.DataError, match=r"expected the entity as a label or an id in 0 \.\. \d+; got 0\.7"):
        kg.evaluate(score, dataset, progress=False).explain(0.7, 0, 0)


def test_a_rounded_model_is_another_model():
    """Scores rounded to whole numbers tie where they did not: other counts, which rounding errors do not explain."""
    dataset, _ = graph(6)
    n = len(dataset.entities)
    weights = np.random.default_rng(0).normal(size=(n, n)) * 3
    state = {}

    def score(s, p, o):
        return state["how"](weights[s, o])

    for then, now in ((np.array, np.round), (np.round, np.array)):
        state["how"] = then
        result = kg.evaluate(score, dataset, progress=False)
        state["how"] = now
        refused = 0
        rows = zip(
            dataset["test"].array.tolist(), result.table["better_raw"][result.table["side"] == "object"].tolist()
        )
        for (s, p, o), better in rows:
            new, old = (int((how(weights[s]) > how(weights[s, o])).sum()) for how in (now, then))
            assert better == old
            if new != old and abs(np.round(weights[s, o]) - weights[s, o]) > 0.01:
                refused += 1
                with pytest.raises(kg.ScoreError, match="Has the model changed since"):
                    result.explain(s, p, o)
        assert refused >= 3


def test_exact_sources_have_no_slack():
    """A model of kgeval.models is exact: even a difference within rounding is another model."""
    rng = np.random.default_rng(0)
    entities, relations = rng.normal(size=(N, 4)), rng.normal(size=(2, 4))
    dataset = kg.Dataset.from_arrays(test=rng.integers(0, [N, 2, N], (6, 3)), n_entities=N, n_relations=2)
    entities[:] = np.round(entities)
    relations[:] = np.round(relations)
    result = kg.evaluate(kg.models.TransE(entities, relations, norm=1), dataset, progress=False)
    tied = result.table[result.table["tied_raw"] > 0].iloc[0]
    entities += 1e-9 * rng.normal(size=entities.shape)
    with pytest.raises(kg.ScoreError, match="Has the model changed since"):
        result.explain(*(int(tied[name]) for name in "spo"), tied["side"])


def test_the_answer_is_always_shown():
    """At most 0 above and beside it; it never counts against itself, also where nothing is filtered."""
    dataset, score = graph(1)
    result = kg.evaluate(score, dataset, kg.Protocol(filter=()), progress=False)
    s, p, o = dataset["test"].array[0].tolist()
    frame = result.explain(s, p, o, limit=0)
    assert (frame["stands"].tolist(), frame["counts"].tolist()) == (["answer"], [False])


def test_of_equal_ranks_the_one_among_more_candidates_is_better():
    """All first: the one with 5 rivals is the best, that with 2 the worst."""
    rivals = [5, 3, 4, 2]
    table = pd.DataFrame({"score": [1.0] * 4, "rivals_filtered": rivals, "better_filtered": 0, "tied_filtered": 0})
    assert extreme_rows(RankTable(table, kg.Protocol()), 1).tolist() == [3, 0]


def test_scores_that_rounding_explains():
    """Scores 1, 5, 3, 3: above the third stood 1, beside it 1; 2 above it would need more than is there."""
    scores = np.array([1.0, 5.0, 3.0, 3.0])
    assert could_have_stood(scores, 2, 3.0, (2, 0))
    assert could_have_stood(scores, 2, 3.0, (1, 1))
    assert not could_have_stood(scores, 2, 3.0, (3, 0))
    assert not could_have_stood(scores, 2, 3.0, (0, 1))
    assert not could_have_stood(scores, 2, 3.1, (1, 1))


def test_a_loaded_result_explains_what_it_keeps(tmp_path):
    """H32: by the rivals in the file; the counts of all candidates are those of the rank."""
    dataset, score = graph(3)
    result = kg.evaluate(score, dataset, progress=False)
    result.save(tmp_path / "run.kgeval")
    loaded = kg.load_result(tmp_path / "run.kgeval")
    kept, _ = kept_rivals(loaded)
    explained = 0
    for row in range(len(result.table)):
        s, p, o, side = result.table.loc[row, ["s", "p", "o", "side"]]
        if row not in set(kept["row"]):
            with pytest.raises(kg.DataError, match=f"the best rivals of {kept['row'].nunique()} rows only: those with"):
                loaded.explain(s, p, o, side)
            continue
        frame, whole = loaded.explain(s, p, o, side), result.explain(s, p, o, side)
        rivals = set(kept[kept["row"] == row]["entity"])
        wanted = whole[whole["id"].isin(rivals) | (whole["stands"] == "answer")]
        assert frame[:-1].values.tolist() == wanted[:-1].values.tolist()
        columns = ["candidate", "id", "score", "stands", "counts"]
        assert frame.loc[len(frame) - 1, columns].tolist() == whole.loc[len(whole) - 1, columns].tolist()
        left = len(whole) - len(frame)
        assert frame.attrs == whole.attrs | {"n_not_kept": left}
        short = loaded.explain(s, p, o, side, limit=1)
        assert short["stands"].value_counts().to_dict() == {
            stands: min(n, 1) for stands, n in frame["stands"].value_counts().items()
        }
        explained += len(frame) > 1
    assert explained > 5
    result.save(tmp_path / "bare.kgeval", details=False)
    with pytest.raises(kg.DataError, match="it was loaded from a file without rivals"):
        kg.load_result(tmp_path / "bare.kgeval").explain(*dataset["test"].array[0].tolist())
