"""List metrics as scikit-learn, pytrec_eval, ir_measures and ranx compute them."""

import tempfile
import warnings
from contextlib import contextmanager

import pytest


def peer(module):
    """Another tool, or the reason why the test is skipped."""
    return pytest.importorskip(module, reason=f'{module} is not installed: pip install "kgeval[peers]"')


@contextmanager
def uncompiled_ranx():
    """The tool ranx without the compilation of its functions, which takes a minute and changes no number."""
    numba = peer("numba")
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(numba.config, "DISABLE_JIT", True)
        patch.setenv("IR_DATASETS_HOME", folder)  # a library that ranx imports makes folders at home
        yield peer("ranx")


TREC = {
    "map": "map(empty=zero)",
    **{f"map_cut_{k}": f"map(empty=zero)@{k}" for k in (1, 3, 5, 20)},
    "recip_rank": "rr",
    "Rprec": "rprec(empty=zero)",
    **{f"P_{k}": f"p@{k}" for k in (1, 2, 5, 10, 20)},
    **{f"recall_{k}": f"recall(empty=zero)@{k}" for k in (1, 3, 5, 20)},
    **{f"success_{k}": f"success@{k}" for k in (1, 2, 5)},
    "ndcg": "ndcg(empty=zero)",
    **{f"ndcg_cut_{k}": f"ndcg(empty=zero)@{k}" for k in (1, 3, 5, 20)},
    "set_P": "p",
    "set_recall": "recall(empty=zero)",
    "set_F": "f1",
    **{f"iprec_at_recall_{i / 10:.2f}": f"iprec(recall={i / 10},empty=zero)" for i in range(11)},
    "11pt_avg": "iap(empty=zero)",
}


ROUNDED = {"iprec_at_recall_0.70", "11pt_avg"}  # differ for 3 relevant items: see test_peers_ties.py


def trec(qrels, run, measures, **options):
    """What pytrec_eval says: {measure: {query: number}}."""
    answer = peer("pytrec_eval").RelevanceEvaluator(qrels, set(measures), **options).evaluate(run)
    return {name: {query: numbers[name] for query, numbers in answer.items()} for name in measures}


def per_query(qrels, run, measures, provider=None):
    """What ir_measures says, asked one measure at a time: {measure: {query: number}}."""
    ir_measures, found = peer("ir_measures"), {}
    for name in measures:
        asked = [ir_measures.parse_measure(name)]
        answers = (getattr(ir_measures, provider) if provider else ir_measures).iter_calc(asked, qrels, run)
        found[name] = {answer.query_id: answer.value for answer in answers}
    return found
