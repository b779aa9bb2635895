"""The sentences about a comparison: compared results, protocol, test, and what its intervals mean."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kgeval.audit.leak_notes import MAY_BE_COPIED
from kgeval.base.checks import counted, grouped, listed
from kgeval.base.wording import listed_names, printable, quoted
from kgeval.comparison.rows import interval_words, model_order
from kgeval.metrics.base import tie_words
from kgeval.metrics.grammar import display_of
from kgeval.results.clustering import PURPOSES
from kgeval.results.evaluation_result import EvaluationResult
from kgeval.results.keys import Key

MAX_FULL = 4  # models; a terminal shows less of the header of more models
MAX_NOTES = MAX_NAMED = 3
OTHER_ENTITIES = ": for other entities"  # in notes on intervals that are much wider with clusters by entity
NUMBER = re.compile(r"(?<![A-Za-z])-?\d[\d.,]*")  # not the 2 of L2, which is the name of a norm

if TYPE_CHECKING:  # these modules import this one
    import pandas as pd

    from kgeval.comparison.comparison import Comparison


def protocol_comment(results: Iterable[tuple[str, EvaluationResult]], ties: str) -> str:
    """Return lines of comment for a LaTeX file that say how the numbers of a table were made.

    Parameters
    ----------
    results : iterable of (str, EvaluationResult)
        The results of the table with their names. Results with the same protocol and version share a line; where those
        of a dataset differ, the line has their names.
    ties : str
        The tie policy of the table, such as `ties_line` returns.

    Returns
    -------
    str
        Each line starts with ``% protocol: ``.
    """

    def words(result: EvaluationResult) -> tuple[str, str, str]:
        facts, protocol = result.facts, result.protocol
        said = f"{protocol.describe()}; {ties}; protocol {protocol.fingerprint}, kgeval {facts['version']}"
        return facts["dataset"], facts["dataset_fingerprint"][:8], f"{'+'.join(protocol.splits)}; {said}"

    alike = grouped((words(result), name) for name, result in results)
    n_alike = Counter(dataset for dataset, *_ in alike)
    lines = grouped(
        (said, (f"{listed_names(names)}: " if n_alike[dataset] > 1 else "") + f"{dataset} (dataset {digest})")
        for (dataset, digest, said), names in alike.items()
    )
    return "\n".join(printable(f"% protocol: {listed(where)}, {said}") for said, where in lines.items())


def ties_line(keys: Mapping[str, Key]) -> str:
    """Return the tie policies of metrics; with the metrics of each, if there are several.

    Parameters
    ----------
    keys : mapping of str to Key
    """
    by_ties = grouped((key.ties, display_of(label).heading) for label, key in keys.items())
    texts = [tie_words(ties) + (f" in {listed(of)}" if len(by_ties) > 1 else "") for ties, of in by_ties.items()]
    return f"ties: {'; '.join(texts)}"


def header_lines(comparison: Comparison) -> list[str]:
    """Return the lines above the table: compared results, protocol, overrides, test, and notes.

    Parameters
    ----------
    comparison : Comparison
    """
    notes = [f"note: {note}" for note in comparison.notes]
    return [*_origin_lines(comparison), *_method_lines(comparison), *notes]


def brief_header(comparison: Comparison, whole: str = "") -> tuple[list[str], list[str]]:
    """Return the lines of `header_lines` for people: those about the numbers, and notes, each said once.

    Parameters
    ----------
    comparison : Comparison
    whole : str
        Where all lines are found; then those of more than `MAX_FULL` models are the most important ones.
    """
    origin, method, notes = _origin_lines(comparison), _method_lines(comparison), note_lines(comparison)
    if not whole or len(comparison.names) <= MAX_FULL:
        return [*origin, *method], notes
    n_more = max(0, len(notes) - MAX_NOTES)
    more = f" and {counted(n_more, 'further note')}" if n_more else ""
    return origin, [*notes[:MAX_NOTES], f"test, correction, meaning of intervals{more}: {whole}"]


def _origin_lines(comparison: Comparison) -> list[str]:
    """Return the lines about the compared results: names, protocols, fingerprints, overrides."""
    first, names, ties = comparison.results[0], comparison.names, ties_line(comparison.keys)
    said = listed_names(names) if len(names) <= MAX_FULL else counted(len(names), "model")
    n_ranks = counted(len(comparison.alignment.rows[0]), "rank")
    lines = [f"{said} on {first.facts['dataset']}: {n_ranks} of {'+'.join(first.protocol.splits)}, paired by labels"]
    for words in (lambda result: f"{result.protocol.describe()}; {ties}", _fingerprints):
        alike = grouped(zip(map(words, comparison.results), names))
        lines += [text if len(alike) == 1 else f"{listed_names(of)}: {text}" for text, of in alike.items()]
    return [
        *lines,
        *(f"overridden: {mismatch}" for mismatch in comparison.alignment.overridden),
        *(f"not needed: override {name!r}, since the results agree in it" for name in comparison.alignment.unneeded),
    ]


def _fingerprints(result: EvaluationResult) -> str:
    digest = result.facts["dataset_fingerprint"][:8]
    return f"protocol {result.protocol.fingerprint}, dataset {digest}, kgeval {result.facts['version']}"


def _method_lines(comparison: Comparison) -> list[str]:
    """Return the lines about the test and the intervals."""
    terms, sample = comparison.terms, comparison.alignment.sample
    is_sample = terms.cluster_name == "triple" and sample is not None and sample.share > 0.0
    return [
        *_test_lines(comparison),
        f"differences: {interval_words(comparison.differences, terms.alpha)}",
        f"{100 * terms.confidence:g}% intervals of values: for {PURPOSES[terms.cluster_name]}"
        + ("; a sample was ranked, and these intervals are for the whole split" if is_sample else ""),
        "more on tests and intervals: kgeval help decisions",
    ]


def note_lines(comparison: Comparison) -> list[str]:
    """Return the notes; of notes that differ in names and numbers alone, the first.

    The first notes are those on leaked triples, and what other entities would change for the best model; then come
    those on most models.

    Parameters
    ----------
    comparison : Comparison
    """
    names = comparison.names
    pairs = [listed_names([one, other]) for one in names for other in names if one != other]
    about = {f"{name}: ": name for name in sorted([*names, *pairs], key=len, reverse=True)}
    heads = [next((head for head in about if note.startswith(head)), "") for note in comparison.notes]
    found = [(head, note.removeprefix(head)) for head, note in zip(heads, comparison.notes)]
    merged = merged_notes(((about.get(head, ""), text) for head, text in found), len(names))
    best, *_ = model_order(comparison)

    def order(note: tuple[int, str]) -> tuple[bool, bool, int]:
        n, text = note
        return MAY_BE_COPIED not in text, not (text.startswith(f"{quoted(best)} and ") and OTHER_ENTITIES in text), -n

    return [f"note: {text}" for _, text in sorted(merged, key=order)]


def merged_notes(said: Iterable[tuple[str, str]], n_models: int = 0) -> list[tuple[int, str]]:
    """Return notes that differ in names and numbers alone as one, each with the number of models that it is about.

    Parameters
    ----------
    said : iterable of (str, str)
        The name of a model or pair, and what is said of it; without a name, of all models.
    n_models : int
        The number of all models, where many names may be replaced by it.

    Examples
    --------
    >>> merged_notes([("A", "5.0 times as wide"), ("B", "7.8 times as wide"), ("A", "read from ids")])
    [(2, 'A: 5.0 times as wide; likewise B, with other numbers'), (1, 'A: read from ids')]
    >>> print(merged_notes([("A", "3 times"), ('"A, again" and B', "2 times"), ("C, again", "2 times")])[0][1])
    A: 3 times; likewise "A, again" and B and "C, again", with other numbers
    """
    alike, merged = grouped((NUMBER.sub("0", text), (name, text)) for name, text in said), []
    for same in alike.values():
        name, text = same[0]
        equal = [of for of, other in same if other == text]
        also = [of for of in dict.fromkeys(of for of, _ in same) if of not in equal]
        end = f"; likewise {_models(also, 0)}, with other numbers" if also else ""
        note = f"{_models(equal, n_models) + ': ' if name else ''}{text}{end}"
        merged.append((len(same) if name else n_models, note))
    return merged


def is_description(note: str) -> bool:
    """Return whether a note says how a model was read, such as "ComplEx, 25 complex dimensions (interleaved)".

    Parameters
    ----------
    note : str
    """
    return re.search(r"\d dimensions|\d complex dimensions", note) is not None


def _models(names: Sequence[str], n_models: int) -> str:
    """Return names of models as a list; of many of them, their number."""
    if len(names) == n_models > MAX_FULL:
        return f"all {n_models:,} models"
    shown = [name if '"' in name else quoted(name) for name in names]  # a pair of names has its marks
    return names[0] if len(names) == 1 else listed(shown, MAX_NAMED if len(names) > MAX_FULL else None)


def swaps_words(tested: pd.DataFrame, n_resamples: int, seed: int) -> str:
    """Return how many swaps were tried: all, where a pair differs in so few clusters that these are not more.

    Parameters
    ----------
    tested : pandas.DataFrame
        Differences, with the column ``n_differing``.
    n_resamples, seed : int
    """
    all_of = "all or " if (2.0 ** tested["n_differing"] <= n_resamples).any() else ""
    return f"{all_of}{n_resamples:,} random swaps (seed {seed}; smaller p by Bentkus's bound)"


def _test_lines(comparison: Comparison) -> Iterator[str]:
    """Yield the lines that say how the differences were tested."""
    terms, table = comparison.terms, comparison.differences
    tested, how = table[table["p"].notna()], list[str]()
    by_t = [display_of(label).heading for label in dict.fromkeys(tested.loc[tested["test"] == "t", "metric"])]
    is_swapped = bool((tested["test"] == "swaps").any())
    if is_swapped or not by_t:
        unit = "given cluster" if terms.cluster_name == "array" else terms.cluster_name
        how.append(f"{swaps_words(tested, terms.n_resamples, terms.seed)} of ranks by {unit}")
    if by_t:
        how.append(f"Student's t in {listed(by_t)} (clusters overlap)")
    yield f"tested: {'; '.join(how)}, two-sided; {holm_words(int(table['p_corrected'].notna().sum()), '', terms.alpha)}"
    ranks = [display_of(label).heading for label, key in comparison.keys.items() if not key.higher_is_better]
    if ranks and is_swapped:
        yield exchangeable_words(ranks)


def exchangeable_words(headings: Sequence[str]) -> str:
    """Return what a decision by swaps says about metrics whose mean a few bad ranks carry, such as MR.

    Parameters
    ----------
    headings : sequence of str
    """
    return f"{listed(headings)}: a decision says that the ranks are not exchangeable, not that their means differ"


def holm_words(n_tests: int, sizes: str, alpha: float) -> str:
    """Return how p-values are corrected, and where a difference is decided.

    Parameters
    ----------
    n_tests : int
    sizes : str
        Where the tests come from; may be empty.
    alpha : float
    """
    return f"Holm, {counted(n_tests, 'test')}{f' ({sizes})' if sizes else ''}; decided: p ≤ {alpha:g}"
