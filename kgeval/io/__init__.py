"""Reading and writing, one module per file format."""
