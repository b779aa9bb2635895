"""`read_candidates` reads lists of negatives from files of blocks (GraIL, BERTRL) and split dictionaries of OGB."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.checks import Ids, counted, cut_label, names_unknown_arguments
from kgeval.base.files import read_arrays
from kgeval.data.candidates import ByRelation, Listed
from kgeval.data.dataset import Dataset, triple_labels
from kgeval.data.row_keys import group_rows
from kgeval.data.sides import side_of
from kgeval.errors import DataError, KgevalError, ProtocolError
from kgeval.formats.pool_files import has_pools, read_pools
from kgeval.formats.text_tables import read_columns


@names_unknown_arguments(files="paths=", splits="split=")
def read_candidates(
    paths: str | Path | Sequence[str | Path],
    dataset: Dataset,
    *,
    split: str = "test",
    duplicates: str = "keep",
    empty: str = "error",
    header: bool | None = None,
    outside: str | None = None,
) -> Listed | ByRelation:
    """Read lists of negatives, one per positive, from files of blocks of 1 + m lines, or from an ``.npz`` file.

    Each block holds a positive, then m negatives that differ from this positive in one entity, or all in the relation;
    each line is ``s<TAB>p<TAB>o``. All blocks of a file have the same number of lines. The side of a file is the side
    on which the negatives differ from their positives. File names are not used, because they can mislead: the negatives
    in GraIL's ``ranking_head.txt`` differ in the tail.

    An ``.npz`` file holds the arrays of a split dictionary of OGB: ``head``, ``relation``, ``tail``, and ``head_neg``,
    ``tail_neg`` or both; see `kgeval.candidates.Listed.from_ogb`.

    Files of pools, one pool for each relation and side, are ``type_constrain.txt`` of OpenKE, JSON objects
    ``{relation: {"head": [...], "tail": [...]}}`` (such as ``typecons.json``) and ``{relation: [...]}`` with tails only
    (``rel2candidates.json``). Integers in them are ids of ``entity2id.txt`` and ``relation2id.txt`` beside the file;
    texts are labels.

    Parameters
    ----------
    paths : str or path, or sequence of these
        One file of blocks for each side; or one ``.npz`` file.
    dataset : Dataset
    split : str
        The split whose triples are the positives; each file has one block per triple, in any order.
    duplicates : str
        Whether an entity that a list contains twice counts as two rivals (``"keep"``) or as one rival (``"drop"``).
    empty : str
        What happens to a positive whose list has no rival; see `kgeval.candidates.Listed`.
    header : bool, optional
        Whether the first line of every file names the columns; see `read_dataset`.
    outside : str, optional
        Only for pools: what happens to a positive outside its pool, ``"error"`` (the default), ``"add"`` or ``"last"``;
        see `kgeval.candidates.ByRelation`.

    Returns
    -------
    kgeval.candidates.Listed or kgeval.candidates.ByRelation
        For the field `candidates` of a `kgeval.Protocol` that ranks `split`.

    Raises
    ------
    DataError
        If a file cannot be divided into equal blocks, if a line differs from its positive in more than one part, if a
        label is not in `dataset`, or if two files are for the same side. The message names file and line. For an
        ``.npz`` file, see `kgeval.candidates.Listed.from_ogb`.
    """
    files = [Path(paths)] if isinstance(paths, (str, Path)) else [Path(path) for path in paths]
    pools = [path for path in files if has_pools(path)]
    if pools and len(files) > 1:
        raise DataError(f"{pools[0]}: holds the pools of all relations; give this file alone")
    if pools:
        if empty != "error":
            raise ProtocolError("empty= is for lists of negatives; in an empty pool, every positive is outside")
        return read_pools(pools[0], dataset, outside or "error")
    if outside is not None:
        raise ProtocolError("outside= is for pools by relation; these files hold lists of negatives")
    archives = [path for path in files if path.suffix == ".npz"]
    if archives and len(files) > 1:
        raise DataError(f"{archives[0]}: holds the negatives of all sides; give this file alone")
    if archives:
        arrays = read_arrays(archives[0])
        source = str(archives[0])
        return Listed.from_ogb(arrays, dataset, splits=(split,), duplicates=duplicates, empty=empty, source=source)
    lists: dict[str, Any] = {}
    for path in files:
        side, ids = _read_blocks(path, dataset, split, header)
        if f"{side}s" in lists:
            raise DataError(
                f"{path}: this file and an earlier one both have negatives for the {side}; give one per side"
            )
        lists[f"{side}s"] = ids
    return Listed(**lists, duplicates=duplicates, empty=empty)


def describe_candidates(path: Path) -> str:
    """Return what a file looks like if it holds lists of negatives, and an empty text if it does not.

    Parameters
    ----------
    path : Path
        The file is one that `read_candidates` may read: blocks of lines, or an ``.npz`` file.
    """
    if has_pools(path):
        return "pools of candidates by relation"
    try:
        if path.suffix == ".npz":
            names = set(read_arrays(path))
            has_lists = {"head", "relation", "tail"} <= names and names & {"head_neg", "tail_neg"}
            return "lists of negatives (a split dictionary of OGB)" if has_lists else ""
        codes = np.column_stack([column.codes for column in read_columns(path)]).astype(np.int64)
    except KgevalError:
        return ""
    for side in ("object", "subject", "relation"):
        others = np.delete(codes, side_of(side).asked, axis=1)
        # A block ends where the other two columns change; two blocks in a row may have the same values there.
        ends = 1 + np.flatnonzero((others[1:] != others[:-1]).any(axis=1))
        size = int(np.gcd.reduce(np.append(ends, len(codes))))
        if size > 1 and len(ends):
            return (
                f"lists of negatives, {counted(len(codes) // size, 'block')} of {size} lines (a positive, then "
                f"{counted(size - 1, 'negative')} with another {side})"
            )
    return ""


def _read_blocks(path: Path, dataset: Dataset, split: str, header: bool | None) -> tuple[str, Ids]:
    """Return the side of a file, and the ids of the negatives on this side, int64, shape (positives, m)."""
    columns = read_columns(path, header=header)
    top = 1 + bool(header)  # the number of the first line with a triple
    n_lines, positives = len(columns[0]), dataset[split].array
    if not len(positives) or n_lines % len(positives) or n_lines < 2 * len(positives):
        raise DataError(
            f"{path}: {n_lines:,} lines cannot be divided into equal blocks (a positive, then its negatives) for the "
            f"{len(positives):,} triples of {split}"
        )
    triples = np.empty((n_lines, 3), dtype=np.int64)
    for i, vocabulary in enumerate((dataset.entities, dataset.relations, dataset.entities)):
        triples[:, i] = vocabulary.find(columns[i].categories.to_numpy(dtype=object))[columns[i].codes]
    if (triples < 0).any():
        line, i = np.argwhere(triples < 0)[0]
        kind = "relation" if i == 1 else "entity"
        raise DataError(
            f"{path}, line {line + top}: the {kind} {cut_label(columns[i][line])!r} is not in {dataset.name!r}"
        )
    blocks = triples.reshape(len(positives), -1, 3)
    size = blocks.shape[1]
    rows = _rows_of(path, blocks[:, 0], positives, size, dataset, split, top)
    # differs (blocks, m, 3): whether s, p and o of each negative differ from s, p and o of the positive in its block
    differs = blocks[:, 1:] != blocks[:, :1]
    # The side of the file is the side on which a negative differs from its positive. The first negative that is not a
    # copy of its positive decides.
    first = differs[differs.any(axis=2)][:1].tolist()
    side = "relation" if first == [[False, True, False]] else "subject" if first and first[0][0] else "object"
    asked = side_of(side).asked
    wrong = np.argwhere(differs[..., [place for place in range(3) if place != asked]].any(axis=-1))
    if len(wrong):
        block, j = wrong[0]
        positive = triple_labels(dataset, *blocks[block, 0])
        raise DataError(
            f"{path}, line {block * size + j + 1 + top}: expected a negative of {positive} (line "
            f"{block * size + top}) with another {side}, as in the lines before; "
            f"found {triple_labels(dataset, *blocks[block, 1 + j])}"
        )
    negatives = np.empty((len(positives), size - 1), dtype=np.int64)
    negatives[rows] = blocks[:, 1:, asked]
    return side, negatives


def _rows_of(path: Path, firsts: Ids, positives: Ids, size: int, dataset: Dataset, split: str, top: int) -> Ids:
    """Return, for the first triple of each block, the row of the same triple in `positives`, int64, shape (blocks,).

    If a triple is repeated, its first block belongs to its first row, its second block to its second row, and so on.
    `top` is the number of the first line that holds a triple, for messages.
    """
    if np.array_equal(firsts, positives):
        return np.arange(len(positives))
    # Sort both arrays by triple; the sort is stable, so equal triples keep their order.
    orders = [group_rows(*part.T)[0] for part in (firsts, positives)]
    in_order = [part[order] for part, order in zip((firsts, positives), orders)]
    differs = np.flatnonzero((in_order[0] != in_order[1]).any(axis=1))
    if len(differs):
        block = orders[0][differs[0]]
        raise DataError(
            f"{path}, line {block * size + top}: expected a triple of {split} as the first line of a block of {size} "
            f"lines; found {triple_labels(dataset, *firsts[block])}"
        )
    rows = np.empty(len(positives), dtype=np.int64)
    rows[orders[0]] = orders[1]
    return rows
