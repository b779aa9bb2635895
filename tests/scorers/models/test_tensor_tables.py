"""Embedding models of torch tensors: bit for bit what they are of numpy arrays, without a copy of the tables."""

import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest

import kgeval as kg
from kgeval.errors import DataError
from kgeval.scorers.models import MODELS
from kgeval.scorers.models.distances import RotatE, TransE
from kgeval.scorers.models.products import CP, ComplEx, DistMult, HolE, QuatE, SimplE
from kgeval.scorers.models.tensors import RESCAL, BatchNorm, TuckER

torch = pytest.importorskip("torch", reason="tensors of torch as parameters")

SIDES = ("subject", "object")
INVERSES = (None, "after", "alternating")
N_ENTITIES, ROWS = 17, 6


class Case(NamedTuple):
    """How to build a model, and the shapes of its tables for `d`; names that end in ``_norm`` are of BatchNorm."""

    build: Any
    shapes: Any


def two_tables(parts, relation_parts=None):
    return lambda d: {"entities": (N_ENTITIES, parts * d), "relations": (ROWS, (relation_parts or parts) * d)}


def normed_tucker(subject_norm, product_norm, **tables):
    return TuckER(**tables, subject_norm=BatchNorm(*subject_norm), product_norm=BatchNorm(*product_norm))


def cp_tables(d):
    return {"subjects": (N_ENTITIES, d), "objects": (N_ENTITIES, d), "relations": (ROWS, d)}


def tucker_tables(d):
    return {"entities": (N_ENTITIES, d), "relations": (ROWS, d // 2 + 1), "core": (d, d // 2 + 1, d)}


CASES = {
    "TransE": Case(TransE, two_tables(1)),
    "DistMult": Case(DistMult, two_tables(1)),
    "HolE": Case(HolE, two_tables(1)),
    "ComplEx": Case(ComplEx, two_tables(2)),
    "ComplEx-interleaved": Case(lambda **t: ComplEx(**t, layout="interleaved"), two_tables(2)),
    "RotatE-phases": Case(RotatE, two_tables(2, 1)),
    "RotatE-norm-2": Case(lambda **t: RotatE(**t, norm=2, layout="interleaved"), two_tables(2, 1)),
    "QuatE": Case(QuatE, two_tables(4)),
    "QuatE-interleaved": Case(lambda **t: QuatE(**t, layout="interleaved"), two_tables(4)),
    "CP": Case(CP, cp_tables),
    "SimplE": Case(SimplE, lambda d: cp_tables(d) | {"relations_inverse": (ROWS, d)}),
    "TransE-squared": Case(lambda **t: TransE(**t, norm=2, power_norm=True), two_tables(1)),
    "QuatE-pykeen": Case(lambda **t: QuatE(**t, form="pykeen"), two_tables(4)),
    "SimplE-pykeen": Case(
        lambda **t: SimplE(**t, form="pykeen", clamp=(-1e7, 1e7)),
        lambda d: cp_tables(d) | {"relations_inverse": (ROWS, d)},
    ),
    "RESCAL": Case(RESCAL, lambda d: {"entities": (N_ENTITIES, d), "relations": (ROWS, d, d)}),
    "TuckER": Case(TuckER, tucker_tables),
    "TuckER-normed": Case(
        normed_tucker, lambda d: tucker_tables(d) | dict.fromkeys(("subject_norm", "product_norm"), d)
    ),
}


def draw_tensors(name, d, dtype, seed=0):
    """Tensors whose sizes differ by 2**20; those of a BatchNorm as four vectors, the last (var) positive."""
    rng = np.random.default_rng(seed)
    tables = {}
    for key, shape in CASES[name].shapes(d).items():
        sizes = [(d,)] * 4 if key.endswith("_norm") else [shape]
        drawn = [rng.normal(size=size) * 2.0 ** rng.integers(-10, 10, size) for size in sizes]
        tensors = [torch.tensor(values).to(dtype) for values in drawn]
        tables[key] = (*tensors[:3], tensors[3].abs()) if key.endswith("_norm") else tensors[0]
    return tables


def as_numpy(values):
    """The same numbers in numpy, by a way of its own: bfloat16, which numpy lacks, as float32."""
    if isinstance(values, tuple):
        return tuple(map(as_numpy, values))
    return (values.float() if values.dtype == torch.bfloat16 else values).detach().numpy()


def queries(n_relations, seed=1, n=300):
    rng = np.random.default_rng(seed)
    return rng.integers(0, N_ENTITIES, n), rng.integers(0, n_relations, n)


def is_same(tensor, array):
    """Whether a tensor on the CPU has the bits of an array, also in the signs of zeros."""
    found = tensor.numpy()
    return (found.dtype, found.shape) == (array.dtype, array.shape) and found.tobytes() == array.tobytes()


def check_same_model(model, plain):
    """The vectors of both sides, and the scores, are those of the model of arrays."""
    assert repr(model) == repr(plain)
    given, p = queries(model.n_relations)
    for side in SIDES:
        vectors = model.query_vectors(side, given, p)
        assert isinstance(vectors, torch.Tensor)
        assert vectors.dtype == torch.float64
        assert not vectors.requires_grad
        assert np.isfinite(vectors.numpy()).all()
        assert is_same(vectors, plain.query_vectors(side, given, p))
        assert is_same(model.candidate_vectors(side), plain.candidate_vectors(side))
    scores = model.score(given, p, given[::-1])
    assert isinstance(scores, np.ndarray)
    assert scores.dtype == np.float64
    assert scores.tobytes() == plain.score(given, p, given[::-1]).tobytes()
    assert len(set(scores)) > 20


@pytest.mark.parametrize("dtype", ["int16", "uint16"])
def test_bits_are_never_guessed(dtype):
    """Integers of 16 bits may be the bits of bfloat16 numbers; those of other widths are numbers."""
    if not hasattr(torch, dtype):
        pytest.skip("this torch has no such dtype")
    tensor = torch.ones((3, 2), dtype=torch.bfloat16).view(getattr(torch, dtype))
    with pytest.raises(kg.DataError) as caught:
        kg.models.DistMult(tensor, torch.ones((1, 2)))
    assert str(caught.value) == (
        f"entities has dtype torch.{dtype}. If these are the bits of bfloat16 numbers, pass "
        "entities.view(torch.bfloat16); if they are integers, pass entities.float()"
    )
    for plain in (tensor.view(torch.bfloat16), tensor.int()):
        assert kg.models.DistMult(plain, torch.ones((1, 2))).score([0], [0], [1])[0] == 2 * float(plain[0, 0]) ** 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("d", [1, 7, 60])
@pytest.mark.parametrize("inverse", INVERSES)
@pytest.mark.parametrize("name", CASES)
def test_tensors_give_what_arrays_give(name, inverse, d, dtype):
    """Every model, both sides, bit for bit; 300 rows of 120 numbers are enough for torch to use its threads."""
    tables = draw_tensors(name, d, dtype)
    arrays = {key: as_numpy(table) for key, table in tables.items()}
    check_same_model(
        CASES[name].build(**tables, inverse_relations=inverse), CASES[name].build(**arrays, inverse_relations=inverse)
    )


def test_every_model_is_tested():
    """All ten of the registry."""
    assert {name.partition("-")[0].lower() for name in CASES} == set(MODELS)


@pytest.mark.parametrize("name", CASES)
def test_no_row_depends_on_its_batch(name):
    """Alone, reversed and among all: the same bits; ids may be read-only, and no warning says that they are."""
    model = CASES[name].build(**draw_tensors(name, 7, torch.float32))
    given, p = queries(ROWS, n=40)
    given.flags.writeable = p.flags.writeable = False
    for side in SIDES:
        whole = model.query_vectors(side, given, p)
        assert torch.equal(model.query_vectors(side, given[::-1], p[::-1]), whole.flip(0))
        assert torch.equal(model.query_vectors(side, given[5:6], p[5:6]), whole[5:6])
        assert model.query_vectors(side, given[:0], p[:0]).shape == (0, whole.shape[1])


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=str)
@pytest.mark.parametrize("model", [ComplEx, RotatE])
def test_complex_tensors(model, dtype):
    """Complex numbers become halves, whatever the layout that is said; conjugates are taken as they read."""
    rng = np.random.default_rng(2)
    entities = torch.tensor(rng.normal(size=(N_ENTITIES, 3)) + 1j * rng.normal(size=(N_ENTITIES, 3))).to(dtype)
    relations = torch.tensor(np.exp(1j * rng.normal(size=(ROWS, 3)))).to(dtype)
    for layout in ("halves", "interleaved"):
        check_same_model(model(entities, relations, layout=layout), model(entities.numpy(), relations.numpy()))
    check_same_model(model(entities.conj(), relations), model(entities.numpy().conj(), relations.numpy()))
    real = torch.float32 if dtype == torch.complex64 else torch.float64
    assert model(entities, relations).candidate_vectors("object").dtype == real


def test_rotations_in_halves():
    """Rotations need not be phases; half of one modulus is refused with its row and number."""
    tables = draw_tensors("RotatE-phases", 3, torch.float64)
    angles = tables.pop("relations").numpy()
    rotations = np.hstack([np.cos(angles), np.sin(angles)])
    check_same_model(RotatE(**tables, relations=torch.tensor(rotations)), RotatE(tables["entities"].numpy(), rotations))
    rotations[4, 1] *= 2
    rotations[4, 4] *= 2
    with pytest.raises(DataError, match="RotatE: relation row 4, number 1: the modulus must be 1, but differs"):
        RotatE(**tables, relations=torch.tensor(rotations))


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (torch.float16, torch.float32),
        (torch.bfloat16, torch.float32),
        (torch.float32, torch.float32),
        (torch.float64, torch.float64),
        (torch.int64, torch.float64),
        (torch.int8, torch.float64),
        (torch.uint8, torch.float64),
    ],
    ids=str,
)
def test_dtypes_lose_nothing(given, kept):
    """Short floats become float32, integers float64, each number as it was; float32 and float64 stay."""
    values = [[0, 1, 2], [3, 5, 127]] if not given.is_floating_point else [[0.1, -1.5, 6e-5], [1e-7, 3.0, 240.0]]
    entities = torch.tensor(values, dtype=given)
    found = DistMult(entities, entities).candidate_vectors("object")
    assert found.dtype == kept
    assert found.tolist() == entities.tolist()
    assert DistMult(entities, entities).query_vectors("object", np.array([1]), np.array([0])).tolist() == [
        [a * b for a, b in zip(entities[1].tolist(), entities[0].tolist(), strict=True)]
    ]


UNCHANGED = ["TransE", "DistMult", "HolE", "ComplEx", "RotatE-phases", "QuatE", "RESCAL"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", UNCHANGED)
def test_candidates_are_the_tensor_itself(name, dtype):
    """Not copied, on both sides."""
    tables = draw_tensors(name, 4, dtype)
    model = CASES[name].build(**tables)
    for side in SIDES:
        found, entities = model.candidate_vectors(side), tables["entities"]
        assert (found.data_ptr(), found.shape, found.dtype) == (entities.data_ptr(), entities.shape, dtype)


def test_candidates_are_the_tensor_of_their_side():
    """CP has a table for each side; TuckER's subjects have one column more, of ones."""
    tables = draw_tensors("CP", 4, torch.float32)
    assert CP(**tables).candidate_vectors("subject").data_ptr() == tables["subjects"].data_ptr()
    assert CP(**tables).candidate_vectors("object").data_ptr() == tables["objects"].data_ptr()
    inverse = CP(**tables, inverse_relations="after")
    assert inverse.candidate_vectors("subject").data_ptr() == tables["objects"].data_ptr()
    tables = draw_tensors("TuckER", 4, torch.float32)
    assert TuckER(**tables).candidate_vectors("object").data_ptr() == tables["entities"].data_ptr()
    assert TuckER(**tables).candidate_vectors("subject")[:, 4].tolist() == [1.0] * N_ENTITIES


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("normalise", ["entities-l1", "entities-l2", "all-l2"])
def test_normalised_vectors(normalise, dtype):
    tables = draw_tensors("TransE", 7, dtype)
    tables["entities"][3] = 0
    arrays = {key: as_numpy(table) for key, table in tables.items()}
    check_same_model(TransE(**tables, normalise=normalise), TransE(**arrays, normalise=normalise))


@pytest.mark.parametrize("name", CASES)
def test_parameters_in_training(name):
    """An `nn.Parameter` with its gradient: nothing that comes back has one, and the bits are the same."""
    tables = draw_tensors(name, 3, torch.float32)
    trained = {
        key: tuple(map(torch.nn.Parameter, table)) if isinstance(table, tuple) else torch.nn.Parameter(table)
        for key, table in tables.items()
    }
    model = CASES[name].build(**trained)
    check_same_model(model, CASES[name].build(**{key: as_numpy(table) for key, table in tables.items()}))
    assert not any(model.candidate_vectors(side).requires_grad for side in SIDES)


def test_weights_of_an_embedding():
    """`nn.Embedding.weight` is not copied: after a step of training the same model has the new numbers."""
    entities, relations = torch.nn.Embedding(N_ENTITIES, 4), torch.nn.Embedding(ROWS, 4)
    model = TransE(entities.weight, relations.weight)
    assert model.candidate_vectors("object").data_ptr() == entities.weight.data_ptr()
    with torch.no_grad():
        entities.weight.fill_(2.0)
        relations.weight.fill_(0.5)
    assert model.query_vectors("object", np.array([3]), np.array([1])).tolist() == [[2.5] * 4]
    with pytest.raises(DataError, match="^entities must be an array or a tensor; got Embedding. Pass its .weight$"):
        TransE(entities, relations)


def test_tables_of_several_dtypes_and_strides():
    """A transposed table, and float32 beside bfloat16; SimplE's joined table has the wider dtype."""
    tables = draw_tensors("SimplE", 5, torch.float32)
    tables["subjects"] = tables["subjects"].T.contiguous().T.double()
    tables["relations"] = tables["relations"].bfloat16()
    model = SimplE(**tables)
    check_same_model(model, SimplE(**{key: as_numpy(table) for key, table in tables.items()}))
    assert model.candidate_vectors("subject").dtype == torch.float64


@pytest.mark.parametrize("inverse", INVERSES)
def test_batch_norm_may_lie_elsewhere(inverse):
    """Arrays in the BatchNorm of a model of tensors, and tensors in that of a model of arrays: the same numbers."""
    tables = draw_tensors("TuckER-normed", 6, torch.float64)
    tensors = {key: table for key, table in tables.items() if not key.endswith("_norm")}
    norms = {key: tables[key] for key in tables.keys() - tensors.keys()}
    arrays = {key: as_numpy(table) for key, table in tensors.items()}
    numpy_norms = {key: as_numpy(norm) for key, norm in norms.items()}
    plain = normed_tucker(**arrays, **numpy_norms, inverse_relations=inverse)
    check_same_model(normed_tucker(**tensors, **numpy_norms, inverse_relations=inverse), plain)
    given, p = queries(plain.n_relations)
    crossed = normed_tucker(**arrays, **norms, inverse_relations=inverse).query_vectors("subject", given, p)
    assert (crossed == plain.query_vectors("subject", given, p)).all()
    assert [x.tolist() for x in BatchNorm(*torch.tensor([[6.0], [5.0], [2.0], [3.0]]), eps=1.0).affine(1)] == [
        [3],
        [-1],
    ]


def test_defaults_of_torch_do_not_matter():
    """Nothing is made on torch's default device or in its default dtype."""
    tables = draw_tensors("TuckER-normed", 3, torch.float32)
    plain = normed_tucker(**{key: as_numpy(table) for key, table in tables.items()})
    torch.set_default_dtype(torch.float16)
    try:
        with torch.device("meta"):
            check_same_model(normed_tucker(**tables), plain)
    finally:
        torch.set_default_dtype(torch.float32)


def test_sum_of_a_row():
    """The constant of TuckER's subject queries, by hand: halves to halves, the fifth number carried to the end.

    With 1e16 first: (1e16 + 1) is 1e16 after rounding, (1 + 1) is 2, so 1e16 + 2 remains, and -1e16 leaves 2.
    """
    bias = [1e16, 1.0, 1.0, 1.0, -1e16]
    norm = ([1.0] * 5, bias, [0.0] * 5, [1.0] * 5, 0.0)
    for make in (np.array, lambda values: torch.tensor(values, dtype=torch.float64)):
        model = TuckER(
            make([[1.0] * 5]), make([[0.0]]), make(np.zeros((5, 1, 5)).tolist()), product_norm=BatchNorm(*norm)
        )
        assert model.query_vectors("subject", np.array([0]), np.array([0]))[0].tolist() == [0.0] * 5 + [2.0]


@pytest.mark.parametrize(("name", "seed"), [("ComplEx", 3), ("RotatE-phases", 4), ("TuckER-normed", 5)])
def test_ranks_are_those_of_arrays(name, seed):
    """The whole way through `evaluate`."""
    tables = draw_tensors(name, 4, torch.float32, seed)
    plain = CASES[name].build(**{key: as_numpy(table) for key, table in tables.items()})
    rng = np.random.default_rng(seed)
    triples = np.column_stack([rng.integers(0, n, 60) for n in (N_ENTITIES, ROWS, N_ENTITIES)])
    dataset = kg.Dataset.from_arrays(
        train=triples[:30], test=np.unique(triples[30:], axis=0), n_entities=N_ENTITIES, n_relations=ROWS
    )
    found, expected = (
        kg.evaluate(model, dataset, kg.Protocol(unseen="rank"), progress=False).table
        for model in (CASES[name].build(**tables), plain)
    )
    assert found.equals(expected)
    assert found["better_raw"].nunique() > 5


E, R, W = torch.ones(4, 4), torch.ones(2, 4), torch.ones(2, 4, 4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TransE(E.numpy(), R), "entities is a numpy array, relations is a torch tensor on cpu; give all as "),
        (
            lambda: DistMult(E, R.tolist()),
            "entities is a torch tensor on cpu, relations is a numpy array; give all as ",
        ),
        (
            lambda: HolE(E, R.to("meta")),
            "entities is a torch tensor on cpu, relations is a torch tensor on meta; give all as numpy arrays, or "
            "all as tensors on one device, such as torch.as_tensor(..., device='cpu')",
        ),
        (
            lambda: ComplEx(E + 0j, R.numpy() + 0j),
            "entities is a torch tensor on cpu, relations is a numpy array; give",
        ),
        (
            lambda: RotatE(E, R.numpy()[:, :2]),
            "entities is a torch tensor on cpu, relations is a numpy array; give all",
        ),
        (
            lambda: RotatE(E.numpy(), R[:, :2]),
            "entities is a numpy array, relations is a torch tensor on cpu; give all",
        ),
        (lambda: QuatE(E, R.numpy()), "entities is a torch tensor on cpu, relations is a numpy array; give all as"),
        (
            lambda: CP(E, E.numpy(), R),
            "subjects is a torch tensor on cpu, objects is a numpy array, relations is a torch tensor on cpu; give",
        ),
        (
            lambda: SimplE(E.numpy(), E.numpy(), R.numpy(), R),
            "relations is a numpy array, relations_inverse is a torch tensor on cpu; give all as numpy arrays, or",
        ),
        (lambda: RESCAL(E.numpy(), W), "entities is a numpy array, relations is a torch tensor on cpu; give all as"),
        (
            lambda: TuckER(E, R, torch.ones(4, 4, 4).numpy()),
            "relations is a torch tensor on cpu, core is a numpy array; give all as numpy arrays, or all as tensors",
        ),
        (
            lambda: TransE(E, R[:, :3]),
            "entities and relations must have the same number of columns; got (4, 4) and (2, 3)",
        ),
        (lambda: DistMult(E[:, :0], R[:, :0]), "have the same number of columns; got (4, 0) and (2, 0)"),
        (
            lambda: CP(E, E, R[:, :3]),
            "subjects and objects and relations must have the same number of columns; got (4, 4) and (4, 4) and (2, 3)",
        ),
        (lambda: CP(E, E[1:], R), "the two tables must have the same shape; got (4, 4) and (3, 4)"),
        (lambda: ComplEx(E[:, :3], R), "entities: the number of columns must be a multiple of 2; got shape (4, 3)"),
        (lambda: RESCAL(E, W[:, :3]), "relations must have shape (relations, 4, 4); got (2, 3, 4)"),
        (lambda: TuckER(E, R, W), "core must have shape (4, 4, 4); got (2, 4, 4)"),
        (lambda: TransE(E[0], R), "entities must have 2 dimension(s); got shape (4,)"),
        (lambda: TransE(E + 0j, R), "entities must be a real numeric array; got dtype torch.complex64"),
        (lambda: TransE(E, R > 0), "relations must be a real numeric array; got dtype torch.bool"),
        (lambda: BatchNorm(E[0], E[0], E[0], -E[0]), "batch normalisation needs var + eps above 0"),
        (
            lambda: BatchNorm(E[0], E[0], E[0], E[0, :1] ** 2),
            "parameters of a batch normalisation must have the same shape; got [(1,), (4,)]",
        ),
        (lambda: BatchNorm(E, E[0], E[0], E[0]), "weight must have 1 dimension(s); got shape (4, 4)"),
    ],
)
def test_wrong_tensors_are_named(make, message):
    """Each message says which table, what was expected, and what came."""
    with pytest.raises(DataError) as caught:
        make()
    assert message in str(caught.value)


def test_arrays_do_not_import_torch():
    """Models of arrays work where torch was never imported, as where it is not installed."""
    code = (
        "import sys, numpy as np, kgeval as kg; sys.modules['torch'] = None;"
        "model = kg.models.RotatE(np.ones((3, 4)), np.zeros((2, 2)));"
        "print(model.query_vectors('object', np.array([2]), np.array([1])).tolist(), model.score([0], [0], [1]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[[1.0, 1.0, 1.0, 1.0]] [-0.]\n"
