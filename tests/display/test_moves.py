"""The groups that sentences and lists name as the largest gains and losses."""

import pandas as pd

from kgeval.display.differences import moved_words, named_moves

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
    """Of the gains a, b, c and d, b gives way to c; f has 4 ranks, so that e alone is named."""
    gains, losses = named_moves(GROUPS, "mrr", 2)
    assert (gains.index.tolist(), losses.index.tolist()) == (["a", "c"], ["e"])
    assert [part.index.tolist() for part in named_moves(GROUPS, "mrr")] == [["a"], ["e"]]
    first = "gains most on a (+0.1000 over 900 ranks, undecided) and significantly on c (+0.2000 over 30 ranks)"
    assert moved_words(GROUPS, "mrr", 2) == f"{first}; loses most on e (-0.2000 over 60 ranks, undecided)"


def test_small_groups_are_named_if_there_is_no_other():
    gains, losses = named_moves(GROUPS.loc[["d", "f"]], "mrr", 2)
    assert (gains.index.tolist(), losses.index.tolist()) == (["d"], ["f"])
    sure = GROUPS.assign(decided=GROUPS.index == "f")
    assert named_moves(sure, "mrr")[1].index.tolist() == ["e"]
    assert named_moves(sure, "mrr", 2)[1].index.tolist() == ["e", "f"]  # decided, though small
    assert moved_words(GROUPS.loc[["d", "f"]], "mrr") == (
        "gains most on d (+0.9000 over 2 ranks); loses most on f (-0.8000 over 4 ranks); both undecided"
    )
