"""Candidates: which entities compete with a positive.

An instance of a class in this module is the field `candidates` of `Protocol`; `kgeval.evaluation` calls its method
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

    Queries that share the same candidates form a part; the set of these candidates is the pool of the part. The
    method `pools` of a subclass defines the parts, for example all queries together (`All`), the queries of each
    relation, or each positive alone. The ranker ranks the positives of a part among the pool of the part. Two instances
    are equal, and have the same hash, if `kind` and `digest` are equal.

    Attributes
    ----------
    kind : str
        One word that names the kind; result files and fingerprints contain this word.
    digest : str
        Digest of the content, for example of lists of candidates; empty if `kind` alone defines the candidates.
    """

    kind: str = ""
    digest: str = ""

    def pools(self, queries: Queries, entities: Ids) -> Iterator[tuple[Queries, Ids]]:
        """Yield the queries in parts that share their candidates, each part with its pool.

        Parameters
        ----------
        queries : Queries
            Queries of one side. ``queries.rows`` are row numbers in the ranked splits, one split after another. The row
            is -1 for a triple that is explained but occurs in no ranked split; a subclass with one list of candidates
            per positive has no list for such a triple.
        entities : int64 array, shape (entities that may compete,)
            Sorted ids: all entities, or only the entities of train if the protocol drops unseen entities.

        Yields
        ------
        part : Queries
            Every positive of `queries` is in exactly one part.
        pool : int64 array, shape (candidates,)
            Sorted distinct ids; the pool contains the answers of the part.
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
    """The record of candidates in a result: kind and digest, without the lists of entities.

    Results of tables of scores contain a `Recorded`, and so do results that were read from a file, unless their
    candidates are `All`. A record suffices to check that two results have the same candidates; it does not suffice to
    rank triples.

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
        """Raise a ProtocolError: a record has no lists of candidates."""
        raise ProtocolError(
            f"the protocol has {self.describe()}, but not the lists of candidates; for a table of scores use "
            "kgeval.evaluate_scores"
        )

    def to_json(self) -> Any:
        """Return kind and digest; only the kind if the digest is unknown, as in files of version 0.1.0."""
        return super().to_json() if self.digest else self.kind


def candidates_from_json(value: Any) -> Candidates:
    """Return the candidates that a JSON value describes; `Protocol.from_dict` calls this function.

    Parameters
    ----------
    value : JSON value
        The return value of `Candidates.to_json`, of this version or of version 0.1.0.

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
    raise ProtocolError(f"expected 'all', or kind and digest of candidates; got {value!r}")
