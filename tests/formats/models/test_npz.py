"""Model files: rows matched to a dataset by label, faulty files refused, PyKEEN's folders with their own numbers."""

import io
import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from grids import light, thinned

import kgeval
from kgeval import DataError, Dataset, ProtocolError, ScoreError, load_model
from kgeval.formats.checkpoints.pykeen_tensors import quaternion_table
from kgeval.results.evaluation_result import header_lines
from kgeval.scorers.models import MODELS

pytestmark = pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")

ENTITIES, RELATIONS, D = ["delta", "alpha", "Zeta", "beta", "eta", "gamma", "\u00e9psilon"], ["r2", "r10", "R"], 4
E_TABLES, R_TABLES = {"entities", "subjects", "objects"}, {"relations", "relations_inverse"}
PARTS = {
    **dict.fromkeys(MODELS, ("entities", "relations")),
    "cp": ("subjects", "objects", "relations"),
    "simple": ("subjects", "objects", "relations", "relations_inverse"),
    "tucker": ("entities", "relations", "core"),
}
WIDTH = {("rescal", "relations"): (D, D), ("tucker", "relations"): (3,), ("rotate", "relations"): (D // 2,)}
SAID = {  # what changes the scores, and a file must say
    **{kind: {} for kind in MODELS},
    "transe": {"norm": 1, "normalise": "none"},
    "rotate": {"norm": 1, "layout": "halves", "phase_unit": 1.0},
    "complex": {"layout": "halves"},
    "quate": {"layout": "halves"},
}
TRANSE = {"model": "transe", **SAID["transe"]}
UNSEEN_E, UNSEEN_R = 5, 2  # gamma and R occur in test only


@pytest.fixture(scope="module")
def dataset():
    """Labels not in sorted order; the entity gamma and the relation R occur in the last triple of test only."""
    rng = np.random.default_rng(2)
    seen = [e for e in range(len(ENTITIES)) if e != UNSEEN_E]
    train = np.stack([rng.permutation(seen * 2), rng.permutation([0, 1] * 6), rng.permutation(seen * 2)], axis=1)
    test = [[0, 0, 1], [2, 1, 4], [3, 0, 3], [6, 1, 0], [1, 0, 2], [UNSEEN_E, UNSEEN_R, 4]]
    return Dataset.from_arrays(train=train, test=test, entity_labels=ENTITIES, relation_labels=RELATIONS, name="seven")


def tables(kind, inverse=None, seed=0):
    """Random tables of a model, their rows in the order of the dataset's ids."""
    rng = np.random.default_rng(seed)
    n_rows = len(RELATIONS) * (2 if inverse else 1)
    rows = dict.fromkeys(E_TABLES, (len(ENTITIES),)) | dict.fromkeys(R_TABLES, (n_rows,)) | {"core": (D, 3)}
    return {name: rng.normal(size=rows[name] + WIDTH.get((kind, name), (D,))) for name in PARTS[kind]}


def relation_rows(order, inverse):
    """The rows that relations in this order have in a table of `len(RELATIONS)` relations and their inverses."""
    order = np.asarray(order)
    if inverse == "after":
        return np.concatenate([order, order + len(RELATIONS)])
    return order if inverse is None else np.stack([2 * order, 2 * order + 1], axis=1).ravel()


def reordered(values, entities, relations, inverse):
    """The same tables with these entities and relations only, in this order, and their labels."""
    rows = dict.fromkeys(E_TABLES, entities) | dict.fromkeys(R_TABLES, relation_rows(relations, inverse))
    picked = {name: table[rows[name]] if name in rows else table for name, table in values.items()}
    labels = {"entity_labels": [ENTITIES[i] for i in entities], "relation_labels": [RELATIONS[i] for i in relations]}
    return picked | labels


def saved(folder, name="model.npz", **arrays):
    np.savez(folder / name, **{key: value for key, value in arrays.items() if value is not None})
    return folder / name


def ranks(model, dataset, **protocol):
    protocol = kgeval.Protocol(**protocol) if protocol else None
    return kgeval.evaluate(model, dataset, protocol, progress=False).table


def failure(path, dataset, **settings):
    """What load_model says, without the name of the file."""
    with pytest.raises(DataError) as caught:
        load_model(path, dataset, **settings)
    return str(caught.value).removeprefix(f"{path}: ")


@pytest.mark.parametrize("inverse", light([None, "after", "alternating"], 1))
@pytest.mark.parametrize("kind", light(MODELS, 2))
def test_rows_are_matched_by_label(dataset, tmp_path, kind, inverse):
    """Rows in another order, with rows for labels that the dataset lacks, are the model in the order of the ids."""
    values, rng = tables(kind, inverse), np.random.default_rng(9)
    expected = ranks(MODELS[kind](**values, inverse_relations=inverse), dataset)
    file = reordered(values, rng.permutation(7), rng.permutation(3), inverse)
    same = load_model(saved(tmp_path, model=kind, **SAID[kind], inverse_relations=inverse, **file), dataset)
    assert type(same) is MODELS[kind]
    assert ranks(same, dataset).equals(expected)
    assert len(same.missing_entities) == len(same.missing_relations) == 0

    where = {"entities": 2, "relations": 1}  # a stranger's row before row 2, and a strange relation before relation 1
    for name in set(file) & E_TABLES:
        file[name] = np.insert(file[name], where["entities"], 7.0, axis=0)
    for name in set(file) & R_TABLES:
        at = {None: [1], "after": [1, 4], "alternating": [2, 2]}[inverse]
        file[name] = np.insert(file[name], at, 7.0, axis=0)
    file["entity_labels"] = np.insert(np.array(file["entity_labels"]), 2, "nobody")
    file["relation_labels"] = np.insert(np.array(file["relation_labels"]), 1, "no")
    more = load_model(saved(tmp_path, model=kind, **SAID[kind], inverse_relations=inverse, **file), dataset)
    assert ranks(more, dataset).equals(expected)


@pytest.mark.parametrize("inverse", light([None, "after", "alternating"], 1))
@pytest.mark.parametrize("kind", light(MODELS, 2))
def test_rows_that_the_file_lacks(dataset, tmp_path, kind, inverse):
    """Without rows for what train lacks the model says so, and by default its triples are dropped."""
    values, rng = tables(kind, inverse, seed=3), np.random.default_rng(4)
    file = reordered(values, rng.permutation(np.delete(np.arange(7), UNSEEN_E)), [1, 0], inverse)
    model = load_model(saved(tmp_path, model=kind, **SAID[kind], inverse_relations=inverse, **file), dataset)
    assert (model.missing_entities.tolist(), model.missing_relations.tolist()) == ([UNSEEN_E], [UNSEEN_R])
    assert np.isnan(model.score([UNSEEN_E, 0], [0, UNSEEN_R], [1, 1])).all()  # never a number, should it be asked
    result = kgeval.evaluate(model, dataset, progress=False)
    assert (result.protocol.unseen, sum(result.dropped.values()), result.facts["n_read"]) == ("drop", 2, 12)
    direct = MODELS[kind](**values, inverse_relations=inverse)
    for policy in ("drop", "worst"):
        assert ranks(model, dataset, unseen=policy).equals(ranks(direct, dataset, unseen=policy))
    with pytest.raises(ProtocolError, match="none for 1 entity that does not occur in train, first 'gamma'"):
        ranks(model, dataset, unseen="rank")


def test_a_file_that_lacks_what_train_has_is_refused_when_evaluated(dataset, tmp_path):
    file = reordered(tables("transe"), [0, 2, 3, 4, 5, 6], [0, 1, 2], None)
    model = load_model(saved(tmp_path, **TRANSE, **file), dataset)
    assert model.missing_entities.tolist() == [1]
    with pytest.raises(ScoreError, match=r"^the model has no vector for 1 entity .* \(such as 'alpha'\)"):
        ranks(model, dataset)
    file = reordered(tables("transe"), range(7), [0, 2], None)
    model = load_model(saved(tmp_path, **TRANSE, **file), dataset)
    with pytest.raises(ScoreError, match=r"^the model has no vector for 1 relation .* \(such as 'r10'\)"):
        ranks(model, dataset)


@pytest.mark.parametrize("inverse", [None, "after", "alternating"])
@pytest.mark.light(2)
def test_rows_without_labels_are_the_ids_in_order(dataset, tmp_path, inverse):
    """Of all entities, or of those that train names if there are just so many rows; the same for relations."""
    values = tables("distmult", inverse)
    direct = MODELS["distmult"](**values, inverse_relations=inverse)
    whole = load_model(saved(tmp_path, model="distmult", inverse_relations=inverse, **values), dataset)
    assert whole.inverse_relations == inverse
    assert all_scores(whole).expected == all_scores(direct)
    seen, relations = np.delete(np.arange(7), UNSEEN_E), [0, 1]
    file = reordered(values, seen, relations, inverse)
    arrays = {"entities": file["entities"], "relations": file["relations"], "inverse_relations": inverse}
    part = load_model(saved(tmp_path, model="distmult", **arrays), dataset)
    note = "the model file has no entity_labels: its rows were read as the entities that occur in train, in id order"
    result = kgeval.evaluate(part, dataset, progress=False)
    assert note in result.notes
    assert (part.missing_entities.tolist(), part.missing_relations.tolist()) == ([UNSEEN_E], [UNSEEN_R])
    assert result.table.equals(ranks(direct, dataset, unseen="drop"))


def test_other_numbers_of_rows_need_labels(dataset, tmp_path):
    ones = np.ones((9, D))
    path = saved(tmp_path, **TRANSE, entities=ones[:5], relations=ones[:3])
    said = "has rows for 5 entities; dataset 'seven' has 7 (6 in train). Add entity_labels to the file to match rows "
    assert failure(path, dataset) == said + "by label"
    path = saved(tmp_path, **TRANSE, entities=ones[:7], relations=ones[:4], relation_labels=["r2", "R", "x", "R"])
    assert failure(path, dataset) == "relation_labels must be 4 distinct strings, one per row of relations"
    path = saved(tmp_path, **TRANSE, entities=ones[:7], relations=ones[:8], inverse_relations="after")
    assert failure(path, dataset).startswith("has rows for 4 relations; dataset 'seven' has 3 (2 in train). ")


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["a", "b", "c"], "none of its 3 entities (such as 'a') is in dataset 'seven'"),
        (["alpha", "beta"], "entities has 3 rows, but entity_labels has 2 labels; expected one label per row"),
        (["alpha", "beta", "beta"], "entity_labels must be 3 distinct strings, one per row of entities"),
        ([1, 2, 3], "entity_labels must be 3 distinct strings, one per row of entities"),
        ("alpha", "entity_labels must be 3 distinct strings, one per row of entities"),
        ([["alpha", "beta"]] * 3, "entity_labels must be 3 distinct strings, one per row of entities"),
    ],
)
@pytest.mark.light(3)
def test_faulty_labels(dataset, tmp_path, labels, said):
    path = saved(tmp_path, **TRANSE, entities=np.ones((3, D)), relations=np.ones((3, D)), entity_labels=labels)
    assert failure(path, dataset) == said


KINDS = "transe, rotate, distmult, complex, cp, simple, hole, quate, rescal, tucker"
MOVED = {"entity_labels": ENTITIES[::-1], "relation_labels": RELATIONS[::-1]}
LISTED = ", ".join(repr(kind) for kind in KINDS.split(", "))


@pytest.mark.parametrize(
    ("change", "settings", "said"),
    [
        ({"model": None}, {}, f"does not name its model; set model= (--model-type) to one of {KINDS}"),
        ({"model": "transee"}, {}, f"model must be one of {LISTED}; got 'transee'; did you mean 'transe'?"),
        (
            {"model": None},
            {"model": "compelx"},
            f"model must be one of {LISTED}; got 'compelx'; did you mean 'complex'?",
        ),
        ({"relations": None}, {}, "TransE needs relations; the file contains model, norm, normalise, entities"),
        ({"model": None}, {"model": "tucker"}, "TuckER needs core; the file contains norm, normalise, entities, "),
        ({"model": "cp"}, {}, "CP needs subjects, objects; the file contains model, norm, normalise"),
        (
            {},
            {"nrom": 1},
            "TransE has no setting 'nrom'; it has entities, relations, norm, inverse_relations, normalise",
        ),
        ({}, {"layout": "halves"}, "TransE has no setting 'layout'; it has entities, relations, norm, "),
        ({"norm": 3}, {}, "norm must be 1 or 2; got 3"),
        ({"norm": [1, 2]}, {}, "norm must be 1 or 2; got "),
        ({}, {"norm": "1"}, "norm must be 1 or 2; got '1'"),
        ({"inverse_relations": "before"}, {}, "inverse_relations must be one of 'after', 'alternating'; got 'before'"),
        (
            dict.fromkeys(TRANSE),
            {"model": "complex", "layout": "half"},
            "layout must be one of 'halves', 'interleaved'; got 'half'; did",
        ),
        ({"entities": np.ones((7, D)) * 1j}, {}, "entities must be a real numeric array; got dtype complex128"),
        ({"entities": np.ones((7, D), bool)}, {}, "entities must be a real numeric array; got dtype bool"),
        (MOVED | {"entities": np.ones((7, D), bool)}, {}, "entities must be a real numeric array; got dtype bool"),
        (MOVED | {"relations": np.ones((3, D), "M8[s]")}, {}, "relations must be a real numeric array; got dtype date"),
        ({"entities": np.ones((7, D + 1))}, {}, "entities and relations must have the same number of columns; got "),
        ({"entities": np.ones(7)}, {}, "entities must be a table, one row per id; got shape (7,)"),
        ({"entities": 1.0}, {}, "entities must be a table, one row per id; got shape ()"),
        ({"relations": 1.0}, {}, "relations must be a table, one row per id; got shape ()"),
    ],
)
@pytest.mark.light(11)
def test_faulty_settings_and_tables(dataset, tmp_path, change, settings, said):
    content = {**TRANSE, "entities": np.ones((7, D)), "relations": np.ones((3, D))} | change
    assert failure(saved(tmp_path, **content), dataset, **settings).startswith(said)


def test_settings_complete_and_overrule_the_file(dataset, tmp_path):
    """What the call says counts, noted where the file says otherwise; the same again, or None, changes nothing."""
    values = tables("transe")
    file = reordered(values, [3, 1, 0, 2, 6, 5, 4], [2, 0, 1], None)
    file["normalise"] = "none"
    bare, full = saved(tmp_path, "bare.npz", **file), saved(tmp_path, "full.npz", model="TransE", norm=2, **file)
    plain = {"model": "complex", "layout": "interleaved"}
    l1, l2 = MODELS["transe"](**values, norm=1), MODELS["transe"](**values, norm=2)
    paired = MODELS["complex"](**values, layout="interleaved")
    expected = {id(direct): ranks(direct, dataset) for direct in (l1, l2, paired)}
    for path, settings, direct, notes in (
        (bare, {"model": "transe", "norm": 1}, l1, ()),
        (bare, {"model": "TransE", "norm": 2}, l2, ()),
        (
            bare,
            {**plain, "ignore": "normalise"},
            paired,
            ("arrays of the model file that were left out (ignore=): normalise",),
        ),
        (str(full), {}, l2, ()),
        (full, {"norm": None, "model": None}, l2, ()),
        (full, {"norm": 2, "model": "transe"}, l2, ()),
        (full, {"norm": 1}, l1, ("the model file says norm='2'; the setting norm=1 replaced this",)),
        (
            full,
            {**plain, "ignore": ["norm", "normalise"]},
            paired,
            (
                "arrays of the model file that were left out (ignore=): norm, normalise",
                "the model file says model='TransE'; the setting model='complex' replaced this",
            ),
        ),
    ):
        result = kgeval.evaluate(load_model(path, dataset, **settings), dataset, progress=False)
        assert result.table.equals(expected[id(direct)])
        assert tuple(n for n in result.notes if "model file" in n) == notes


@pytest.mark.parametrize(
    ("kind", "dtype"), [("distmult", "int8"), ("distmult", "float16"), ("complex", "float32"), ("complex", "complex64")]
)
@pytest.mark.light(2)
def test_number_types(dataset, tmp_path, kind, dtype):
    """Small integers, half and single precision and complex numbers stay the same numbers when rows are moved."""
    values = {name: np.round(4 * table) for name, table in tables(kind).items()}
    direct = MODELS[kind](**values)
    if dtype == "complex64":
        values = {name: table[:, : D // 2] + 1j * table[:, D // 2 :] for name, table in values.items()}
    file = reordered({name: table.astype(dtype) for name, table in values.items()}, [3, 1, 0, 2, 6, 4], [1, 0], None)
    model = load_model(saved(tmp_path, model=kind, **SAID[kind], **file), dataset)
    assert ranks(model, dataset).equals(ranks(direct, dataset, unseen="drop"))


def all_scores(model):
    """The scores of all triples."""
    s, p, o = (ids.ravel() for ids in np.meshgrid(range(7), range(3), range(7)))
    return pytest.approx(model.score(s, p, o), rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "lacks", "said"),
    [
        ("transe", "norm", "norm, which changes the scores of TransE; set norm=1 or norm=2 (--norm)"),
        (
            "transe",
            "normalise",
            "normalise, which changes the scores of TransE; set normalise='none', or 'entities-l1', 'entities-l2', "
            "'all-l2' if the model divides vectors by their norms when it scores (--normalise)",
        ),
        (
            "rotate",
            "phase_unit",
            "phase_unit, which changes the scores of RotatE; set phase_unit=1 for phases in radians, or the number "
            "of radians in a phase of 1; for the code of RotatE's paper this is pi * hidden_dim / (gamma + 2) "
            "(--phase-unit)",
        ),
        *(
            (
                kind,
                "layout",
                f"layout, which changes the scores of {name}; set layout='halves' or layout='interleaved' (--layout)",
            )
            for kind, name in (("complex", "ComplEx"), ("quate", "QuatE"), ("rotate", "RotatE"))
        ),
    ],
)
def test_what_changes_the_scores_must_be_said(dataset, tmp_path, kind, lacks, said):
    """S7, S8, S10: left at its default, each of these gave another number without a word."""
    file = {"model": kind, **SAID[kind], **tables(kind)}
    assert load_model(saved(tmp_path, **file), dataset).n_entities == 7
    value = file.pop(lacks)
    path = saved(tmp_path, **file)
    assert failure(path, dataset) == f"does not say {said}"
    assert load_model(path, dataset, **{lacks: value}).n_entities == 7


def test_phases_in_another_unit(dataset, tmp_path):
    """S7: a phase of 1 stands for 2.5 radians."""
    values = tables("rotate")
    file = {"model": "rotate", **SAID["rotate"], **values, "phase_unit": 2.5}
    found = all_scores(load_model(saved(tmp_path, **file), dataset)).expected
    assert found == all_scores(MODELS["rotate"](values["entities"], 2.5 * values["relations"]))
    assert found != all_scores(MODELS["rotate"](**values))


def test_weights_that_are_normalised_when_they_are_scored(dataset, tmp_path):
    """S10: PyG divides entities by the norm of the distance, OpenKE entities and relations by their L2 norms."""
    values = tables("transe")
    e, r = values["entities"], values["relations"]
    l1, l2 = (e / np.linalg.norm(e, ord=n, axis=1, keepdims=True) for n in (1, 2))
    for normalise, norm, direct in (
        ("entities-l1", 1, (l1, r)),
        ("entities-l2", 2, (l2, r)),
        ("all-l2", 1, (l2, r / np.linalg.norm(r, axis=1, keepdims=True))),
    ):
        path = saved(tmp_path, model="transe", norm=norm, normalise=normalise, **values)
        found = all_scores(load_model(path, dataset)).expected
        assert found == all_scores(MODELS["transe"](*direct, norm=norm))
        assert found != all_scores(MODELS["transe"](e, r, norm=norm))


def batch_norms(prefixes, seed=5):
    """Tensors of two batch normalisations under these names."""
    rng, parts = np.random.default_rng(seed), ("weight", "bias", "running_mean", "running_var")
    values = {f"{prefix}.{part}": rng.uniform(0.5, 2, D) for prefix in prefixes for part in parts}
    return values | {f"{prefix}.num_batches_tracked": 7 for prefix in prefixes}


def test_batch_normalisation(dataset, tmp_path):
    """S11: under the names of PyKEEN before and since 1.11, the same model; S8: its epsilon must be said."""
    old, new = ("bn_0", "bn_1"), ("interaction.head_batch_norm", "interaction.head_relation_batch_norm")
    values = tables("tucker")
    norms = [
        kgeval.models.BatchNorm(*list(batch_norms([prefix], 5 + i).values())[:4], eps=0.1)
        for i, prefix in enumerate(old)
    ]
    direct = MODELS["tucker"](**values, subject_norm=norms[0], product_norm=norms[1])
    for names in (old, new):
        file = {"model": "tucker", **values, **batch_norms(names[:1], 5), **batch_norms(names[1:], 6)}
        in_file = load_model(saved(tmp_path, **file, batch_norm_eps=0.1), dataset)
        assert all_scores(in_file).expected == all_scores(direct)
        path = saved(tmp_path, **file)
        assert failure(path, dataset) == (
            "does not say batch_norm_eps, which changes the scores of TuckER; set batch_norm_eps=1e-5 (the default of "
            "torch), or another number that was added to the variances (--batch-norm-eps)"
        )
        assert all_scores(load_model(path, dataset, batch_norm_eps=0.1)).expected == all_scores(direct)
    path = saved(tmp_path, model="tucker", **values, batch_norm_eps=0.1)
    assert failure(path, dataset) == (
        "the model has batch normalisation (batch_norm_eps=0.1), but the file lacks its tensors, such as bn_0.weight, "
        "bn_1.weight; it contains model, entities, relations, core, batch_norm_eps"
    )


def test_arrays_that_the_model_does_not_use(dataset, tmp_path):
    """S15: a bias that was ignored; S11: tensors under names that nobody knows."""
    values = {"model": "distmult", **tables("distmult")}
    path = saved(tmp_path, **values, bias=np.ones(7), layout="halves")
    assert failure(path, dataset) == (
        "DistMult has no use for bias, layout; it has entities, relations, inverse_relations. If the unused arrays "
        "do not change the scores, set ignore='bias,layout' (--ignore)"
    )
    model = load_model(path, dataset, ignore="bias, layout")
    assert ranks(model, dataset).equals(ranks(MODELS["distmult"](**tables("distmult")), dataset))
    assert "arrays of the model file that were left out (ignore=): bias, layout" in model.notes
    assert failure(path, dataset, ignore="bais") == (
        "ignore= names 'bais', but the file contains model, entities, relations, bias, layout"
    )
    path = saved(tmp_path, model="tucker", **tables("tucker"), **batch_norms(["norm_in"]))
    assert failure(path, dataset).startswith("TuckER has no use for norm_in.weight, norm_in.bias, norm_in.running_mean")
    path = saved(tmp_path, **values, entity=np.ones((7, D)))
    assert failure(path, dataset) == "'entity' is another name of 'entities', which the file contains too; keep one"


@pytest.mark.parametrize(("kind", "other"), [("entity", "relation"), ("relation", "entity")])
def test_labels_of_one_kind_only(dataset, tmp_path, kind, other):
    """S9: the rows without labels have an order that nobody says, until the call or the file says that it is by id."""
    file = reordered(tables("distmult"), range(7), range(3), None) | {"model": "distmult"}
    labels = file.pop(f"{other}_labels")
    path, rows = saved(tmp_path, **file), {"entity": "entities", "relation": "relations"}[other]
    assert failure(path, dataset) == (
        f"has {kind}_labels, but no {other}_labels, so nothing says the order of the rows of {rows}. Add "
        f"{other}_labels to the file; or, if these rows are in the order of dataset.{rows}.labels, set "
        f"{other}_labels='ids' (--{other}-labels ids)"
    )
    direct = all_scores(MODELS["distmult"](**tables("distmult")))
    for said in ("ids", labels, np.array(labels), iter(labels)):
        assert all_scores(load_model(path, dataset, **{f"{other}_labels": said})).expected == direct
    in_file = load_model(saved(tmp_path, **file, **{f"{other}_labels": "ids"}), dataset)
    assert f"the rows of {rows} were read as all {rows}, in id order ({other}_labels='ids')" in in_file.notes
    said = f"{other}_labels must be strings, one per row, or the word 'ids'"
    assert failure(path, dataset, **{f"{other}_labels": [1, 2, 3]}) == said


def test_a_single_row_needs_no_label(tmp_path):
    data = Dataset.from_arrays(test=[[0, 0, 1]], entity_labels=["a", "b"], n_relations=1)
    file = {"entities": [[1.0], [2.0]], "relations": [[1.0]], "entity_labels": ["b", "a"]}
    assert load_model(saved(tmp_path, model="distmult", **file), data).score([0], [0], [0]).tolist() == [4.0]


def test_twice_the_relation_rows(dataset, tmp_path):
    """Inverse relations that nobody declared, with labels, without them, and with labels of their own."""
    hint = "If half of the rows are inverse relations, set inverse_relations='after' or 'alternating'"
    values = {"model": "distmult", **tables("distmult", "after")}
    said = f"has rows for 6 relations; dataset 'seven' has 3 (2 in train). {hint}"
    assert failure(saved(tmp_path, **values), dataset) == said
    labels = {"entity_labels": ENTITIES, "relation_labels": RELATIONS}
    path = saved(tmp_path, **values, **labels)
    said = f"relations has 6 rows, but relation_labels has 3 labels; expected one label per row. {hint}"
    assert failure(path, dataset) == said
    assert load_model(path, dataset, inverse_relations="after").inverse_relations == "after"


ASKED = (
    "they may name inverses of its relations. If they do, keep one label per relation, put the inverse rows after "
    "those of all relations, and set inverse_relations='after' (--inverse-relations); if not, remove these rows"
)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([*RELATIONS, "r2_inverse", "r10_inverse", "R_inverse"], "lacks 3 of the 6 relation_labels (such as 'r2_i"),
        (["<pad>", *RELATIONS, "r2_re", "r10_re", "R_re"], "lacks 4 of the 7 relation_labels (such as 'r2_re')"),
        ([*RELATIONS, "<pad>", *(f"INVERSE_{x.upper()}" for x in RELATIONS)], "lacks 4 of the 7 relation_labels (such"),
        ([*RELATIONS, "inv-r2"], "lacks 1 of the 4 relation_labels (such as 'inv-r2')"),
        (["r2", "r10", "r2^-1", "r10^-1"], "lacks 2 of the 4 relation_labels (such as 'r2^-1')"),
        ([*RELATIONS, "a", "b", "c"], "lacks 3 of the 6 relation_labels (such as 'a')"),
    ],
)
@pytest.mark.light(3)
def test_labels_that_may_name_inverses(dataset, tmp_path, labels, said):
    """One label more than those of the relations and their inverses, and the inverse rows were left out silently."""
    values = tables("distmult") | {"relations": np.ones((len(labels), D))}
    path = saved(tmp_path, model="distmult", **values, entity_labels=ENTITIES, relation_labels=labels)
    message = failure(path, dataset)
    assert message.startswith(f"dataset 'seven' {said}")
    assert message.endswith(f"); {ASKED}")


def test_rows_that_are_left_out_are_noted(dataset, tmp_path):
    """A padding row is no question, but said."""
    file = reordered(tables("distmult"), range(7), range(3), None) | {"model": "distmult"}
    file["entities"] = np.vstack([file["entities"], np.ones((2, D))])
    file["entity_labels"] += ["nobody", "none"]
    start = "rows of the model file that were left out, as the dataset lacks their labels: "
    notes = load_model(saved(tmp_path, **file), dataset).notes
    assert notes == ("DistMult, 4 dimensions, no inverse relations", f"{start}2 of 9 entities (such as 'nobody')")
    file["relations"] = np.vstack([file["relations"], np.ones((1, D))])
    file["relation_labels"] += ["<pad>"]
    notes = load_model(saved(tmp_path, **file), dataset).notes
    assert notes[1] == f"{start}2 of 9 entities (such as 'nobody'), 1 of 4 relations (such as '<pad>')"


@pytest.mark.parametrize("inverse", ["after", "alternating"])
def test_labels_of_inverse_rows(dataset, tmp_path, inverse):
    """With declared inverse relations, a label for each row is one too many for each relation."""
    labels = [label + end for label in RELATIONS for end in ("", "_inverse")]
    values = tables("distmult", inverse) | {"entity_labels": ENTITIES, "relation_labels": labels}
    assert failure(saved(tmp_path, model="distmult", inverse_relations=inverse, **values), dataset) == (
        "relations has 6 rows, but relation_labels has 6 labels; expected one label per relation, 3, as half of the "
        "rows are of inverse relations"
    )
    values["relation_labels"] = ["r2", "r2", "R"]
    assert failure(saved(tmp_path, model="distmult", inverse_relations=inverse, **values), dataset) == (
        "relation_labels must be 3 distinct strings, one per relation, none for its inverse"
    )


@pytest.mark.parametrize("norm", [1.0, 2.0, np.float32(2)])
def test_a_norm_that_is_a_whole_float(dataset, tmp_path, norm):
    values = tables("transe")
    direct = all_scores(MODELS["transe"](**values, norm=int(norm)))
    path = saved(tmp_path, model="transe", normalise="none", norm=norm, **values)
    assert all_scores(load_model(path, dataset)).expected == direct
    assert all_scores(load_model(path, dataset, norm=float(norm))).expected == direct
    path = saved(tmp_path, model="transe", normalise="none", norm=1.5, **values)
    assert failure(path, dataset) == "norm must be 1 or 2; got 1.5"


def test_faults_of_tables_are_not_those_of_labels(dataset, tmp_path):
    """G15: a transposed table, a table of three dimensions."""
    rows = {"model": "distmult", "relations": np.ones((3, D)), "entity_labels": ENTITIES, "relation_labels": RELATIONS}
    assert failure(saved(tmp_path, **rows, entities=np.ones((D, 7))), dataset) == (
        "entities has 4 rows, but entity_labels has 7 labels; expected one label per row. Is the table transposed?"
    )
    assert failure(saved(tmp_path, **rows, entities=np.ones((7, D, 1))), dataset) == (
        "entities must be a table, one row per id; got shape (7, 4, 1)"
    )


def test_labels_in_another_unicode_form(dataset, tmp_path):
    """G16: e and a combining accent in the file, one character in the dataset."""
    file = reordered(tables("distmult"), range(7), range(3), None) | {"model": "distmult"}
    assert ENTITIES[6] == "\u00e9psilon"
    file["entity_labels"][6] = "e\u0301psilon"
    assert failure(saved(tmp_path, **file), dataset) == (
        "1 of its entity_labels are in dataset 'seven' in another Unicode normal form: 'e\\u0301psilon' is "
        "'\\xe9psilon' there. Write both in one form: unicodedata.normalize('NFC', label)"
    )


@pytest.mark.parametrize("dtype", thinned([">f4", ">f8", ">c8", "longdouble", "clongdouble", ">i4"], 2))
def test_other_number_types(dataset, tmp_path, dtype):
    """G14: numbers of another byte order and long doubles are the same numbers."""
    kind = "complex" if np.dtype(dtype).kind == "c" else "distmult"
    values = {name: np.round(4 * table) for name, table in tables(kind).items()}
    direct = MODELS[kind](**values)
    if kind == "complex":
        values = {name: table[:, : D // 2] + 1j * table[:, D // 2 :] for name, table in values.items()}
    values = {name: table.astype(dtype) for name, table in values.items()}
    model = load_model(saved(tmp_path, model=kind, **values), dataset)
    assert all_scores(model).expected == all_scores(direct)


def test_what_was_evaluated(dataset, tmp_path):
    """The first note of a result says the model and what changes its numbers; a saved result keeps it."""
    model = load_model(saved(tmp_path, **TRANSE, **tables("transe")), dataset)
    result = kgeval.evaluate(model, dataset, progress=False)
    note = "TransE, L1, 4 dimensions, no inverse relations"
    assert result.notes[0] == note
    result.save(tmp_path / "run.kgeval")
    again = kgeval.load_result(tmp_path / "run.kgeval")
    assert f"note: {note}" in header_lines(again)


class Payload:
    """Pickled, this would run code when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_pickles_are_refused_unread(dataset, tmp_path):
    """An array of objects is never unpickled, nor a pickle by itself (faults 50 and 51): the payload does not run."""
    bomb = np.array([Payload(tmp_path / "ran")], dtype=object)
    values = tables("transe")
    for name, content in (
        ("a.npz", values | {"model": "transe", "entity_labels": np.array(ENTITIES, dtype=object)}),
        ("b.npz", values | {"model": "transe", "note": bomb}),
    ):
        said = failure(saved(tmp_path, name, **content), dataset)
        assert said == "contains pickled objects, which kgeval never reads; save plain arrays"
    with (tmp_path / "model.pkl").open("wb") as stream:
        np.save(stream, bomb)
    for name in ("model.pkl", "model.npy"):
        (tmp_path / name).write_bytes((tmp_path / "model.pkl").read_bytes())
        assert failure(tmp_path / name, dataset) != ""
    assert not (tmp_path / "ran").exists()


def test_damaged_files(dataset, tmp_path):
    """Cut at any place, or with one byte of data changed, a file is refused, not read in part (fault 49)."""
    path = saved(tmp_path, **TRANSE, **tables("transe"))
    whole = path.read_bytes()
    for n in (0, 1, 4, 30, 100, len(whole) // 2, len(whole) - 22, len(whole) - 1):
        path.write_bytes(whole[:n])
        assert failure(path, dataset).startswith("is damaged, cut off, or not an .npz archive" if n else "is empty")
    at = whole.index(tables("transe")["entities"].tobytes()) + 20
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    assert "CRC" in failure(path, dataset)


def lying_header():
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (10**13,)})
    return stream.getvalue() + b"\0" * 80


@pytest.mark.parametrize(
    ("name", "members", "said"),
    [
        ("model.npz", None, "expected an .npz archive of named arrays, found a single array (.npy)"),
        ("model.npy", None, "expected an .npz archive of named arrays, found a single array (.npy)"),
        ("model.pt", {"archive/data.pkl": b"\x80\x02}q\x00.", "archive/version": b"3\n"}, ""),
        ("model.npz", {"entities.npy": lying_header()}, ""),
        ("model.npz", {}, "does not name its model"),
    ],
    ids=["npy named npz", "npy", "torch", "header that claims 80 TB", "empty zip"],
)
def test_other_files_are_refused(dataset, tmp_path, name, members, said):
    """A single array, a file of torch, an array shorter than its header claims (faults 51 and 52)."""
    path = tmp_path / name
    if members is None:
        with path.open("wb") as stream:
            np.save(stream, np.ones((7, D)))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            for member, content in members.items():
                archive.writestr(member, content)
    assert failure(path, dataset).startswith(said)


def test_paths(dataset, tmp_path):
    assert failure(tmp_path / "gone.npz", dataset) == "no such file"
    assert failure(tmp_path, dataset).startswith("no format of models recognises it. Formats are biggraph, ")
    saved(tmp_path, "a.npz", **TRANSE, **tables("transe"))
    saved(tmp_path, "b.npz", **TRANSE, **tables("transe"))
    assert failure(tmp_path, dataset) == "expected one .npz file in the folder, found 2; name the file"
    (tmp_path / "text.npz").write_text("not an archive")
    assert failure(tmp_path / "text.npz", dataset).startswith("is damaged, cut off, or not an .npz archive")


def pykeen_folder(folder, inverse=None, config=None, **pipeline):
    """A folder as PyKEEN writes it; returns the tables."""
    values = tables("transe", inverse)
    folder.mkdir()
    saved(folder, entity=values["entities"], relation=values["relations"])
    (folder / "config.json").write_text(json.dumps({"pipeline": pipeline}) if config is None else config)
    return values


@pytest.mark.parametrize(
    ("pipeline", "settings", "kind", "direct"),
    [
        ({"model": "TransE", "model_kwargs": {"scoring_fct_norm": 2}}, {}, "transe", {"norm": 2}),
        ({"model": "transe", "model_kwargs": {"scoring_fct_norm": 1}}, {}, "transe", {"norm": 1}),
        ({"model": "transe", "model_kwargs": {"embedding_dim": 4}}, {}, "transe", {"norm": 1}),
        ({"model": "transe"}, {"norm": 2}, "transe", {"norm": 2}),
        ({"model": "complex"}, {}, "complex", {"layout": "interleaved"}),
        ({"model": "complex"}, {"layout": "halves"}, "complex", {"layout": "halves"}),
        ({"model": "distmult"}, {}, "distmult", {}),
        ({"model": "distmult", "dataset_kwargs": {"create_inverse_triples": False}}, {}, "distmult", {}),
        (
            {"model": "distmult", "dataset_kwargs": {"create_inverse_triples": True}},
            {},
            "distmult",
            {"inverse_relations": "alternating"},
        ),
    ],
)
def test_pykeen_configuration(dataset, tmp_path, pipeline, settings, kind, direct):
    """The configuration says model, norm and inverse relations; complex numbers are interleaved.

    PyKEEN's TransE has scoring_fct_norm=1 where its configuration does not say (pykeen, models/unimodal/trans_e.py).
    """
    rows = pykeen_folder(tmp_path / "run", direct.get("inverse_relations"), **pipeline)
    model = load_model(tmp_path / "run", dataset, **settings)
    assert type(model) is MODELS[kind]
    assert model.inverse_relations == direct.get("inverse_relations")
    assert all_scores(model).expected == all_scores(MODELS[kind](**rows, **direct))


@pytest.mark.parametrize("config", ["[]", "{}", '{"pipeline": []}', '{"pipeline": {"model": 5}}'])
def test_a_foreign_configuration_is_ignored(dataset, tmp_path, config):
    folder = tmp_path / "run"
    pykeen_folder(folder, config="{}")
    (folder / "config.json").write_bytes(config.encode("utf-8", "surrogateescape"))
    with pytest.raises(DataError, match="does not name its model"):
        load_model(folder, dataset)


@pytest.mark.parametrize(("config", "said"), [(b"{", "not JSON"), (b"\xff", "invalid UTF-8 at byte 0")])
def test_a_damaged_configuration_is_refused(dataset, tmp_path, config, said):
    """What it would have said changes the numbers, so it is not passed over."""
    folder = tmp_path / "run"
    pykeen_folder(folder, config="{}")
    (folder / "config.json").write_bytes(config)
    with pytest.raises(DataError, match=said) as caught:
        load_model(folder, dataset)
    assert str(folder / "config.json") in str(caught.value)


def test_a_configuration_with_a_byte_order_mark(dataset, tmp_path):
    """As some editors of Windows write it."""
    folder = tmp_path / "run"
    rows = pykeen_folder(folder, model="distmult")
    text = (folder / "config.json").read_bytes()
    (folder / "config.json").write_bytes(b"\xef\xbb\xbf" + text)
    assert all_scores(load_model(folder, dataset)).expected == all_scores(MODELS["distmult"](**rows))


@pytest.mark.parametrize("name", ["QuatE", "simple"])
def test_models_of_pykeen_with_another_formula(dataset, tmp_path, name):
    """Short names do not tell the version of PyKEEN, and with it the formula."""
    folder = tmp_path / name
    pykeen_folder(folder, model=name)
    with pytest.raises(DataError) as caught:
        load_model(folder, dataset)
    said = (
        f"{folder / 'model.npz'}: PyKEEN's {name.lower()} has two formulas, and kgeval recognises the right one "
        "by PyKEEN's names of the tensors. Save the arrays under the names of model.state_dict(), or load the file "
        "that PyKEEN wrote itself"
    )
    assert str(caught.value) == said


@pytest.mark.parametrize(("name", "form"), [("quate", "pykeen"), ("simple", "pykeen"), ("simple", None), ("cp", None)])
def test_arrays_with_the_names_of_pykeen(dataset, tmp_path, name, form):
    """The names tell tables and formula: SimplE has the paper's formula under PyKEEN's older names alone."""
    values = tables(name)
    old = ["{}entity_embeddings", "tail_entity_embeddings", "{}relation_embeddings", "inverse_relation_embeddings"]
    new = [f"{kind}_representations.{i}" for kind in ("entity", "relation") for i in (0, 1)]
    prefixes = [each.format("") for each in old] if name == "simple" and form is None else new
    if name == "quate":
        prefixes = new[::2]
    named = {f"{prefix}._embeddings.weight": values[part] for prefix, part in zip(prefixes, PARTS[name])}
    extra = {"interaction.table": quaternion_table()} if name == "quate" else {}
    model = load_model(saved(tmp_path, model=name, **named, **extra), dataset)
    layout = {"layout": "interleaved"} if name == "quate" else {}
    direct = MODELS[name](**values, **layout, **({"form": form} if form else {}))
    assert all_scores(model).expected == all_scores(direct)
    assert getattr(model, "form", None) == form


def test_a_quaternion_model_of_an_old_pykeen(dataset, tmp_path):
    """Before 1.10, PyKEEN did not divide the quaternions that it uses; the table of their products came with 1.10."""
    names = {f"{kind}_representations.0._embeddings.weight": kind for kind in ("entity", "relation")}
    rows = {"entity": tables("quate")["entities"], "relation": tables("quate")["relations"]}
    path = saved(tmp_path, model="quate", **{name: rows[kind] for name, kind in names.items()})
    assert failure(path, dataset).startswith("lacks the tensor interaction.table, which QuatE of PyKEEN 1.10 and later")


def test_a_default_of_pykeen_is_noted(dataset, tmp_path):
    note = "config.json does not say scoring_fct_norm; it was read as norm=1, the default of PyKEEN"
    pykeen_folder(tmp_path / "run", model="transe")
    assert note in load_model(tmp_path / "run", dataset).notes
    assert note not in load_model(tmp_path / "run", dataset, norm=2).notes


INVERTED, PLAIN = {"create_inverse_triples": True}, {"create_inverse_triples": False}


@pytest.mark.parametrize(
    ("pipeline", "in_file", "said", "answers"),
    [
        (
            {"model": "distmult"},
            {"model": "transe", "norm": 1, "normalise": "none"},
            "says model='transe', but the config.json beside it says model='distmult'; set model='transe' or "
            "model='distmult' (--model-type) to decide",
            [{"model": "transe"}, {"model": "distmult", "ignore": "norm,normalise"}],
        ),
        (
            {"model": "transe"},
            {"norm": 2},
            "says norm=2, but the config.json beside it says norm=1; set norm=2 or norm=1 (--norm) to decide",
            [{"norm": 2}, {"norm": 1}],
        ),
        (
            {"model": "transe"},
            {"normalise": "all-l2"},
            "says normalise='all-l2', but the config.json beside it says normalise='none'; set normalise='all-l2' or "
            "normalise='none' (--normalise) to decide",
            [{"normalise": "all-l2"}, {"normalise": "none"}],
        ),
        (
            {"model": "complex"},
            {"layout": "halves"},
            "says layout='halves', but the config.json beside it says layout='interleaved'; set layout='halves' or "
            "layout='interleaved' (--layout) to decide",
            [{"layout": "halves"}, {"layout": "interleaved"}],
        ),
        (
            {"model": "distmult", "dataset_kwargs": INVERTED},
            {"inverse_relations": "after"},
            "says inverse_relations='after', but the config.json beside it says inverse_relations='alternating'; set "
            "inverse_relations='after' or inverse_relations='alternating' (--inverse-relations) to decide",
            [{"inverse_relations": "after"}, {"inverse_relations": "alternating"}],
        ),
        (
            {"model": "distmult", "dataset_kwargs": PLAIN},
            {"inverse_relations": "after"},
            "says inverse_relations='after', but the config.json beside it says that there are no inverse relations "
            "(create_inverse_triples); set inverse_relations='after' (--inverse-relations) or "
            "ignore='inverse_relations' (--ignore) to decide",
            [{"inverse_relations": "after"}],
        ),
    ],
)
@pytest.mark.light(4)
def test_a_configuration_that_contradicts_the_file(dataset, tmp_path, pipeline, in_file, said, answers):
    """The configuration replaced what the file itself says, silently; now the call decides, and its answer counts."""
    folder, inverse = tmp_path / "run", in_file.get("inverse_relations")
    rows = pykeen_folder(folder, inverse, **pipeline)
    path = saved(folder, **rows, **in_file)
    assert failure(path, dataset) == said
    for answer in answers:
        kind = answer.get("model", pipeline["model"])
        settings = {name: value for name, value in answer.items() if name not in ("model", "ignore")}
        model = load_model(path, dataset, **answer)
        assert type(model) is MODELS[kind]
        assert model.inverse_relations == settings.get("inverse_relations"), answer
        assert all_scores(model).expected == all_scores(MODELS[kind](**rows, **settings)), answer


def test_a_configuration_that_the_file_completes(dataset, tmp_path):
    """The same values are no contradiction; what the configuration does not say of inverse rows, the file may say."""
    folder = tmp_path / "run"
    rows = pykeen_folder(folder, "after", model="transe")
    path = saved(folder, **rows, model="TransE", norm=1.0, normalise="none", inverse_relations="after")
    model = load_model(path, dataset)
    assert model.description == "TransE, L1, 4 dimensions, inverse relations after"
    assert not [note for note in model.notes if "config.json" in note]
    direct = MODELS["transe"](**rows, inverse_relations="after")
    assert model.inverse_relations == direct.inverse_relations
    assert ranks(model, dataset).equals(ranks(direct, dataset))


def test_a_configuration_of_another_model(dataset, tmp_path):
    """Its settings (the norm of TransE) are not those of the model that the call names."""
    rows = pykeen_folder(tmp_path / "run", model="transe")
    model = load_model(tmp_path / "run", dataset, model="distmult")
    assert "config.json describes a model 'transe', not 'distmult'; its settings were not used" in model.notes
    assert all_scores(model).expected == all_scores(MODELS["distmult"](**rows))


def test_a_model_of_the_code_of_rotate(shared, tmp_path):
    """S7: UMLS. The phases in their unit are the rotations of that code's formula; as radians, MRR .14 for .53."""
    folder, data = shared / "data" / "formats" / "rotate-umls-50", kgeval.read_dataset(shared / "data" / "umls")
    file = {}
    for kind, rows in (("entity", "entities"), ("relation", "relations")):
        lines = (folder / f"{rows}.dict").read_text().splitlines()
        file |= {rows: np.load(folder / f"{kind}_embedding.npy"), f"{kind}_labels": [x.split("\t")[1] for x in lines]}
    path = saved(tmp_path, model="rotate", norm=1, layout="halves", **file)
    model = load_model(path, data, phase_unit=np.pi * 50 / (6 + 2))
    result = kgeval.evaluate(model, data, progress=False)
    e, r = file["entities"][:, :50] + 1j * file["entities"][:, 50:], np.exp(1j * np.pi * file["relations"] / (8 / 50))
    rows_e = np.argsort(data.entities.ids(file["entity_labels"]))
    rows_r = np.argsort(data.relations.ids(file["relation_labels"]))

    def score(s, p, o):
        return -np.abs(e[rows_e[s]] * r[rows_r[p]] - e[rows_e[o]]).sum(axis=1)

    direct = kgeval.evaluate(score, data, progress=False)
    assert (result["mrr"], result["mr"]) == pytest.approx((direct["mrr"], direct["mr"]), rel=1e-3)
    radians = kgeval.evaluate(load_model(path, data, phase_unit=1), data, progress=False)
    assert (round(result["mrr"], 2), round(radians["mrr"], 2)) == (0.53, 0.14)


@pytest.mark.parametrize("kind", ["transe", "complex", "rotate", "tucker"])
def test_published_models_reach_their_published_metrics(shared, kind):
    """Nations: every side and tie policy of results.json, which PyKEEN wrote in single precision."""
    folder = shared / "data" / "models" / "nations-pykeen" / kind
    dataset = kgeval.read_dataset(shared / "data" / "nations")
    result = kgeval.evaluate(load_model(folder, dataset), dataset, progress=False)
    published = json.loads((folder / "results.json").read_text())["metrics"]
    names = {"mr": "arithmetic_mean_rank", "mrr": "inverse_harmonic_mean_rank", "gmr": "geometric_mean_rank"}
    names |= {f"hits@{k}": f"hits_at_{k}" for k in (1, 3, 5, 10)} | {"amri": "adjusted_arithmetic_mean_rank_index"}
    names |= {f"adjusted(hits@{k})": f"adjusted_hits_at_{k}" for k in (1, 3, 5, 10)}
    for side, theirs in {"both": "both", "subject": "head", "object": "tail"}.items():
        for policy in ("optimistic", "realistic", "pessimistic"):
            expected = published[theirs][policy]
            assert len(result.table) * (1 if side == "both" else 0.5) == expected["count"]
            found = {name: result[f"{side}.{policy}.{name}"] for name in names}
            assert found == pytest.approx({name: expected[long] for name, long in names.items()}, abs=1e-6)


def test_published_transe_of_fb15k_237(shared, fb15k_237_transe):
    """Rows for train's 14,505 entities only: 28 test triples are dropped by default, 40,876 ranks are left."""
    folder = shared / "data" / "models" / "fb15k-237-pykeen" / "transe"
    dataset, model, result = fb15k_237_transe
    assert (len(model.missing_entities), len(dataset.entities)) == (36, 14541)
    assert (result.protocol.unseen, sum(result.dropped.values()), result.facts["n_read"]) == ("drop", 56, 40932)
    expected = json.loads((folder / "results.json").read_text())["metrics"]["both"]["realistic"]
    assert len(result.table) == expected["count"] == 40876
    assert result["mr"] == pytest.approx(219.0828, rel=1e-5)
    names = {"mr": "arithmetic_mean_rank", "mrr": "inverse_harmonic_mean_rank", "hits@1": "hits_at_1"}
    names |= {"hits@10": "hits_at_10", "amri": "adjusted_arithmetic_mean_rank_index"}
    assert {n: result[n] for n in names} == pytest.approx({n: expected[long] for n, long in names.items()}, rel=1e-5)


def test_the_command_needs_little_memory(shared, root):
    """Below 500 MB at its peak, where a matrix of queries by entities alone would have 1.3 GB in float32."""
    pytest.importorskip("resource")
    script = (
        "import resource, subprocess, sys\n"
        "found = subprocess.run([sys.executable, '-m', 'kgeval', *sys.argv[1:]], capture_output=True, text=True)\n"
        "peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss\n"
        "print(peak / (1e9 if sys.platform == 'darwin' else 1e6), found.returncode, found.stderr)\n"
        "print(found.stdout)\n"
    )
    data = shared / "data"
    call = ["evaluate", data / "fb15k-237", "--model", data / "models" / "fb15k-237-pykeen" / "transe"]
    command = [sys.executable, "-c", script, *map(str, call)]
    head, table = subprocess.run(command, capture_output=True, text=True, cwd=root, check=True).stdout.split("\n", 1)
    gigabytes, code = head.split()
    assert code == "0"
    assert [line.split()[:3] for line in table.splitlines() if line.startswith("both")] == [
        ["both", "40,876", "0.3137"]
    ]
    assert 0.05 < float(gigabytes) < 0.5


def test_all_that_is_missing_is_named_at_once(dataset, tmp_path):
    """H30: model, norm, normalise, inverse relations and the type of the numbers, in one error each time."""
    rows = {"entities": np.ones((len(ENTITIES), D)), "relations": np.ones((2 * len(RELATIONS), D))}
    said = failure(saved(tmp_path, **rows), dataset)
    assert said.startswith(
        f"does not name its model; set model= (--model-type) to one of {KINDS}. Also needed, by model: "
    )
    assert "transe: norm=, normalise= and inverse_relations=; rotate: norm=, layout= and inverse_relations=" in said
    bits = {name: np.ones(table.shape, dtype=np.uint16) for name, table in rows.items()}
    path = saved(tmp_path, model="transe", **bits)
    said = failure(path, dataset)
    assert said.startswith(
        "does not say what the 16-bit numbers are in entities (uint16), relations (uint16); set dtype="
    )
    assert (
        "It does not say norm, normalise and inverse_relations, which change the scores of TransE; set norm=1" in said
    )
    settings = {"norm": 1, "normalise": "none", "inverse_relations": "after", "dtype": "bfloat16"}
    assert load_model(path, dataset, **settings).inverse_relations == "after"
    for name in settings:
        others = {other: value for other, value in settings.items() if other != name}
        assert f"set {name}=" in failure(path, dataset, **others)
