"""How long a dataset takes to read, as a ratio to pandas' own `read_csv` of the same files.

    python tests/bench/bench_reading.py ../shared/data/fb15k-237

Each figure is the median of interleaved runs in one process.
"""

import statistics
import sys
import time
from pathlib import Path

import pandas as pd

import kgeval


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main(folder, n_runs=15):
    files = sorted(Path(folder).glob("*.txt"))
    works = {
        "read_csv, default": lambda: [pd.read_csv(file, sep="\t", header=None) for file in files],
        "read_csv, dtype=str": lambda: [pd.read_csv(file, sep="\t", header=None, dtype=str) for file in files],
        "kgeval.read_dataset": lambda: kgeval.read_dataset(folder),
    }
    times = {name: [] for name in works}
    for _ in range(n_runs):
        for name, work in works.items():
            times[name].append(seconds(work))
    medians = {name: statistics.median(values) for name, values in times.items()}
    for name, value in medians.items():
        ratio = medians["kgeval.read_dataset"] / value
        print(f"{name:22}{value:8.3f} s   kgeval takes {ratio:.2f} times this")


if __name__ == "__main__":
    main(*sys.argv[1:2])
