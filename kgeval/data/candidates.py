"""Candidates: who competes with a positive, as a value that stands in the protocol."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kgeval.checks import Ids
from kgeval.data.queries import Queries
from kgeval.errors import ProtocolError

__all__ = ["All", "Candidates", "Recorded"]


class Candidates:
    """Base of every kind of candidates.

    A kind says in `pools` which queries share their candidates: all of them (`All`), those of a relation, or each
    positive by itself. The ranker ranks each part among its own pool. Two values are equal, and hash alike, if their
    kinds and the digests of their contents are.

    Attributes
    ----------
    kind : str
        One word, which result files and fingerprints hold.
    digest : str
        Of the content, such as the lists themselves; empty where the kind says everything.
    """

    kind: str = ""
    digest: str = ""

    def pools(self, queries: Queries, entities: Ids) -> Iterator[tuple[Queries, Ids]]:
        """Yield the queries in parts that share their candidates, each part with its pool.

        Parameters
        ----------
        queries : Queries
            Of one side. ``queries.rows`` are the positives' rows in the splits that are ranked, one after another; -1
            for a triple from elsewhere that is to be explained, which a list for each positive cannot serve.
        entities : int64 array
            Who may compete at all, sorted ids: every entity, or those of train where the protocol says so.

        Yields
        ------
        part : Queries
            Every positive of `queries` stands in exactly one part.
        pool : int64 array
            Sorted distinct ids, the answers of the part among them.
        """
        raise TypeError(f"{type(self).__name__} does not say its pools")

    def describe(self) -> str:
        """Return the candidates as a few words, for people; by default kind and start of the digest."""
        return f"{self.kind} candidates {self.digest[:8]}".strip()

    def to_json(self) -> Any:
        """Return what fingerprints and files hold: kind and digest."""
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
        """Yield one part, all queries, with all entities; see `Candidates.pools`."""
        yield queries, entities

    def describe(self) -> str:
        """Return ``"all entities"``."""
        return "all entities"

    def to_json(self) -> str:
        """Return ``"all"``."""
        return self.kind


@dataclass(frozen=True, eq=False)
class Recorded(Candidates):
    """Candidates that a table of scores or a result file tells of, without the lists: enough to compare results.

    Parameters
    ----------
    kind : str
        Such as ``"listed"``.
    digest : str
        Of the lists; empty in files of version 0.1.0, which did not keep it.
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
        """Return kind and digest; the kind alone where the digest is not known, as version 0.1.0 wrote it."""
        return super().to_json() if self.digest else self.kind


def candidates_from_json(said: Any) -> Candidates:
    """Return the candidates that `Candidates.to_json` described; also of files of version 0.1.0.

    Raises
    ------
    ProtocolError
        If `said` describes none.
    """
    if said == All.kind:
        return All()
    if said == "listed":  # by version 0.1.0, which kept no digest
        return Recorded(said)
    if isinstance(said, dict) and set(said) == {"kind", "digest"} and all(isinstance(v, str) for v in said.values()):
        return Recorded(**said)
    raise ProtocolError(f"expected 'all', or kind and digest of candidates; got {said!r}")
