"""Find the columns of a table that hold subject, relation and object, by their names or by the option ``columns=``.

`kgeval.data.frames` and the readers of tables in `kgeval.formats` call these functions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgeval.errors import DataError

COLUMN_NAMES = (
    ("s", "p", "o"),
    ("subject", "predicate", "object"),
    ("subject", "relation", "object"),
    ("head", "relation", "tail"),
    ("h", "r", "t"),
)
# Words in column names that suggest subjects, relations or objects. They are used to find contradictions and to propose
# columns, but never to choose the columns.
ROLE_WORDS = (
    {"s", "subj", "subject", "head", "h", "source", "src", "from", "lhs"},
    {"p", "pred", "predicate", "relation", "rel", "r", "relationship", "property"},
    {"o", "obj", "object", "tail", "t", "target", "tgt", "dst", "dest", "to", "rhs"},
)
TIME_NAMES = ("time", "timestamp", "date", "year", "t")  # the names of columns that hold times
LEFT_OUT = "-"  # in place of the name of a column that is not read

# A further column holds neither subjects, relations nor objects. Names and values of further columns that mark triples
# as true or false, or that name the split of each triple.
TRUTH_NAMES = ("label", "labels", "truth", "is_true", "correct", "target", "y")
TRUTH_VALUES = ({"1", "0"}, {"1", "-1"}, {"true", "false"})
SPLIT_NAMES = ("split", "splits", "subset")
SPLIT_VALUES = {"train": "train", "training": "train", "valid": "valid", "dev": "valid", "val": "valid"}
SPLIT_VALUES |= {"validation": "valid", "test": "test", "testing": "test"}
REMEDIES = (
    "keep only the true rows, or drop the column if it means something else",
    "give one frame per split, or drop the column if it means something else",
)


@dataclass(frozen=True)
class ColumnChoice:
    """The value of the option ``columns=`` in a parsed form; see `parse_columns`.

    Parameters
    ----------
    names : tuple of str
        Either one name for each column, in the order of the columns, or the names of the three columns that hold
        subject, relation and object, in this order.
    positions : tuple of three int, optional
        The positions of subject, relation and object in `names`. None if `names` has only the names of these three
        columns; their positions then follow from the header of the table.
    """

    names: tuple[str, ...]
    positions: tuple[int, int, int] | None

    @property
    def is_by_name(self) -> bool:
        """Whether `names` are the names of the columns of subject, relation and object."""
        return self.positions is None

    @property
    def further(self) -> dict[str, int]:
        """The names and positions of the columns that hold neither subject, relation nor object."""
        if self.positions is None:
            return {}
        names = enumerate(self.names)
        return {name: i for i, name in names if i not in self.positions and name != LEFT_OUT}

    def __str__(self) -> str:
        are_letters = not self.is_by_name and all(len(name) == 1 for name in self.names)
        return repr(("" if are_letters else ",").join(self.names))


def check_columns(columns: Any) -> list[int]:
    """Return the positions of the columns s, p and o, from a string with one letter for each column.

    Parameters
    ----------
    columns : str
        The letters h, r, t (head, relation, tail) or s, p, o, one for each column, in the order of the columns.

    Returns
    -------
    list of three int

    Raises
    ------
    DataError
        If `columns` is not an order of the letters h, r, t or of the letters s, p, o.

    Examples
    --------
    >>> check_columns("htr")
    [0, 2, 1]
    """
    for letters in ("hrt", "spo"):
        if isinstance(columns, str) and sorted(columns) == sorted(letters):
            return [columns.index(letter) for letter in letters]
    raise DataError(f"columns must be 'hrt', 'htr' or another order of the letters h, r, t or s, p, o; got {columns!r}")


def parse_columns(columns: str | Sequence[str]) -> ColumnChoice:
    """Parse the option ``columns=``; return the names of the columns and the positions of s, p and o.

    Parameters
    ----------
    columns : str or sequence of str
        One of three forms:
        - one letter for each column: ``"htr"``;
        - one name for each column, in the order of the columns: ``"h,r,t,time"``. Three of the names must be the
          letters h, r, t (or s, p, o); the name ``-`` leaves a column out;
        - the names of the columns of subject, relation and object, in this order: ``"source,rel,target"``.

    Raises
    ------
    DataError
        If `columns` has none of these forms, or if a name contradicts its position: in ``"from,to,rel"``, the name
        ``to`` is in the position of the relation.

    Examples
    --------
    >>> parse_columns("h,r,t,time").further
    {'time': 3}
    >>> parse_columns(["source", "rel", "target"]).is_by_name
    True
    """
    if isinstance(columns, str) and "," not in columns:
        s, p, o = check_columns(columns)
        return ColumnChoice(tuple(columns), (s, p, o))
    names = [name.strip() for name in columns.split(",")] if isinstance(columns, str) else list(columns)
    kept = [name for name in names if name != LEFT_OUT]
    if all(isinstance(name, str) and name for name in names) and len(set(kept)) == len(kept):
        for letters in ("hrt", "spo"):
            if set(letters) <= set(names):
                s, p, o = (names.index(letter) for letter in letters)
                return ColumnChoice(tuple(names), (s, p, o))
        if len(names) == 3 and LEFT_OUT not in names:
            check_roles(f"columns={','.join(names)!r}", names, (0, 1, 2))
            return ColumnChoice(tuple(names), None)
    raise DataError(
        "columns must be an order of letters ('hrt', 'htr'), one distinct name for each column, where three are the "
        "letters h, r, t ('h,r,t,time'), or the names of the columns of subject, relation and object "
        f"('source,rel,target'); got {columns!r}"
    )


def check_roles(what: str, names: Sequence[str], positions: Sequence[int]) -> None:
    """Raise a DataError if the name of a column contradicts its role, such as a relation column named ``head``.

    Parameters
    ----------
    what : str
        The option or header that defines the roles of the columns; the message starts with this text.
    names : sequence of str
        The names of all columns.
    positions : sequence of three int
        The positions of the columns that are read as subject, relation and object.
    """
    parts = ("subject", "relation", "object")
    for i, position in enumerate(positions):
        if role_of(names[position]) not in (None, i):
            proposal = proposed_columns(names)
            say = f": columns={proposal!r} (--columns {proposal})" if proposal else ""
            raise DataError(
                f"{what}: the {parts[i]} cannot be in a column named {names[position]!r}; give the names of the "
                f"columns that hold subject, relation and object, in this order{say}"
            )


def role_of(name: str) -> int | None:
    """Return the usual content of a column with this name: 0 (subjects), 1 (relations), 2 (objects), None (unknown).

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> role_of("head_id"), role_of("RelationLabel"), role_of("#to"), role_of("year")
    (0, 1, 2, None)
    """
    words = [word.lower() for word in re.split(r"[\W\d_]+|(?<=[a-z])(?=[A-Z])", name) if word]
    words = [word for word in words if word not in ("id", "ids", "name", "label", "uri", "iri", "entity", "node")]
    roles = [i for i, known in enumerate(ROLE_WORDS) if len(words) == 1 and words[0] in known]
    return roles[0] if roles else None


def proposed_columns(names: Iterable[str]) -> str:
    """Return a value for the option ``columns=`` that an error message can propose to the user.

    Parameters
    ----------
    names : iterable of str

    Returns
    -------
    str
        The names of the columns of subject, relation and object, separated by commas; empty if the names do not show
        which columns these are.

    Examples
    --------
    >>> proposed_columns(["from", "to", "rel", "year"])
    'from,rel,to'
    """
    of_role: dict[int | None, list[str]] = {}
    for name in names:
        of_role.setdefault(role_of(name), []).append(name)
    chosen = [of_role.get(role, []) for role in range(3)]
    if any(len(part) != 1 or "," in part[0] or part[0] != part[0].strip() for part in chosen):
        return ""
    return ",".join(part[0] for part in chosen)


def named_columns(what: str, names: Sequence[str]) -> list[int] | None:
    """Return the positions of s, p and o among column names; None if no entry of `COLUMN_NAMES` is among the names.

    Parameters
    ----------
    what : str
        The name of the table in error messages.
    names : sequence of str
        The names of all columns, in upper or lower case.

    Returns
    -------
    list of three int, or None

    Raises
    ------
    DataError
        If one of the recognised names occurs twice.
    """
    lowered = [name.lower() for name in names]
    for known in COLUMN_NAMES:
        if all(name in lowered for name in known):
            repeated = [name for name in known if lowered.count(name) > 1]
            if repeated:
                raise DataError(f"{what}: duplicate column {repeated[0]!r}; keep only one")
            return [lowered.index(name) for name in known]
    return None


def chosen_columns(what: str, names: Sequence[str], choice: ColumnChoice) -> list[int]:
    """Return the positions of the columns of subject, relation and object, which the option ``columns=`` names.

    Parameters
    ----------
    what : str
        The name of the table in error messages.
    names : sequence of str
        The names of all columns.
    choice : ColumnChoice
        The parsed option; its `is_by_name` is True.

    Returns
    -------
    list of three int

    Raises
    ------
    DataError
        If a name does not occur, or occurs twice.
    """
    for name in choice.names:
        if names.count(name) != 1:
            problem = "duplicate" if name in names else "no"
            raise DataError(f"{what}: {problem} column {name!r}, which columns={choice} names; got {', '.join(names)}")
    return [names.index(name) for name in choice.names]


def meant_column(name: str, names: Iterable[str]) -> str:
    """Return the column that a name means: ``time`` is the only column of time, if no column has this very name.

    Parameters
    ----------
    name : str
        A name that no column has is returned as it is.
    names : iterable of str
        The names of all columns.

    Raises
    ------
    DataError
        If `name` is ``time`` and several columns are named like a time.

    Examples
    --------
    >>> meant_column("time", ["weight", "Date"]), meant_column("time", ["date", "time"]), meant_column("tim", ["date"])
    ('Date', 'time', 'tim')
    """
    known = [*names]
    times = [column for column in known if column.lower() in TIME_NAMES]
    if name != TIME_NAMES[0] or name in known or not times:
        return name
    if len(times) > 1:
        raise DataError(f"{name!r} can be the column {' or '.join(map(repr, times))}; give the name of the column")
    return times[0]


def given_values(given: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return the argument ``given=`` of explanations and negatives as a dict from columns to values.

    Parameters
    ----------
    given : mapping of str to value, or None
    names : iterable of str
        The names of all columns; see `meant_column`.

    Raises
    ------
    DataError
        If `given` is not a mapping.
    """
    if given is not None and not isinstance(given, Mapping):
        raise DataError(f"given must be a dict from columns to values, such as given={{'time': 183}}; got {given!r}")
    known = [*names]
    return {meant_column(name, known): value for name, value in (given or {}).items()}


def check_further_column(
    what: str, name: str, values: Iterable[Any], split: str, rows: str = "rows of the frame", remedies: Any = REMEDIES
) -> None:
    """Raise a DataError if a further column shows that some rows are not true triples of `split`.

    A further column holds neither subjects, relations nor objects. The error is raised if the column marks some
    triples as false, or if it names other splits.

    Parameters
    ----------
    what : str
        The name of the table in error messages.
    name : str
        The name of the column.
    values : iterable
        The distinct values of the column, in the order of their first occurrence.
    split : str
        The split whose triples the table holds.
    rows : str
        The words for the rows of the table in error messages, such as "rows of the frame".
    remedies : sequence of two str
        Advice for the user: first about a column that marks triples as false, then about a column that names splits.
    """
    lowered = name.lower()
    texts = [str(value).lower() for value in values]
    if lowered in TRUTH_NAMES:
        truths = {text.removesuffix(".0") for text in texts}
        if any(truths <= pair for pair in TRUTH_VALUES) and truths & {"0", "-1", "false"}:
            raise DataError(
                f"{what}: the column {name!r} marks triples as false, but all {rows} would be read as true; "
                f"{remedies[0]}"
            )
    elif lowered in SPLIT_NAMES or (texts and texts[0] in SPLIT_VALUES):
        texts = sorted(set(texts))
        meant = {SPLIT_VALUES.get(text) for text in texts}
        # A column with a value that is no split raises an error only if the column is named like a column of splits
        # and has at least two distinct values.
        if meant != {split} and (None not in meant or (lowered in SPLIT_NAMES and len(texts) > 1)):
            shown = ", ".join(repr(text) for text in texts[:3])
            raise DataError(
                f"{what}: the column {name!r} names splits ({shown}), but all {rows} would be read as {split}; "
                f"{remedies[1]}"
            )


def kept_notes(values: Mapping[str, Collection[Any]]) -> list[str]:
    """Return the notes about the further columns that a dataset keeps; an empty list if there are no such columns.

    Parameters
    ----------
    values : mapping of str to collection
        The name of each further column, and its distinct values in all splits.

    Examples
    --------
    >>> kept_notes({"time": [1, 2]})
    ['the column time is kept as a time']
    >>> kept_notes({"weight": [1, -1]})[-1]
    'the column weight holds only -1 and 1: if it marks true and false triples, false triples are read as true too'
    """
    others = [name for name in values if name.lower() not in TIME_NAMES]
    notes = [f"the column {name} is kept as a time" for name in values if name not in others]
    if len(others) > 1:
        names = ", ".join(others)
        notes += [f"the columns {names} are kept for breakdowns; the filter compares them only if filter_by names them"]
    elif others:
        notes += [f"the column {others[0]} is kept for breakdowns; the filter compares it only if filter_by names it"]
    for name, distinct in values.items():
        texts = {str(value).lower().removesuffix(".0") for value in distinct}
        if texts in TRUTH_VALUES:
            both = " and ".join(sorted(texts))
            notes.append(
                f"the column {name} holds only {both}: if it marks true and false triples, false triples are "
                "read as true too"
            )
    return notes
