"""The recipes of the guide's page integrations: those that `tests/test_readme.py` writes to files but does not run."""

import importlib.util
import re
import runpy
import shutil
import sys
import types

import pytest

import kgeval as kg

NAMES_OF_MLFLOW = r"[A-Za-z0-9_\-. :/]+"


@pytest.fixture
def recipe(root, tmp_path, monkeypatch):
    """A function that writes a recipe to a file beside the data, and runs it."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(root / "data", "data")
    page = (root / "kgeval" / "guide" / "integrations.md").read_text(encoding="utf-8")

    def run(name):
        (content,) = re.findall(rf"^```python\n(# {name}\.py\n.*?)^```$", page, re.S | re.M)
        (tmp_path / f"{name}.py").write_text(content, encoding="utf-8")
        return runpy.run_path(str(tmp_path / f"{name}.py"))

    return run


@pytest.fixture(scope="module")
def result(root):
    dataset = kg.read_dataset(root / "data" / "countries")
    return kg.evaluate(
        kg.load_model(root / "data" / "countries" / "complex.npz", dataset), dataset, kg.Protocol(sample=30)
    )


def test_mlflow(recipe, result, tmp_path, monkeypatch):
    """With a stand-in that refuses names as MLflow does."""
    logged = {}

    def log_metrics(metrics):
        assert all(re.fullmatch(NAMES_OF_MLFLOW, name) for name in metrics)
        logged.update(metrics)

    mlflow = types.SimpleNamespace(
        log_metrics=log_metrics, log_params=logged.update, log_artifact=lambda path: logged.update(path=path)
    )
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    recipe("log_mlflow")["log"](result)
    assert logged["test/hits_at_10"] == result["hits@10"]
    assert logged["dataset"] == result.facts["dataset_fingerprint"]
    assert logged["protocol"] == result.protocol.fingerprint
    assert kg.load_result(tmp_path / logged["path"])["mrr"] == logged["test/mrr"] == result["mrr"]


def test_wandb(recipe, result, monkeypatch):
    """With a stand-in of tables: their columns and values are those of the result."""
    logged = {}
    monkeypatch.setitem(sys.modules, "wandb", types.SimpleNamespace(Table=lambda dataframe: dataframe))
    recipe("log_wandb")["log"](result, types.SimpleNamespace(log=logged.update))
    assert logged["test/mrr"] == result["mrr"]
    assert (
        logged["test/summary"].set_index(["setting", "side"]).loc[("raw", "object"), "mrr"] == result["raw.object.mrr"]
    )
    assert set(logged["test/relations"]["relation"]) == set(result.by("relation").index)


def stand_in_for_lightning(torch):
    """A module with what the recipe uses of Lightning: the hooks of one epoch on one process."""

    class LightningModule(torch.nn.Module):
        def log_dict(self, values):
            self.logged = values

    class Trainer:
        def __init__(self, max_epochs, **_):
            self.max_epochs = max_epochs

        def fit(self, model, train, valid):
            optimizer = model.configure_optimizers()
            for _ in range(self.max_epochs):
                for i, batch in enumerate(train):
                    optimizer.zero_grad()
                    model.training_step(batch, i).backward()
                    optimizer.step()
                with torch.no_grad():
                    for i, batch in enumerate(valid):
                        model.validation_step(batch, i)
                    model.on_validation_epoch_end()
            self.callback_metrics = model.logged

    return types.SimpleNamespace(LightningModule=LightningModule, Trainer=Trainer)


@pytest.mark.thorough
def test_lightning(recipe, monkeypatch):
    """The logged values are those of the object side of kgeval.evaluate, filtered by all splits.

    With Lightning where it is installed, else with a stand-in.
    """
    torch = pytest.importorskip("torch", reason="needs kgeval[torch]")
    pytest.importorskip("torchmetrics", reason="needs kgeval[torchmetrics]")
    if importlib.util.find_spec("lightning") is None:
        monkeypatch.setitem(sys.modules, "lightning", stand_in_for_lightning(torch))
    torch.manual_seed(0)
    names = recipe("lit_model")
    model, dataset = names["model"], names["dataset"]
    own = kg.models.DistMult(model.entities.weight.detach().numpy(), model.relations.weight.detach().numpy())
    expected = kg.evaluate(own, dataset, kg.Protocol(splits="valid", sides="object"))
    found = names["trainer"].callback_metrics
    assert found["mrr"].item() == pytest.approx(expected["mrr"], rel=1e-6)
    assert found["hits_at_10"].item() == pytest.approx(expected["hits@10"], rel=1e-6)


@pytest.mark.thorough
@pytest.mark.usefixtures("one_torch_thread")
def test_pykeen(recipe, tmp_path):
    """The pipeline and the search; the saved result is that of the test triples."""
    pytest.importorskip("pykeen", reason="needs kgeval[peers]")
    names = recipe("train")
    saved = kg.load_result(tmp_path / "transe.kgeval")
    assert saved.protocol.splits == ("test",)
    assert saved["mrr"] == pytest.approx(names["run"].metric_results.get_metric("mrr"), rel=1e-14)
    assert "usa" in saved.entities.labels
    assert names["run"].stopper.results
    search = recipe("search")["search"]
    assert search.study.best_value == max(trial.value for trial in search.study.trials)
