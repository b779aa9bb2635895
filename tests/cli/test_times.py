"""Times and qualifiers on the command line: the numbers of loops for real datasets, and a folder made here."""

import json

import pytest

import kgeval as kg
from kgeval.cli import main


def metrics(capsys, *arguments):
    """The metrics of each row, such as both or raw both, that the command prints as JSON."""
    assert main(["evaluate", *map(str, arguments), "--to", "json", "--no-progress"]) == 0, capsys.readouterr().err
    rows = json.loads(capsys.readouterr().out)["metrics"]
    return {row["rows"]: row for row in rows}


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")
def test_recency_on_yago_by_time_static_and_raw(shared, capsys):
    """The numbers of a loop of its own beside the data: MRR .8885, .9273 and .5910, from Python and from a command."""
    folder = shared / "data" / "formats" / "renet-yago"
    dataset = kg.read_dataset(folder)
    for key, wanted in (("time", 0.8885), ("none", 0.9273)):
        protocol = kg.Protocol(filter_by=() if key == "none" else key)
        result = kg.evaluate(kg.baselines.Recency(dataset), dataset, protocol, progress=False)
        found = metrics(capsys, folder, "--scorer", "recency", "--filter-by", key)
        for setting, values in (("filtered", (wanted, 0.9273)), ("raw", (0.5910, 0.8631))):
            row = found["both" if setting == "filtered" else "raw both"]
            assert row["n"] == len(result.table) == 40052
            for name, value in zip(("mrr", "hits@10"), values, strict=True):
                assert row[name] == result[f"{setting}.{name}"]
                assert round(result[f"{setting}.{name}"], 4) == value


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")
def test_frequency_on_wd50k_by_triples_and_by_qualifiers(shared, capsys):
    """MRR .1450 and .1164; the filter differs for 8,635 of 10,594 queries."""
    folder = shared / "data" / "formats" / "stare-wd50k_100"
    dataset, rivals = kg.read_dataset(folder), []
    for key, wanted in (("none", 0.1450), ("qualifiers", 0.1164)):
        protocol = kg.Protocol(filter_by=() if key == "none" else key)
        result = kg.evaluate(kg.baselines.Frequency(dataset), dataset, protocol, progress=False)
        rivals.append(result.table["rivals_filtered"].to_numpy())
        assert round(result["mrr"], 4) == wanted
        found = metrics(capsys, folder, "--scorer", "kgeval.baselines:Frequency", "--filter-by", key)
        assert found["both"]["mrr"] == result["mrr"]
    assert (int((rivals[0] != rivals[1]).sum()), len(rivals[0])) == (8635, 10594)
