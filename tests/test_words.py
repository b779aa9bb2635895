"""One word for one thing: every public parameter, option and field of a file stands in one table of words.

A word that is new fails here until the table says what it means. A word that means what another word means already is
the fault that this test is for: use the other word.
"""

import argparse
import ast
import contextlib
import inspect
import io
import json
from collections import defaultdict

import pytest

import kgeval as kg
from kgeval.benchmarks.model_benchmark import Benchmark
from kgeval.classification.classification_comparison import ClassificationComparison
from kgeval.classification.classification_result import ClassificationResult
from kgeval.cli import main
from kgeval.cli.options import MODEL_SETTINGS
from kgeval.cli.program import OLD_OPTIONS, _parser
from kgeval.comparison.comparison import Comparison
from kgeval.comparison.regression_gate import gate
from kgeval.metrics import parse
from kgeval.metrics.pointwise.base import POINTS
from kgeval.report import exports, plots

# Each word and its one meaning, in Python, on the command line and in files.
TABLE = """
about: a format or a registered dataset in one line
across: the models of a benchmark ranked over its datasets, to draw
address: where a Ray cluster is
against: file of the baseline
answers: the ranked answers of predictions
arrays: the library whose arrays a function takes
as: the tool whose protocol and numbers are wanted
at_start: whether new notes come first
audit: the gravest findings about the dataset of a saved result
average: micro or macro
ax: the axes of matplotlib to draw on
baseline: the model with which others are compared
baselines: what simple scorers made from train reach
batch_norm_eps: epsilon of batch normalisation
batch_size: how much is scored at once, in the unit of the scorer: pairs of query and candidate, texts, triples
beaten: whether the model surely beats the baseline
benchmark: a benchmark to write
beside: baselines to evaluate beside the model
beta_entity: exponent of the popularity of entities
beta_relation: exponent of the popularity of relations
better: the model with the better value
better_filtered: rivals above the positive, without known answers
better_raw: rivals above the positive
bias: shift of batch normalisation
bounded: ranks of which only bounds are known
by: columns to break a result down by
by_relation: the difference of two models by relation
cache: file that keeps scores of texts
calibrate: how probabilities are fitted to scores
candidate_blocks: blocks into which the candidates are divided
candidates: the entities that are ranked, the positive included
card: the JSON of a run
check: compare a card with a run
check_rows: whether train triples are ranked to find rows in a wrong order
clamp: bounds of the scores of SimplE
cluster: which ranks may depend on each other
clusters: clusters of the examples
column: the name of one column
columns: columns of a table, beside s, p, o in results and datasets; their order or names in a file
comparison: a comparison to draw or write
complete: whether queries that a TREC run lacks count as 0
confidence: coverage of intervals
content: the dict of a card
contribution: the part of a difference that comes from a group
core: core tensor of TuckER
count: how many triples a finding of an audit concerns
counted: what the counts count: the tie policy of the values, or the triples of a dataset
counts: numbers of triples, queries and ranks in a card
cpus_per_worker: processors of each worker
d: width of vectors
data: what PyKEEN's class of results takes
dataset: the triples that are evaluated, or their name
dataset_fingerprint: hash of the dataset in a result
dataset_format: file format of a dataset
datasets: the registered datasets
date: day of a run in a card
debug: show the traceback of an error
decided: whether a difference is significant
decision: what a test of a difference says
depth: documents of a TREC run that are kept
details: whether a file keeps the best rivals of its worst ranks
detectable: difference that a test would find with probability 0.8
device: where embedding models are scored
dictionaries: ids of entities and relations in the files of a dataset
difference: value of the first model minus that of the second
difference of: two models that are compared
differences: one row for each difference between two models
digest: hash of the ids of a sample, or of candidates
distances: whether a function returns distances, lower is better
distinct: what drawn negatives must differ from
dropped: triples that were not ranked, by reason
dtype: what 16-bit integers of a file hold
duplicates: whether an entity twice in a list counts twice
effect: what a finding of an audit does to the numbers
empty: what happens to a positive without a rival
empty_lists: what happens to a list without a rival, on the command line
encode: function from texts to vectors
encode_query: function from queries as texts to vectors
entities: the entities, or their vectors
entity_labels: labels of the entity rows
entity_names: names of entities, for texts and pages
eps: epsilon of batch normalisation, in Python
equivalence: one row for each test of equivalence
error: standard error
example: a triple that a finding of an audit concerns
executor: what ranks, where: threads, processes, Ray
explain: the candidates that rank above one triple
facts: what a result says about its run, beside the protocol
features: columns computed from the dataset
figure: a picture to write
filter: splits whose triples are known answers
filter_by: columns in which known answers must agree
filtered: the setting without known answers; of predictions, whether and when they were removed
findings: what an audit, or the check of a table, found
fingerprint: hash of what the field above names
first: the first of two models
folder: folder in which a registered dataset is kept
form: variant of a model's formula
format: file format, in Python and in the head of a card
formats: the file formats that kgeval reads
fractions: shares of the splits of a random division
frame: a table as a DataFrame
freedom: degrees of freedom
further_columns: columns beside s, p, o, where `columns` are s, p, o
geometry: how vectors of queries and candidates meet
given: the given parts of a query, such as its time
gpus_per_worker: GPUs of each worker
groups: a breakdown to draw
hashes: hashes of ranks and scores in a card
header: whether the first line names columns; the lines above the tables of an output
help: print the options
high: upper end of an interval
high_95: upper end of the 95% interval
high_corrected: upper end of the interval that decides on a group
hints: what to check in a row of a published table
home: web page, or folder, of the registered datasets
id_format: format whose ids a dataset keeps
ids: ids of entities and relations: files that list them, or that ids are wanted in place of labels
ignore: parts of the input to leave out
ignore_files: files of the dataset to leave out
intervals: how the intervals of a card were computed
inverse_free: whether inverse triples stay in one split
inverse_relations: place of the inverse relations among the rows of a model
job: what an executor ranks
judged_only: keep judged documents only
kept: candidates that the filter keeps
key: the key of one number of a result
kind: which kind of test, finding or candidates
label: truth label of an example
labelled: whether lines of valid and test end with a truth label
labels: texts of entities and relations; of an example, its truth
layout: order of real and imaginary parts
level: level of one test
licence: licence of a dataset
limit: the largest number of rows, curves or candidates to show
lists: ranked lists, or what the rows of a table of scores are candidates of
load: function that loads the dataset on a worker
log_names: whether names of metrics fit loggers
losses: how often the first model is worse
low: lower end of an interval
low_95: lower end of the 95% interval
low_corrected: lower end of the interval that decides on a group
margin: the largest difference that does not matter
margins: the margin of each metric
matching: how generated text names an entity
max_seconds: stop after this time
mean: mean over seeds; in a model, the mean of batch normalisation
means_from: splits over which cardinality and pattern are computed
measures: measures of trec_eval
message: what a finding says
method: how an interval was computed
metric: one metric
metrics: several metrics; where differences are tested, in the first or in all
missing: what happens to what the input lacks
mode: mode of a live model
model: the model: in Python the object or its class, on the command line its checkpoint, in files its name
model_format: file format of a checkpoint
model_name: name under which scores of texts are cached
model_type: class of the model
module: parameters of a scoring function
n: how many: negatives of a triple, ranks of a number, triples of a sample
n_candidates: candidates of a query
n_clusters: clusters of a number
n_differing: clusters in which two models differ
n_effective: effective number of clusters
n_entities: number of entities
n_first: runs of the first model
n_positives: number of positives
n_queries: ranked queries
n_ranks: ranks of a number
n_read: ranks before triples were dropped
n_relations: number of relations
n_resamples: random swaps of a test
n_second: runs of the second model
n_seeds: runs of a model
n_test_negative: negatives of test
n_test_positive: positives of test
n_triples: ranked triples
n_unseen: ranked triples with unseen parts
n_unseen_entities: unseen entities of the ranked triples
n_valid_negative: negatives of valid
n_valid_positive: positives of valid
name: the name of what is made, read or asked for
name_from: who named the model of a card
names: names of models, in the order of the results
negatives: false triples
negatives_sha256: hash of the negatives
non_inferior_to: the model to which others must not be inferior
norm: norm of a distance
normalise: vectors that are divided by their norms
not_excluded: largest difference that an interval does not exclude
note: a sentence about a baseline beside the model
notes: what a reader must know about a result, as sentences
num_cpus: processors of each worker, in Ray's words
num_gpus: GPUs of each worker, in Ray's words
numbers: the numbers of a run as a tool prints them
o: object of a triple
objects: the object side: pools, negatives, scores or vectors
observations: what a reader must know about a dataset
of: the whole that a sample, a drawing or a format is of
of_seeds: variance over seeds
of_triples: variance over triples
order: order of the arguments of a function
out: file to write
outside: what happens to a positive outside its pool
overlaps: pairs of entities that relations share
overridden: differences between results that were accepted
override: differences between results to accept
overwrite: whether an existing file is replaced
p: predicate of a triple; of a difference, the p-value of its test
p_beyond: p-value of the claim beyond the margin
p_beyond_corrected: the same, corrected for several tests
p_corrected: p-value corrected for several tests
paragraph: a run as a sentence for a paper
parts: groups of examples
passes: whether a gate passes
path: file or folder to read or write
paths: several files to read
percent: whether numbers are percentages
phase_unit: angle that a phase of 1 means
places: decimals of published numbers
points: number of points of a curve
pool: entities that negatives are drawn from
positive: row of the positive that an example belongs to
possible: whether published numbers are possible together
power_norm: whether a distance is raised to the power of its norm
precision: half-width that a sample must reach
predicted: whether an example is classified as true
predictions: ranked answers, or ranks, of another tool
predictions_format: file format of predictions
prefix: text before each name
prior: share of true triples that probabilities assume
product_norm: batch normalisation of the product
progress: whether a progress bar is shown
protocol: everything that changes a number
protocol_fingerprint: hash of the protocol in a result
qualifiers: further statements about triples
queries: side, given entity and relation; their number in a card
quiet: print only the tables
range: values of a metric under all tie policies
rank_filtered: rank without known answers
rank_raw: rank among all candidates
ranked: splits that a baseline must not see
ranks: ranks of another tool; their number and hash in a card
ranks_by_side: ranks of each side
ranks_by_split: ranks of each split
raw: the setting with known answers
read: ranks before triples were dropped, in the counts of a card
reason: why a number is undefined
relation: one relation
relation_labels: labels of the relation rows
relation_names: names of relations, for texts
relation_rows: rows of the table of relations
relation_texts: texts of relations
relations: the relations, or their vectors
relations_inverse: SimplE's second table of relations
relevance_level: lowest grade that is relevant
replace: whether negatives may be drawn twice
resample_seed: seed of random swaps
result: one evaluated run
results: several evaluated runs
retries: how often lost work is counted again
reversed: whether a group's difference has the other sign
rivals: the candidates less the positive
rivals_filtered: rivals without known answers
rivals_raw: number of all rivals
rounding: how published numbers were rounded
row: one row of a published table
row_order: how train triples rank, to find rows in a wrong order
rows: which rows of a table
run: a saved run, or the tag of a TREC run
run_folder: folder of what a stopped run has finished
runs: cards and results to show together
runtime_env: Ray's environment of a worker
s: subject of a triple
sample: the triples that are ranked, if not all
sample_seed: seed of a drawn sample
score: the score of a triple, higher is more plausible
scorer: what gives scores
scores: scores that are already computed
sd: standard deviation over seeds
second: the second of two models
seed: seed with which a model was made: of its training; of the sample, inside `sample`
sentence: a protocol as a sentence
sep: what separates columns
separate: better model by a test with separate spreads over the seeds
setting: raw or filtered
settings: the fields of a protocol in a card
share: share of the triples
share_of_seeds: share of the variance that seeds cause
side: one side: subject or object
sides: the ranked sides
siunitx: columns of the LaTeX package siunitx
size: entities, relations and triples of an audited dataset
source: where something comes from
split: one split
split_files: files of the splits, on the command line
split_fractions: shares of the splits, on the command line
split_inverse_free: whether inverse triples stay in one split, on the command line
split_seed: seed of a random division into splits
split_sizes: triples of each split
splits: the ranked splits; of a file reader, the files of each split
spread: how the variance over seeds is estimated
spreadsheet: protect labels that a spreadsheet reads as formulas
strict: whether a gate passes only if it is shown
style: look of a picture or text
subject_norm: batch normalisation of the subject
subjects: the subject side: pools, negatives, scores or vectors
table: the rows of a result
template: text of a triple
test: the split of this name; of a difference, how it was tested
text: a value as a text
texts: texts of entities
threads: number of threads
threshold: score from which an example is true
threshold_at: place of a threshold between two scores
tie_rate: share of positives that tie with a rival
tied_filtered: rivals that tie with the positive, without known answers
tied_raw: rivals that tie with the positive
ties: tie policy; in a card and in differences, how many ties there are
time: column of the time
title: title of a page or picture
to: output format
train: the split of this name
triple: one triple
triples: several triples; their number in a card
types: types of entities
unknown: numbers of a result that are not known
unmapped_may_be_known: whether answers without an entity may be known
unseen: what happens to triples with parts that train lacks; their number in a card
valid: the split of this name
value: a number and its interval
value_first: value of the first model
value_second: value of the second model
values: numbers by name: of models, of a paper, of a protocol
var: variance of batch normalisation
verdict: the result of a comparison or check, in one sentence
verified: whether a registered dataset was checked
version: version of kgeval
versions: versions of Python and libraries
weight: scale of batch normalisation
weights: weight of each rank, or of each entity in a draw
wins: how often the first model is better
workers: number of worker processes
worst: the worst ranked triples
x: an object of another library that holds triples
"""
WORDS = dict(line.split(": ", 1) for line in TABLE.strip().splitlines())
OF_OTHERS = ("data", "log_names")  # of classes that need another library
SAME_NAME = ("the split of this name",)  # what several words may mean

# Options whose Python name differs, since one command takes what several functions take, or for a word of another tool.
PAIRS = {
    "batch_norm_eps": "eps", "cpus_per_worker": "num_cpus", "dataset_format": "format", "empty_lists": "empty",
    "gpus_per_worker": "num_gpus", "ignore_files": "ignore", "model_format": "format",
    "model_type": "model", "no_check_rows": "check_rows", "no_header": "header", "no_intervals": "confidence",
    "no_progress": "progress", "non_inferior_to": "baseline", "out": "path", "predictions_format": "format",
    "run": "result", "against": "baseline", "split_files": "splits", "split_fractions": "fractions",
    "split_inverse_free": "inverse_free",
}  # fmt: skip
# Options that name a function or method, and those of the command line alone.
FUNCTIONS = {
    "as": kg.conventions, "beside": kg.baselines, "by": kg.EvaluationResult.by, "by_relation": Comparison.by_relation,
    "check": kg.benchmarks.verify_card, "datasets": kg.registered_datasets, "explain": kg.EvaluationResult.explain,
    "formats": kg.inspect, "paragraph": kg.benchmarks.Card.paragraph,
    "worst": kg.EvaluationResult.ranks,
}  # fmt: skip
COMMAND_LINE = {"debug", "help", "quiet", "to"}
# Words that mean what another word means, none of which may come back.
OLD = {
    "about": "facts", "block_size": "batch_size", "checkpoint": "run_folder", "file": "path", "files": "paths",
    "filter_splits": "filter", "folder": "path", "from": "format", "has_differences": "differences",
    "is_strict": "strict", "keys": "metrics", "max_pairs": "batch_size", "n_threads": "threads",
    "p_holm": "p_corrected",
    "reference": "baseline", "resamples": "n_resamples", "resume": "run_folder", "score_function": "scorer",
    "splits_for_means": "means_from", "tie": "ties", "tie_policy": "ties", "undecided": "bounded",
    "undecided_filtered": "bounded_filtered", "undecided_raw": "bounded_raw", "n_workers": "workers",
}  # fmt: skip
WINDOWS = (
    kg.adapters, kg.baselines, kg.benchmarks, kg.candidates, kg.executors, kg.features, kg.integrations, kg.models,
    kg.report, exports, plots,
)  # fmt: skip
RESULTS = (Benchmark, ClassificationComparison, ClassificationResult, Comparison)


def public_callables():
    """Every function, class and method that a user may call: place -> callable."""
    found = {"gate": gate}

    def add(place, thing):
        if inspect.isclass(thing) and not issubclass(thing, BaseException):
            methods = {name: getattr(thing, name) for name in vars(thing) if not name.startswith("_")}
            found.update({f"{place}.{name}": method for name, method in methods.items() if callable(method)})
        if inspect.isfunction(thing) or (inspect.isclass(thing) and not issubclass(thing, BaseException)):
            found[place] = thing

    for name in kg.__all__:
        add(name, getattr(kg, name))
    for result in RESULTS:
        for kind in result.__mro__:  # with the methods of its base
            if kind.__module__.startswith("kgeval."):
                add(result.__name__, kind)
        del found[result.__name__]  # `kgeval` makes these results, users do not
    for module in WINDOWS:
        own = {name: thing for name, thing in vars(module).items() if name[0] != "_"}
        own = {name: thing for name, thing in own.items() if getattr(thing, "__module__", "") == module.__name__}
        for name in (*own, *getattr(module, "__all__", ())):
            with contextlib.suppress(kg.MissingExtra):  # a class that needs another library
                add(f"{module.__name__.removeprefix('kgeval.')}.{name}", getattr(module, name))
    return found


def parameters():
    """Every parameter: word -> places."""
    words = defaultdict(set, {name: {"load_model"} for name in ("model", *MODEL_SETTINGS)})
    for place, function in public_callables().items():
        for name, parameter in inspect.signature(function).parameters.items():
            if name not in ("self", "cls") and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                words[name].add(place)
    return words


def options():
    """Every option: word -> commands."""
    words = defaultdict(set)
    for command, parser in _parser()[1].items():
        for action in parser._actions:
            for option in action.option_strings if action.help != argparse.SUPPRESS else ():
                if option.startswith("--"):
                    words[option.removeprefix("--").replace("-", "_")].add(command)
    return words


def is_metric(word):
    """Whether a key names a metric, alone or with the ends of its interval."""
    word = word.removesuffix(" low").removesuffix(" high")
    for parsed in (parse, POINTS.parse):
        with contextlib.suppress(kg.KgevalError):
            return bool(parsed(word.rpartition(".")[2]))
    return False


# Fields whose content is named by the data: splits, sides, libraries, metrics, models.
BY_DATA = {
    "baselines", "dropped", "measures", "numbers", "ranks_by_side", "ranks_by_split", "row_order", "split_sizes",
    "unknown", "verified", "versions",
}  # fmt: skip


def collect(words, place, content, inside=""):
    """Add every key of JSON to `words`, with its place."""
    if isinstance(content, list):
        for part in content:
            collect(words, place, part, inside)
    elif isinstance(content, dict):
        for key, part in content.items():
            if inside not in BY_DATA and not is_metric(key):
                words[key].add(place)
            collect(words, place, part, "" if inside in BY_DATA else key)


@pytest.fixture(scope="module")
def fields(root, tmp_path_factory):
    """Every field of saved results, of a card and of the JSON of each command: word -> places."""
    folder = tmp_path_factory.mktemp("words")
    words = defaultdict(set)
    (folder / "far.py").write_text("def score(s, p, o):\n    return -((o * 31 + s * 7 + p) % 101.0)\n")
    (folder / "qrels").write_text("1 0 d1 1\n")
    (folder / "run").write_text("1 Q0 d1 1 0.5 tag\n")
    data, far = root / "data" / "countries", ("--scorer", f"{folder / 'far.py'}:score")
    near = ("--model", data / "complex.npz")

    def told(*arguments):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
            main([*map(str, arguments), "--to", "json"])
        collect(words, arguments[0], json.loads(said.getvalue()))

    ranked = ("evaluate", data, "--sample", 40, "--sample-seed", 0, "--no-progress", "--seed", 1)
    saved = {name: folder / f"{name}.kgeval" for name in "abcd"}
    told(*ranked, *near, "--name", "a", "--out", saved["a"], "--by", "relation", "--beside", "frequency")
    told(*ranked, *far, "--name", "b", "--out", saved["b"])
    for name, scorer in (("c", near), ("d", far)):
        told("classify", data, *scorer, "--negatives", "uniform", "--out", saved[name], "--by", "relation")
    told("show", saved["a"])
    told("show", saved["a"], "--worst", 2)
    told("compare", saved["a"], saved["b"], "--by-relation", "mrr", "--margin", 0.1)
    told("compare", saved["c"], saved["d"])
    told("benchmark", saved["a"], saved["b"])
    told("gate", saved["a"], "--against", saved["b"], "--metrics", "mrr", "--margin", 0.1)
    told("check-table", "mrr=0.06", "hits@1=0.06", "hits@10=0.3", "--run", saved["a"])
    told("audit", data)
    told("inspect", "--datasets")
    told("inspect", "--formats")
    told("trec", folder / "qrels", folder / "run")
    result = kg.load_result(saved["a"])
    collect(words, "card", kg.benchmarks.Card.of(result).content)
    for name in "ac":
        made = kg.load_result(saved[name])
        collect(words, "saved result", made.facts)
        collect(words, "table", {str(column): None for column in made.table})
    differences = kg.compare([result, kg.load_result(saved["b"])]).differences
    collect(words, "differences", {str(column): None for column in differences})
    return words


def test_every_word_is_in_the_table_and_means_one_thing(fields):
    """The table lacks no word, has no word that is gone, and gives no meaning twice."""
    found = defaultdict(set, {word: set(places) for word, places in parameters().items()})
    for words in (options(), fields):
        for word, places in words.items():
            found[word] |= places
    own = {word for word in found if word in PAIRS and word.startswith("no_")}  # --no-progress is progress
    lacking = {word: sorted(places)[:2] for word, places in found.items() if word not in WORDS and word not in own}
    assert not lacking, lacking
    assert sorted(word for word in WORDS if word not in found and word not in OF_OTHERS) == []
    meanings = [meaning for meaning in WORDS.values() if meaning not in SAME_NAME]
    assert sorted({meaning for meaning in meanings if meanings.count(meaning) > 1}) == []


def test_an_option_has_its_name_in_python():
    """Or it is listed as a pair, as a function, or as an option of the command line alone; no list is too long."""
    known, asked = parameters(), options()
    assert sorted(asked - known.keys() - PAIRS.keys() - FUNCTIONS.keys() - COMMAND_LINE) == []
    assert sorted((PAIRS.keys() | FUNCTIONS.keys() | COMMAND_LINE) - asked.keys()) == []
    assert sorted({name for name in PAIRS.values() if name not in known}) == []
    assert all(callable(function) or len(vars(function)) or len(function) for function in FUNCTIONS.values())


# Words of the code that once named two things, or of which two named one: where each is defined today, and why.
DEFINED = {
    # One word, two concepts. A sample is drawn (`RandomSample`); two models give `PairedObservations`.
    "Sample": [], "RandomSample": ["kgeval.data.protocol"], "PairedObservations": ["kgeval.comparison.differences"],
    "Lists": [], "Ragged": ["kgeval.data.lists"], "RankedLists": ["kgeval.metrics.retrieval.lists"],
    "Plan": [], "RankingPlan": ["kgeval.evaluation.plan"], "PassPlan": ["kgeval.kernels.backends"],
    "ShardPlan": ["kgeval.ranking.executors.dispatch"],
    "Part": [], "Parts": ["kgeval.scorers.scorer_calls"], "DatasetRuns": ["kgeval.benchmarks.cells"],
    "Steps": ["kgeval.metrics.retrieval.stepwise"],  # of a list of answers; those of pages and thresholds say whose
    "INTERVALS": [], "Terms": [], "BenchmarkTerms": [],
    "written": ["kgeval.base.wording"],  # a number as text
    "assembly": [], "recent": [], "answers": [], "many_runs": [],
    "tables": ["kgeval.benchmarks", "kgeval.comparison"],  # each room makes the tables of its own results
    "UNDECIDED": ["kgeval.comparison.rows"],  # of a difference; a rank known by bounds is bounded, see OLD
    "checkpoints": ["kgeval.formats"],  # files of models; a run that can go on has a run folder, see OLD
    "card": ["kgeval.benchmarks", "kgeval.cli.commands"],  # the JSON of a run and its command; notebooks show panels
    # One concept, two words; those of parameters, options, columns and attributes stand in OLD, PAIRS and OLD_OPTIONS.
    "_sniff": [],  # `sniff`, as the field of `Format`
    "remember": ["kgeval.evaluation.bounded_cache"],
}  # fmt: skip
METRIC_LISTS = {  # metrics that are shown if none are asked for: those of ranks stand in one module
    "kgeval.metrics.default_metrics": 3,
    "kgeval.classification.classification_result": 3,  # of labels, not of ranks
}


def definitions(root):
    """Each class, function and constant at the top of a module, and each module: (name, where)."""
    for path in sorted((root / "kgeval").rglob("*.py")):
        place = ".".join(path.relative_to(root).with_suffix("").parts)
        yield path.stem, place.rpartition(".")[0]
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            yield from ((one.id, place) for part in targets if part for one in ast.walk(part) if hasattr(one, "id"))
            if hasattr(node, "name"):
                yield node.name, place
    yield from ((path.name, "kgeval.formats") for path in (root / "kgeval" / "formats").iterdir() if path.is_dir())


def test_a_word_of_the_code_names_one_thing(root):
    """A class, function, module or folder that comes back under an old word fails here."""
    found = defaultdict(list)
    for name, place in definitions(root):
        found[name].append(place)
    assert {word: found[word] for word in DEFINED} == DEFINED
    lists = [place for name, places in found.items() if name.endswith("_METRICS") for place in places]
    assert {place: lists.count(place) for place in lists} == METRIC_LISTS


def test_no_old_word_comes_back(fields):
    """Each old word has a new one, which the table has; old options answer with the new one."""
    assert sorted(set(OLD) & (parameters().keys() | options().keys())) == []
    assert sorted((set(OLD) - {"about", "folder", "from"}) & fields.keys()) == []
    assert sorted(set(OLD.values()) - {"bounded_filtered", "bounded_raw"} - WORDS.keys()) == []
    again = {name for name in OLD_OPTIONS if name.removeprefix("--").replace("-", "_") in options()}
    assert again == {"--names", "--negatives", "--seed"}  # of another command


# Functions that kgeval calls itself, and `load_model`, which names the settings of the model.
INNER = ("Dataset.with_notes", "Protocol.resolved", "load_model", "report.exports.format_csv")
CHECKED = {
    place: function
    for place, function in public_callables().items()
    if inspect.isfunction(function)
    and place not in INNER
    and not place.startswith(("scorers.", "data."))
    and any(parameter.default is not parameter.empty for parameter in inspect.signature(function).parameters.values())
}


MADE = [
    *(getattr(kg.models, name) for name in ("ComplEx", "DistMult", "RotatE", "SimplE", "TransE", "TuckER")),
    *(getattr(kg.baselines, name) for name in ("Degree", "Frequency", "InverseRule", "Random", "Recency")),
    *(getattr(kg.executors, name) for name in ("Processes", "Ray", "Threads")),
    *(kg.candidates.ByRelation, kg.candidates.Listed, kg.Evaluator, kg.Protocol),
]


@pytest.mark.parametrize("made", MADE)
def test_a_class_with_a_wrong_argument_is_no_bare_type_error(made):
    with pytest.raises(kg.ProtocolError, match=rf"{made.__name__}\(\) has no argument 'zzz'"):
        made(zzz=1)


@pytest.mark.parametrize("place", CHECKED)
def test_a_wrong_argument_is_no_bare_type_error(place):
    """The message has the name of the function and the arguments that it takes."""
    function = CHECKED[place]
    with pytest.raises(kg.ProtocolError, match=rf"{place.split('.')[-1]}\(\) has no argument 'zzz'"):
        function(zzz=1)


@pytest.mark.parametrize(
    ("call", "new"),
    [
        (lambda: kg.read_dataset(folder="x"), "path="),
        (lambda: kg.read_scores(file="x"), "path="),
        (lambda: kg.read_candidates(files="x"), "paths="),
        (lambda: kg.read_predictions("x", names="y"), "entity_names="),
        (lambda: kg.benchmark([], metric="mrr"), "metrics=, the first of which is tested"),
        (lambda: kg.Dataset.split(None, {}, seed=1), "split_seed="),
        (lambda: kg.EvaluationResult.with_features(None, splits_for_means=["train"]), "means_from="),
        (lambda: kg.EvaluationResult.with_features(None, names=["pattern"]), "features="),
        (lambda: Comparison.disagreements(None, n=3), "limit="),
        (lambda: Comparison.equivalence(None, 0.1, reference="A"), "baseline="),
        (lambda: Benchmark.to_csv(None, has_differences=True), "differences="),
        (lambda: gate(None, None, {}, is_strict=True), "strict="),
        (lambda: kg.integrations.flat_metrics(None, keys="mrr"), "metrics="),
        (lambda: kg.executors.Threads(n=2), "threads="),
        (lambda: kg.executors.Processes(n=2), "workers="),
        (lambda: kg.models.TransE(None, None, p=2), "norm="),
        (lambda: kg.compare_classifications([], seed=1), "resample_seed="),
        (lambda: kg.EvaluationResult.value(None, "mrr", ties="optimistic"), "the key 'raw.object.optimistic.mrr'"),
    ],
)
def test_an_old_name_answers_with_the_new_one(call, new):
    with pytest.raises(kg.ProtocolError) as caught:
        call()
    assert f"; did you mean {new}?" in str(caught.value)


WINDOWS_SHOWN = [
    *(kg, plots, exports, kg.metrics.pointwise, kg.metrics.retrieval),
    *(getattr(kg, name) for name in kg.__all__ if inspect.ismodule(getattr(kg, name))),
]


@pytest.mark.parametrize("module", WINDOWS_SHOWN, ids=lambda module: module.__name__)
def test_windows_for_users_show_their_own_names_only(module):
    """No `np`, no `import_modules`: what `dir` and completion show is what `__all__` lists, and each name is there."""
    assert dir(module) == sorted(module.__all__)
    for name in module.__all__:
        with contextlib.suppress(kg.MissingExtra):
            getattr(module, name)


@pytest.fixture(scope="module")
def advised(root, tmp_path_factory):
    """Real objects under the names that the hints give them; calls run in a fresh folder."""
    folder, data = tmp_path_factory.mktemp("advised"), root / "data" / "countries"
    dataset = kg.read_dataset(data)
    model, part = kg.load_model(data / "complex.npz", dataset), kg.Protocol(sample=40, sample_seed=0)
    ranked = [kg.evaluate(scorer, dataset, part) for scorer in (model, kg.baselines.Degree(dataset))]
    return folder, {
        kg.EvaluationResult: ("result", ranked[0]),
        ClassificationResult: ("result", kg.classify(model, dataset, "uniform")),
        Comparison: ("comparison", kg.compare(ranked, names=["a", "b"])),
        Benchmark: ("bench", kg.benchmark({(name, 1, "countries"): one for name, one in zip("ab", ranked)})),
    }


LISTS_OF = 'kgeval.metrics.retrieval.from_scores(result.table["label"], result.table["score"])'


@pytest.mark.parametrize(
    ("made", "name", "new", "calls"),
    [
        (kg.EvaluationResult, "metrics", "{}", ["result.summary()"]),
        (kg.EvaluationResult, "mrr", "{}", ['result["mrr"]']),
        (kg.EvaluationResult, "plot", "{}", ["kgeval.report.plots.hits_curve(result)"]),
        (kg.EvaluationResult, "worst", "{}", ['result.ranks(labels=True).nlargest(10, "rank_filtered")']),
        (Comparison, "plot", "{}", ["kgeval.report.plots.difference_plot(comparison)"]),
        (Comparison, "summary", "{}, or {}", ["comparison.differences", "comparison.verdict"]),
        (Comparison, "to_csv", "{}", ['comparison.differences.to_csv("differences.csv")']),
        (Comparison, "worst", "{}", ["comparison.disagreements()"]),
        (Benchmark, "summary", "{}", ["bench.description()"]),
        (ClassificationResult, "accuracy", "{}", ['result["accuracy"]']),
        (
            ClassificationResult,
            "plot",
            "kgeval.report.plots.roc(lists), where lists = {}",
            [LISTS_OF, f"kgeval.report.plots.roc({LISTS_OF})"],
        ),
    ],
)
def test_a_name_that_users_try_answers_with_a_call_that_runs(advised, monkeypatch, made, name, new, calls):
    if name == "plot":
        pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    folder, found = advised
    spoken, thing = found[made]
    with pytest.raises(AttributeError) as error:
        getattr(thing, name)
    assert str(error.value) == f"{made.__name__} has no attribute {name!r}; write {new.format(*calls)}"
    monkeypatch.chdir(folder)
    for call in calls:
        eval(call, {"kgeval": kg, spoken: thing})


@pytest.mark.parametrize("value", ["none", "raw"])
def test_a_protocol_without_a_filter_has_no_splits(value):
    with pytest.raises(kg.ProtocolError, match=rf"got '{value}'. filter=\(\) removes no known answers; raw ranks need"):
        kg.Protocol(filter=value)
