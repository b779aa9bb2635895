"""The groups that sentences and lists name as the largest gains and losses."""

import pandas as pd

from kgeval.display.differences import largest_moves, moved_words, named_moves

# Contributions that are not in proportion to differences: a group has from 2 to 900 ranks.
GROUPS = pd.DataFrame(
    {
        "n": [900, 40, 30, 2, 60, 4], "difference": [0.1, 0.3, 0.2, 0.9, -0.2, -0.8],
        "contribution": [0.09, 0.012, 0.006, 0.0018, -0.012, -0.0032],
        "decided": [False, False, True, False, False, False],
    },
    index=list("abcdef"),
)  # fmt: skip


def test_a_decided_group_is_named_behind_undecided_ones():
    """Of the gains a, b, c and d, b gives way to c."""
    gains, losses = named_moves(GROUPS, "mrr", 2)
    assert (gains.index.tolist(), losses.index.tolist()) == (["a", "c"], ["e", "f"])
    assert [part.index.tolist() for part in named_moves(GROUPS, "mrr")] == [["a"], ["e"]]
    first = "gains most on a (+0.1000 over 900 ranks, undecided) and significantly on c (+0.2000 over 30 ranks)"
    assert moved_words(GROUPS[:-1], "mrr", 2) == f"{first}; loses most on e (-0.2000 over 60 ranks, undecided)"


def test_gains_come_first_whatever_is_better():
    """Of MR, a lower difference is a gain; the largest of either sign stands before the others."""
    assert largest_moves(GROUPS, 5).index.tolist() == ["a", "b", "c", "e", "f"]
    ranks = GROUPS.copy()
    ranks.attrs["metric"] = "mr"
    assert largest_moves(ranks, 5).index.tolist() == ["e", "f", "a", "b", "c"]
    assert largest_moves(GROUPS.assign(contribution=0.0), 1).index.tolist() == ["a"]
