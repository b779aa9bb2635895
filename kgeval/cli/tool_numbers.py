"""The numbers that another tool would print, and the conventions that agree with a row of a paper, as text."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from kgeval.cli.options import convention_of, json_text
from kgeval.display.media import frame_records
from kgeval.errors import ProtocolError
from kgeval.other_tools import Agreement
from kgeval.results.evaluation_result import EvaluationResult

_HEADINGS = {
    "agrees": "agree with the row, to its digits:",
    "possible": "possible, the order of ties decides:",
    "not decided": "not decided, the tool finds further ties:",
    "ruled out": "ruled out:",
    "not this run": "not from this run, whose protocol differs:",
}
_OTHER_CAUSES = (
    "if it is lower, rank again with fewer splits in the filter (--filter train,test, train,valid or train); if it is "
    "higher, with --unseen drop; and check those runs. Other causes: kgeval help conventions"
)


def convention_text(result: EvaluationResult, options: argparse.Namespace) -> str:
    """Return the numbers of the tool that ``--as`` names; empty if the option is not given.

    Parameters
    ----------
    result : EvaluationResult
    options : argparse.Namespace
        The parsed options.
    """
    convention = convention_of(options)
    if convention is None:
        return ""
    frame = convention.table(result)
    if options.to == "json":
        about = {"name": convention.name, "says": str(convention), "source": convention.source}
        return json_text({**about, "metrics": frame_records(frame)})
    if options.to == "csv":
        return frame.to_csv().rstrip("\n")
    if options.to != "table":
        raise ProtocolError(f"--as {convention.name} prints a table, csv or json; got --to {options.to}")
    width = max(map(len, frame.index))
    lines = [f"as {convention}", f"rule read in {convention.source}", ""]
    lines += [f"{name:{width}}  {printed}" for name, printed in frame["printed"].items()]
    return str(options.screen.lines(lines))


def agreement_lines(found: list[Agreement]) -> list[str]:
    """Return the lines about the numbers of a run that agree with a row, and about those that are ruled out.

    Parameters
    ----------
    found : list of Agreement
    """
    width = max(len(each.name) for each in found)
    lines = []
    for verdict, heading in _HEADINGS.items():
        lines += [heading] if any(each.verdict == verdict for each in found) else []
        for each in found:
            if each.verdict == verdict:
                numbers = "  ".join(f"{name} {number}" for name, number in each.numbers.items())
                lines.append(f"  {each.name:{width}}  {'; '.join(part for part in (numbers, each.reason) if part)}")
    if found[0].verdict == "agrees":
        return lines
    if all(each.verdict == "not this run" for each in found):
        return ["this run decides nothing: rank all triples, as a paper does", *lines]
    return [f"no convention and no reading of these ranks agrees with the row: {_OTHER_CAUSES}", *lines]


def agreement_records(found: list[Agreement]) -> list[dict[str, object]]:
    """Return the comparisons with a row as dicts, for JSON.

    Parameters
    ----------
    found : list of Agreement
    """
    return [asdict(each) for each in found]
