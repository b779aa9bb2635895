"""How fast kgeval is: makes the table of the guide's page "speed"; README.md beside this explains each row.

python tests/bench/bench_speed.py ../shared/data
python tests/bench/bench_speed.py ../shared/data --backend numpy numba --only complex-wn18rr --runs 9 --json run.json
python tests/bench/bench_speed.py ../shared/data --as haswell
taskset -c 0 python tests/bench/bench_speed.py ../shared/data --clock cpu      # on a busy machine
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import warnings
from datetime import date
from pathlib import Path

import comparisons
import first_use
import measure

import kgeval

PRODUCT = "float32 product of all queries and entities"
# For each work: what is measured, what it is compared with (empty: the figure is a time), and the highest figure that
# is good enough, for each backend that measures it. Bars with torch hold where it multiplies 8-bit integers fast.
ROWS = {
    "complex-fb15k-237": ("FB15k-237, ComplEx, 256 reals", PRODUCT, {"numpy": 0.9, "numba": 0.72, "numba+torch": 0.45}),
    "again-fb15k-237": (
        "the same again, with `kg.Evaluator`",
        "product of its distinct queries",
        {"numpy": 1.4, "numba": 1.2, "numba+torch": 1.0},
    ),
    "complex-wn18rr": ("WN18RR, ComplEx, 128 reals", PRODUCT, {"numpy": 1.5, "numba": 0.85, "numba+torch": 0.8}),
    "transe-fb15k-237": ("FB15k-237, TransE L1, 64 reals", "`torch.cdist(p=1)`", {"numpy": 1.0, "numba": 0.25}),
    "rotate-fb15k-237": (
        "FB15k-237, RotatE, 256 complex numbers, 5% of the test triples",
        "torch, all distances, in its best blocks",
        {"numpy": 1.0, "numba": 0.25},
    ),
    "matrix-fb15k-237": ("FB15k-237, `score_objects` in numpy, 256 reals", "its own calls", {"numba": 0.72}),
    "function-distmult": ("FB15k-237, a function that computes", "its own calls", {"numpy": 1.15, "numba": 1.15}),
    "function-lookup": ("FB15k-237, a function that only looks up", "its own calls", {"numpy": 2.0, "numba": 1.6}),
    "again-umls": ("UMLS again, DistMult, 64 reals", "", {"numpy": 0.012, "numba": 0.008}),
    "again-nations": ("Nations again, DistMult, 64 reals", "", {"numpy": 0.006, "numba": 0.004}),
    "scale": ("5 million entities in a file, 128 reals, 500 queries", "product over the file", {"numba": 1.25}),
    "first-use": ("numba's first use, once per machine", "", {"numba": 3.0}),
}
TIMED_RUNS = 40  # of works that take milliseconds
QUICK_SHARE = 0.001
MOST_OTHERS = 0.2  # processors that other programs may take while a row is measured
WIDTHS = ("<18", "<11", ">10", ">14", ">6", "<23", ">8", ">7")
COLUMNS = ("work", "backend", "figure", "spread", "bar", "", "peak MB", "others")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="with fb15k-237/, wn18rr/, umls/, nations/ and models/")
    parser.add_argument("--backend", nargs="+", choices=measure.BACKENDS, default=measure.BACKENDS)
    parser.add_argument("--as", dest="imitated", choices=("haswell",), help="use what a processor with AVX2 has")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu: processor time")
    parser.add_argument("--only", nargs="+", choices=ROWS, metavar="NAME", default=list(ROWS), help=", ".join(ROWS))
    parser.add_argument("--runs", type=int, default=5, help="of kgeval and of the bound, in turns (default 5)")
    parser.add_argument("--share", type=float, help="of the test triples; by default all, or what takes seconds")
    parser.add_argument("--quick", action="store_true", help="one run on little data: shows that it runs, not how fast")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep every run, with a description of the machine")
    parser.add_argument("--worker", choices=ROWS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.runs = 1 if given.quick else given.runs
    return given


def measured(name, backend, given):
    """Measure one work in this process; return the row as a dict."""
    measure.load_backend(backend)
    if name == "first-use":
        return first_use.first_use(backend, given.runs)
    share = given.share or (QUICK_SHARE if given.quick else comparisons.SHARES.get(name, 1.0))
    comparison = comparisons.COMPARISONS[name](comparisons.Setting(given.folder, backend, share))
    row = {"about": comparison.about, "peak_mb": measure.peaks_above(comparison.evaluate)[0]}  # also warms up
    if comparison.make_bound is None:
        with measure.Others() as others:
            times = [measure.seconds(comparison.evaluate) for _ in range(1 if given.quick else TIMED_RUNS)]
        return row | {"others": others.cores} | measure.summary(times)
    bound = comparison.make_bound()
    bound.seconds()
    with measure.Others() as others:
        times = measure.take_turns([lambda: measure.seconds(comparison.evaluate), bound.seconds], given.runs)
    return row | {"others": others.cores, "bound": bound.about} | measure.summary(*times)


def scale(backend, given):
    """Run bench_scale.py in a folder of its own; return the row."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder, "run.json")
        command = [sys.executable, Path(__file__).with_name("bench_scale.py"), "--folder", folder, "--json", kept]
        command += ["--backend", backend, "--runs", str(given.runs)] + ["--entities", "20000"] * given.quick
        subprocess.run(command, capture_output=True, text=True, check=True)
        record = json.loads(kept.read_text(encoding="utf8"))
    runs = record["runs"][backend]
    times = [run["seconds"]["evaluation"] for run in runs], record["bound_runs_s"][backend]
    return measure.summary(*times) | {"peak_mb": max(run["evaluation_mb"] for run in runs)}


def measured_apart(name, backend, given):
    """Measure one work in a process of its own, so that memory is clean; return the row, or what went wrong."""
    row = {"work": name, "backend": backend, "bar": ROWS[name][2][backend]}
    options = ["--worker", name, "--backend", backend, "--runs", str(given.runs)]
    options += ["--quick"] * given.quick + (["--share", str(given.share)] if given.share is not None else [])
    command = [sys.executable, __file__, str(given.folder), *options]
    environment = measure.backend_environment(backend)
    try:
        if name == "scale":
            return row | scale(backend, given)
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return row | json.loads(done.stdout.splitlines()[-1])
    except subprocess.CalledProcessError as error:
        return row | {"failed": (error.stderr.strip().splitlines() or [f"exit status {error.returncode}"])[-1]}


def is_busy(row):
    """Tell whether other programs took so much of the machine meanwhile that a wall time cannot be trusted."""
    return (row.get("others") or 0.0) > MOST_OTHERS and os.environ.get(measure.CLOCK) != "cpu"


def figure(row, key="value"):
    """Return a figure as text: a ratio, or a time if the work is compared with nothing."""
    if key not in row:
        return "failed"
    value = row[key]
    if ROWS[row["work"]][1]:
        return f"{value:.2f}"
    return f"{value:.1f} s" if value >= 0.1 else f"{1000 * value:.1f} ms"


def line(row):
    """Return one line for a terminal."""
    if "failed" in row:
        return f"{row['work']} {row['backend']} failed: {row['failed']}"
    verdict = ("ok" if row["value"] <= row["bar"] else "above the bar") + ", but busy" * is_busy(row)
    spread = f"{figure(row, 'lowest')}..{figure(row, 'highest')}"
    peak, others = (
        f"{row[key]:.{n}f}" if row.get(key) is not None else "" for key, n in (("peak_mb", 0), ("others", 2))
    )
    return plain([row["work"], row["backend"], figure(row), spread, str(row["bar"]), verdict, peak, others])


def plain(texts):
    return " ".join(f"{text:{width}}" for text, width in zip(texts, WIDTHS, strict=True)).rstrip()


def table(rows):
    """Return the Markdown table of the page "speed": a row for each work, a column for each backend."""
    found = {(row["work"], row["backend"]): figure(row) for row in rows}
    lines = [
        f"| work | compared with | {' | '.join(measure.BACKENDS)} |",
        "|---|---|" + "---|" * len(measure.BACKENDS),
    ]
    for name in dict.fromkeys(work for work, _ in found):
        cells = [found.get((name, backend), "") for backend in measure.BACKENDS]
        lines.append(f"| {' | '.join([*ROWS[name][:2], *cells])} |")
    return "\n".join(lines)


def machine_line(machine):
    blas = ", ".join(f"{b['internal_api']} {b['version']} {b['architecture'] or ''}".strip() for b in machine["blas"])
    imitates = f", told to do as {machine['imitates']} does" if machine["imitates"] else ""
    flags = " ".join(machine["flags"]) or "flags unknown"
    text = (
        f"{date.today()}, {machine['processor']} ({flags}){imitates}, {machine['cores']} cores; "
        f"kgeval {machine['kgeval']}, Python {machine['python']}, numpy {machine['numpy']} ({blas}), "
        f"numba {machine['numba'] or 'not installed'}, torch {machine['torch'] or 'not installed'}"
    )
    settings = ", ".join(f"{name}={textwrap.shorten(value, 40)}" for name, value in machine["settings"].items())
    return f"{text}; set in the environment: {settings}" if settings else text


def main():
    given = arguments()
    warnings.simplefilter("ignore", kgeval.KgevalWarning)  # random scorers are no better than chance, and it says so
    if given.imitated:
        measure.imitate(given.imitated)
    if given.worker:
        print(json.dumps(measured(given.worker, given.backend[0], given)))
        return 0
    os.environ[measure.CLOCK] = given.clock
    record = {"machine": measure.machine(), "runs": given.runs, "quick": given.quick, "clock": given.clock, "rows": []}
    print(machine_line(record["machine"]), plain(COLUMNS), sep="\n", flush=True)
    for name in given.only:
        for backend in given.backend:
            if backend in ROWS[name][2]:
                record["rows"].append(measured_apart(name, backend, given))
                print(line(record["rows"][-1]), flush=True)
    print("", table(record["rows"]), sep="\n")
    if given.json:
        given.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf8")
    return int(any("failed" in row for row in record["rows"]))


if __name__ == "__main__":
    sys.exit(main())
