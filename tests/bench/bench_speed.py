"""How fast kgeval is, as ratios to the bare scores of the same queries; README.md beside this explains each row.

python tests/bench/bench_speed.py ../shared/data
python tests/bench/bench_speed.py ../shared/data --backend numpy numba --only complex-wn18rr --runs 9 --json run.json
python tests/bench/bench_speed.py ../shared/data --as haswell
python tests/bench/bench_speed.py --table run.json
"""

import argparse
import json
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import comparisons
import first_use
import growth
import measure

import kgeval

# The highest ratio that is good enough, per backend; of memory: MB; of growth: the exponent; of the first use: seconds.
# The bars with torch hold where torch multiplies 8-bit integers fast; elsewhere those without torch do (`bar_of`).
BARS = {
    "complex-fb15k-237": {"numpy": 0.75, "numba": 0.65, "torch": 0.40, "numba+torch": 0.35},
    "complex-wn18rr": {"numpy": 1.1, "numba": 1.15, "torch": 0.7, "numba+torch": 0.7},
    "transe-fb15k-237": {"numpy": 1.0, "numba": 0.5, "torch": 0.40, "numba+torch": 0.35},
    "rotate-fb15k-237": {"numpy": 1.0, "numba": 0.5, "torch": 0.6, "numba+torch": 0.35},
    "function-distmult": {"numpy": 1.15, "numba": 1.15},
    "function-lookup": {"numpy": 1.15, "numba": 1.4},
    "matrix-fb15k-237": {"numpy": 0.85, "numba": 0.7},
    "pools-fb15k-237": {"numpy": 1.2, "numba": 1.2, "torch": 1.2, "numba+torch": 1.2},
    "memory-fb15k-237": {"numpy": 200, "numba": 200, "torch": 400, "numba+torch": 400},
    "growth-entities": {"numpy": 1.05, "numba": 1.05, "torch": 1.05, "numba+torch": 1.05},
    "growth-triples": {"numpy": 1.05, "numba": 1.05, "torch": 1.05, "numba+torch": 1.05},
    "first-use": {"numba": 3.0, "numba+torch": 3.0},
}
QUICK_SHARE = 0.001
MOST_OTHERS = 0.2  # processors that other programs may take while a row is measured
COLUMNS = ("work", "backend", "kgeval s", "bound s", "ratio", "spread", "bar", "", "peak MB", "others")
WIDTHS = ("<18", "<11", ">9", ">9", ">7", ">14", ">5", "<23", ">8", ">7")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="with fb15k-237/, wn18rr/ and models/")
    parser.add_argument(
        "--backend", nargs="+", choices=measure.BACKENDS, default=measure.BACKENDS, help="by default all four"
    )
    parser.add_argument("--as", dest="imitated", choices=("haswell",), help="use what a processor with AVX2 has")
    parser.add_argument("--only", nargs="+", choices=BARS, metavar="NAME", default=list(BARS), help=", ".join(BARS))
    parser.add_argument("--runs", type=int, default=5, help="of kgeval and of the bound, in turns (default 5)")
    parser.add_argument("--share", type=float, help="of the test triples; by default all, or what takes seconds")
    parser.add_argument("--quick", action="store_true", help="one run on few triples: shows that it runs, not how fast")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep every run, with a description of the machine")
    parser.add_argument("--table", type=Path, metavar="FILE", help="print a kept file as a Markdown table, run nothing")
    parser.add_argument("--worker", choices=BARS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.folder is None and given.table is None:
        parser.error("say the folder of the data, or --table FILE")
    if given.quick:
        given.runs = 1
    return given


def share_of(name, given):
    if given.share is not None:
        return given.share
    return QUICK_SHARE if given.quick else comparisons.SHARES.get(name, 1.0)


def bar_of(name, backend):
    """Return the bar of a work, for this processor: without fast 8-bit products, that of the backend without torch."""
    if "torch" in backend:
        from kgeval.kernels.backends import multiplies_bytes

        backend = backend if multiplies_bytes() else {"torch": "numpy", "numba+torch": "numba"}[backend]
    return BARS[name][backend]


def measured(name, backend, given):
    """Measure one work in this process; return the row as a dict."""
    row = {"work": name, "backend": backend, "import_mb": measure.load_backend(backend)}
    row["bar"] = None if given.quick else bar_of(name, backend)
    if name == "first-use":
        return row | first_use.first_use(backend, given.runs)
    if name.startswith("growth-"):
        return row | growth.grow(name.removeprefix("growth-"), backend, given.runs, given.quick)
    setting = comparisons.Setting(given.folder, backend, share_of(name, given))
    comparison = comparisons.COMPARISONS[name](setting)
    row["about"] = comparison.about
    if comparison.make_bound is None:
        peaks = measure.peaks_above(comparison.evaluate, given.runs)
        return row | {"peak_mb": None if None in peaks else max(peaks), "peak_runs_mb": peaks}
    row["peak_mb"] = measure.peaks_above(comparison.evaluate)[0]  # also warms up, as the next line does the bound
    bound = comparison.make_bound()
    bound.seconds()
    with measure.Others() as others:
        times = measure.take_turns([lambda: measure.seconds(comparison.evaluate), bound.seconds], given.runs)
    return row | {"bound": bound.about, "others": others.cores} | measure.summary(*times)


def measured_apart(name, backend, given):
    """Measure one work in a process of its own, so that memory is clean; return the row, or what went wrong."""
    options = ["--worker", name, "--backend", backend, "--runs", str(given.runs)]
    options += ["--quick"] * given.quick + (["--share", str(given.share)] if given.share is not None else [])
    command = [sys.executable, __file__, str(given.folder), *options]
    environment = measure.backend_environment(backend)
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        return {"work": name, "backend": backend, "failed": said[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def verdict(row):
    """Return ``"ok"`` or ``"above the bar"``, and whether others were busy; nothing where there is no bar or figure."""
    value = row.get("peak_mb") if row["work"].startswith("memory-") else row.get("value")
    if value is None or row["bar"] is None:
        return ""
    return ("ok" if value <= row["bar"] else "above the bar") + (", but busy" if is_busy(row) else "")


def is_busy(row):
    """Tell whether other programs took so much of the machine meanwhile that the ratio cannot be trusted."""
    return (row.get("others") or 0.0) > MOST_OTHERS


def cells(row):
    """Return the texts of one row of the table, in the order of `COLUMNS`."""
    if "failed" in row:
        return [row["work"], row["backend"], f"failed: {row['failed']}"]

    def text(key, digits):
        return "" if row.get(key) is None else f"{row[key]:.{digits}f}"

    spread = f"{text('lowest', 2)}..{text('highest', 2)}" if row.get("lowest") is not None else ""
    times = [text("kgeval_s", 3), text("bound_s", 3), text("value", 3)]
    ends = [str(row["bar"] or ""), verdict(row), text("peak_mb", 0), text("others", 2)]
    return [row["work"], row["backend"], *times, spread, *ends]


def plain(texts):
    """Return one line of the table for a terminal."""
    return " ".join(f"{text:{width}}" for text, width in zip(texts, WIDTHS)).rstrip()


def footnotes(rows):
    """Return what the rows were measured on and against, one line each."""
    notes = []
    for row in rows:
        if "about" in row:
            bound = f"; bound: {row['bound']}" if "bound" in row else ""
            notes.append(f"{row['work']} ({row['backend']}): {row['about']}{bound}")
    if any(is_busy(row) for row in rows):
        notes.append(
            f"rows marked busy: other programs took more than {MOST_OTHERS} processors (column others), which slows "
            "kgeval and its bound unevenly; their ratios mean nothing, measure them again on a quiet machine"
        )
    sizes = {row["backend"]: row["import_mb"] for row in rows if row["backend"] != "numpy" and row.get("import_mb")}
    if sizes:
        listed = ", ".join(f"{size:.0f} MB for {backend}" for backend, size in sizes.items())
        notes.append(f"importing the libraries takes {listed}, which the peaks do not count")
    return notes


def machine_line(machine):
    blas = ", ".join(f"{b['internal_api']} {b['version']} {b['architecture'] or ''}".strip() for b in machine["blas"])
    imitates = f", told to do as {machine['imitates']} does" if machine["imitates"] else ""
    flags = " ".join(machine["flags"]) or "flags unknown"
    text = (
        f"{machine['processor']} ({flags}){imitates}, {machine['cores']} cores; "
        f"kgeval {machine['kgeval']}, Python {machine['python']}, numpy {machine['numpy']} ({blas}), "
        f"numba {machine['numba'] or 'not installed'}, torch {machine['torch'] or 'not installed'}"
    )
    settings = ", ".join(f"{name}={textwrap.shorten(value, 40)}" for name, value in machine["settings"].items())
    return f"{text}; set in the environment: {settings}" if settings else text


def table(record):
    """Return the Markdown table of a file kept with --json."""
    header = [name or "verdict" for name in COLUMNS]
    lines = [" | ".join(header), " | ".join("---" if i < 2 else "---:" for i in range(len(header)))]
    for row in record["rows"]:
        texts = cells(row)
        lines.append(" | ".join(texts + [""] * (len(header) - len(texts))))
    notes = [f"- {note}" for note in footnotes(record["rows"])]
    quick = ["A quick run on few triples: its figures mean nothing.", ""] if record["quick"] else []
    head = [machine_line(record["machine"]) + f"; {record['runs']} runs.", "", *quick]
    return "\n".join([*head, *(f"| {text} |" for text in lines), "", *notes])


def main():
    given = arguments()
    warnings.simplefilter("ignore", kgeval.KgevalWarning)  # random scorers are no better than chance, and it says so
    if given.imitated:
        measure.imitate(given.imitated)
    if given.table:
        print(table(json.loads(given.table.read_text(encoding="utf8"))))
        return 0
    if given.worker:
        print(json.dumps(measured(given.worker, given.backend[0], given)))
        return 0
    record = {"machine": measure.machine(), "runs": given.runs, "quick": given.quick, "rows": []}
    print(machine_line(record["machine"]), plain(COLUMNS), sep="\n", flush=True)
    for name in given.only:
        for backend in given.backend:
            if backend in BARS[name]:
                record["rows"].append(measured_apart(name, backend, given))
                print(plain(cells(record["rows"][-1])), flush=True)
    print(*footnotes(record["rows"]), sep="\n")
    if given.quick:
        print("a quick run on few triples: its figures mean nothing")
    if given.json:
        given.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf8")
    return int(any("failed" in row for row in record["rows"]))


if __name__ == "__main__":
    sys.exit(main())
