"""Options for intervals: which confidence levels are accepted."""

import argparse
import math

import pytest

from kgeval.cli.interval_options import check_level
from kgeval.errors import ProtocolError


def test_a_level_lies_between_0_and_1():
    for level in (None, 1e-9, 0.95, 0.999):
        check_level(argparse.Namespace(confidence=level))
    for level in (0.0, 1.0, -0.5, 95.0, math.nan, math.inf):
        with pytest.raises(ProtocolError, match="--confidence must be between 0 and 1"):
            check_level(argparse.Namespace(confidence=level))
