"""Benchmarks: models x seeds x datasets in one table, cards of runs, and boards of many runs."""
