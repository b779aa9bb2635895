"""A slow reference for pointwise metrics and curves: loops and fractions, to be checked by reading."""

import math
from fractions import Fraction


def mean(values):
    """The mean, exactly."""
    return sum(values, Fraction(0)) / len(values)


def of_decisions(name, labels, decisions, beta):
    """Metrics of right and wrong calls; None for 0 / 0."""
    pairs = list(zip(labels, decisions, strict=True))
    tp, fp, fn, tn = (sum(pair == kind for pair in pairs) for kind in ((1, 1), (0, 1), (1, 0), (0, 0)))
    if name == "mcc":
        square = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
        return (tp * tn - fp * fn) / math.sqrt(square) if square else None
    if name == "balanced_accuracy":
        return (Fraction(tp, tp + fn) + Fraction(tn, tn + fp)) / 2 if tp + fn and tn + fp else None
    b = Fraction(beta) ** 2
    above, below = {
        "accuracy": (tp + tn, tp + fp + fn + tn),
        "precision": (tp, tp + fp),
        "recall": (tp, tp + fn),
        "specificity": (tn, tn + fp),
        "fbeta": ((1 + b) * tp, (1 + b) * tp + b * fn + fp),
    }[name]
    return Fraction(above) / below if below else None


def auc(labels, scores):
    """Share of (positive, negative) pairs in the right order, equal ones one half."""
    positives = [x for y, x in zip(labels, scores, strict=True) if y]
    negatives = [x for y, x in zip(labels, scores, strict=True) if not y]
    won = [Fraction((p > n) - (p < n) + 1, 2) for p in positives for n in negatives]
    return mean(won) if won else None


def precision_at(labels, scores, threshold):
    """Share of positives among what scores at least the threshold."""
    return mean([y for y, x in zip(labels, scores, strict=True) if x >= threshold])


def average_precision(labels, scores):
    """Mean over the positives of the precision at their own score."""
    found = [precision_at(labels, scores, x) for y, x in zip(labels, scores, strict=True) if y]
    return mean(found) if found else None


def members(groups):
    """The positions of each group."""
    return {group: [i for i, other in enumerate(groups) if other == group] for group in groups}


def gauc(labels, scores, groups, weights=None):
    """(value or None, number of groups of one class, their share of the weight)."""
    above = kept = left = Fraction(0)
    n_left = 0
    for group, rows in members(groups).items():
        weight = Fraction(len(rows) if weights is None else weights[group])
        own = auc([labels[i] for i in rows], [scores[i] for i in rows])
        if own is None:
            n_left, left = n_left + 1, left + weight
        else:
            above, kept = above + weight * own, kept + weight
    return (above / kept if kept else None), n_left, (left / (left + kept) if left + kept else Fraction(0))


def surprise(probability):
    """-ln of a probability, accurate at both ends."""
    if probability == 0:
        return math.inf
    return -math.log(probability) if probability < 0.5 else abs(math.log1p(-float(1 - probability)))


def log_loss(labels, probabilities, clip):
    """Mean surprise at what happened."""
    moved = [min(max(Fraction(p), Fraction(clip)), 1 - Fraction(clip)) for p in probabilities]
    return math.fsum(surprise(p if y else 1 - p) for y, p in zip(labels, moved, strict=True)) / len(labels)


def in_bins(probabilities, bins, strategy):
    """The bin of each probability."""
    if strategy == "width":
        return [max(i for i in range(bins) if p >= i / bins) for p in probabilities]
    return [bins * sum(other < p for other in probabilities) // len(probabilities) for p in probabilities]


def calibration_error(labels, probabilities, groups):
    """Sum over groups of |sum p - sum y|, per example."""
    gaps = [abs(sum(Fraction(probabilities[i]) - labels[i] for i in rows)) for rows in members(groups).values()]
    return sum(gaps) / len(labels)


def metric(name, labels, predictions, groups=None, weights=None, **parameters):
    """Any metric by its name; None where it is undefined."""
    if not labels:
        return None
    p = parameters
    if "threshold" in p:
        return of_decisions(name, labels, [int(x >= p["threshold"]) for x in predictions], p.get("beta", 1))
    exact = [(Fraction(y), Fraction(x)) for y, x in zip(labels, predictions, strict=True)]
    return {
        "auc": lambda: auc(labels, predictions),
        "ap": lambda: average_precision(labels, predictions),
        "gauc": lambda: gauc(labels, predictions, groups, weights)[0],
        "log_loss": lambda: log_loss(labels, predictions, p["clip"]),
        "brier": lambda: mean([(x - y) ** 2 for y, x in exact]),
        "ece": lambda: calibration_error(labels, predictions, in_bins(predictions, p["bins"], p["strategy"])),
        "field_ece": lambda: calibration_error(labels, predictions, groups),
        "pcopc": lambda: sum(x for _, x in exact) / sum(labels) if sum(labels) else None,
        "rmse": lambda: math.sqrt(mean([(x - y) ** 2 for y, x in exact])),
        "mae": lambda: mean([abs(x - y) for y, x in exact]),
    }[name]()


def curve(labels, scores):
    """(threshold, tp, fp) at each distinct score, falling."""
    rows = []
    for threshold in sorted(set(scores), reverse=True):
        called = [y for y, x in zip(labels, scores, strict=True) if x >= threshold]
        rows.append((threshold, sum(called), len(called) - sum(called)))
    return rows


def rising(scores, labels, weights):
    """Isotonic regression at each distinct score: the highest over starts of the lowest over ends of the mean."""
    points, n = sorted(set(scores)), len(set(scores))
    rows = [[i for i, x in enumerate(scores) if x == point] for point in points]
    total = [sum(weights[i] for i in row) for row in rows]
    above = [sum(weights[i] * labels[i] for i in row) for row in rows]
    level = [[sum(above[a:b]) / sum(total[a:b]) if a < b else None for b in range(n + 1)] for a in range(n)]
    return {x: max(min(level[a][b] for b in range(i + 1, n + 1)) for a in range(i + 1)) for i, x in enumerate(points)}


def random_table(rng, most=9):
    """Random labels, probabilities and groups: with ties, ends, single examples, and one class alone."""
    size, share, kind = rng.randint(1, most), rng.choice([0.0, 0.3, 0.5, 0.7, 1.0]), rng.randrange(4)
    draws = (lambda: rng.randrange(11) / 10, lambda: rng.choice([0.0, 1.0, 0.5, 1e-12, 1 - 1e-12]), rng.random)
    draw = (*draws, lambda: 0.25)[kind]
    labels = [int(rng.random() < share) for _ in range(size)]
    return labels, [draw() for _ in range(size)], [rng.choice("abc") for _ in range(size)]
