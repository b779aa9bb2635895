"""Baselines set beside a model: three outcomes, in words and in the facts of the result."""

import numpy as np
import pytest

import kgeval as kg
from kgeval.comparison.beside import with_baselines

N = 120


def ring(noise, seed):
    """A scorer of a ring that knows the next entity up to a random error in some of the queries."""
    rng = np.random.default_rng(seed)
    shift = np.where(rng.random(N) < noise, rng.integers(2, N, size=N), 1)
    return lambda s, p, o: -((o - s - shift[s]) % N)


@pytest.fixture(scope="module")
def results():
    """Results of scorers that are right in all, in about 70%, in about 68% (others) and in 10% of the queries."""
    dataset = kg.Dataset.from_arrays(test=[[i, 0, (i + 1) % N] for i in range(N)], n_entities=N, n_relations=1)
    protocol = kg.Protocol(sides="object")
    noises = {"all": (0, 0), "some": (0.3, 1), "others": (0.32, 2), "few": (0.9, 3)}
    return {name: kg.evaluate(ring(*noise), dataset, protocol, progress=False) for name, noise in noises.items()}


def test_three_outcomes(results):
    """Beaten, better, and neither: what is not beaten comes first; the numbers are those of the comparison."""
    baselines = {name: results[name] for name in ("few", "all", "others")}
    found = with_baselines(results["some"], baselines)
    notes = [note for note in found.notes if "baseline" in note]
    assert [note.partition(":")[0] for note in notes] == [
        "baseline all is better than the model",
        "the model does not surely beat baseline others",
        "the model beats baseline few",
    ]
    for name, baseline in baselines.items():
        row = kg.compare([results["some"], baseline], names=["model", name], metrics="mrr").differences.iloc[0]
        sign = 1 if row["first"] == "model" else -1
        facts = found.facts["baselines"][name]
        assert facts["mrr"] == baseline["mrr"]
        assert facts["difference"] == pytest.approx(results["some"]["mrr"] - baseline["mrr"], abs=1e-12)
        assert sorted((sign * row["low"], sign * row["high"])) == pytest.approx([facts["low"], facts["high"]])
        assert facts["beaten"] is (row["better"] == "model")
    assert {name: facts["beaten"] for name, facts in found.facts["baselines"].items()} == {
        "few": True,
        "all": False,
        "others": False,
    }


def test_the_numbers_stand_in_the_sentence(results):
    """The value of the better one comes first, then model - baseline with interval and p."""
    (note,) = with_baselines(results["some"], {"all": results["all"]}).notes[-1:]
    mrr = results["some"]["mrr"]
    assert note.startswith(
        f"baseline all is better than the model: MRR 1.0000 against {mrr:.4f}, model - baseline -{1 - mrr:.4f} [-"
    )
    assert note.endswith("], p < 0.0001")


def test_equal_ranks_are_not_beaten(results):
    """A model is not better than itself; there is no test then, and the facts can be saved."""
    found = with_baselines(results["some"], {"same": results["some"]})
    assert found.notes[-1].startswith("the model does not surely beat baseline same: MRR ")
    assert found.facts["baselines"]["same"]["difference"] == 0.0
    assert found.facts["baselines"]["same"]["beaten"] is False


def test_notes_are_kept_in_the_file(results, tmp_path):
    """A saved result still says it."""
    found = with_baselines(results["some"], {"all": results["all"]})
    found.save(tmp_path / "run.kgeval")
    loaded = kg.load_result(tmp_path / "run.kgeval")
    assert loaded.notes == found.notes
    assert loaded.facts["baselines"] == found.facts["baselines"]


def test_another_protocol_is_refused(results):
    """The baseline must be ranked under the protocol of the model."""
    dataset = kg.Dataset.from_arrays(test=[[i, 0, (i + 1) % N] for i in range(N)], n_entities=N, n_relations=1)
    both = kg.evaluate(ring(0.3, 1), dataset, progress=False)
    with pytest.raises(kg.ProtocolError, match="sides"):
        with_baselines(results["some"], {"both": both})
