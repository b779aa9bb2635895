"""The registered datasets, as ``kgeval inspect --datasets`` prints them: a list, or the description of one."""

from __future__ import annotations

import argparse
from typing import Any

from kgeval.base.files import cache_home
from kgeval.base.terminal import Screen
from kgeval.base.wording import printable
from kgeval.cli.options import json_text
from kgeval.display.media import format_frame, frame_records
from kgeval.formats.registered.fifty_seven import ultra_graphs
from kgeval.formats.registered.table import describe_registered, registered_datasets, registered_files

TEXTS = ["verified", "counted", "licence", "folder"]  # columns of text; the table shows them after the name


def datasets_text(options: argparse.Namespace) -> str:
    """Return the list of the registered datasets, or the description of the one that ``--datasets`` names.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed options.
    """
    if (options.datasets or "").lower() == "ultra":
        return _ultra(options)
    if options.datasets:
        return _description(options)
    frame = registered_datasets()
    if options.to == "json":
        return json_text({"home": str(cache_home()), "datasets": frame_records(frame)})
    if options.to == "csv":
        return format_frame(frame, "csv", spreadsheet=options.spreadsheet)
    frame = frame.drop(columns="about")
    if options.to != "table":
        return format_frame(frame.set_index(TEXTS, append=True), options.to)
    screen, numbers = options.screen, [name for name in frame.columns if name not in TEXTS]
    table = format_frame(frame[[*TEXTS, *numbers]], "table", screen, ("counted", "verified", "licence", "valid"))
    last = f"files are kept in {printable(str(cache_home()))} (KGEVAL_HOME); kgeval inspect --datasets NAME tells more"
    return f"{table}\n\n{screen.dim(screen.wrapped(last))}"


def _ultra(options: argparse.Namespace) -> str:
    """Return the list of the 57 graphs of ULTRA."""
    frame = ultra_graphs()
    if options.to == "json":
        return json_text({"graphs": frame_records(frame)})
    if options.to == "csv":
        return format_frame(frame, "csv", spreadsheet=options.spreadsheet)
    if options.to != "table":
        return format_frame(frame.set_index(["family", "source"], append=True), options.to)
    n_known = int((frame["source"] != "no source found").sum())
    last = f"{n_known} of {len(frame)} graphs have a source; kgeval evaluate SOURCE --as ultra ranks a registered one"
    screen = options.screen
    return f"{format_frame(frame, 'table', screen, ('valid',))}\n\n{screen.dim(screen.wrapped(last))}"


def _description(options: argparse.Namespace) -> str:
    """Return the text about one registered dataset."""
    screen: Screen = options.screen
    style = options.to
    files, about = registered_files(options.datasets), describe_registered(options.datasets)
    if style == "json":
        return json_text({**about, "files": frame_records(files)})
    if style != "table":
        shown = files.set_index(list(files.columns), append=True) if style != "csv" else files
        return format_frame(shown, style, spreadsheet=options.spreadsheet)
    lines = [f"{about['name']}: {about['about']}"]
    counts = ", ".join(f"{what} {n:,}" for what, n in about["counts"].items())
    lines.append(f"counts: {counts} ({about['counted']})" if counts else f"counts: {about['counted']}")
    lines += [f"{what}: {about[what]}" for what in ("licence", "verified")]
    if about["also"]:
        lines.append(f"further names: {', '.join(about['also'])}")
    lines.append(f"folder: {about['folder']} ({'downloaded' if about['downloaded'] else 'not downloaded'})")
    lines.append(f"read with: {', '.join(f'{option}={value!r}' for option, value in about['read_with'].items())}")
    lines += [f"source of {fact}: {source}" for fact, source in about["sources"].items()]
    for record in frame_records(files):
        lines += ["", *_file_lines(record)]
    return screen.lines([*lines, "", about["offline"]])


def _file_lines(record: dict[str, Any]) -> list[str]:
    """Return the lines about one file."""
    packed = f" in {record['archive']}" if record["archive"] else ""
    member = f" (member {record['member']}{packed})" if record["member"] else packed
    return [
        f"file: {record['file']}{member}",
        f"  url: {record['url']}",
        f"  stated checksum: {record['hash'] or 'none'}",
        *([f"  SHA-256 of the file in the folder: {record['sha256']}"] if record["sha256"] else []),
    ]
