"""What people read: a table as one value, and its text and HTML for each medium."""

from kgeval.display import differences, fields, html, html_tables, media, table

__all__ = ["differences", "fields", "html", "html_tables", "media", "table"]
