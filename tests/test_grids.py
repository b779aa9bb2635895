"""Which cases of a test the light suite takes."""

import itertools

import numpy as np
from grids import varied


def chosen(cases, n):
    """The cases that are kept, in their order."""
    return [cases[i] for i in sorted(varied(cases, n))]


def test_cases_of_one_parameter_are_evenly_spread():
    cases = [{"seed": seed} for seed in range(9)]
    assert sorted(varied(cases, 3)) == [0, 4, 8]
    assert sorted(varied(cases, 1)) == [0]
    assert sorted(varied(cases, 20)) == list(range(9))


def test_a_product_needs_no_more_cases_than_its_longest_parameter_has_values():
    """An even spread over 3 x 2 x 4 cases would fall in step with the inner parameters, and show one value of them."""
    lengths = {"kind": 3, "side": 2, "dtype": 4}
    for order in itertools.permutations(lengths):
        rows = itertools.product(*(range(lengths[name]) for name in order))
        found = chosen([dict(zip(order, row, strict=True)) for row in rows], 4)
        assert {name: len({case[name] for case in found}) for name in order} == lengths


def test_rows_with_values_of_their_own_show_each_value_that_is_shared():
    splits = ["test", "test", "test", "valid", "test", "train", "test"]
    cases = [{"split": split, "lines": [], "said": str(i)} for i, split in enumerate(splits)]
    assert {case["split"] for case in chosen(cases, 3)} == {"train", "valid", "test"}


def test_values_of_a_parameter_with_few_come_before_those_of_one_with_many():
    names, texts = "abaacbdd", "stuvsvxt"
    cases = [{"name": name, "text": text} for name, text in zip(names, texts, strict=True)]
    assert {case["name"] for case in chosen(cases, 4)} == set(names)


def test_arrays_and_equal_numbers_of_other_types_are_values_of_their_own():
    cases = [{"value": np.zeros(2)}, {"value": 1}, {"value": 1}, {"value": True}, {"value": 1.0}]
    assert sorted(varied(cases, 4)) in ([0, 1, 3, 4], [0, 2, 3, 4])
