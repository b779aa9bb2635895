"""Functions that read predictions, ranked answers and ranks of other tools, one module for each file format."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from kgeval.base.checks import check_one_of, counted, names_unknown_arguments
from kgeval.base.discovery import import_modules
from kgeval.base.files import check_source
from kgeval.data.dataset import Dataset
from kgeval.data.predictions import GivenRanks, Predictions
from kgeval.data.sides import check_side
from kgeval.errors import DataError
from kgeval.formats.prediction_files.mapping import NEEDS_DATASET, PredictionOptions
from kgeval.formats.prediction_files.names import Names
from kgeval.formats.predictions import plain
from kgeval.formats.registry import Format, format_of, formats_of

__all__ = ["prediction_formats", "read_predictions"]


@names_unknown_arguments(names="entity_names=", predictions_format="format=")
def read_predictions(
    path: str | Path,
    dataset: Dataset | None = None,
    *,
    format: str | None = None,
    split: str = "test",
    entity_names: Names | None = None,
    relation_names: Names | None = None,
    matching: str | None = None,
    side: str | None = None,
    ids: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
) -> Predictions | GivenRanks:
    """Read ranked answers, or ranks, that another tool wrote, for `kgeval.evaluate_predictions`.

    Parameters
    ----------
    path : str or path
        A file, or a folder with one file for each side. The guide ("predictions") lists the tools.
    dataset : Dataset, optional
        Not needed if the file holds a rank for every query: its triples are then numbered as they are, and
        ``kgeval.evaluate_predictions(predictions)`` makes the split ``test`` from them.
    format : str, optional
        The name of the file format, such as ``"anyburl"``; by default the format is recognised by the names and the
        first bytes of the files.
    split : str
        The split that contains the triples of the predictions. If the file does not name its triples by labels, row i
        belongs to triple i of this split.
    entity_names : mapping of str to str or sequence of str, or path, optional
        The names of entities, if the file does not hold their labels: ``{label: name}`` or ``{label: [name, alias,
        ...]}``, or a file with ``label<TAB>name`` and perhaps further aliases on each line, such as
        ``entity2text.txt``. If several entities have the same name, answers with this name stay unmapped, and a note
        counts these answers.
    relation_names : mapping or path, optional
        The names of relations, in the same forms. By default, relations are matched by label, or by the rows of the
        split.
    matching : str, optional
        The rule that finds the entity in a generated text; needed only for files of generated text. ``"exact"``: the
        whole text is the label or the first name of the entity. ``"alias"``: the whole text is the label or any name,
        in upper or lower case. ``"substring"``: the text contains, as whole words, the label or a name of exactly one
        entity; names inside longer names do not count.
    side : str, optional
        ``"subject"`` or ``"object"``. Needed if the file does not contain the side of its queries; `side` is then the
        side of all queries. If the file contains the sides, only the queries of `side` are read, and a note counts the
        other queries.
    ids : path, sequence of two paths, or str, optional
        Needed for files of integer ids. Either the two files that list ids and labels (first entities, then relations),
        or the folder of these files, or the word ``"dataset"`` if the ids are the ids of `dataset`.

    Returns
    -------
    Predictions or GivenRanks
        Rows keep the order of the file. ``notes`` say in which format the file was read, how names were matched to
        entities, and how many names were not matched. `filtered` is None if neither the file nor the tool's
        documentation says whether known answers were removed.

    Raises
    ------
    DataError
        If the file has ranked answers and no ranks, and there is no dataset. If the file has no known format or is
        damaged, if a label is unknown, or if names cannot be mapped to entities.
        Also if a side, a matching rule or the meaning of ids is needed, but neither the file nor the call gives it. The
        message names file and line.

    Examples
    --------
    >>> import tempfile
    >>> dataset = Dataset.from_frames(test=[("Jack", "born_in", "Italy"), ("Jack", "likes", "Rome")])
    >>> with tempfile.NamedTemporaryFile("w+", suffix=".jsonl") as file:
    ...     _ = file.write('{"query": ["Jack", "born_in", null], "predictions": ["Rome", "Italy"]}')
    ...     file.flush()
    ...     predictions = read_predictions(file.name, dataset)
    >>> predictions.sides.tolist(), [dataset.entities.labels[i] for i in predictions.answers.values]
    (['object'], ['Rome', 'Italy'])
    """
    file = Path(path)
    if not file.is_dir():
        check_source(file)
    if dataset is not None:
        check_one_of("split", split, dataset.splits, DataError)
    formats = prediction_formats()
    file_format = format_of(file, formats, plain.FORMAT, format, "format=NAME (--predictions-format NAME)")
    if format is None and not file_format.sniff(file):
        listed = "; ".join(f"{one.name}: {one.about}" for one in formats.values())
        raise DataError(
            f"{file}: no format of predictions recognises it; choose one with format=NAME (--predictions-format NAME), "
            f"or write kgeval's own format (kgeval help predictions). Formats are {listed}"
        )
    options = PredictionOptions(split, entity_names, relation_names, matching, side, ids)
    if dataset is None:
        _check_alone(file, file_format, options)
    result: Predictions | GivenRanks = file_format.read(file, dataset, options)
    return result if side is None else _on_side(result, check_side(side))


def _check_alone(file: Path, file_format: Format, options: PredictionOptions) -> None:
    """Raise a DataError if a file cannot be read without a dataset, or if an option has no meaning without one."""
    if not file_format.may_hold_ranks:
        raise DataError(NEEDS_DATASET.format(file=file))
    if options.split != "test":
        raise DataError(f"split={options.split!r}: without a dataset, the triples of the file are the split test")
    for name in ("entity_names", "relation_names", "ids"):
        if getattr(options, name) is not None:
            raise DataError(f"{name}= says which entities of a dataset the texts of the file mean; give the dataset")


def _on_side(found: Predictions | GivenRanks, side: str) -> Predictions | GivenRanks:
    """Return the rows of one side, with a note that counts the rows of the other side."""
    rows = np.flatnonzero(found.sides == side)
    if not len(rows):
        raise DataError(f"{found.source}: no query of the file asks for the {side}; side={side!r} selects nothing")
    if len(rows) == len(found):
        return found
    left_out = counted(len(found) - len(rows), "query", "queries")
    notes = (*found.notes, f"{left_out} of the other side left out (side={side!r})")
    if isinstance(found, GivenRanks):
        n_candidates = None if found.n_candidates is None else found.n_candidates[rows]
        return replace(
            found,
            triples=found.triples[rows],
            sides=found.sides[rows],
            ranks=found.ranks[rows],
            n_candidates=n_candidates,
            notes=notes,
        )
    scores = None if found.scores is None else found.scores[found.answers.elements(rows)]
    return replace(
        found,
        triples=found.triples[rows],
        sides=found.sides[rows],
        answers=found.answers.take(rows),
        scores=scores,
        notes=notes,
    )


def prediction_formats() -> dict[str, Format]:
    """Return the formats of predictions, by name."""
    return formats_of(import_modules(__name__, __path__))
