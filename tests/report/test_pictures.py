"""The pictures of the README show the pages of today."""

import importlib.util
import json

import pytest


@pytest.mark.filterwarnings("ignore::kgeval.KgevalWarning")
def test_the_pictures_are_of_today(root, tmp_path):
    """Of a page that has changed, python tests/bench/page_pictures.py takes new pictures."""
    spec = importlib.util.spec_from_file_location("page_pictures", root / "tests" / "bench" / "page_pictures.py")
    pictures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pictures)
    made = json.loads((root / ".github" / "pictures" / "made-of.json").read_text(encoding="utf-8"))
    assert pictures.made_of(tmp_path) == made
