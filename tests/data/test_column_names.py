"""What the names of columns say, and what a caller may say about columns."""

import itertools

import pytest

from kgeval.data.column_names import check_further_column, chosen_columns, parse_columns, proposed_columns, role_of
from kgeval.errors import DataError


def refusal(make, *args):
    """The message of the DataError."""
    with pytest.raises(DataError) as caught:
        make(*args)
    return str(caught.value)


@pytest.mark.parametrize("letters", ["hrt", "spo"])
def test_an_order_of_letters(letters):
    """All six orders, as letters, as names with commas and as a list."""
    for order in itertools.permutations(letters):
        wanted = tuple(order.index(letter) for letter in letters)
        for columns in ("".join(order), ",".join(order), " , ".join(order), list(order)):
            choice = parse_columns(columns)
            assert (choice.positions, choice.further, choice.is_by_name) == (wanted, {}, False)


def test_an_order_with_names_of_further_columns():
    """Three letters among the names say the order; - leaves a column out, more than once."""
    choice = parse_columns("time,h,-,t,r,-,weight")
    assert (choice.positions, choice.further) == ((1, 4, 3), {"time": 0, "weight": 6})
    assert str(choice) == "'time,h,-,t,r,-,weight'"
    assert parse_columns(["s", "p", "o", "h"]).further == {"h": 3}


def test_names_of_the_three_columns():
    """In the order subject, relation, object; a name that holds a comma is given in a list."""
    choice = parse_columns(["a,b", "c", "d"])
    assert (choice.names, choice.is_by_name, choice.further) == (("a,b", "c", "d"), True, {})
    assert chosen_columns("f", ["d", "x", "c", "a,b"], choice) == [3, 2, 0]
    assert refusal(chosen_columns, "f", ["d", "c", "x"], choice) == (
        "f: no column 'a,b', which columns='a,b,c,d' names; got d, c, x"
    )


@pytest.mark.parametrize(
    "names",
    [
        ("head", "tail", "relation"),
        ("relation", "head", "tail"),
        ("source", "target", "rel"),
        ("subj_id", "obj_id", "pred_id"),
        ("from", "to", "type"),
        ("to", "rel", "from"),
        ("x", "tail", "y"),
        ("Head", "x", "Relation"),
    ],
)
def test_a_name_in_the_place_of_another_part_is_an_error(names):
    """The caller wrote the order of the columns in place of the order subject, relation, object."""
    assert " cannot be in a column named " in refusal(parse_columns, names)


def test_roles_of_names():
    """One word of a known meaning; ids, names and labels of it; anything else says nothing."""
    for part, names in enumerate(
        (
            ["s", "Subject", "head", "head_id", "headLabel", "#head", "source", "from", "entity_head", "SRC"],
            ["p", "predicate", "rel", "Relation", "relation_id", "r", "property", "relationLabel"],
            ["o", "object", "tail_name", "target", "to", "dst", "t", "TAIL"],
        )
    ):
        assert {name: role_of(name) for name in names} == dict.fromkeys(names, part)
    others = ["", "entity1", "node", "id", "time", "type", "edge", "head_tail", "headquarters", "1"]
    assert [role_of(name) for name in others] == [None] * len(others)


def test_proposals():
    """Only if each part has one column, and the proposal can be typed."""
    assert proposed_columns(["from", "to", "year", "rel"]) == "from,rel,to"
    for names in (["from", "to"], ["from", "source", "rel", "to"], ["head,x", "rel", "tail"], [" head", "rel", "tail"]):
        assert proposed_columns(names) == ""


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("label", ["1", "0"], "marks triples as false"),
        ("Truth", ["1", "-1"], "marks triples as false"),
        ("y", [True, False], "marks triples as false"),
        ("label", ["0.0", "1.0"], "marks triples as false"),
        ("split", ["test", "train"], "names splits ('test', 'train')"),
        ("x", ["valid"], "names splits ('valid')"),
        ("subset", ["a", "b"], "names splits ('a', 'b')"),
        ("label", ["1"], ""),
        ("label", ["cat", "0"], ""),
        ("weight", ["1", "0"], ""),
        ("x", ["test", "other"], ""),
        ("split", ["test"], ""),
        ("split", ["7"], ""),
    ],
)
def test_columns_that_select_rows(name, values, said):
    """By name and values; a weight of 0 and 1 is a weight."""
    if said:
        assert f"f: the column {name!r} {said}, but all rows" in refusal(
            check_further_column, "f", name, values, "test"
        )
    else:
        check_further_column("f", name, values, "test")
