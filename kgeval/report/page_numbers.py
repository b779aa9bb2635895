"""Numbers of the report page as text: how many digits each kind of number has."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kgeval.base import wording
from kgeval.base.wording import MISSING
from kgeval.metrics.grammar import display_of

MAX_DIGITS = 10

Number = float | None


def is_number(value: Number) -> bool:
    """Return whether a value is neither None nor NaN nor infinite."""
    return value is not None and math.isfinite(value)


def digits_of(value: float, metric: str) -> int:
    """Return the number of decimals of a value of a metric, given its key."""
    return 1 if abs(value) >= 100 else display_of(metric).decimals


def value_text(value: Number, metric: str, digits: int | None = None) -> str:
    """Return a value of a metric as text; a dash if there is none.

    Examples
    --------
    >>> value_text(0.34217, "mrr"), value_text(1234.56, "mr"), value_text(-0.00001, "mrr"), value_text(None, "mrr")
    ('0.3422', '1,234.6', '0.0000', '-')
    """
    if value is None or not math.isfinite(value):
        return MISSING
    return wording.written(value, digits_of(value, metric) if digits is None else digits)


def whole(n: Number) -> str:
    """Return a count as text, such as ``"20,466"``."""
    return MISSING if n is None else f"{n:,.0f}"


def percent(share: Number) -> str:
    """Return a share as text, such as ``"12.5%"``."""
    return MISSING if share is None or not math.isfinite(share) else f"{share:.1%}"


def interval_text(cell: Sequence[Number], metric: str, digits: int | None = None) -> str:
    """Return the interval of ``(value, low, high)`` as text, such as ``"[0.3360, 0.3480]"``; empty if there is none."""
    if len(cell) < 3 or not all(map(is_number, cell[:3])):
        return ""
    value, low, high = cell[:3]
    n = digits_of(value or 0.0, metric) if digits is None else digits
    return f"[{value_text(low, metric, n)}, {value_text(high, metric, n)}]"


def difference_digits(cell: Sequence[Number], metric: str) -> int:
    """Return the number of decimals of a difference, given ``(value, low, high)``.

    Differences may be far smaller than values, so they have at least two significant digits. If the interval excludes
    zero, the limit next to zero has at least one significant digit.

    Examples
    --------
    >>> difference_digits((0.0281, 0.0259, 0.0312), "mrr"), difference_digits((0.0000123, 0.000011, 0.000013), "mrr")
    (4, 6)
    """
    value, low, high = [*cell, None, None][:3]
    if value is None or not math.isfinite(value):
        return 0
    usual = digits_of(value, metric)
    if abs(value) < 10.0**-MAX_DIGITS:
        return usual
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return max(usual, _significant(value, 2))
    is_sure = low * high > 0
    wanted = _significant(value if is_sure else max(abs(value), (high - low) / 2), 2)
    return max(usual, wanted, _significant(low if low > 0 else high, 1) if is_sure else 0)


def _significant(number: float, n: int) -> int:
    """Return the decimals that show `n` significant digits of a number."""
    return min(MAX_DIGITS, n - 1 - math.floor(math.log10(abs(number))))


def signed(value: Number, metric: str, digits: int | None = None) -> str:
    """Return a difference as text with its sign, such as ``"+0.0281"``.

    Examples
    --------
    >>> signed(0.0281, "mrr"), signed(-0.0281, "mrr"), signed(0.0, "mrr")
    ('+0.0281', '-0.0281', '0.0000')
    """
    if value is None or not math.isfinite(value):
        return MISSING
    return wording.signed(value, digits_of(value, metric) if digits is None else digits)


def difference_text(cell: Sequence[Number], metric: str) -> tuple[str, str]:
    """Return a difference and its interval as texts, such as ``("+0.0281", "[+0.0259, +0.0312]")``."""
    digits = difference_digits(cell, metric)
    value, low, high = [*cell, None, None][:3]
    ends = f"[{signed(low, metric, digits)}, {signed(high, metric, digits)}]"
    return signed(value, metric, digits), ends if is_number(low) and is_number(high) else ""
