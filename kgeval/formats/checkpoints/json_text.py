"""`parse_json` parses a JSON text; an error names the file. The readers of model files call this function."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kgeval.errors import DataError


def parse_json(
    text: str | bytes,
    where: str | Path,
    advice: str = "",
    pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> Any:
    """Return the content of a JSON text.

    Parameters
    ----------
    text : str or bytes
    where : str or path
        The file, for messages.
    advice : str
        Advice for the user, the end of the message if the text is not JSON.
    pairs_hook : function, optional
        Takes the list of pairs (name, value) of a JSON object and returns the value for this object; by default a dict.

    Returns
    -------
    object

    Raises
    ------
    DataError
        If the text is not JSON or is nested too deeply, or if `pairs_hook` raises this error.

    Examples
    --------
    >>> parse_json('{"norm": 1}', "config.json")
    {'norm': 1}
    """
    try:
        return json.loads(text, object_pairs_hook=pairs_hook)
    except DataError:
        raise
    except (ValueError, RecursionError) as error:  # also UnicodeDecodeError, and an int of too many digits
        raise DataError(f"{where}: not JSON ({error}){advice}") from None
