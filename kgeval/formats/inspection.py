"""`inspect` lists the content of a file or folder and the formats that recognise it; no code in the file is run."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.base.checks import counted, cut_label, names_unknown_arguments
from kgeval.base.files import check_source, parse_json, read_archive, read_arrays, read_text
from kgeval.errors import DataError, KgevalError
from kgeval.formats.candidate_files import describe_candidates
from kgeval.formats.checkpoints.containers import safetensors_header
from kgeval.formats.checkpoints.pickles import Stub
from kgeval.formats.checkpoints.torch_files import is_torch_file, read_torch, state_dict
from kgeval.formats.datasets import dataset_formats, read_dataset
from kgeval.formats.models import model_formats
from kgeval.formats.prediction_files.mapping import NEEDS_DATASET
from kgeval.formats.predictions import prediction_formats, read_predictions
from kgeval.formats.registered.entries import find_registered
from kgeval.formats.registry import Format, check_regular
from kgeval.formats.scores import is_scores
from kgeval.formats.triple_tables import TABLE_SUFFIXES, table_suffix
from kgeval.formats.unpacking import is_archive
from kgeval.scorers.models import MODELS

MAX_CONFIGURATION = 1 << 22  # larger JSON files are not read as a configuration; bytes
MAX_VALUES = 60  # values of a configuration that are listed
MAX_FILES = 200  # files of a folder that are listed
MAX_DEPTH = 6  # levels of nested values that are listed
REFUSED = "foreign"  # the format that refuses files by their names, because they are no dataset
PLAIN = "tab"  # the format of plain tables, the default format
COLUMNS = ["file", "tensor", "shape", "dtype"]


@dataclass(frozen=True)
class Inspection:
    """The findings of `inspect`; ``print`` shows all of them.

    Parameters
    ----------
    path : Path
    takes_for : tuple of str
        One sentence for each format that recognises the path, for example as a model or a dataset; empty if none does.
    files : tuple of str
        The names of the files, with their sizes.
    tensors : pandas.DataFrame
        Columns ``file``, ``tensor`` (its name), ``shape`` (such as ``"135 x 100"``) and ``dtype``.
    configuration : dict of str to object
        The settings in the files; the key of a nested value has dots: ``"config.json: model.dim"``.
    faults : tuple of str
        One sentence for each file that cannot be read, with the reason.
    """

    path: Path
    takes_for: tuple[str, ...]
    files: tuple[str, ...]
    tensors: pd.DataFrame
    configuration: dict[str, Any] = field(default_factory=dict)
    faults: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.path}", *(f"  {sentence}" for sentence in self.takes_for or ("no format recognises it",))]
        lines += ["", "files", *(f"  {name}" for name in self.files)]
        if len(self.tensors):
            lines += ["", "tensors", *(f"  {line}" for line in self.tensors.to_string(index=False).split("\n"))]
        if self.configuration:
            lines += ["", "configuration", *(f"  {name} = {value!r}" for name, value in self.configuration.items())]
        return "\n".join([*lines, *(["", *self.faults] if self.faults else [])])


@names_unknown_arguments()
def inspect(path: str | Path) -> Inspection:
    """List the tensors and the configuration in a file or folder, and the formats that recognise it.

    Nothing in the files is ever run. A file that cannot be read is listed with the reason, and raises no error.

    Parameters
    ----------
    path : str or path
        A checkpoint, a file of a dataset, or a folder. The files of a folder are read, but not its subfolders.

    Returns
    -------
    Inspection

    Raises
    ------
    DataError
        If there is no such file or folder.

    Examples
    --------
    >>> print(inspect("data/countries/complex.npz").takes_for[0].partition(": ")[2])
    complex, 901 entities, 13 relations, layout halves, inverse_relations after
    """
    place = Path(path)
    entry = None if place.exists() else find_registered(path)
    if entry is not None:
        raise DataError(
            f"{path} is the name of a registered dataset, not of a file here; kgeval inspect --datasets {path} "
            "describes it"
        )
    if place.is_dir():
        check_regular(place)
    else:
        check_source(place)
    files = sorted(child for child in place.iterdir() if child.is_file()) if place.is_dir() else [place]
    tensors: list[tuple[str, str, str, str]] = []
    configuration: dict[str, Any] = {}
    faults: list[str] = []
    for file in files[:MAX_FILES]:
        faults += _add_content(file, tensors, configuration)
    listed = [f"{file.name}  {file.stat().st_size:,} bytes" for file in files[:MAX_FILES]]
    if place.is_dir():
        listed += sorted(f"{child.name}/" for child in place.iterdir() if child.is_dir())
    if len(files) > MAX_FILES:
        listed.append(f"... and {counted(len(files) - MAX_FILES, 'more file')}")
    if len(configuration) > MAX_VALUES:
        left = len(configuration) - MAX_VALUES
        configuration = dict(list(configuration.items())[:MAX_VALUES]) | {"...": f"{left:,} more values"}
    return Inspection(
        place,
        tuple(_takes_for(place)),
        tuple(listed),
        pd.DataFrame(tensors, columns=COLUMNS),
        configuration,
        tuple(faults),
    )


def _add_content(file: Path, tensors: list[tuple[str, str, str, str]], configuration: dict[str, Any]) -> list[str]:
    """Add the content of a file to `tensors` and `configuration`; return the errors of reading as texts."""
    try:
        for name, shape, dtype in _tensors(file, configuration):
            tensors.append((file.name, name, " x ".join(map(str, shape)) or "()", dtype))
    except KgevalError as error:
        return [str(error)]
    return []


def _takes_for(place: Path) -> Iterator[str]:
    """Yield one sentence for each format that recognises the path."""
    models = [one for one in model_formats().values() if one.sniff(place)]
    datasets = [one for one in dataset_formats().values() if one.sniff(place)]
    predictions = [one for one in prediction_formats().values() if one.sniff(place)]
    is_table = place.is_file() and table_suffix(place) in TABLE_SUFFIXES
    negatives = describe_candidates(place) if is_table or place.suffix in (".npz", ".json") else ""
    are_scores = is_table and is_scores(place)
    for one in models:
        yield f"a model, read as {one.about} ({one.name}): {_described_model(place, one)}"
    for one in datasets:
        if one.name == REFUSED and (models or predictions):
            continue  # another format describes the path more precisely
        if one.name in (REFUSED, PLAIN) and len(datasets) > 1:
            continue
        prefix = "" if one.name == REFUSED else f"a dataset, read as {one.about} ({one.name}): "
        yield prefix + _described_dataset(place, one.name)
    for one in predictions:
        yield f"predictions, read as {one.about} ({one.name}): {_described_predictions(place, one)}"
    if negatives:
        yield f"{negatives}; kgeval evaluate DATASET --candidates {place} ranks among them"
    if are_scores:
        yield f"a table of scored triples; kgeval evaluate DATASET --scores {place}"
    is_taken = models or datasets or predictions or are_scores
    if not is_taken and place.is_file() and (is_archive(place) or is_table):
        yield f"{'or ' if negatives else ''}a dataset: {_described_dataset(place, None)}"
    if not models and not datasets and _is_result(place):
        yield f"a result of kgeval; kgeval show {place} prints it"


def _is_result(place: Path) -> bool:
    """Return whether a file is an archive that kgeval wrote."""
    try:
        return place.is_file() and zipfile.is_zipfile(place) and "format" in read_archive(place)[1]
    except KgevalError:
        return False


def _described_dataset(place: Path, name: str | None) -> str:
    """Return the sizes and the notes of a dataset, or the reason why it cannot be read."""
    try:
        dataset = read_dataset(place, format=name)
    except KgevalError as error:
        return str(error) if name == REFUSED else f"reading fails: {error}"
    sizes = repr(dataset).split("\n", 1)[0].partition(": ")[2]
    notes = [note for note in dataset.notes if not note.startswith("read as ")]
    return "; ".join([sizes, *notes])


def _described_predictions(place: Path, prediction_format: Format) -> str:
    """Return how many ranks a file holds, or that it needs a dataset; and how to evaluate it."""
    try:
        ranks = read_predictions(place, format=prediction_format.name)
    except KgevalError as error:
        if str(error).endswith(NEEDS_DATASET.removeprefix("{file}")):
            return f"ranked answers; kgeval evaluate DATASET --predictions {place}"
        return f"reading without a dataset fails: {error}"
    return f"{counted(len(ranks), 'rank')}; kgeval evaluate --predictions {place} (needs no dataset)"


def _described_model(place: Path, model_format: Format) -> str:
    """Return the type, the sizes and the settings of a model, or the reason why the file cannot be read."""
    try:
        parts = model_format.read(place, {})
    except KgevalError as error:
        return f"reading fails: {error}"
    scalars = {name: array.item() for name, array in parts.arrays.items() if not array.ndim}
    settings = {**scalars, **parts.settings}
    kind = str(settings.pop("model", "")).lower()
    tables = {name: array for name, array in parts.arrays.items() if array.ndim}
    said = [kind or "the model is not named (--model-type)"]
    inverse = settings.get("inverse_relations")
    for table, rows in (("entities", "entities"), ("subjects", "entities"), ("relations", "relations")):
        if table in tables:
            n = len(tables[table]) // (2 if inverse and rows == "relations" else 1)
            said.append(f"{n:,} {rows}")
    said += [f"{name} {value}" for name, value in settings.items()]
    if kind in MODELS:
        unsaid = MODELS[kind].unsaid({**tables, **settings}) if "entities" in tables or "subjects" in tables else []
        said += [f"{name} is not given (--{name.replace('_', '-')})" for name in unsaid]
    if "entity_labels" not in tables and not parts.row_order:
        said.append("the rows are not named: the id files of the dataset or --ids name them")
    return ", ".join(said)


def _tensors(file: Path, configuration: dict[str, Any]) -> Iterator[tuple[str, tuple[int, ...], str]]:
    """Yield name, shape and dtype of each tensor in a file; add the other values of the file to `configuration`."""
    suffix = file.suffix.lower()
    if is_torch_file(file):
        tree = read_torch(file)
        _add_values(configuration, f"{file.name}: ", tree, MAX_DEPTH)
        named = state_dict(tree)
        for name, array in (named or dict(_listed_tensors(tree))).items():
            yield name, array.shape, str(array.dtype)
    elif suffix == ".npz":
        for name, array in read_arrays(file).items():
            if array.ndim:
                yield name, array.shape, str(array.dtype)
            else:
                configuration[f"{file.name}: {name}"] = array.item()
    elif suffix == ".npy":
        shape, dtype = _npy_header(file)
        yield "", shape, dtype
    elif suffix == ".safetensors":
        tensors, metadata = safetensors_header(file)
        _add_values(configuration, f"{file.name}: ", metadata or {}, MAX_DEPTH)
        for name, about in tensors.items():
            yield name, tuple(about["shape"]), str(about.get("dtype"))
    elif suffix == ".json" and file.stat().st_size <= MAX_CONFIGURATION:
        _add_values(configuration, f"{file.name}: ", parse_json(read_text(file), file), MAX_DEPTH)
    elif zipfile.is_zipfile(file):
        try:
            archive = zipfile.ZipFile(file)
        except Exception as error:  # zipfile raises many types of errors for damaged files
            raise DataError(f"{file}: is damaged, or no zip archive: {error}") from None
        with archive:
            configuration[f"{file.name}: members"] = [cut_label(name) for name in archive.namelist()[:20]]


def _listed_tensors(tree: Any, name: str = "", depth: int = MAX_DEPTH) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """Yield name and array of each tensor in nested dicts and lists, such as ``model`` in LibKGE's checkpoints."""
    if isinstance(tree, np.ndarray):
        yield name, tree
    elif depth and isinstance(tree, (Mapping, list, tuple)):
        for key, part in tree.items() if isinstance(tree, Mapping) else enumerate(tree):
            yield from _listed_tensors(part, f"{name}.{key}" if name else str(key), depth - 1)


def _npy_header(file: Path) -> tuple[tuple[int, ...], str]:
    """Return shape and dtype of an ``.npy`` file, from its header."""
    with open(file, "rb") as stream:
        try:
            version = np.lib.format.read_magic(stream)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, dtype = read(stream)
        except Exception as error:  # numpy raises many types of errors for damaged files
            raise DataError(f"{file}: is damaged, or not an .npy file: {error}") from None
    return shape, str(dtype)


def _add_values(configuration: dict[str, Any], name: str, value: Any, depth: int) -> None:
    """Add the plain values in nested containers to `configuration`, under names with dots; leave tensors out."""
    if isinstance(value, np.ndarray) or len(configuration) > 10 * MAX_VALUES:
        return
    joint = "" if name.endswith(": ") else "."
    if isinstance(value, Mapping) and depth and not all(isinstance(part, np.ndarray) for part in value.values()):
        for key, part in value.items():
            _add_values(configuration, f"{name}{joint}{key}", part, depth - 1)
    elif isinstance(value, Stub):
        configuration[name.removesuffix(": ") if name.endswith(": ") else name] = f"an object of {value.name}"
        if depth and isinstance(value.state, Mapping):
            public = {key: part for key, part in value.state.items() if not str(key).startswith("_")}
            _add_values(configuration, f"{name.removesuffix(': ')}{'' if joint else ': '}", public, depth - 1)
    elif isinstance(value, (str, int, float, bool, type(None))):
        configuration[name] = cut_label(value) if isinstance(value, str) else value
    elif (
        isinstance(value, (list, tuple))
        and len(value) <= 8
        and all(isinstance(part, (str, int, float)) for part in value)
    ):
        configuration[name] = list(value)
    elif isinstance(value, (list, tuple)):
        configuration[name] = f"a list of {counted(len(value), 'item')}"
