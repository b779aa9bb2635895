"""The conventions of the tools, one entry each. Each rule was read in the named source; tests repeat it in a loop."""

from __future__ import annotations

from kgeval.base.checks import check_one_of
from kgeval.other_tools.convention import Convention

_HITS = {f"hits@{k}": f"hits@{k}" for k in (1, 3, 10)}
_OBJECT_ONLY = (
    "wd-singer",
    "wdsinger",
    "nell23k",
    *(f"fb15k{x}237{y}{n}" for x in ("", "-") for y in "-_" for n in (10, 20, 50)),
)

_ALL = (
    Convention(
        "pykeen",
        "PyKEEN",
        "pykeen/pykeen 1.11.1: pykeen/evaluation/ranks.py, lines 168-175",
        "realistic",
        {
            "both.realistic.arithmetic_mean_rank": "mr",
            "both.realistic.inverse_harmonic_mean_rank": "mrr",
            **{f"both.realistic.hits_at_{k}": f"hits@{k}" for k in (1, 3, 5, 10)},
            "both.realistic.adjusted_arithmetic_mean_rank_index": "amri",
        },
        unseen="drop",
    ),
    Convention(
        "libkge",
        "LibKGE",
        "uma-pi1/kge 04d0fba: kge/job/eval_entity_ranking.py, _get_ranks_and_num_ties and _get_ranks",
        "up",
        {
            "mean_rank_filtered": "mr",
            "mean_reciprocal_rank_filtered": "mrr",
            **{f"hits_at_{k}_filtered": f"hits@{k}" for k in (1, 3, 10)},
        },
        caution="scores closer than a tolerance tie there; the numbers here are those of equal scores",
        needs_scores=True,
    ),
    Convention(
        "openke",
        "OpenKE",
        "thunlp/OpenKE 3b7f0b1: openke/base/Test.h, lines 74-86 (testHead; testTail is alike)",
        "optimistic",
        {"MRR": "mrr", "MR": "mr", "hit@10": "hits@10", "hit@3": "hits@3", "hit@1": "hits@1"},
        form=".6f",
    ),
    Convention(
        "torchkge",
        "TorchKGE",
        "torchkge-team/torchkge 0.17.7: torchkge/utils/operations.py, lines 56-61; utils/modeling.py, lines 91-102",
        "pessimistic",
        {"Hit@10": "hits@10", "Mean Rank": "mr", "MRR": "mrr"},
        form=".3f",
    ),
    Convention(
        "ultra",
        "ULTRA",
        "DeepGraphLearning/ULTRA 68433c1: ultra/tasks.py, compute_ranking; script/run.py, test; ultra/datasets.py",
        "pessimistic",
        {"mr": "mr", "mrr": "mrr", **_HITS, "hits@10_50": "hits@10_of_49"},
        form="g",
        grail="merged",
        object_only=_OBJECT_ONLY,
    ),
    Convention(
        "ogb",
        "OGB",
        "snap-stanford/ogb 1.3.6: ogb/linkproppred/evaluate.py, lines 245-263",
        "realistic",
        {"mrr_list": "mrr", **{f"hits@{k}_list": f"hits@{k}" for k in (1, 3, 10)}},
        is_listed=True,
        form=".4f",
    ),
    Convention(
        "tgb",
        "TGB",
        "shenyangHuang/TGB, py-tgb 2.3.0: tgb/linkproppred/evaluate.py, lines 107-115; tkg_negative_sampler.py, lines "
        "123-149; tkg_negative_generator.py, lines 197-221; tgb/utils/utils.py, lines 31-66 (inverse relations)",
        "realistic",
        {"mrr": "mrr", "hits@10": "hits@10"},
        is_listed=True,
        by_time=True,
        caution="that the lists are those of TGB is not checked",
    ),
    Convention(
        "dglke",
        "DGL-KE",
        "awslabs/dgl-ke 0.1.2: dglke/models/general_models.py, lines 453-465",
        "pessimistic",
        {"MRR": "mrr", "MR": "mr", "HITS@1": "hits@1", "HITS@3": "hits@3", "HITS@10": "hits@10"},
        caution="log-sigmoids of the scores in float32 tie there; the numbers here are those of equal scores",
        needs_scores=True,
    ),
    Convention(
        "ampligraph",
        "AmpliGraph",
        "Accenture/AmpliGraph 110bafc: ampligraph/latent_features/layers/scoring/AbstractScoringLayer.py, get_ranks; "
        'corrupt_side="s,o", ranking_strategy="worst"',
        "pessimistic",
        {"mrr_score": "mrr", "mr_score": "mr", **{f"hits_at_{k}": f"hits@{k}" for k in (1, 3, 10)}},
        caution="scores equal in int(1000 score) tie there; the numbers here are those of equal scores",
        needs_scores=True,
    ),
    Convention(
        "pyg",
        "PyTorch Geometric",
        "pyg-team/pytorch_geometric 2.8.1: torch_geometric/nn/kge/base.py, lines 115-136",
        "sort",
        {"mean_rank": "mr0", "mrr": "mrr", "hits_at_10": "hits@10"},
        sides=("object",),
        setting="raw",
    ),
    Convention(
        "nbfnet",
        "NBFNet (TorchDrug)",
        "DeepGraphLearning/NBFNet 6aa3402: nbfnet/task.py, evaluate, target; nbfnet/dataset.py, load_inductive_tsvs",
        "pessimistic",
        {"mr": "mr", "mrr": "mrr", **_HITS, "hits@10_50": "hits@10_of_50"},
        form="g",
        grail="inference",
    ),
    Convention(
        "kgt5",
        "KGT5",
        "uma-pi1/kgt5-context 6c4b4d7: kgt5_model.py, evaluate (the code of the authors of KGT5)",
        "down",
        {"mrr": "mrr", "h1": "hits@1", "h3": "hits@3", "h10": "hits@10"},
        caution="it ranks the answers that it sampled, and an answer that was not sampled has the rank |E|",
    ),
    Convention(
        "simkgc",
        "SimKGC",
        "intfloat/SimKGC 4a2dec9: evaluate.py, compute_metrics and predict_by_split",
        "sort",
        {"mean_rank": "mr", "mrr": "mrr", "hit@1": "hits@1", "hit@3": "hits@3", "hit@10": "hits@10"},
        form=".4f",
        rounds_sides=True,
        caution="it sets the scores of known answers to -1 instead of removing them",
    ),
)


class Conventions(dict[str, Convention]):
    """The conventions of other tools: a dict from the name of a tool to its `Convention`.

    Examples
    --------
    >>> import kgeval as kg
    >>> list(kg.conventions)[:5]
    ['pykeen', 'libkge', 'openke', 'torchkge', 'ultra']
    >>> print(kg.conventions["openke"])
    OpenKE: filtered, all entities, both sides; rank = 1 + rivals with a higher score
    """

    def __missing__(self, name: object) -> Convention:
        """Raise a ProtocolError that lists the names."""
        check_one_of("conventions[...]", name, self)
        raise KeyError(name)


conventions = Conventions({convention.name: convention for convention in _ALL})
