"""What the tests of the report page share: a page of three models, its data, its comparison."""

import pytest
from page_cases import NAMES, Reader, content, made_results

from kgeval.comparison.comparison import compare
from kgeval.report.page import write_page


@pytest.fixture(scope="session")
def made():
    """Results, their dataset and their comparison."""
    results, dataset = made_results()
    return results, dataset, compare(results, names=NAMES, metrics="mrr,hits@10,mr", n_resamples=999)


@pytest.fixture(scope="session")
def page(made, tmp_path_factory):
    """The page of `made`, as a file."""
    results, dataset, comparison = made
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_page(results, path, dataset=dataset, comparison=comparison)
    return path


@pytest.fixture(scope="session")
def data(made):
    """What the page of `made` shows, with all digits."""
    results, dataset, comparison = made
    return content(results, NAMES, dataset, comparison)


@pytest.fixture(scope="session")
def reader(page):
    return Reader(page)
