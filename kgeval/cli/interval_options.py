"""Options for confidence intervals and tests, which several commands share.

Each ``add_...`` function adds options to a parser; `check_level` checks what `add_intervals` added.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from kgeval.comparison.alignment import OVERRIDES
from kgeval.errors import ProtocolError
from kgeval.results.clustering import CLUSTERS
from kgeval.results.rank_table import CONFIDENCE


def add_intervals(output: argparse._ArgumentGroup) -> None:
    """Add ``--confidence`` and ``--no-intervals`` of the commands that show the numbers of one result.

    Parameters
    ----------
    output : argparse group
    """
    output.add_argument(
        "--confidence",
        type=float,
        metavar="SHARE",
        help="show intervals with this confidence level in all tables (default: only with --by, 0.95)",
    )
    output.add_argument(
        "--no-intervals", dest="intervals", action="store_false", help="show the breakdown without intervals"
    )


def check_level(options: argparse.Namespace) -> None:
    """Raise a ProtocolError if ``--confidence`` is given and not between 0 and 1.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed options.
    """
    if options.confidence is not None and not 0.0 < options.confidence < 1.0:
        raise ProtocolError(f"--confidence must be between 0 and 1, such as 0.95; got {options.confidence:g}")


def add_confidence(parser: argparse.ArgumentParser, about: str = "confidence level (default: 0.95)") -> None:
    """Add ``--confidence`` of the commands that compare results.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    about : str
        The help text.
    """
    parser.add_argument("--confidence", type=float, default=CONFIDENCE, metavar="SHARE", help=about)


def add_cluster(
    parser: argparse.ArgumentParser,
    about: str = "intervals and tests consider the variation with other triples of this graph, other queries or other "
    "entities (default: triple)",
) -> None:
    """Add ``--cluster`` of the commands that compare results.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    about : str
        The help text.
    """
    parser.add_argument("--cluster", choices=CLUSTERS, default="triple", help=about)


def add_resamples(parser: argparse.ArgumentParser, about: str, noun: str) -> None:
    """Add ``--n-resamples`` and ``--resample-seed``.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    about : str
        What the resamples are, for the help text, such as ``"random swaps in the test"``.
    noun : str
        A noun for the resamples, for the help text of the seed.
    """
    count = f"number of {about} (default: %(default)s)"
    parser.add_argument("--n-resamples", type=int, default=9999, metavar="N", help=count)
    parser.add_argument(
        "--resample-seed", type=int, default=0, metavar="N", help=f"seed of the {noun} (default: %(default)s)"
    )


def add_override(parser: argparse.ArgumentParser, results: str = "the results") -> None:
    """Add ``--override``.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    results : str
        The results that may differ, as a noun for the help text.
    """
    parser.add_argument(
        "--override",
        default="",
        metavar="NAMES",
        help=f"accept that {results} differ in these points, comma-separated: {', '.join(OVERRIDES)}",
    )


def add_gone(parser: argparse.ArgumentParser, reasons: Mapping[str, str]) -> None:
    """Add options that were removed: they are not in the help, and answer with the reason.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    reasons : mapping of str to str
        Option -> why it was removed.
    """

    class Gone(argparse.Action):
        def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
            parser.error(f"there is no {option_string} any more: {reasons[str(option_string)]}")

    for option in reasons:
        parser.add_argument(option, nargs="?", action=Gone, help=argparse.SUPPRESS)
