"""Labels and numbers as text, the same in messages, tables, pages and plots."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction

from kgeval.base.checks import listed

MISSING = "-"
MAX_LABEL, LABEL_START, LABEL_END = 200, 140, 40  # characters of a label that `shown_label` keeps
MAX_LINE, LINE_START, LINE_END = 2000, 1800, 150  # characters of a line that `shown_line` keeps
MAX_DECIMALS = 12
MANY = 20  # numbers of a column, of which the smallest no longer decides the decimals of all


def printable(label: str) -> str:
    """Return a label that is safe to show: control and text-direction characters are escaped.

    Parameters
    ----------
    label : str

    Examples
    --------
    >>> print(printable("São Tomé\\x1b[31m"))
    São Tomé\\x1b[31m
    """
    if label.isprintable():
        return label
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in label)


def shown_label(label: str) -> str:
    """Return a label as one printable line of at most about 200 characters.

    Parameters
    ----------
    label : str

    Examples
    --------
    >>> shown_label("a\\nb"), shown_label("")
    ('a\\\\nb', '(empty label)')
    >>> shown_label("x" * 1000)[130:]
    'xxxxxxxxxx … (1,000 characters) … xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'
    """
    if not label:
        return "(empty label)"
    if len(label) > MAX_LABEL:
        label = f"{label[:LABEL_START]} … ({len(label):,} characters) … {label[-LABEL_END:]}"
    return printable(label)


def p_text(p_value: float, alpha: float) -> str:
    """Return a p-value as text, with enough decimals to show whether it is above `alpha`.

    Parameters
    ----------
    p_value : float
    alpha : float
        The significance level.

    Examples
    --------
    >>> p_text(0.05004, 0.05), p_text(0.3, 0.05), p_text(1e-9, 0.05)
    ('0.05004', '0.3000', '< 0.0001')
    """
    if math.isnan(p_value):
        return "-"
    if p_value < 0.0001:
        return "< 0.0001"
    decimals = 4
    while decimals < MAX_DECIMALS and (round(p_value, decimals) <= alpha) != (p_value <= alpha):
        decimals += 1
    return f"{p_value:.{decimals}f}"


def p_equals(p_value: float, alpha: float) -> str:
    """Return a p-value as the part of a sentence; empty if it is NaN.

    Parameters
    ----------
    p_value, alpha : float
        As in `p_text`.

    Examples
    --------
    >>> p_equals(0.3, 0.05), p_equals(1e-9, 0.05), p_equals(math.nan, 0.05)
    ('p = 0.3000', 'p < 0.0001', '')
    """
    text = p_text(p_value, alpha)
    return "" if math.isnan(p_value) else f"p {text}" if text.startswith("<") else f"p = {text}"


def written(value: float | Fraction, decimals: int = 4) -> str:
    """Return a number as text; a dash if it is NaN.

    Parameters
    ----------
    value : float or Fraction
    decimals : int

    Examples
    --------
    >>> written(Fraction(1, 3)), written(1234.5, 1), written(-0.00001), written(math.nan)
    ('0.3333', '1,234.5', '0.0000', '-')
    """
    number = float(value)
    if math.isnan(number):
        return MISSING
    text = f"{number:,.{decimals}f}"
    return text if text.strip("-0.,") else text.removeprefix("-")  # no -0.00


def signed(value: float, decimals: int = 4) -> str:
    """Return a difference as text with its sign.

    Parameters
    ----------
    value : float
    decimals : int

    Examples
    --------
    >>> signed(0.25, 2), signed(-0.25, 2), signed(0.0, 2)
    ('+0.25', '-0.25', '0.00')
    """
    text = written(value, decimals)
    return f"+{text}" if value > 0 and text.strip("0.,") else text


def between(low: float, high: float, decimals: int = 4, has_signs: bool = False) -> str:
    """Return an interval as text; empty unless both limits are finite.

    Parameters
    ----------
    low, high : float
    decimals : int
    has_signs : bool
        Whether the limits are differences, with a sign.

    Examples
    --------
    >>> between(0.2, 0.5, 2), between(-0.2, 0.5, 2, has_signs=True), between(math.nan, 0.5)
    ('[0.20, 0.50]', '[-0.20, +0.50]', '')
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    write = signed if has_signs else written
    return f"[{write(low, decimals)}, {write(high, decimals)}]"


def estimate(numbers: Sequence[float], decimals: int = 4, has_signs: bool = False, reason: str = "") -> str:
    """Return a value and its interval as text; without an interval, why there is none.

    Parameters
    ----------
    numbers : sequence of float
        The value and the limits of its interval.
    decimals : int
    has_signs : bool
        Whether the numbers are differences, with a sign.
    reason : str

    Examples
    --------
    >>> estimate((0.3, 0.2, 0.5), 2), estimate((0.3, 0.2, 0.5), 2, has_signs=True)
    ('0.30 [0.20, 0.50]', '+0.30 [+0.20, +0.50]')
    >>> estimate((0.3, math.nan, math.nan), 2), estimate((0.3, math.nan, math.nan), 2, reason="one triple")
    ('0.30 (no interval)', '0.30 (no interval: one triple)')
    """
    value, low, high = numbers
    limits = between(low, high, decimals, has_signs) or f"(no interval{f': {reason}' if reason else ''})"
    return f"{signed(value, decimals) if has_signs else written(value, decimals)} {limits}"


def exact(value: Fraction) -> str:
    """Return a fraction as a decimal number with at most ten significant digits.

    Parameters
    ----------
    value : Fraction

    Examples
    --------
    >>> exact(Fraction(627, 2000)), exact(Fraction(437, 2)), exact(Fraction(2, 3))
    ('0.3135', '218.5', '0.6666666667')
    """
    text = f"{float(value):.10g}"
    return text if "e" not in text else f"{float(value):.{MAX_DECIMALS}f}".rstrip("0").rstrip(".")


def count_text(n: float | None) -> str:
    """Return a count as text; a dash if it is None or NaN.

    Parameters
    ----------
    n : float or None

    Examples
    --------
    >>> count_text(20466), count_text(None)
    ('20,466', '-')
    """
    return MISSING if n is None or math.isnan(n) else f"{n:,.0f}"


def percent(share: float | None) -> str:
    """Return a share as a percentage; a dash if it is None or NaN.

    Parameters
    ----------
    share : float or None

    Examples
    --------
    >>> percent(0.125), percent(0.00004), percent(math.nan)
    ('12.5%', '0.004%', '-')
    """
    if share is None or math.isnan(share):
        return MISSING
    return f"{share:.{enough_decimals([100 * share], 1)}%}"


def decimals_for(numbers: Iterable[float | None], usual: int) -> int:
    """Return the number of decimals of all numbers of a column, with which no number but 0 reads as 0.

    Numbers of 100 and more have one decimal. If the smallest number has at most one digit among the usual decimals, it
    gets two significant digits. Of more than `MANY` numbers the median decides: a smaller one that would read as 0
    needs decimals of its own (`enough_decimals`).

    Parameters
    ----------
    numbers : iterable of float or None
        None, NaN, infinite numbers and numbers below 1e-12 are ignored.
    usual : int
        The decimals of numbers of common size.

    Examples
    --------
    >>> decimals_for([0.34, 0.21], 4), decimals_for([0.34, -0.00002], 4), decimals_for([178.4, 99.5], 2)
    (4, 6, 1)
    """
    least = 10.0**-MAX_DECIMALS  # a smaller number is a rounding error of 0
    sizes = sorted(abs(number) for number in numbers if number is not None and least <= abs(number) < math.inf)
    usual = min(usual, 1) if sizes and sizes[-1] >= 100 else usual
    least = sizes[len(sizes) // 2 if len(sizes) > MANY else 0] if sizes else 1.0
    return usual if least >= 10.0 ** (1 - usual) else max(usual, min(MAX_DECIMALS, 1 - math.floor(math.log10(least))))


def difference_decimals(rows: Iterable[Sequence[float | None]], decided: Iterable[bool], usual: int) -> int:
    """Return the number of decimals of differences and their intervals.

    With it no difference reads as 0, nor does an end of the interval of a decided one; of many, see `decimals_for`.

    Parameters
    ----------
    rows : iterable of sequences of float or None
        The differences, each with the limits of its interval.
    decided : iterable of bool
    usual : int
        As in `decimals_for`.

    Examples
    --------
    >>> difference_decimals([(0.0281, 0.00001, 0.0562)], [True], 4)
    5
    >>> difference_decimals([(0.0281, 0.00001, 0.0562)], [False], 4)
    4
    """
    known = list(rows)
    ends = [end for row, is_sure in zip(known, decided) if is_sure for end in row if end is not None]
    decimals = decimals_for([row[0] for row in known], usual)
    return decimals if len(known) > MANY else enough_decimals(ends, decimals)


def enough_decimals(numbers: Iterable[float], decimals: int) -> int:
    """Return the number of decimals with which only 0 is shown as 0: at least `decimals`, at most 12.

    Parameters
    ----------
    numbers : iterable of float
        NaN and numbers below 1e-12 are ignored.
    decimals : int

    Examples
    --------
    >>> enough_decimals([0.25, 0.0], 4), enough_decimals([-0.0000031], 4)
    (4, 6)
    """
    for number in numbers:
        is_known = 10.0**-MAX_DECIMALS <= abs(number) < math.inf
        while is_known and decimals < MAX_DECIMALS and not float(f"{number:.{decimals}f}"):
            decimals += 1
    return decimals


def shown_line(text: str) -> str:
    """Return a text of at most about 2,000 characters; the middle of a longer text is left out.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> shown_line("x" * 5000)[1790:-140]
    'xxxxxxxxxx … (5,000 characters) … xxxxxxxxxx'
    """
    if len(text) <= MAX_LINE:
        return text
    return f"{text[:LINE_START]} … ({len(text):,} characters) … {text[-LINE_END:]}"


def quoted(name: str) -> str:
    """Return a name for a list of names: in quotation marks if it holds what separates names in a list.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> print(quoted("ComplEx"), quoted("ComplEx, noise 0.4"), quoted("A and B"))
    ComplEx "ComplEx, noise 0.4" "A and B"
    """
    return f'"{name}"' if re.search(r",| and ", name) else name


def listed_names(names: Iterable[str], limit: int | None = None) -> str:
    """Return names as a list in English, each as `quoted` returns it.

    Parameters
    ----------
    names : iterable of str
    limit : int, optional
        As in `kgeval.base.checks.listed`.

    Examples
    --------
    >>> print(listed_names(["ComplEx 64, again", "DistMult", "frequency"]))
    "ComplEx 64, again", DistMult and frequency
    """
    return listed(list(map(quoted, names)), limit)


def with_capital(text: str, names: Sequence[str] = ()) -> str:
    """Return a text whose first letter is a capital one, unless it starts with a name; the others stay as they are.

    Parameters
    ----------
    text : str
    names : sequence of str

    Examples
    --------
    >>> with_capital("undecided on FB15k"), with_capital("rescal beats B", ["rescal"]), with_capital("")
    ('Undecided on FB15k', 'rescal beats B', '')
    """
    return text if text.startswith(tuple(filter(None, names))) else text[:1].upper() + text[1:]
