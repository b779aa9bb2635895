"""What the tests of the report page share: a page of three models, its data, its comparison."""

import pytest
from page_cases import NAMES, Reader, made_results

from kgeval.comparison.comparison import compare
from kgeval.report import page as page_module
from kgeval.report.page import write_page
from kgeval.report.page_content import page_data


@pytest.fixture(scope="session")
def made():
    """Results, their dataset and their comparison."""
    results, dataset = made_results()
    return results, dataset, compare(results, names=NAMES, metrics="mrr,hits@10,mr", n_resamples=999)


@pytest.fixture(scope="session")
def page_and_data(made, tmp_path_factory):
    """The page of `made`, as a file, and the data that `page_data` made for it: to make them takes a while."""
    results, dataset, comparison = made
    path, found = tmp_path_factory.mktemp("page") / "report.html", []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_module, "page_data", lambda *call: found.append(page_data(*call)) or found[0])
        write_page(results, path, dataset=dataset, comparison=comparison)
    return path, *found


@pytest.fixture(scope="session")
def page(page_and_data):
    return page_and_data[0]


@pytest.fixture(scope="session")
def data(page_and_data):
    """What the page of `made` shows."""
    return page_and_data[1]


@pytest.fixture(scope="session")
def reader(page):
    return Reader(page)
