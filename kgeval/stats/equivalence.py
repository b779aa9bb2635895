"""Tests against a margin: is a difference shown to be smaller than the margin (equivalence, non-inferiority)?

The functions take plain numbers: a difference, its standard error and its degrees of freedom. `Comparison.equivalence`
and `kgeval.comparison.regression_gate.gate` call them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, isfinite, isnan, nan

from kgeval.base.checks import check_number, counted
from kgeval.stats.paired import SAME_DIFFERENCE
from kgeval.stats.tails import student_p_value, student_quantile

# With fewer differing clusters than this, or a smaller effective number of them, Student's t is not used to show a
# small difference, unless half of all clusters differ.
MIN_DIFFERING, MIN_WEIGHTY = 50, 20


@dataclass(frozen=True)
class Support:
    """The numbers of clusters of a t test; if few clusters differ, they take its place.

    If two systems differ in 15 of 300 clusters, the standard error is unreliable: Student's t then calls a difference
    that equals the margin smaller than the margin in up to 10%, in place of 5%. The same happens if 70 of 1,400 differ,
    but only 10 of these by much. So if fewer than half of all clusters differ, and fewer than 50 (or an effective
    number below 20), the p-value is at least the probability that at most `n_differing` of the clusters differ although
    the true difference is the margin. If a cluster changes the statistic by at most `largest` / `n_clusters`, at least
    the share ``margin / largest`` of all clusters must differ; so this probability is at most that of the binomial
    distribution. With 0 differing clusters it is ``(1 - margin / largest) ** n_clusters``. In any other case the
    p-value is at least ``2 ** (1 - n_differing)``, the smallest p-value of the randomization test.

    Parameters
    ----------
    n_differing : int
        Number of clusters in which the systems differ.
    n_clusters : float
        The effective number of clusters; it is rounded down.
    largest : float
        The largest possible absolute difference between the two systems in one observation, if the statistic is a plain
        mean; else infinity, and a few differing clusters show nothing.
    n_weighty : float
        The effective number of differing clusters (`effective_differing`).
    """

    n_differing: int
    n_clusters: float
    largest: float = inf
    n_weighty: float = inf

    @property
    def of_signs(self) -> float:
        """The smallest p-value of the randomization test, at most 1."""
        return min(1.0, 2.0 ** (1 - self.n_differing))

    @property
    def is_sparse(self) -> bool:
        """Whether so few clusters differ that Student's t is not used."""
        are_few = self.n_differing < MIN_DIFFERING or self.n_weighty < MIN_WEIGHTY
        return are_few and self.n_differing < int(self.n_clusters + 1e-9) / 2.0

    def of_margin(self, margin: float) -> float:
        """Return the smallest p-value of a test that shows a difference to be below `margin`.

        Parameters
        ----------
        margin : float

        Examples
        --------
        >>> round(Support(0, 100, 1.0).of_margin(0.02), 4), round(0.98**100, 4)
        (0.1326, 0.1326)
        >>> Support(4, 100).of_margin(0.02), Support(60, 100).of_margin(0.02) < 1e-9
        (1.0, True)
        """
        from scipy.special import bdtr

        share = margin / self.largest
        if not self.is_sparse or margin <= 0.0:
            return self.of_signs
        if share >= 1.0:
            return 0.0
        return float(bdtr(self.n_differing, int(self.n_clusters + 1e-9), share)) if share > 0.0 else 1.0

    def smallest_margin(self, alpha: float) -> float:
        """Return the smallest margin for which `of_margin` is at most `alpha`; infinite if there is none.

        Parameters
        ----------
        alpha : float
        """
        from scipy.special import bdtri

        if not self.is_sparse:
            return 0.0 if self.of_signs <= alpha else inf
        return self.largest * float(bdtri(self.n_differing, int(self.n_clusters + 1e-9), alpha))


@dataclass(frozen=True)
class MarginTest:
    """The test of a difference against a margin; `tost` and `non_inferiority` return it.

    Parameters
    ----------
    difference, error : float
        The observed difference and its standard error.
    freedom : float
        Degrees of freedom of Student's t.
    margin, alpha : float
    p_lower : float
        One-sided p-value of the null hypothesis that the true difference is ``-margin`` or less.
    p_upper : float
        One-sided p-value of the null hypothesis that the true difference is `margin` or more.
    p_value : float
        The p-value of the test. Equivalence: the larger one of `p_lower` and `p_upper`. Non-inferiority: `p_lower` if
        higher values are better, else `p_upper`. NaN if there is no test (see `reason`); 0 only if `error` is 0 and
        the test was called without its argument ``support``.
    p_beyond : float
        The p-value of the opposite claim. Equivalence: two-sided, of the null hypothesis that the true difference lies
        between ``-margin`` and `margin`. Non-inferiority: one-sided, of the null hypothesis that the loss is at most
        the margin.
    low, high : float
        The limits of the interval of the difference with the nominal coverage ``1 - 2 * alpha``. `p_value` is at most
        `alpha` if and only if the interval lies within the margins (non-inferiority: if the worse limit lies within the
        margin). The limits are wider than those of Student's t if few clusters differ (`Support`).
    reason : str
        Why p-values or limits are NaN; else empty.
    """

    difference: float
    error: float
    freedom: float
    margin: float
    alpha: float
    p_lower: float
    p_upper: float
    p_value: float
    p_beyond: float
    low: float
    high: float
    reason: str = ""


def tost(
    difference: float,
    error: float,
    freedom: float,
    margin: float,
    *,
    alpha: float = 0.05,
    support: Support | None = None,
) -> MarginTest:
    """Test whether two systems are equivalent: whether the true difference is smaller than `margin` in absolute value.

    These are two one-sided t tests (TOST), each at the level `alpha`: one test must reject that the difference is
    ``-margin`` or less, the other test must reject that the difference is `margin` or more. A difference that is not
    significant does not show equivalence; a significant result of this test does.

    Parameters
    ----------
    difference : float
        The observed difference.
    error : float
        Its standard error; NaN if unknown.
    freedom : float
        Degrees of freedom of Student's t, at least 1.
    margin : float
        Above 0, in the unit of the difference: the smallest difference that matters.
    alpha : float
        The significance level, below 0.5.
    support : Support, optional
        Limits the p-values if few clusters differ. By default there is no limit.

    Returns
    -------
    MarginTest

    Raises
    ------
    MetricError
        If `margin` is not above 0, or `alpha` or `freedom` is out of range.

    References
    ----------
    Schuirmann (1987), A comparison of the two one-sided tests procedure and the power approach for assessing the
    equivalence of average bioavailability, Journal of Pharmacokinetics and Biopharmaceutics 15.

    Examples
    --------
    >>> test = tost(0.001, 0.002, 99, 0.005)
    >>> round(test.p_value, 4), round(test.low, 4), round(test.high, 4)
    (0.0241, -0.0023, 0.0043)
    """
    check_number("margin", margin, 0.0, inf, "above 0: the smallest difference that matters, such as 0.002")
    return _tested(difference, error, freedom, margin, alpha, support, None)


def non_inferiority(
    difference: float,
    error: float,
    freedom: float,
    margin: float,
    *,
    higher_is_better: bool = True,
    alpha: float = 0.05,
    support: Support | None = None,
) -> MarginTest:
    """Test whether a system is not inferior to a reference: whether its true loss is smaller than `margin`.

    This is one half of `tost`: a gain may be of any size. The loss is ``-difference`` if higher values are better, and
    `difference` if lower values are better.

    Parameters
    ----------
    difference : float
        The observed value of the system minus the value of the reference.
    error, freedom, alpha, support
        As in `tost`.
    margin : float
        0 or more; 0 tests whether the system is better.
    higher_is_better : bool

    Returns
    -------
    MarginTest

    Raises
    ------
    MetricError
        If `margin` is below 0, or `alpha` or `freedom` is out of range.

    References
    ----------
    Schuirmann (1987), as in `tost`; Piaggio et al. (2012), Reporting of Noninferiority and Equivalence Randomized
    Trials, JAMA 308 (a loss is inferior, not inferior, or undecided).

    Examples
    --------
    >>> test = non_inferiority(-0.001, 0.002, 99, 0.005)
    >>> round(test.p_value, 4), round(test.p_beyond, 4)
    (0.0241, 0.9759)
    """
    check_number("margin", margin, -1e-300, inf, "0 or more: the largest loss that is accepted, such as 0.002")
    return _tested(difference, error, freedom, margin, alpha, support, higher_is_better)


def _tested(
    difference: float,
    error: float,
    freedom: float,
    margin: float,
    alpha: float,
    support: Support | None,
    higher_is_better: bool | None,
) -> MarginTest:
    """Return the test; `higher_is_better` is None for equivalence."""
    check_number("alpha", alpha, 0.0, 0.5, "a significance level above 0 and below 0.5, such as 0.05")
    check_number("freedom", freedom, 1.0 - 1e-9, inf, "at least 1 degree of freedom")
    if not isfinite(difference) or isnan(error):
        reason = "the difference is undefined" if not isfinite(difference) else "the standard error is unknown"
        return MarginTest(difference, error, freedom, margin, alpha, nan, nan, nan, nan, nan, nan, reason)
    least, signs = (0.0, 0.0) if support is None else (support.of_margin(margin), support.of_signs)
    above, below = difference + margin, margin - difference  # distances from -margin and to margin
    p_lower, p_upper = (max(_upper_tail(x, error, freedom), least) for x in (above, below))
    # One-sided p-values of the opposite claims: the difference is below -margin, and above margin.
    p_too_low, p_too_high = (max(_upper_tail(-x, error, freedom), signs) for x in (above, below))
    if higher_is_better is None:
        p_value, p_beyond = max(p_lower, p_upper), min(1.0, 2.0 * min(p_too_low, p_too_high))
    else:
        p_value, p_beyond = (p_lower, p_too_low) if higher_is_better else (p_upper, p_too_high)
    test = MarginTest(difference, error, freedom, margin, alpha, p_lower, p_upper, p_value, p_beyond, nan, nan)
    return _with_limits(test, support, higher_is_better)


def _with_limits(test: MarginTest, support: Support | None, higher_is_better: bool | None) -> MarginTest:
    """Return a test with the limits of its interval, with coverage ``1 - 2 * alpha``, or why there are none."""
    reach = student_quantile(1.0 - test.alpha, test.freedom) * test.error
    least = 0.0 if support is None else support.smallest_margin(test.alpha)
    if support is not None and not isfinite(least):
        differing = counted(support.n_differing, "cluster")
        if support.n_weighty < support.n_differing:
            differing += f" ({support.n_weighty:.0f} effective)"
        return replace(test, reason=f"the systems differ in {differing} only, too few for an interval")
    if test.error == 0.0 and test.difference != 0.0:
        return replace(test, reason=SAME_DIFFERENCE)
    low, high = test.difference - reach, test.difference + reach
    # Few differing clusters limit what is shown to be small, not what Student's t shows to be large.
    if least > 0.0 and (low <= 0.0 or higher_is_better):
        low = min(low, -least)
    if least > 0.0 and (high >= 0.0 or higher_is_better is False):
        high = max(high, least)
    return replace(test, low=low, high=high)


def _upper_tail(distance: float, error: float, freedom: float) -> float:
    """Return the probability that a variable with Student's t distribution is above ``distance / error``.

    Without an error, the result is 0 for a positive distance, else 1.
    """
    if error == 0.0:
        return 0.0 if distance > 0.0 else 1.0
    two_sided = student_p_value(distance / error, freedom)
    return two_sided / 2.0 if distance > 0.0 else 1.0 - two_sided / 2.0
