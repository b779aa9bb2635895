"""The format of Marius: a folder with raw vectors of the nodes, and the relations in a TorchScript archive.

Layout. ``embeddings.bin`` (in older versions in ``nodes/``) has one float32 vector per node, without a header.
``model.pt`` has the tensors ``relation_embeddings`` and ``inverse_relation_embeddings``; it is a TorchScript archive
that also contains code. kgeval does not run the code, and reads only the tensors. ``full_config.yaml`` names the
decoder. ``node_mapping.txt`` and ``relation_mapping.txt`` have lines ``label,id``. Instead of the binary files, the
folder may have the files that ``marius_postprocess`` exports: ``embeddings.csv`` and ``relation_embeddings.csv`` (or
``.parquet``) with the columns ``id`` and ``embedding``; the relations may also be ``.npy`` tables of these names.

The models are DISTMULT and COMPLEX (halves). By default Marius also trains inverse relations. kgeval then
answers the queries for subjects with the inverse vectors.

Traps. Marius assigns ids in random order, so without the mappings it is unknown which entity a row belongs to.
``embeddings.bin`` holds the inputs of the encoder. If the encoder has GNN layers, a bias or an activation, the decoder
scores other vectors; Marius writes them to ``encoded_nodes.bin`` (option ``export_encoded_nodes``). That file is read
if it exists; without it, a model with such an encoder is refused. The exported CSV has 8 decimals, and numpy shortens
vectors of more than 1,000 numbers with dots, which is an error here. TRANSE is refused: Marius ranks the distances
themselves, and the largest distance counts as the best (in version 1: the cosine).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kgeval.base.checks import cut_label
from kgeval.base.files import Arrays, read_text, text_array
from kgeval.errors import DataError, MissingExtra
from kgeval.formats.checkpoints.model_file import ModelFile
from kgeval.formats.checkpoints.plain_files import label_arrays, read_npy
from kgeval.formats.checkpoints.torch_files import read_torch, state_dict
from kgeval.formats.registry import Format

ENTITY_STEMS = ("encoded_nodes", "nodes/encoded_nodes", "embeddings", "nodes/embeddings")
RELATION_STEMS = {
    "relation_embeddings": ("relation_embeddings", "rel_embeddings"),
    "inverse_relation_embeddings": ("inverse_relation_embeddings", "inv_rel_embeddings"),
}
EXPORTS = (".parquet", ".csv")
MODEL, CONFIG = "model.pt", "full_config.yaml"
MAPPINGS = (
    ("node_mapping.txt", "nodes/node_mapping.txt", "../nodes/node_mapping.txt"),
    ("relation_mapping.txt", "edges/relation_mapping.txt", "../edges/relation_mapping.txt"),
)
SETTINGS: dict[str, dict[str, Any]] = {"distmult": {}, "complex": {"layout": "halves"}}
HOW_TO_EXPORT = (
    "Put model.pt into the folder, or export the relations: marius_postprocess --model_dir FOLDER --to csv "
    "--output_dir FOLDER"
)
TRANSE = (
    "the decoder is TRANSE. Marius ranks its scores, which are the distances themselves (in version 1 the cosine), "
    "from the largest to the smallest; no model of kgeval.models does so. Rank it with a function of your own: "
    "kgeval.evaluate(function, dataset)"
)


def sniff(path: Path) -> bool:
    """Return whether a folder contains vectors of nodes, or whether a file is one of them."""
    if not path.is_dir():
        return path.is_file() and path.name in ("embeddings.bin", "encoded_nodes.bin")
    if _first(path, ENTITY_STEMS, (".bin",)) is not None:
        return True
    has_relations = (path / MODEL).is_file() or any(_first(path, stems, EXPORTS) for stems in RELATION_STEMS.values())
    return has_relations and _first(path, ENTITY_STEMS, EXPORTS) is not None


def _first(folder: Path, stems: tuple[str, ...], endings: tuple[str, ...]) -> Path | None:
    """Return the first file with one of these names and endings; None if there is no such file."""
    files = (folder / f"{stem}{ending}" for stem in stems for ending in endings)
    return next((file for file in files if file.is_file()), None)


def read(path: Path, said: Mapping[str, Any]) -> ModelFile:
    """Read the folder; see `kgeval.load_model`."""
    folder = path if path.is_dir() else path.parent
    if not path.is_dir() and folder.name == "nodes" and not (folder / MODEL).is_file():
        folder = folder.parent
    file = _first(folder, ENTITY_STEMS, (".bin", *EXPORTS))
    if file is None:
        raise DataError(f"{folder}: expected embeddings.bin, or embeddings.csv, which marius_postprocess writes")
    config = list(_values(read_text(folder / CONFIG))) if (folder / CONFIG).is_file() else []
    kind = _kind(folder, config, said)
    is_encoded = file.stem == "encoded_nodes"
    notes = _check_encoder(folder, file, config) if not is_encoded else []
    labels, label_source = label_arrays(*(_mapping(folder, names) for names in MAPPINGS))
    relations, inverse, further = _relations(folder, labels)
    if is_encoded:
        further = {}  # these tensors belong to the encoder, which Marius has already applied
    settings: dict[str, Any] = {} if kind is None else {"model": kind, **SETTINGS[kind]}
    if inverse is None and "true" in _all(config, "model.decoder.options.inverse_edges"):
        raise DataError(
            f"{folder}: {CONFIG} says inverse_edges: true, but the inverse relations are missing, which answer the "
            f"queries for subjects. {HOW_TO_EXPORT}"
        )
    if inverse is not None:
        if inverse.shape != relations.shape:
            raise DataError(
                f"{folder}: expected as many inverse relations as relations; got tables of shape {inverse.shape} and "
                f"{relations.shape}"
            )
        relations = np.concatenate([relations, inverse])
        settings["inverse_relations"] = "after"
    entities = _entities(folder, file, relations.shape[1], config, labels)
    arrays = {"entities": entities, "relations": relations, **further, **labels}
    return ModelFile(file, arrays, settings, notes=tuple(notes), source=CONFIG, label_source=label_source)


def _values(text: str) -> Iterator[tuple[str, str]]:
    """Yield the pairs (key, value) of a YAML file of OmegaConf, such as ``("model.decoder.type", "COMPLEX")``.

    A key starts with the keys above it. A value in a list gets the key of the list, without its position in the list.
    """
    above: list[tuple[int, str]] = []  # the keys of the line above and their columns
    for line in text.split("\n"):
        content = line.lstrip(" ")
        while content.startswith("- "):
            content = content[2:].lstrip(" ")
        key, colon, value = content.partition(":")
        if not colon or content.startswith("#"):
            continue
        column = len(line) - len(content)
        above = [*((place, name) for place, name in above if place < column), (column, key.strip())]
        yield ".".join(name for _, name in above), value.partition(" #")[0].strip().strip("'\"")


def _all(config: list[tuple[str, str]], key: str) -> list[str]:
    """Return all values of a key of the configuration, in lower case."""
    return [value.lower() for name, value in config if name == key]


def _kind(folder: Path, config: list[tuple[str, str]], said: Mapping[str, Any]) -> str | None:
    """Return the name of the model in kgeval, from the configuration, else from the caller, else None."""
    in_config = _all(config, "model.decoder.type")
    name = in_config[0] if in_config else said.get("model")
    if name is None:
        return None
    kind = str(name).lower()
    if kind == "transe":
        raise DataError(f"{folder / CONFIG if in_config else folder}: {TRANSE}")
    if kind not in SETTINGS:
        raise DataError(
            f"{folder / CONFIG if in_config else folder}: expected a decoder for link prediction, DISTMULT or COMPLEX; "
            f"got {name!r}"
        )
    return kind


def _check_encoder(folder: Path, file: Path, config: list[tuple[str, str]]) -> list[str]:
    """Raise a DataError if the decoder does not score the vectors in `file`.

    Return a note (a list of one text) if the configuration does not describe the encoder, else an empty list.
    """
    layers = _all(config, "model.encoder.layers.type")
    if not layers:
        return [f"nothing says that Marius scores the vectors of {file.name} unchanged (no layers in {CONFIG})"]
    if (
        layers != ["embedding"]
        or "true" in _all(config, "model.encoder.layers.bias")
        or set(_all(config, "model.encoder.layers.activation")) - {"none", "null", ""}
    ):
        raise DataError(
            f"{file}: {folder / CONFIG} has an encoder with more than one plain embedding layer (layers: "
            f"{', '.join(layers)}), so Marius does not score these vectors. Train or evaluate with "
            "storage.export_encoded_nodes: true and put encoded_nodes.bin into the folder"
        )
    return []


def _mapping(folder: Path, names: tuple[str, ...]) -> Path | None:
    """Return the first existing id file of `names`; None if the folder contains none of them."""
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _relations(folder: Path, labels: Arrays) -> tuple[Any, Any, Arrays]:
    """Return the table of relations, the table of inverse relations (or None), and all other tensors of the model.

    If the folder has no mapping of relations, but the exported relations have labels, the labels are added to `labels`.
    """
    if (folder / MODEL).is_file():
        tensors = dict(state_dict(read_torch(folder / MODEL), str(folder / MODEL)))
        tables = [tensors.pop(name, None) for name in RELATION_STEMS]
        if tables[0] is None:
            raise DataError(
                f"{folder / MODEL}: expected the tensor relation_embeddings; found {', '.join(tensors) or 'no tensor'}"
            )
        _check_table(folder / MODEL, tables[0])
        return tables[0], tables[1], tensors
    found: list[Any] = []
    for stems in RELATION_STEMS.values():
        file = _first(folder, stems, (".npy", *EXPORTS))
        if file is None:
            found.append(None)
        elif file.suffix == ".npy":
            found.append(_check_table(file, read_npy(file)))
        else:
            ids, table = _exported(file)
            _add_labels(labels, "relation_labels", ids)
            found.append(table)
    if found[0] is None:
        raise DataError(f"{folder}: the relations are missing. {HOW_TO_EXPORT}")
    return found[0], found[1], {}


def _check_table(file: Path, table: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a table; raise a DataError unless the table has two dimensions and at least one column."""
    if table.ndim != 2 or not table.shape[1]:
        shape = table.shape
        raise DataError(f"{file}: expected a table with two dimensions and at least one column; got shape {shape}")
    return table


def _add_labels(labels: Arrays, name: str, ids: list[str]) -> None:
    """Add the ids of an exported file to `labels`, as the labels of the rows, unless the folder has a mapping.

    If Marius has no mapping, it exports the ids 0, 1, 2, ...; these ids do not say which entity a row belongs to.
    """
    if name not in labels and ids != [str(i) for i in range(len(ids))]:
        labels[name] = text_array(ids)


def _entities(
    folder: Path, file: Path, width: int, config: list[tuple[str, str]], labels: Arrays
) -> npt.NDArray[np.float32]:
    """Return the vectors of the nodes; they have as many columns as the vectors of the relations."""
    if file.suffix != ".bin":
        ids, table = _exported(file)
        _add_labels(labels, "entity_labels", ids)
    else:
        size = file.stat().st_size
        if size % (4 * width) or not size:
            raise DataError(
                f"{file}: has {size:,} bytes, which is not a multiple of {4 * width:,}, the size of a float32 vector "
                f"with {width} numbers as in the relations. Does it come from the same run?"
            )
        table = np.fromfile(file, dtype="<f4").reshape(-1, width)
    counts = [int(count) for count in _all(config, "storage.dataset.num_nodes") if count.isdecimal()]
    if table.shape[1] != width or any(count != len(table) for count in counts):
        said = f" and {CONFIG} says num_nodes: {counts[0]}" if counts else ""
        raise DataError(
            f"{file}: has {len(table):,} vectors of {table.shape[1]} numbers; the relations have {width} "
            f"numbers{said}. Are the files of one run?"
        )
    return table


def _exported(file: Path) -> tuple[list[str], npt.NDArray[np.float32]]:
    """Return the ids and the vectors of a file that ``marius_postprocess`` wrote."""
    if file.suffix == ".parquet":
        try:
            frame = pd.read_parquet(file)
        except ImportError as error:
            raise MissingExtra(f'{file}: reading .parquet needs pyarrow; pip install "kgeval[parquet]"') from error
        except Exception as error:  # pyarrow raises many types of errors for damaged files
            raise DataError(f"{file}: is damaged, or not a parquet file: {error}") from error
    else:
        head = read_text(file).split("\n", 1)[0].strip()
        separator = head.removeprefix("id").removesuffix("embedding")
        if head != f"id{separator}embedding" or len(separator) != 1:
            raise DataError(f"{file}, line 1: expected the columns id and embedding; found {head[:80]!r}")
        try:
            frame = pd.read_csv(file, sep=separator, dtype=str, na_filter=False, encoding="utf-8")
        except ValueError as error:  # also pandas.errors.ParserError
            raise DataError(f"{file}: expected the columns id and embedding: {error}") from error
    if list(frame.columns) != ["id", "embedding"]:
        shown = ", ".join(map(str, frame.columns))
        raise DataError(f"{file}: expected the columns id and embedding; found {cut_label(shown)}")
    vectors = [_numbers(file, i, value) for i, value in enumerate(frame["embedding"], start=1)]
    if len({len(vector) for vector in vectors}) != 1:
        raise DataError(f"{file}: expected vectors of one length; got lengths {sorted({len(v) for v in vectors})[:5]}")
    return [str(label) for label in frame["id"]], np.array(vectors, dtype=np.float32)


def _numbers(file: Path, entry: int, value: Any) -> npt.NDArray[np.float64]:
    """Return one exported vector; `value` is a list of numbers, or the text that numpy prints for an array."""
    try:
        numbers = value.strip("[] ").split() if isinstance(value, str) else value
        return np.array(numbers, dtype=np.float64)
    except (ValueError, TypeError):
        shortened = " numpy has left out numbers (...)." if "..." in str(value) else ""
        raise DataError(
            f"{file}, entry {entry}: expected numbers in brackets; found {str(value)[:80]!r}.{shortened} Export with "
            "--to parquet, or use embeddings.bin and model.pt"
        ) from None


FORMAT = Format("marius", sniff, read, "a model of Marius")
