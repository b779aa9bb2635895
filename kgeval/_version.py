"""The version of kgeval; it is written only here."""

__version__ = "0.2.0"
