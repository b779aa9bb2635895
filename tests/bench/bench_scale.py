"""Millions of entities in a memory-mapped file: time and private memory, against the bare product over the same file.

    python tests/bench/bench_scale.py --folder DIR                      # 5 million x 128 float32: 2.6 GB in DIR
    python tests/bench/bench_scale.py --folder DIR --entities 200000 --backend numba --model transe-l1 --dtype float16

DIR should be on a local disk; the file is deleted afterwards unless --keep. Each run is a fresh process; the runs of
the product and of kgeval take turns, and the file lies in the page cache for both. README.md explains the rows.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import warnings
from pathlib import Path

import bounds
import measure
import numpy as np
from bench_speed import MOST_OTHERS, machine_line

import kgeval as kg

N_RELATIONS = 100
WRITTEN_ROWS = 1 << 16  # at a time, when the file is made
BLOCKS = (1024, 4096, 16_384, 65_536)  # entities that the bare product multiplies at a time; the fastest is kept
TRIED_ENTITIES = 262_144  # on which the blocks are tried, and of which the bounds of distances are scaled up
PRODUCTS = ("distmult", "complex")  # the models whose bare scores are a matrix product
MODELS = {
    "distmult": kg.models.DistMult,
    "complex": kg.models.ComplEx,
    "transe-l1": lambda entities, relations: kg.models.TransE(entities, relations, norm=1),
    "transe-l2": lambda entities, relations: kg.models.TransE(entities, relations, norm=2),
    "rotate": lambda entities, relations: kg.models.RotatE(entities, relations[:, ::2].copy(), norm=1),
}
BAR_MB, BAR_RATIO, BAR_REST = 1000, 1.3, 0.2
RANKING = "ranking"
# What an evaluation spends its time on: functions of `kgeval.evaluation.evaluator`, by the name of the row.
PARTS = {
    RANKING: "rank",
    "probes of the scorer": "probe",
    "index": "make_plan",
    "row order check": "check_row_order",
    "cautions, features": "assemble",
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="for the file of the vectors")
    parser.add_argument("--entities", type=int, default=5_000_000)
    parser.add_argument("--dimension", type=int, default=128)
    parser.add_argument("--queries", type=int, default=500, help="two for each test triple (default 500)")
    parser.add_argument("--train", type=int, default=0, metavar="N", help="train triples, at random (default 0)")
    parser.add_argument("--labels", action="store_true", help="a text label for each entity, instead of ids alone")
    parser.add_argument("--model", choices=MODELS, default="distmult")
    parser.add_argument("--dtype", choices=("float32", "float16", "bfloat16"), default="float32")
    parser.add_argument("--backend", nargs="+", choices=measure.BACKENDS, default=["numba"])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--keep", action="store_true", help="the file, for the next time")
    parser.add_argument("--as", dest="imitated", choices=("haswell",), help="use what a processor with AVX2 has")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep every run, with a description of the machine")
    parser.add_argument("--worker", choices=("product", *measure.BACKENDS), help=argparse.SUPPRESS)
    parser.add_argument("--block", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def file_of(given):
    return given.folder / f"entities-{given.entities}x{given.dimension}-{given.dtype}.npy"


def make_file(given):
    """Write random vectors in blocks, so that this process needs no more memory than one block."""
    path = file_of(given)
    stored = np.dtype("uint16" if given.dtype == "bfloat16" else given.dtype)
    shape, rng = (given.entities, given.dimension), np.random.default_rng(0)
    if not path.exists():
        unfinished = path.with_suffix(".unfinished")
        with unfinished.open("wb") as file:
            header = {"descr": np.lib.format.dtype_to_descr(stored), "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            for start in range(0, given.entities, WRITTEN_ROWS):
                n = min(WRITTEN_ROWS, given.entities - start)
                numbers = rng.standard_normal((n, given.dimension), dtype=np.float32)
                numbers = numbers.view(np.uint32) >> 16 if given.dtype == "bfloat16" else numbers
                numbers.astype(stored).tofile(file)
            file.flush()
            os.fsync(file.fileno())  # so that the disk does not write while times are measured
        unfinished.rename(path)
    with path.open("rb") as file:  # into the page cache
        while file.read(1 << 24):
            pass


def wide(block, dtype):
    """Return a block of the file as float32."""
    if dtype == "bfloat16":
        return (block.astype(np.uint32) << 16).view(np.float32)
    return np.asarray(block, dtype=np.float32)


def parameters(given):
    """Return the memory-mapped vectors of the entities, and those of the relations, float32."""
    entities = np.load(file_of(given), mmap_mode="r")
    return entities, np.random.default_rng(1).standard_normal((N_RELATIONS, given.dimension), dtype=np.float32)


def triples_of(given, n, seed):
    rng = np.random.default_rng(seed)
    highest = (given.entities, N_RELATIONS, given.entities)
    return np.column_stack([rng.integers(0, top, size=n) for top in highest])


def model_of(given):
    entities, relations = parameters(given)
    if given.dtype == "bfloat16":
        entities = kg.models.bfloat16(entities)
    return MODELS[given.model](entities, relations)


# ---------------------------------------------------------------- the bare product


def query_rows(given):
    """Return query vectors of the right number and shape; their values do not matter to the product."""
    return np.random.default_rng(2).standard_normal((given.queries, given.dimension), dtype=np.float32)


def product_seconds(given, block, n_entities):
    """Multiply all queries with the first entities of the file, `block` entities at a time, into one buffer."""
    entities, queries = parameters(given)[0], query_rows(given)
    buffer = np.empty((len(queries), block), dtype=np.float32)
    start = measure.clock()
    for first in range(0, n_entities, block):
        part = wide(entities[first : min(n_entities, first + block)], given.dtype)
        np.matmul(queries, part.T, out=buffer[:, : len(part)])
    return measure.clock() - start


def best_block(given):
    """Return the number of entities at a time with which the product is the fastest in this process."""
    n_tried = min(given.entities, TRIED_ENTITIES)
    trials = [lambda block=block: product_seconds(given, block, n_tried) for block in BLOCKS]
    return BLOCKS[int(np.argmin([min(times) for times in measure.take_turns(trials, 3)]))]


def bare_seconds(given):
    """Return the time of the bare scores in this process: of the product, or of distances by torch."""
    n_tried = min(given.entities, TRIED_ENTITIES)
    if given.model in PRODUCTS:
        product_seconds(given, given.block, n_tried)
        return product_seconds(given, given.block, given.entities)
    entities = wide(parameters(given)[0][:n_tried], given.dtype)
    make = {"transe-l1": bounds.cdist, "transe-l2": lambda *both: bounds.cdist(*both, p=2.0), "rotate": bounds.modulus}
    bound = make[given.model](query_rows(given), entities)
    bound.seconds()
    return bound.seconds() * given.entities / n_tried


# ---------------------------------------------------------------- kgeval


@contextlib.contextmanager
def timed_parts(spent):
    """Add the time that the functions of `PARTS` take within the block to the dict `spent`, by the name of the row."""
    from kgeval.evaluation import evaluator

    originals = {part: getattr(evaluator, name) for part, name in PARTS.items()}

    def timed(part):
        def call(*values, **options):
            start = measure.clock()
            try:
                return originals[part](*values, **options)
            finally:
                spent[part] = spent.get(part, 0.0) + measure.clock() - start

        return call

    for part, name in PARTS.items():
        setattr(evaluator, name, timed(part))
    try:
        yield
    finally:
        for part, name in PARTS.items():
            setattr(evaluator, name, originals[part])


def warm_up(given, backend):
    """Evaluate a small model of the same kind, so that libraries and compiled code are loaded."""
    entities, relations = parameters(given)
    entities = np.array(entities[:1000])
    if given.dtype == "bfloat16":
        entities = kg.models.bfloat16(entities)
    model = MODELS[given.model](entities, relations)
    dataset = kg.Dataset.from_arrays(test=[[0, 0, 1]], n_entities=1000, n_relations=N_RELATIONS)
    kg.evaluate(model, dataset, progress=False, **measure.backend_options(backend))


def run_kgeval(given, backend):
    """Make the dataset, evaluate, compute metrics, save and load in this process; return seconds and peaks by name."""
    measure.load_backend(backend)
    model, test = model_of(given), triples_of(given, given.queries // 2, 3)
    splits = {"test": test} | ({"train": triples_of(given, given.train, 4)} if given.train else {})
    entities = {"n_entities": given.entities}
    if given.labels:
        entities = {"entity_labels": [f"/m/{i:x}" for i in range(given.entities)]}
    before, spent, parts = measure.resident_mb("RssAnon"), {}, {}
    options = measure.backend_options(backend)

    @contextlib.contextmanager
    def timed(name):
        start = measure.clock()
        yield
        spent[name] = measure.clock() - start

    target = given.folder / f"{backend}.kgeval"
    with measure.PrivatePeak() as whole:
        with timed("first use"):
            warm_up(given, backend)
        with timed("dataset"):
            dataset = kg.Dataset.from_arrays(**entities, n_relations=N_RELATIONS, **splits)
        with measure.PrivatePeak() as evaluation, timed("evaluation"), timed_parts(parts):
            result = kg.evaluate(model, dataset, progress=False, **options)
        with timed("metrics"):
            result.summary(confidence=0.95)
            repr(result)
        with timed("save"):
            result.save(target, overwrite=True)
        with timed("load"):
            kg.load_result(target)
    target.unlink()
    return {
        "seconds": spent,
        "parts": parts,
        "imported_mb": before,
        "evaluation_mb": evaluation.mb - before,
        "whole_mb": whole.mb - before,
        "mr": result["mr"],
    }


def apart(given, worker, block=None):
    """Run one worker in a fresh process; return what it printed, or raise a RuntimeError with its message."""
    options = [f"--{name}={getattr(given, name)}" for name in ("entities", "dimension", "queries", "train")]
    options += [f"--{name}={getattr(given, name)}" for name in ("folder", "model", "dtype")] + ["--worker", worker]
    options += [f"--block={block}"] if block else []
    options += ["--labels"] if given.labels else []
    environment = measure.backend_environment(worker)
    command = [sys.executable, __file__, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise RuntimeError(f"{worker}: {said[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def verdict(value, bar):
    return f"bar {bar:g}: {'ok' if value <= bar else 'above the bar'}"


def report(backend, runs, products, others):
    """Return the lines that tell what a backend took: medians of the runs, ratios to the neighbouring product."""

    def median(key, name=None):
        return statistics.median(run[key] if name is None else run[key].get(name, 0.0) for run in runs)

    total, ranking = median("seconds", "evaluation"), median("parts", RANKING)
    peak, whole = median("evaluation_mb"), median("whole_mb")
    ratios = [run["seconds"]["evaluation"] / product for run, product in zip(runs, products, strict=True)]
    spread = f"{min(ratios):.2f}..{max(ratios):.2f}"
    ratio = statistics.median(ratios)
    rest = {part: median("parts", part) for part in PARTS if part != RANKING}
    rest |= {name: median("seconds", name) for name in ("dataset", "metrics", "save")}
    busy = f"; busy: others took {others:.2f} processors, measure again" if (others or 0.0) > MOST_OTHERS else ""
    lines = [
        f"{backend}: evaluation {total:.2f} s, bare scores {statistics.median(products):.2f} s",
        f"  ratio                 {ratio:8.3f}  {spread}  {verdict(ratio, BAR_RATIO)}{busy}",
        f"  private peak          {peak:8.0f}  MB in the evaluation, {whole:.0f} in all  {verdict(whole, BAR_MB)}",
        f"  ranking               {ranking:8.2f}  s, {ranking / statistics.median(products):.3f} of the bare scores",
        *(f"  {name:21} {seconds:8.3f}  s, {seconds / ranking:.1%} of the ranking" for name, seconds in rest.items()),
        f"  rest together         {sum(rest.values()):8.3f}  s, share {sum(rest.values()) / ranking:.3f}  "
        + verdict(sum(rest.values()) / ranking, BAR_REST),
        f"  load (not in the rest){median('seconds', 'load'):8.3f}  s",
        f"  first use             {median('seconds', 'first use'):8.2f}  s before, for libraries and compiled code; "
        f"imports take {median('imported_mb'):.0f} MB, which the peaks do not count",
    ]
    return "\n".join(lines)


def main():
    given = arguments()
    warnings.simplefilter("ignore", kg.KgevalWarning)  # random vectors rank no better than chance, and kgeval says so
    if given.imitated:
        measure.imitate(given.imitated)
    if given.worker == "product":
        print(json.dumps(bare_seconds(given) if given.block or given.model not in PRODUCTS else best_block(given)))
        return 0
    if given.worker:
        print(json.dumps(run_kgeval(given, given.worker)))
        return 0
    given.folder.mkdir(parents=True, exist_ok=True)
    machine = measure.machine()
    print(machine_line(machine), flush=True)
    make_file(given)
    try:
        block = apart(given, "product") if given.model in PRODUCTS else None
        print(
            f"{given.model}, {given.entities:,} entities x {given.dimension} {given.dtype}, {given.queries} queries, "
            f"{given.train:,} train triples; bare scores over the same file"
            + (f", {block:,} entities at a time" if block else f", scaled up from {TRIED_ENTITIES:,} entities"),
            flush=True,
        )
        runs, products = {backend: [] for backend in given.backend}, {backend: [] for backend in given.backend}
        with measure.Others() as others:
            for _ in range(given.runs):
                for backend in given.backend:
                    products[backend].append(apart(given, "product", block))
                    runs[backend].append(apart(given, backend))
    finally:
        if not given.keep:
            file_of(given).unlink()
    for backend in given.backend:
        print(report(backend, runs[backend], products[backend], others.cores))
    if given.json:
        settings = {name: value for name, value in vars(given).items() if name not in ("folder", "json")}
        record = {"machine": machine, "settings": settings, "runs": runs, "bound_runs_s": products}
        given.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
