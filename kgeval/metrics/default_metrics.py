"""The metrics that tables, pages and cards show if the caller names none: one list, and its named variants.

Every room takes its default from here; `tests/metrics/test_default_metrics.py` checks that no other module has a list
of its own.
"""

from __future__ import annotations

DEFAULT_METRICS = ("mrr", "hits@1", "hits@3", "hits@10", "mr", "amri")  # a verdict is about the first
PLAIN_METRICS = DEFAULT_METRICS[:-1]  # without a metric that needs the numbers of rivals
BRIEF_METRICS = ("mrr", "hits@1", "hits@10")  # panels of notebooks, benchmarks
