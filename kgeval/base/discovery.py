"""`import_modules` imports all modules in the folder of a package.

The packages of commands, models, metrics and file formats call this function, so that a new module in their folder
needs no entry in a list.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from types import ModuleType


def import_modules(package: str, path: Iterable[str]) -> list[ModuleType]:
    """Import every module in the folder of a package, in the order of the module names.

    Parameters
    ----------
    package : str
        The ``__name__`` of the package.
    path : iterable of str
        The ``__path__`` of the package.

    Returns
    -------
    list of modules
    """
    return [importlib.import_module(f"{package}.{module.name}") for module in pkgutil.iter_modules(path)]
