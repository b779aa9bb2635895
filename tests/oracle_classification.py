"""A slow reference for triple classification: dicts, loops and fractions, to be checked by reading."""

from fractions import Fraction


def best_threshold(examples):
    """Of the scores of (score, label) examples and +inf: most examples right, of equal ones the highest."""
    best, most = None, -1
    for cut in sorted({score for score, _ in examples} | {float("inf")}, reverse=True):
        right = sum((score >= cut) == label for score, label in examples)
        if right > most:
            best, most = cut, right
    return best


def midpoint_below(cut, examples):
    """The middle between a threshold and the next lower score, or the threshold if no number lies strictly below it."""
    lower = max((score for score, _ in examples if score < cut), default=cut)
    if abs(cut) == float("inf") or abs(lower) == float("inf"):
        return cut
    middle = float((Fraction(cut) + Fraction(lower)) / 2)
    return middle if middle > lower else cut


def thresholds(valid, relations, threshold_at="score"):
    """For each relation (threshold, source); `valid` holds (relation, score, label)."""

    def placed(examples):
        cut = best_threshold(examples)
        return cut if threshold_at == "score" else midpoint_below(cut, examples)

    overall = placed([(score, label) for _, score, label in valid])
    found = {}
    for relation in relations:
        mine = [(score, label) for r, score, label in valid if r == relation]
        if {label for _, label in mine} == {True, False}:
            found[relation] = (placed(mine), "relation")
        else:
            found[relation] = (overall, "global")
    return found


def metrics(decided):
    """Metrics of (label, predicted, score) rows as fractions; None where undefined."""
    tp = sum(label and predicted for label, predicted, _ in decided)
    fp = sum(predicted and not label for label, predicted, _ in decided)
    fn = sum(label and not predicted for label, predicted, _ in decided)
    tn = len(decided) - tp - fp - fn
    positives = [score for label, _, score in decided if label]
    negatives = [score for label, _, score in decided if not label]
    pairs = [Fraction((a > b) + (a >= b), 2) for a in positives for b in negatives]
    return {
        "accuracy": Fraction(tp + tn, len(decided)),
        "precision": Fraction(tp, tp + fp) if tp + fp else None,
        "recall": Fraction(tp, tp + fn) if tp + fn else None,
        "f1": Fraction(2 * tp, 2 * tp + fp + fn) if tp + fp + fn else None,
        "auc": sum(pairs) / len(pairs) if pairs else None,
    }


def macro(by_relation, name):
    """The mean of a metric over the relations that have it; None where none has."""
    values = [found[name] for found in by_relation.values() if found[name] is not None]
    return sum(values) / len(values) if values else None
