"""`ModelFile`, the content of a model file, and `build_model`, which makes a model from it.

Each module of `kgeval.formats.models` reads one format and returns a `ModelFile`. `kgeval.load_model` calls
`build_model`, which checks that every setting has a value and that every array is used. It then puts the rows of the
tables in the order of the ids of a dataset.
"""

from __future__ import annotations

import inspect
import math
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.base.checks import Ids, check_number, check_one_of, cut_label, listed
from kgeval.base.files import Arrays, text_array
from kgeval.data.dataset import Dataset
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DataError
from kgeval.kernels.arrays import as_double, may_be_bits
from kgeval.kernels.mapped_tables import bfloat16, is_kept, streamed, taken
from kgeval.scorers.models import MODELS, BatchNorm, EmbeddingModel
from kgeval.scorers.models.base import INVERSE_ROWS, NORMALISATIONS

ENTITY_TABLES = ("entities", "subjects", "objects")
RELATION_TABLES = ("relations", "relations_inverse")
LABEL_ARRAYS = {"entities": "entity_labels", "relations": "relation_labels"}
IN_ID_ORDER = "ids"  # the value of entity_labels= or relation_labels= for rows in id order
BATCH_NORMS = {"bn_0.": "subject_norm", "bn_1.": "product_norm"}
BATCH_NORM_PARTS = ("weight", "bias", "running_mean", "running_var")
HOW_TO_SAY = {
    "norm": "norm=1 or norm=2 (--norm)",
    "layout": "layout='halves' or layout='interleaved' (--layout)",
    "normalise": "normalise='none', or " + ", ".join(repr(name) for name in NORMALISATIONS[1:]) + " if the model "
    "divides vectors by their norms when it scores (--normalise)",
    "phase_unit": "phase_unit=1 for phases in radians, or the number of radians in a phase of 1; for the code of "
    "RotatE's paper this is pi * hidden_dim / (gamma + 2) (--phase-unit)",
    "dtype": "dtype='bfloat16' if they are the bits of bfloat16 numbers, which numpy does not have (--dtype bfloat16); "
    "integers must be saved as int32 or as floats",
    "batch_norm_eps": "batch_norm_eps=1e-5 (the default of torch), or another number that was added to the variances "
    "(--batch-norm-eps)",
    "inverse_relations": "inverse_relations='after' or 'alternating' if half of the rows of relations are of inverse "
    "relations (--inverse-relations)",
}
BFLOAT16 = "bfloat16"  # the value of the setting "dtype"
SORTED = "sorted by label"  # the `row_order` of PyKEEN
INVERSE_HINT = "If half of the rows are inverse relations, set inverse_relations='after' or 'alternating'"
SETTING_OPTIONS = {"model": "--model-type"}  # for all other settings, the option is -- and the name of the setting


@dataclass(frozen=True)
class ModelFile:
    """The content of a model file, under the names of the parameters of `kgeval.models`.

    Parameters
    ----------
    file : Path
        The file that error messages name.
    arrays : dict of str to array
        The tables (``entities``, ``relations``, ``subjects``, ...), and settings of the file as arrays without
        dimensions (``norm``, ``layout``, ...). ``entity_labels`` and ``relation_labels`` hold the label of each row
        (arrays of dtype str); with inverse relations, ``relation_labels`` has one label per relation, and none for its
        inverse. The batch normalisations of TuckER are the arrays ``bn_0.weight``, ``bn_0.bias``,
        ``bn_0.running_mean``, ``bn_0.running_var`` and ``bn_1.*``. An array that the model does not use raises an
        error, unless the caller leaves it out with ``ignore=``.
    settings : dict of str to object
        The settings that a configuration beside the tables gives, or that are the same for all models of the tool:
        ``model``, ``norm``, ``layout``, ``inverse_relations``, ...
    setting_notes : dict of str to str
        For some of `settings`: a note for the user, shown if the setting is used.
    notes : sequence of str
        Notes that are always shown, such as assumptions of the reader.
    source : str
        The file or tool that gives `settings`, for messages: ``"config.json"``.
    label_source : str
        The files from which the row labels were read, for notes: ``"entities.dict and relations.dict beside it"``.
        Empty if there are no such files, or if the labels are in the model file itself.
    row_order : str
        The documented order of the rows, for a file without labels: ``"in id order"``, or ``"sorted by label"`` (of
        the labels that occur in train, as PyKEEN does). Empty if the tool has no documented order; then rows without
        labels need the `dictionaries` of the dataset, or ``ids=``.
    id_formats : sequence of str
        The formats of datasets whose ids the tool uses: ``("rotate",)``. The `dictionaries` of a dataset of another
        format are not used, because they may be in another order.
    check : function, optional
        Takes the finished model and the dataset, and returns further notes or raises a DataError. Formats use it for
        checks that need the scores of the triples of the dataset.
    """

    file: Path
    arrays: Arrays
    settings: dict[str, Any] = field(default_factory=dict)
    setting_notes: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    source: str = "config.json"
    label_source: str = ""
    row_order: str = ""
    id_formats: tuple[str, ...] = ()
    check: Callable[[EmbeddingModel, Dataset], list[str]] | None = None


def build_model(parts: ModelFile, dataset: Dataset, said: Mapping[str, Any]) -> EmbeddingModel:
    """Make a model from the content of a file, and put its rows in the order of the ids of a dataset.

    Parameters
    ----------
    parts : ModelFile
    dataset : Dataset
    said : mapping of str to object
        The settings that the caller gives; see `kgeval.load_model`. They replace the settings of the file.

    Returns
    -------
    EmbeddingModel

    Raises
    ------
    DataError
        In the cases that `kgeval.load_model` lists.
    """
    file = parts.file
    said = {name: value for name, value in said.items() if value is not None}
    arrays, ignored = _without(file, dict(parts.arrays), said.pop("ignore", ()))
    notes = [*ignored, *parts.notes, *_take_labels(parts, arrays, said)]
    if not parts.row_order or dataset.id_format in parts.id_formats:
        notes += _add_dictionaries(parts, arrays, dataset)
    beside, beside_notes = parts.settings, parts.setting_notes
    if "model" in beside and str(said.get("model", beside["model"])).lower() != beside["model"]:
        differs = f"{parts.source} describes a model {beside['model']!r}, not {said['model']!r}"
        notes.append(f"{differs}; its settings were not used")
        beside, beside_notes = {}, {}
    beside = _without_contradictions(parts, arrays, beside, said)
    notes += [note for setting, note in beside_notes.items() if setting in beside]
    notes += [
        f"{parts.source} says {option}={value!r}; the setting {option}={said[option]!r} replaced this"
        for option, value in parts.settings.items()
        if option in said and option != "model" and not _is_same(np.array(value), said[option])
    ]
    options = {**beside, **said}
    gaps = _unsaid_bits(arrays, options)  # what neither the file nor the caller says; one error names everything
    arrays = _in_dtype(file, arrays, options, BFLOAT16 if gaps else _said_dtype(arrays, options))
    doubled = ["inverse_relations"] if _may_be_doubled({**arrays, **options}, dataset) else []
    text = {name: str(array) for name, array in arrays.items() if array.ndim == 0}  # the settings in the file
    notes += [
        f"the model file says {option}={text[option]!r}; the setting {option}={value!r} replaced this"
        for option, value in said.items()
        if option in text and not _is_same(arrays[option], value)
    ]
    name = str(options.pop("model", text.get("model", "")) or "").lower()
    if not name:
        which = f"does not name its model; set model= (--model-type) to one of {', '.join(MODELS)}"
        raise DataError(f"{file}: {'. It '.join([which, *gaps])}{_settings_of_models(arrays, options, doubled)}")
    kind = MODELS[check_one_of("model", name, MODELS, DataError)]
    accepted = inspect.signature(kind).parameters
    unsaid: list[str] = []
    parameters: dict[str, Any] = {**arrays, **_batch_norms(file, arrays, kind, options, unsaid), **options}
    unknown = [option for option in options if option not in accepted]
    if unknown:
        raise DataError(f"{kind.__name__} has no setting {unknown[0]!r}; it has {', '.join(accepted)}")
    missing = [p.name for p in accepted.values() if p.default is p.empty and p.name not in parameters]
    if missing:
        raise DataError(
            f"{file}: {kind.__name__} needs {', '.join(missing)}; the file contains {', '.join(arrays) or 'nothing'}"
        )
    _check_used(file, arrays, kind)
    values = {name: _scalar(parameters[name]) for name in accepted if name in parameters}
    if isinstance(values.get("norm"), float) and values["norm"].is_integer():
        values["norm"] = int(values["norm"])  # 1.0 is 1
    _check_tables(file, values)
    unsaid += kind.unsaid(values)
    if unsaid or gaps:
        raise DataError(f"{file}: {'. It '.join([*gaps, *_unsaid_settings(kind, [*unsaid, *doubled])])}")
    if parts.row_order == SORTED:
        notes += _add_sorted_labels(file, values, arrays, dataset)
    model = _align_rows(file, kind, values, arrays, dataset)
    model.notes += tuple(notes)
    if parts.check is not None:
        model.notes += tuple(parts.check(model, dataset))
    return model


def _in_dtype(file: Path, arrays: Arrays, options: dict[str, Any], dtype: Any) -> Arrays:
    """Return the arrays, with 16-bit integers as bfloat16 if `dtype` says so; remove this setting from `options`."""
    bits = _tables_of_bits(arrays)
    options.pop("dtype", None)
    if dtype is not None:
        check_one_of("dtype", str(dtype), [BFLOAT16], DataError)
        if not bits or any(
            array.ndim and array.dtype.kind in "iu" for name, array in arrays.items() if name not in bits
        ):
            found = ", ".join(f"{name} {array.dtype}" for name, array in arrays.items() if array.ndim > 1)
            raise DataError(f"{file}: dtype={BFLOAT16!r} is for tables of uint16 or int16; found {found}")
    tables: dict[str, Any] = {name: array for name, array in arrays.items() if name != "dtype"}
    for name in bits:
        table = bfloat16(tables[name])
        tables[name] = np.asarray(table) if is_kept(table.nbytes) else table
    return tables


def _tables_of_bits(arrays: Arrays) -> list[str]:
    """Return the names of the arrays that may hold the bits of bfloat16 numbers."""
    return [name for name, array in arrays.items() if array.ndim and may_be_bits(array)]


def _said_dtype(arrays: Arrays, options: Mapping[str, Any]) -> Any:
    """Return the setting ``dtype``; None if nothing sets it, or if all tables have this dtype already."""
    dtype = options.get("dtype", arrays.get("dtype"))
    return None if {str(array.dtype) for array in arrays.values() if array.ndim > 1} == {str(dtype)} else dtype


def _unsaid_bits(arrays: Arrays, options: Mapping[str, Any]) -> list[str]:
    """Return what to set if nothing says what 16-bit integers mean: one text, or none."""
    bits = _tables_of_bits(arrays)
    if not bits or _said_dtype(arrays, options) is not None:
        return []
    found = ", ".join(f"{name} ({arrays[name].dtype})" for name in bits)
    return [f"does not say what the 16-bit numbers are in {found}; set {HOW_TO_SAY['dtype']}"]


def _may_be_doubled(values: Mapping[str, Any], dataset: Dataset) -> bool:
    """Return whether half of the rows of relations may be inverse relations, although nothing says it."""
    shape = np.shape(values.get("relations", ()))
    is_doubled = len(shape) > 1 and shape[0] == 2 * len(dataset.relations)
    return is_doubled and values.get("inverse_relations") is None and LABEL_ARRAYS["relations"] not in values


def _settings_of_models(arrays: Arrays, options: Mapping[str, Any], doubled: Sequence[str]) -> str:
    """Return a sentence on the settings that each model also needs; empty if none needs any."""
    values = {name: _scalar(value) for name, value in {**arrays, **options}.items()}
    by_settings: dict[str, list[str]] = {}
    for name, kind in MODELS.items():
        needed = [p.name for p in inspect.signature(kind).parameters.values() if p.default is p.empty]
        if all(table in values and np.ndim(values[table]) >= 2 for table in needed):
            unsaid = [*kind.unsaid(values), *doubled]
            by_settings.setdefault(listed([f"{setting}=" for setting in unsaid]), []).append(name)
    also = [f"{', '.join(names)}: {settings}" for settings, names in by_settings.items() if settings]
    return f". Also needed, by model: {'; '.join(also)}" if also else ""


def _without(file: Path, arrays: Arrays, ignore: str | Iterable[str]) -> tuple[Arrays, list[str]]:
    """Return the arrays without those that the setting `ignore` names, and a list of notes (a single note, or none)."""
    names = [word.strip() for word in ignore.split(",")] if isinstance(ignore, str) else list(ignore)
    for name in names:
        if name not in arrays:
            raise DataError(f"{file}: ignore= names {name!r}, but the file contains {', '.join(arrays) or 'nothing'}")
    notes = [f"arrays of the model file that were left out (ignore=): {', '.join(names)}"] if names else []
    return {name: array for name, array in arrays.items() if name not in names}, notes


def _take_labels(parts: ModelFile, arrays: Arrays, said: dict[str, Any]) -> list[str]:
    """Move the row labels that the caller gives from `said` to `arrays`; return notes about the sources of labels."""
    labels = {name: _label_array(name, said.pop(name)) for name in LABEL_ARRAYS.values() if name in said}
    replaced = [name for name in labels if name in arrays and not np.array_equal(arrays[name], labels[name])]
    kept = [kind for kind, name in LABEL_ARRAYS.items() if name in arrays and name not in labels]
    arrays |= labels
    notes = []
    if kept and parts.label_source:
        rows = "the model" if len(kept) == len(LABEL_ARRAYS) else kept[0]
        notes.append(f"the rows of {rows} were read in the order of {parts.label_source}")
    if replaced:
        notes.append(
            f"{parts.label_source or 'the model file'} gives other labels to the rows: {' and '.join(replaced)} of "
            "the call (ids=) replaced them"
        )
    return notes


def _label_array(name: str, labels: str | Iterable[str]) -> npt.NDArray[Any]:
    """Return the row labels that the caller passed, as an array like the label arrays of a file."""
    if isinstance(labels, str):
        return np.array(labels)
    listed = list(labels)
    if not all(isinstance(label, str) for label in listed):
        raise DataError(f"{name} must be strings, one per row, or the word {IN_ID_ORDER!r}")
    return text_array(listed)


def _check_used(file: Path, arrays: Arrays, kind: type[EmbeddingModel]) -> None:
    """Raise a DataError if the file contains an array that the model does not use."""
    parameters = inspect.signature(kind).parameters
    used = {"model", *LABEL_ARRAYS.values(), *parameters} - set(BATCH_NORMS.values())
    prefixes = tuple(prefix for prefix, setting in BATCH_NORMS.items() if setting in parameters)
    used |= {"batch_norm_eps"} if prefixes else set()
    parts = (*BATCH_NORM_PARTS, "num_batches_tracked")
    used |= {prefix + part for prefix in prefixes for part in parts}
    unused = [name for name in arrays if name not in used]
    if unused:
        raise DataError(
            f"{file}: {kind.__name__} has no use for {', '.join(unused)}; it has {', '.join(parameters)}. If the "
            f"unused arrays do not change the scores, set ignore={','.join(unused)!r} (--ignore)"
        )


def _unsaid_settings(kind: type[EmbeddingModel], unsaid: Sequence[str]) -> list[str]:
    """Return what to set for the settings `unsaid`, which change the scores but have no value: one text, or none."""
    if not unsaid:
        return []
    return [
        f"does not say {listed(unsaid)}, which {'changes' if len(unsaid) == 1 else 'change'} the scores of "
        f"{kind.__name__}; set {'; set '.join(HOW_TO_SAY.get(name, name + '=') for name in unsaid)}"
    ]


def _check_tables(file: Path, values: dict[str, Any]) -> None:
    """Raise a DataError unless the tables of entities and relations are arrays of real numbers."""
    for name in (*ENTITY_TABLES, *RELATION_TABLES):
        if name in values and (np.ndim(values[name]) < 2 or (name in ENTITY_TABLES and np.ndim(values[name]) > 2)):
            raise DataError(f"{file}: {name} must be a table, one row per id; got shape {np.shape(values[name])}")
        if name in values and values[name].dtype.kind not in "iufc":
            raise DataError(f"{file}: {name} must be a real numeric array; got dtype {values[name].dtype}")


def _without_contradictions(
    parts: ModelFile, arrays: Arrays, beside: dict[str, Any], said: dict[str, Any]
) -> dict[str, Any]:
    """Return the settings of the configuration (`beside`) that neither the model file nor the caller (`said`) gives.

    Raise a DataError if the model file and the configuration give different values for a setting and the caller gives
    none.
    """
    for name, value in beside.items():
        if name in said or name not in arrays or arrays[name].ndim or _is_same(arrays[name], value):
            continue
        in_file = f"{name}={arrays[name].item()!r}"
        option = SETTING_OPTIONS.get(name, f"--{name.replace('_', '-')}")
        other, remedy = f"{name}={value!r}", f"{in_file} or {name}={value!r} ({option})"
        if value is None:
            other = "that there are no inverse relations (create_inverse_triples)"
            remedy = f"{in_file} ({option}) or ignore={name!r} (--ignore)"
        raise DataError(
            f"{parts.file}: says {in_file}, but the {parts.source} beside it says {other}; set {remedy} to decide"
        )
    return {name: value for name, value in beside.items() if name not in said and name not in arrays}


def _is_same(array: npt.NDArray[Any], value: Any) -> bool:
    """Return whether a setting of the file equals `value`, except for case and for rounding to single precision."""
    if array.ndim:
        return np.array_equal(array, value)
    in_file = array.item()
    if isinstance(in_file, (int, float)) and isinstance(value, (int, float)):
        return math.isclose(in_file, value, rel_tol=1e-6)
    return str(in_file).lower() == str(value).lower()


def _batch_norms(
    file: Path, arrays: Arrays, kind: type[EmbeddingModel], options: dict[str, Any], unsaid: list[str]
) -> dict[str, BatchNorm]:
    """Return the batch normalisations of a TuckER model, from its tensors ``bn_0.*`` and ``bn_1.*``.

    Their epsilon is the setting ``batch_norm_eps``, which is removed from `options`. If `options` lacks this setting,
    the epsilon is the array ``batch_norm_eps`` of the file. If nothing gives it, its name is added to `unsaid`.
    """
    tensors = {}
    for prefix, setting in BATCH_NORMS.items():
        names = [prefix + part for part in BATCH_NORM_PARTS]
        missing = [name for name in names if name not in arrays]
        if 0 < len(missing) < len(names):
            raise DataError(f"the model file has tensors {prefix}*, but lacks {', '.join(missing)}")
        if setting in inspect.signature(kind).parameters and not missing:
            weight, bias, mean, var = (arrays[name] for name in names)
            tensors[setting] = (weight, bias, mean, var)
    if not any(setting in inspect.signature(kind).parameters for setting in BATCH_NORMS.values()):
        return {}
    eps = options.pop("batch_norm_eps", arrays.get("batch_norm_eps"))
    if eps is None and tensors:
        unsaid.append("batch_norm_eps")
        return {}
    if eps is not None and not tensors:
        first = ", ".join(prefix + BATCH_NORM_PARTS[0] for prefix in BATCH_NORMS)
        raise DataError(
            f"{file}: the model has batch normalisation (batch_norm_eps={_scalar(eps)}), but the file lacks its "
            f"tensors, such as {first}; it contains {', '.join(arrays)}"
        )
    if not tensors:
        return {}
    eps = check_number("batch_norm_eps", _scalar(eps), -np.inf, np.inf, "a number", DataError)
    return {setting: BatchNorm(*values, eps) for setting, values in tensors.items()}


def _scalar(value: Any) -> Any:
    """Return an array without dimensions as a Python value, and any other value unchanged."""
    return value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value


def _align_rows(
    file: Path, kind: type[EmbeddingModel], values: dict[str, Any], arrays: Arrays, dataset: Dataset
) -> EmbeddingModel:
    """Put the rows of the tables in id order and make the model; an id without a row in the file gets a row of NaN."""
    entity_table = next(name for name in ENTITY_TABLES if name in values)
    inverse = values.get("inverse_relations")
    if inverse is not None:
        check_one_of("inverse_relations", inverse, INVERSE_ROWS, DataError)
    entity_ids = _row_ids(file, "entities", np.shape(values[entity_table]), arrays, dataset)
    relation_ids = _row_ids(file, "relations", np.shape(values["relations"]), arrays, dataset, inverse is not None)
    _check_both_labelled(file, {"entities": entity_ids, "relations": relation_ids}, arrays)
    if inverse is None:
        _check_inverse_labels(file, arrays, relation_ids, dataset)
    for name in set(ENTITY_TABLES) & set(values):
        values[name] = _placed(values[name], entity_ids, len(dataset.entities))
    # relation_rows, (rows of the file,): row i of the file becomes row relation_rows[i] of the model's relation tables;
    # -1 if the relation is not in the dataset. n: the number of rows of the model's relation tables: one for each
    # relation, or two with inverse relations.
    n = len(dataset.relations)
    if inverse == "after":
        relation_rows, n = (
            np.concatenate([relation_ids, np.where(relation_ids < 0, -1, relation_ids + n)]),
            2 * n,
        )
    elif inverse == "alternating":
        both = np.column_stack([2 * relation_ids, 2 * relation_ids + 1])
        relation_rows, n = np.where(np.repeat(relation_ids < 0, 2), -1, both.ravel()), 2 * n
    else:
        relation_rows = relation_ids
    for name in set(RELATION_TABLES) & set(values):
        values[name] = np.asarray(_placed(values[name], relation_rows, n))
    model = kind(**values)
    model.freeze()  # no other object uses the arrays of the model
    for rows, ids, vocabulary in (
        ("entities", entity_ids, dataset.entities),
        ("relations", relation_ids, dataset.relations),
    ):
        kept = f"all {rows}" if len(ids) == len(vocabulary) else f"the {rows} that occur in train"
        labels, order = arrays.get(LABEL_ARRAYS[rows]), "in id order"
        if dataset.dictionaries.get(rows, vocabulary.labels) != vocabulary.labels:
            order = f"in the order of dataset.{rows}.labels, not in that of the dataset's id files (ids= reads them)"
        if labels is None and rows == "entities":
            model.notes += (f"the model file has no entity_labels: its rows were read as {kept}, {order}",)
        if labels is not None and not labels.ndim:
            model.notes += (f"the rows of {rows} were read as {kept}, {order} ({LABEL_ARRAYS[rows]}='ids')",)
    model.notes += _unknown_labels(arrays, {"entities": entity_ids, "relations": relation_ids})
    model.missing_entities = np.setdiff1d(np.arange(len(dataset.entities)), entity_ids)
    model.missing_relations = np.setdiff1d(np.arange(len(dataset.relations)), relation_ids)
    return model


def _check_both_labelled(file: Path, ids: dict[str, Ids], arrays: Arrays) -> None:
    """Raise a DataError if only the rows of entities have labels, or only the rows of relations."""
    unlabelled = [kind for kind, name in LABEL_ARRAYS.items() if name not in arrays]
    if len(unlabelled) != 1 or len(ids[unlabelled[0]]) == 1:  # a single row needs no labels
        return
    kind = unlabelled[0]
    name, other = LABEL_ARRAYS[kind], next(label for label in LABEL_ARRAYS.values() if label in arrays)
    raise DataError(
        f"{file}: has {other}, but no {name}, so nothing says the order of the rows of {kind}. Add {name} to the file; "
        f"or, if these rows are in the order of dataset.{kind}.labels, set {name}={IN_ID_ORDER!r} "
        f"(--{name.replace('_', '-')} {IN_ID_ORDER})"
    )


def _unknown_labels(arrays: Arrays, ids: dict[str, Ids]) -> tuple[str, ...]:
    """Return a tuple with one note if the file has labels that the dataset lacks, else an empty tuple."""
    left_out = [
        f"{(ids[kind] < 0).sum():,} of {len(ids[kind]):,} {kind} "
        f"(such as {cut_label(str(arrays[name][ids[kind] < 0][0]))!r})"
        for kind, name in LABEL_ARRAYS.items()
        if (ids[kind] < 0).any()
    ]
    if not left_out:
        return ()
    return (f"rows of the model file that were left out, as the dataset lacks their labels: {', '.join(left_out)}",)


def _check_inverse_labels(file: Path, arrays: Arrays, relation_ids: Ids, dataset: Dataset) -> None:
    """Raise a DataError if unknown relation labels of the file may name inverses, such as ``borders_inverse``.

    A label is unknown if the dataset lacks it. The unknown labels may name inverses if one of them contains a known
    label of the file, or if at least half of the labels in the file are unknown.
    """
    if not (relation_ids < 0).any():
        return
    labels = arrays[LABEL_ARRAYS["relations"]]
    known = [label.casefold() for label in labels[relation_ids >= 0].tolist()]
    unknown = labels[relation_ids < 0].tolist()
    alike = next((label for label in unknown if any(part and part in label.casefold() for part in known)), None)
    if alike is not None or len(unknown) >= len(known):
        raise DataError(
            f"{file}: dataset {dataset.name!r} lacks {len(unknown):,} of the {len(labels):,} relation_labels (such as "
            f"{cut_label(alike or unknown[0])!r}); they may name inverses of its relations. If they do, keep one label "
            "per relation, put the inverse rows after those of all relations, and set inverse_relations='after' "
            "(--inverse-relations); if not, remove these rows"
        )


def _row_ids(
    file: Path, kind: str, shape: tuple[int, ...], arrays: Arrays, dataset: Dataset, has_inverse: bool = False
) -> Ids:
    """Return the id of each row, int64 (rows,); -1 if the row's label is not in the dataset.

    `kind` is ``"entities"`` or ``"relations"``; `shape` is the shape of the table. With `has_inverse`, half of the rows
    of the table belong to inverse relations; the result does not contain them. If the file has no labels, the number of
    rows decides whether the rows belong to all ids or to the ids that occur in train, in ascending order.
    """
    vocabulary, is_seen = (
        (dataset.entities, dataset.is_seen_entity)
        if kind == "entities"
        else (dataset.relations, dataset.is_seen_relation)
    )
    n_rows, name = shape[0] // (1 + has_inverse), LABEL_ARRAYS[kind]
    labels = arrays.get(name)
    if labels is not None and str(labels) != IN_ID_ORDER:
        if labels.ndim == 1 and labels.dtype.kind in "OU" and len(set(labels.tolist())) == len(labels) != n_rows:
            hint = "row"
            if has_inverse:
                hint = f"relation, {n_rows}, as half of the rows are of inverse relations"
            elif len(labels) in shape[1:]:
                hint = "row. Is the table transposed?"
            elif kind == "relations" and n_rows == 2 * len(labels):
                hint = f"row. {INVERSE_HINT}"
            raise DataError(
                f"{file}: {kind} has {shape[0]} rows, but {name} has {len(labels)} labels; expected "
                f"one label per {hint}"
            )
        if labels.shape != (n_rows,) or labels.dtype.kind not in "OU" or len(set(labels.tolist())) != n_rows:
            row = "relation, none for its inverse" if has_inverse else f"row of {kind}"
            raise DataError(f"{file}: {name} must be {n_rows} distinct strings, one per {row}")
        ids = vocabulary.find(labels.tolist())
        _check_normal_forms(file, name, labels, ids, vocabulary, dataset)
        if (ids < 0).all():
            raise DataError(
                f"{file}: none of its {n_rows} {kind} (such as {str(labels[0])!r}) is in dataset {dataset.name!r}"
            )
        return ids
    if n_rows not in (len(vocabulary), int(is_seen.sum())):
        is_doubled = kind == "relations" and n_rows == 2 * len(vocabulary)
        remedy = INVERSE_HINT if is_doubled else f"Add {name} to the file to match rows by label"
        raise DataError(
            f"{file}: has rows for {n_rows} {kind}; dataset {dataset.name!r} has {len(vocabulary)} "
            f"({int(is_seen.sum())} in train). {remedy}"
        )
    if labels is None:
        _check_number_labels(file, kind, vocabulary, dataset)
    return np.arange(len(vocabulary)) if n_rows == len(vocabulary) else np.flatnonzero(is_seen)


def _check_number_labels(file: Path, kind: str, vocabulary: Vocabulary, dataset: Dataset) -> None:
    """Raise a DataError if the labels are the numbers 0 .. n - 1, but the id of a label is another number.

    For example, labels that are sorted as text give ``"10"`` the id 2. Row 2 of the file may then belong to the label
    ``"10"`` or to the label ``"2"``.
    """
    n = len(vocabulary)
    if vocabulary.are_labels_ids or "0" not in vocabulary:
        return
    ids = vocabulary.find(list(map(str, range(n))))
    if (ids < 0).any() or np.array_equal(ids, np.arange(n)):
        return
    number = int(np.flatnonzero(ids != np.arange(n))[0])
    name = LABEL_ARRAYS[kind]
    raise DataError(
        f"{file}: has no {name}, and the {kind} of dataset {dataset.name!r} have numbers as labels that are not their "
        f"ids: label '{number}' has id {ids[number]}. If row i belongs to label i, save {name} = "
        f"numpy.arange({n}).astype(str) with the tables; if it belongs to id i, set {name}={IN_ID_ORDER!r} "
        f"(--{name.replace('_', '-')} {IN_ID_ORDER})"
    )


def _check_normal_forms(
    file: Path, name: str, labels: npt.NDArray[Any], ids: Ids, vocabulary: Vocabulary, dataset: Dataset
) -> None:
    """Raise a DataError if an unknown label and a dataset label without a row differ only in their Unicode form."""
    lacking = np.setdiff1d(np.arange(len(vocabulary)), ids)
    unknown = labels[ids < 0].tolist()
    if not len(lacking) or not unknown:
        return
    composed = {unicodedata.normalize("NFC", vocabulary.labels[i]): vocabulary.labels[i] for i in lacking}
    pairs = [(label, composed.get(unicodedata.normalize("NFC", label))) for label in unknown]
    pairs = [pair for pair in pairs if pair[1] is not None]
    if pairs:
        raise DataError(
            f"{file}: {len(pairs)} of its {name} are in dataset {dataset.name!r} in another Unicode normal form: "
            f"{pairs[0][0]!a} is {pairs[0][1]!a} there. Write both in one form: unicodedata.normalize('NFC', label)"
        )


def _placed(table: Any, ids: Ids, n: int) -> Any:
    """Return a table with `n` rows: row i of `table` becomes row ``ids[i]``, and all other rows are NaN.

    If ``ids[i]`` is -1, row i of `table` is left out. A very large table is not copied, but becomes a `StreamedTable`.
    """
    if len(ids) != len(table):
        raise DataError(f"the tables of the model have {len(ids)} and {len(table)} rows; the numbers must be equal")
    if len(ids) == n and np.array_equal(ids, np.arange(n)):
        return table
    if table.dtype.kind not in "fc":
        table = streamed(as_double, table)
    rows = np.full(n, -1)  # (n,): the row of `table` that becomes row i
    rows[ids[ids >= 0]] = np.flatnonzero(ids >= 0)
    return taken(table, rows)


def _add_dictionaries(parts: ModelFile, arrays: Arrays, dataset: Dataset) -> list[str]:
    """Add missing row labels to `arrays`, from the dictionaries of the dataset; return a list of notes (one or none).

    Raise a DataError if the dataset has no dictionaries of the same tool, because the order of the rows is then
    unknown.
    """
    lacking = [kind for kind, name in LABEL_ARRAYS.items() if name not in arrays]
    is_same_tool = dataset.id_format in ("", *parts.id_formats)
    unknown = [kind for kind in lacking if kind not in dataset.dictionaries or not is_same_tool]
    if unknown:
        hint = ""
        if dataset.dictionaries and not is_same_tool:
            hint = (
                f" (the id files in the folder of dataset {dataset.name!r} are in the format {dataset.id_format}, and "
                "may be in another order; if the training used them, name this folder)"
            )
        raise DataError(
            f"{parts.file}: nothing says to which {' and '.join(unknown)} the rows of its tables belong. Name the "
            "files that list the ids and labels of its training (lines of id TAB label or label TAB id, one label per "
            "line in id order, or JSON {label: id}): ids=(entities file, relations file), or their folder "
            f"(--ids FILE,FILE or --ids FOLDER){hint}; or, if the rows are in the order of dataset.entities.labels and "
            "dataset.relations.labels, set entity_labels='ids' and relation_labels='ids' (--entity-labels ids "
            "--relation-labels ids)"
        )
    for kind in lacking:
        arrays[LABEL_ARRAYS[kind]] = _label_array(LABEL_ARRAYS[kind], dataset.dictionaries[kind])
    if not lacking:
        return []
    order = f"the ids with which dataset {dataset.name!r} was made"
    return [f"the rows of {' and '.join(lacking)} were read in the order of {order}"]


def _add_sorted_labels(file: Path, values: dict[str, Any], arrays: Arrays, dataset: Dataset) -> list[str]:
    """Add missing row labels to `arrays`, from the sorted labels of the dataset; return a list of notes (one or none).

    The number of rows decides: the rows belong to the labels that occur in train, or to all labels. Raise a DataError
    if the number fits neither.
    """
    inverse = values.get("inverse_relations")
    notes = []
    for kind, vocabulary, is_seen in (
        ("entities", dataset.entities, dataset.is_seen_entity),
        ("relations", dataset.relations, dataset.is_seen_relation),
    ):
        name = LABEL_ARRAYS[kind]
        if name in arrays:
            continue
        table = "relations" if kind == "relations" else next(name for name in ENTITY_TABLES if name in values)
        n_rows = len(values[table]) // (2 if inverse and kind == "relations" else 1)
        seen = [label for label, is_in_train in zip(vocabulary.labels, is_seen.tolist()) if is_in_train]
        if n_rows not in (len(seen), len(vocabulary)):
            remedy = "Put the folder training_triples of the training beside it, or name the id files: ids= (--ids)"
            if kind == "relations" and n_rows in (2 * len(seen), 2 * len(vocabulary)):
                remedy = "If half of the rows are inverse relations, set inverse_relations='alternating'"
            raise DataError(
                f"{file}: has rows for {n_rows} {kind}; dataset {dataset.name!r} has {len(vocabulary)} ({len(seen)} in "
                f"train), so it is unknown which label each row has. {remedy}"
            )
        kept = f"the {kind} that occur in train" if n_rows == len(seen) else f"all {kind}"
        arrays[name] = text_array(sorted(seen if n_rows == len(seen) else vocabulary.labels))
        notes.append(kept)
    if not notes:
        return []
    return [
        f"the file has no labels of its rows: they were read as {' and '.join(notes)}, sorted by label as in PyKEEN"
    ]
