"""Candidates: which entities compete with a positive.

The field `candidates` of a `Protocol` is an instance of one of these classes; `kgeval.evaluation` calls its method
`pools`. Users import the module as `kgeval.candidates`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kgeval.checks import Ids
from kgeval.data.queries import Queries
from kgeval.errors import ProtocolError

__all__ = ["All", "Candidates", "Recorded"]


class Candidates:
    """Base class of every kind of candidates.

    A subclass defines the method `pools`. This method splits the queries into parts, so that all queries of a part have
    the same candidates: the pool of the part. A part is, for example, all queries (`All`), the queries of one relation,
    or a single positive. Each positive is ranked among the pool of its part. Two instances are equal, and have the same
    hash, if `kind` and `digest` are equal.

    Attributes
    ----------
    kind : str
        One word that names the kind; result files and fingerprints contain this word.
    digest : str
        Hash of the data that define the candidates, for example of lists of entities; empty if `kind` alone defines
        the candidates.
    """

    kind: str = ""
    digest: str = ""

    def pools(self, queries: Queries, entities: Ids) -> Iterator[tuple[Queries, Ids]]:
        """Split the queries into parts with the same candidates, and yield each part with its candidates.

        Parameters
        ----------
        queries : Queries
            Queries of one side. ``queries.rows`` holds the row of each positive in the ranked splits, which are joined
            into one array. The row is -1 for a triple that a user wants explained but that is in no ranked split; a
            subclass with one list of candidates per positive has no list for this triple.
        entities : int64 array, shape (entities,)
            Sorted ids of all entities, or only of the entities of train (with ``unseen="drop"`` or ``"worst"``).

        Yields
        ------
        part : Queries
            Every positive of `queries` is in exactly one part.
        pool : int64 array, shape (candidates,)
            The candidates of all queries of the part: sorted distinct ids, with all answers of the part among them.
        """
        raise TypeError(f"{type(self).__name__} does not define pools()")

    def describe(self) -> str:
        """Return a short description for people; by default the kind and the start of the digest."""
        return f"{self.kind} candidates {self.digest[:8]}".strip()

    def to_json(self) -> Any:
        """Return the JSON value for fingerprints and files: kind and digest."""
        return {"kind": self.kind, "digest": self.digest}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.digest[:8]})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Candidates) and (self.kind, self.digest) == (other.kind, other.digest)

    def __hash__(self) -> int:
        return hash((self.kind, self.digest))


class All(Candidates):
    """Every entity competes in every query; the default.

    Examples
    --------
    >>> All() == All(), All().describe()
    (True, 'all entities')
    """

    kind = "all"

    def pools(self, queries: Queries, entities: Ids) -> Iterator[tuple[Queries, Ids]]:
        """Yield one part: all queries, with all entities as pool; see `Candidates.pools`."""
        yield queries, entities

    def describe(self) -> str:
        """Return ``"all entities"``."""
        return "all entities"

    def to_json(self) -> str:
        """Return ``"all"``."""
        return self.kind


@dataclass(frozen=True, eq=False)
class Recorded(Candidates):
    """What a result stores about its candidates: kind and digest, but not the lists of entities.

    Results that were computed from a table of scores contain a `Recorded`. Results that were read from a file contain
    one too, unless all entities were candidates. A `Recorded` is enough to check that two results have the same
    candidates, but not to rank triples.

    Parameters
    ----------
    kind : str
        For example ``"listed"``.
    digest : str
        Digest of the lists; empty in files of version 0.1.0, which did not store it.
    """

    kind: str = "listed"
    digest: str = ""

    def pools(self, queries: Queries, entities: Ids) -> Iterator[tuple[Queries, Ids]]:
        """Raise a ProtocolError, because the lists of candidates are not stored."""
        raise ProtocolError(
            f"{self.describe()}: the protocol stores their kind and digest, but ranking needs the lists of entities; "
            "to evaluate a table of scores, use kgeval.evaluate_scores"
        )

    def to_json(self) -> Any:
        """Return kind and digest; only the kind if the digest is unknown, as in files of version 0.1.0."""
        return super().to_json() if self.digest else self.kind


def candidates_from_json(value: Any) -> Candidates:
    """Return the candidates that a JSON value describes; `Protocol.from_dict` calls this function.

    Parameters
    ----------
    value : JSON value
        A value that `Candidates.to_json` returned, in this version or in version 0.1.0.

    Returns
    -------
    Candidates
        `All`, or a `Recorded` for every other kind.

    Raises
    ------
    ProtocolError
        If `value` does not describe candidates.
    """
    if value == All.kind:
        return All()
    if value == "listed":  # written by version 0.1.0, which stored no digest
        return Recorded(value)
    if isinstance(value, dict) and set(value) == {"kind", "digest"} and all(isinstance(v, str) for v in value.values()):
        return Recorded(**value)
    raise ProtocolError(f"expected 'all', or a dict with the texts 'kind' and 'digest'; got {value!r}")
