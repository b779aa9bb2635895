"""Candidates: which entities compete with a positive.

A value of a class in this module is the field `candidates` of `Protocol`; `evaluation` calls its method `pools`. Users
know the module as `kgeval.candidates`.
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

    Queries that share the same candidates form a part; the set of these candidates is the pool of the part. A subclass
    defines in `pools` what the parts are: all queries together (`All`), the queries of each relation, or each positive
    alone. The ranker ranks the positives of a part among its pool. Two values are equal, and have the same hash, if
    `kind` and `digest` are equal.

    Attributes
    ----------
    kind : str
        One word; result files and fingerprints contain it.
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
            Queries of one side. ``queries.rows`` are row numbers in the ranked splits, one split after another; -1
            for a triple that is to be explained and is in none of these splits. A kind with one list of candidates per
            positive has no list for such a triple.
        entities : int64 array, shape (entities that may compete,)
            Sorted ids: all entities, or only those of train if the protocol says so.

        Yields
        ------
        part : Queries
            Every positive of `queries` is in exactly one part.
        pool : int64 array, shape (candidates,)
            Sorted distinct ids; it contains the answers of the part.
        """
        raise TypeError(f"{type(self).__name__} does not say its pools")

    def describe(self) -> str:
        """Return a few words that describe the candidates to people; by default kind and start of the digest."""
        return f"{self.kind} candidates {self.digest[:8]}".strip()

    def to_json(self) -> Any:
        """Return the JSON value that fingerprints and files hold: kind and digest."""
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
        """Yield one part: all queries, with all entities as its pool; see `Candidates.pools`."""
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

    Results of tables of scores have it, and results that were read from a file, unless their candidates are `All`. It
    is enough to check that two results have the same candidates, but not to rank.

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
        """Raise a ProtocolError: there are no lists to rank with."""
        raise ProtocolError(
            f"the protocol says {self.describe()}, but does not hold the lists; for a table of scores use "
            "kgeval.evaluate_scores"
        )

    def to_json(self) -> Any:
        """Return kind and digest; only the kind if the digest is unknown, as version 0.1.0 wrote it."""
        return super().to_json() if self.digest else self.kind


def candidates_from_json(said: Any) -> Candidates:
    """Return the candidates from their JSON value, as `Protocol.from_dict` reads it.

    Parameters
    ----------
    said : JSON value
        What `Candidates.to_json` returned, now or in version 0.1.0.

    Returns
    -------
    Candidates
        `All`, or a `Recorded` for every other kind.

    Raises
    ------
    ProtocolError
        If `said` does not describe candidates.
    """
    if said == All.kind:
        return All()
    if said == "listed":  # by version 0.1.0, which kept no digest
        return Recorded(said)
    if isinstance(said, dict) and set(said) == {"kind", "digest"} and all(isinstance(v, str) for v in said.values()):
        return Recorded(**said)
    raise ProtocolError(f"expected 'all', or kind and digest of candidates; got {said!r}")
