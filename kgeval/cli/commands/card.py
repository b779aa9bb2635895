"""kgeval card: the card of a saved result as JSON or as a paragraph; ``--check`` compares a card with a run."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from kgeval.base.files import replacing
from kgeval.base.wording import printable
from kgeval.benchmarks import Card, read_card, verify_card, write_card
from kgeval.benchmarks.card import card_of_file
from kgeval.cli.command import Command, Output
from kgeval.cli.interval_options import add_gone
from kgeval.cli.options import check_out, ranked_result, say_aside
from kgeval.errors import ProtocolError

FORMATS = ("text", "latex")


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "results",
        nargs="+",
        type=Path,
        metavar="RUN.kgeval",
        help="results saved by kgeval evaluate --out --name MODEL; with --paragraph also cards",
    )
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        metavar="PATH",
        help="file to write; with several results, a folder for one card per result (default: print)",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace files that exist")
    parser.add_argument("--date", metavar="YYYY-MM-DD", help="date to write into the card (default: none)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--paragraph", action="store_true", help="a paragraph of English for an appendix, not JSON")
    form.add_argument(
        "--check",
        type=Path,
        metavar="CARD.json",
        help="make the card of the run again, and compare; exit code 1 if CARD.json differs from it",
    )
    parser.add_argument("--to", choices=FORMATS, help="form of the paragraph (default: text)")
    add_gone(parser, dict.fromkeys(("--model-index", "--hub-dataset"), "the JSON of a card has all its numbers"))


def _card(options: argparse.Namespace) -> str | Output:
    if options.check is not None:
        return _compared(options)
    _check(options)
    cards = [card_of_file(path) for path in options.results]
    if options.date is not None:
        cards = [card.dated(options.date) for card in cards]
    targets = [] if options.out is None or options.paragraph else _targets(options)
    _say_what_is_assumed(cards, options.results)
    for card, target in zip(cards, targets):
        write_card(card, target, overwrite=options.overwrite)
    if targets:
        return "\n".join(f"wrote {target}, {target.stat().st_size / 1e3:.1f} kB" for target in targets)
    paragraphs = (card.paragraph(options.to or "text") for card in cards)
    text = "\n\n".join(paragraphs) if options.paragraph else str(cards[0])
    if options.out is None:
        return text
    with replacing(options.out, options.overwrite) as stream:
        stream.write(f"{text}\n".encode("utf-8", "backslashreplace"))
    return f"wrote {options.out}"


def _compared(options: argparse.Namespace) -> Output:
    """Return whether the card of ``--check`` agrees with the run; exit code 1 if it does not."""
    for name in ("out", "date", "to"):
        if getattr(options, name) is not None:
            raise ProtocolError(f"--check writes nothing; --{name.replace('_', '-')} has no effect on it")
    if len(options.results) > 1:
        raise ProtocolError(f"--check compares a card with one run; got {len(options.results)} runs")
    (run,) = options.results
    verification = verify_card(read_card(options.check), ranked_result(run))
    n = len(verification.disagreements)
    verdict = f"{options.check} agrees with {run}"
    if n:
        differ = "1 field differs" if n == 1 else f"{n:,} fields differ"
        verdict = f"{options.check} does not agree with {run}: {differ}"
    screen = options.screen
    text = "\n".join([screen.bold(screen.wrapped(printable(verdict))), "", screen.lines(verification.lines())])
    return Output(text, status=0 if verification.agrees else 1)


def _check(options: argparse.Namespace) -> None:
    """Raise an error for an option that has no effect, and for a file that must not be written."""
    if options.to is not None and not options.paragraph:
        raise ProtocolError("--to is the form of the paragraph; give it with --paragraph")
    if not options.paragraph and options.out is None and len(options.results) > 1:
        raise ProtocolError(f"{len(options.results)} results give {len(options.results)} cards; give -o FOLDER")
    if options.out is not None and options.paragraph:
        check_out(options.out, options.overwrite, options.results)


def _targets(options: argparse.Namespace) -> list[Path]:
    """Return the file of each card; several cards go to a folder, which is made if it does not exist."""
    if len(options.results) == 1 and not options.out.is_dir():
        check_out(options.out, options.overwrite, options.results)
        return [options.out]
    names = [f"{path.stem}.json" for path in options.results]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ProtocolError(f"two of the results would be written to {options.out / twice}; write them one by one")
    if options.out.exists() and not options.out.is_dir():
        raise ProtocolError(f"{options.out} is a file; {len(names)} results need a folder for their cards")
    options.out.mkdir(parents=True, exist_ok=True)
    targets = [options.out / name for name in names]
    for target in targets:
        check_out(target, options.overwrite, options.results)
    return targets


def _say_what_is_assumed(cards: Sequence[Card], paths: Sequence[Path]) -> None:
    """Print a note to standard error for each name that was not given, and for each card that contradicts itself."""
    for path, card in zip(paths, cards):
        say_aside([f"caution: {path}: the card contradicts itself: {text}" for text in card.contradictions])
        if not card.is_named:
            say_aside(
                [
                    f"note: {path} does not contain the name of its model; the card has the name of the scorer, "
                    f"{card.model!r}. To save the name: kgeval evaluate --name MODEL --seed N, or "
                    "result.save(path, name=, seed=)"
                ]
            )


COMMAND = Command(
    "card", "write the card of a saved result (numbers, protocol, hashes), or check one", _add_options, _card, place=11
)
