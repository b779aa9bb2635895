"""Modules that are found by their place in a folder: commands, models, metrics, file formats."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from types import ModuleType


def import_modules(package: str, path: Iterable[str]) -> list[ModuleType]:
    """Import every module in the folder of a package, in the order of their names.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    path : iterable of str
        Its ``__path__``.
    """
    return [importlib.import_module(f"{package}.{found.name}") for found in pkgutil.iter_modules(path)]
