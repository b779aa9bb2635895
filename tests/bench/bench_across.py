"""How often the tests over datasets call equal models different; simulated.

Run with ``python tests/bench/bench_across.py``; needs scipy. Of each kind of benchmark, 2,000 are simulated: normal
values, with gaps between the models so large that only models of the same level can change places. Each row tells the
share of benchmarks in which Friedman's test rejects (by its p-value, and by the F distribution), and in which Nemenyi's
test calls at least one pair of equal models different. The
nominal share is 5%. Where the models differ, Friedman's test should reject.
"""

import numpy as np

from kgeval.stats.across_datasets import friedman, nemenyi

N_BENCHMARKS = 2_000
LEVELS = ([0, 0, 0], [0, 0, 1], [0] * 5, [0, 0, 1, 1, 2], [0, 0, 1, 2, 3], [0] * 10, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4])


def shares(n_datasets, levels, seed):
    """The shares of rejections by: exact or chosen p-value, F, Nemenyi."""
    rng, means = np.random.default_rng(seed), 100.0 * np.array(levels)
    is_equal = np.triu(means[:, None] == means[None], 1)
    counts = np.zeros(3)
    for _ in range(N_BENCHMARKS):
        values = rng.normal(size=(n_datasets, len(levels))) + means
        test = friedman(values)
        counts += [test.p_value <= 0.05, test.p_f <= 0.05, (nemenyi(values).p_values <= 0.05)[is_equal].any()]
    return counts / N_BENCHMARKS


def main():
    """Print the table."""
    print("datasets  levels of the models            Friedman       F  Nemenyi")
    for n_datasets in (3, 5, 8, 12, 20):
        for seed, levels in enumerate(LEVELS):
            found = "  ".join(f"{100 * share:6.1f}%" for share in shares(n_datasets, levels, seed))
            print(f"{n_datasets:8}  {''.join(map(str, levels)):30}  {found}", flush=True)


if __name__ == "__main__":
    main()
