"""`DatasetOptions`: the options of `read_dataset`, which `read_dataset` passes to the reader of a file format."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields

from kgeval.errors import DataError
from kgeval.formats.split_files import SplitFiles


@dataclass(frozen=True)
class DatasetOptions:
    """The options of `kgeval.read_dataset`; the docstring of that function explains each option.

    Examples
    --------
    >>> DatasetOptions(sep=",").check_used("openke", ("ignore",))
    Traceback (most recent call last):
    kgeval.errors.DataError: the format openke has no use for sep=',' (--sep); it takes ignore
    """

    header: bool | None = None
    columns: str | Sequence[str] | None = None
    sep: str | None = None
    splits: SplitFiles | None = None
    ignore: Sequence[str] = ()
    labelled: bool = False

    def check_used(self, name: str, used: Collection[str]) -> None:
        """Raise a DataError if an option is given that a format does not use.

        Parameters
        ----------
        name : str
            The name of the format.
        used : collection of str
            The names of the options that the format uses.
        """
        for field in fields(self):
            value = getattr(self, field.name)
            # An empty list or mapping counts as not given.
            is_given = value != field.default and (value or value is False)
            if field.name not in used and is_given:
                option = "--ignore-files" if field.name == "ignore" else f"--{field.name}"
                raise DataError(
                    f"the format {name} has no use for {field.name}={value!r} ({option}); it takes "
                    f"{', '.join(used) or 'no options'}"
                )
