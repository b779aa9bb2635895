"""RDF: N-Triples (``.nt``) and Turtle (``.ttl``), packed or not, read by the library pyoxigraph (``kgeval[rdf]``).

Layout. A folder with ``train.nt``, ``valid.nt`` and ``test.nt`` (or ``.ttl``), or a single file. The label of an IRI is
the IRI without angle brackets. The label of a literal is the literal as N-Triples writes it, with its quotes, language
tag and datatype: ``"7"^^<http://www.w3.org/2001/XMLSchema#integer>``. The label of a blank node is ``_:name``.

Traps. If a tool splits the lines at tabs or spaces, the final dot becomes part of the object, and literals break into
pieces. A letter in an IRI may be written as an escape; both forms are the same IRI. Upper and lower case make no
difference in language tags; all tags become lower case. ``"a"`` and ``"a"^^xsd:string`` are the same literal, but
``"1"^^xsd:integer`` and ``"01"^^xsd:integer`` differ. Literals are entities, so they are candidates. A blank node
belongs to its file. If two files contain blank nodes of the same name, an error is raised: by the rules of RDF, the
name then means two nodes; but if a tool has split one file into two, the name means one node. Blank nodes without a
name (``[...]`` and lists in Turtle) get names in the order of the file. Named graphs (N-Quads, TriG) are refused.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.checks import counted, listed
from kgeval.base.files import check_source
from kgeval.base.limits import MIN_TRIPLE, check_rows
from kgeval.data.dataset import Dataset
from kgeval.data.triples import ONE_FILE, SPLITS
from kgeval.errors import DataError, MissingExtra
from kgeval.formats.dataset_options import DatasetOptions
from kgeval.formats.folders import AS_TABLES, check_folder, given_splits, ignored_names, names_in, unread_notes
from kgeval.formats.id_triples import NO_TRAIN, label_columns
from kgeval.formats.registry import Format
from kgeval.formats.split_files import STEMS, beside_notes, find_split_files
from kgeval.formats.unpacking import open_packed, plain_name

KINDS = {".nt": "N_TRIPLES", ".ttl": "TURTLE"}  # the formats of pyoxigraph
REFUSED = {
    ".nq": "N-Quads, which may hold several graphs",
    ".trig": "TriG, which may hold several graphs",
    ".rdf": "RDF/XML",
    ".owl": "OWL",
    ".jsonld": "JSON-LD",
    ".n3": "N3",
}
UNREAD = {r"(train|valid|test|dev|val)\.(txt|tsv)": f"no RDF; {AS_TABLES} reads it instead"}
# pyoxigraph gives a blank node without a name a random name of hexadecimal digits.
ANONYMOUS = re.compile(r"[0-9a-f]{1,32}")
_CHECKED = 4096  # the number of triples is checked each time that so many have been read


def _suffix(name: str) -> str:
    """Return the suffix of a file name, without the suffix of packing: ``.nt`` for ``train.nt.gz``."""
    return Path(plain_name(name)).suffix.lower()


def _split_names(folder: Path) -> dict[str, list[str]]:
    """Return, for each split, the names of the files in a folder that seem to hold this split as RDF."""
    names = sorted(names_in(folder))
    return {
        split: [n for n in names if Path(plain_name(n)).stem in stems and _suffix(n) in KINDS.keys() | REFUSED.keys()]
        for split, stems in STEMS.items()
    }


def sniff(path: Path) -> bool:
    """Return whether a path is an RDF file, or a folder with a split as RDF."""
    try:
        if path.is_file():
            return _suffix(path.name) in KINDS.keys() | REFUSED.keys()
    except (OSError, ValueError):
        return False
    return any(_split_names(path).values())


def read(path: Path, options: DatasetOptions) -> Dataset:
    """Read the file or folder; see `kgeval.read_dataset`."""
    options.check_used("rdf", ("splits", "ignore"))
    if not path.exists() or path.is_dir():
        check_folder(path, ())
        files, name = _files(path, options), path.resolve().name
        taken = {part.name for paths in files.values() for part in paths}
        ignored = ignored_names(options)
        notes = unread_notes(path, taken, UNREAD, ignored)
        left = sorted(n for n in names_in(path) - taken - {*ignored} if _suffix(n) in KINDS.keys() | REFUSED.keys())
        notes += (
            [f"not read: {listed(left)} (RDF; splits=, --split-files reads a file as part of a split)"] if left else []
        )
    else:
        check_source(path)
        options.check_used("rdf (a single file)", ())
        files, name = {"train": [path]}, Path(plain_name(path)).stem
        notes = [ONE_FILE, *beside_notes(path)]
    terms = _Terms()
    splits = {split: np.concatenate([terms.read(part) for part in paths]) for split, paths in files.items()}
    notes += [] if "train" in splits else [NO_TRAIN]
    n_literals = sum(label.startswith('"') for label in terms.ids[0])
    n_blank = sum(label.startswith("_:") for label in terms.ids[0])
    if n_literals:
        notes.append(f"{counted(n_literals, 'entity is a literal', 'entities are literals')}; they are candidates too")
    if n_blank:
        notes.append(f"{counted(n_blank, 'entity is a blank node', 'entities are blank nodes')}")
    return Dataset.from_labels(label_columns(splits, *map(list, terms.ids)), name=name, notes=notes)


def _files(folder: Path, options: DatasetOptions) -> dict[str, list[Path]]:
    """Return the files of each split of a folder."""
    ignored, chosen = ignored_names(options), given_splits(options)
    for split, names in _split_names(folder).items():
        left = [name for name in names if name not in ignored and split not in chosen]
        if len(left) > 1:
            raise DataError(
                f"{folder}: contains both {left[0]} and {left[1]}; keep only one, or say which to read: "
                f"splits={{{split!r}: {left[0]!r}}} (--split-files {split}={left[0]})"
            )
        if left:
            chosen[split] = left[0]
    found = find_split_files(folder, chosen, options.ignore)
    if not chosen:
        raise DataError(f"{folder}: expected train.nt, valid.nt or test.nt (or .ttl)")
    for split in found.keys() - chosen.keys():
        name = found[split][0].name
        raise DataError(
            f"{folder}: {name} seems to be the {split} split, but its name has no suffix of RDF; rename it, say "
            f"splits={{{split!r}: {name!r}}} (--split-files {split}={name}) or ignore=[{name!r}] "
            f"(--ignore-files {name})"
        )
    return {split: found[split] for split in SPLITS if split in chosen}


class _Terms:
    """The labels of the terms read so far, the number of each label, and the file in which each blank node occurs."""

    def __init__(self) -> None:
        self.ids: tuple[dict[str, int], dict[str, int]] = {}, {}  # label -> number, of entities and of relations
        self.file_of: dict[str, Path] = {}  # for each name of a blank node: its file

    def read(self, file: Path) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the triples of a file as numbers of labels, int64 (n, 3), columns s, p, o."""
        oxigraph = _library()
        suffix = _suffix(file.name)
        if suffix in REFUSED:
            raise DataError(
                f"{file}: is {REFUSED[suffix]}; kgeval reads N-Triples (.nt) and Turtle (.ttl). Convert the file first"
            )
        raw = open_packed(file).removeprefix(b"\xef\xbb\xbf")
        kind = getattr(oxigraph.RdfFormat, KINDS.get(suffix, "N_TRIPLES"))
        names = _written_names(raw) if suffix == ".ttl" else None
        entities, relations = self.ids
        anonymous: dict[str, str] = {}
        labels: dict[Any, str] = {}
        parts: list[int] = []

        def label_of(term: Any) -> str:
            if isinstance(term, oxigraph.NamedNode):
                return str(term.value)
            if isinstance(term, oxigraph.Literal):
                return str(term)
            if not isinstance(term, oxigraph.BlankNode):
                raise DataError(
                    f"{file}: contains a triple about a triple ({str(term)[:80]}), which kgeval cannot rank"
                )
            name = str(term.value)
            if names is not None and ANONYMOUS.fullmatch(name) and name not in names:
                # No blank node in a file can have this name, since "[" ends a name.
                return anonymous.setdefault(name, f"_:[{file.name}]{len(anonymous) + 1}")
            if self.file_of.setdefault(name, file) != file:
                raise DataError(
                    f"{file}: the blank node _:{name} occurs in {self.file_of[name].name} too. In RDF these are two "
                    "nodes; if they are one, replace the blank nodes by IRIs in both files"
                )
            return f"_:{name}"

        try:
            for number, triple in enumerate(oxigraph.parse(raw, format=kind)):
                if not number % _CHECKED:
                    check_rows(file, number, len(raw), MIN_TRIPLE, "triples")
                for term, ids in ((triple.subject, entities), (triple.predicate, relations), (triple.object, entities)):
                    label = labels.get(term)
                    if label is None:
                        label = labels[term] = label_of(term)
                    parts.append(ids.setdefault(label, len(ids)))
        except SyntaxError as error:
            message = re.sub(r"^Parser error (at|between) .*?: ", "", str(error.msg))
            raise DataError(f"{file}, line {error.lineno}: not {kind}: {message}") from None
        if not parts:
            raise DataError(f"{file}: 0 triples; the file is empty")
        return np.array(parts, dtype=np.int64).reshape(-1, 3)


def _written_names(raw: bytes) -> set[str]:
    """Return the names of blank nodes in a text that have the form of pyoxigraph's names for unnamed nodes."""
    return {name.decode("ascii") for name in re.findall(rb"_:([0-9a-f]{1,32})", raw)}


def _library() -> Any:
    """Return the module pyoxigraph."""
    try:
        import pyoxigraph
    except ImportError as error:
        raise MissingExtra('reading RDF files needs pyoxigraph; pip install "kgeval[rdf]"') from error
    return pyoxigraph


FORMAT = Format("rdf", sniff, read, "RDF (N-Triples or Turtle)")
