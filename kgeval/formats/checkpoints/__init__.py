"""Functions that all readers of model files use: torch files, id files, settings of PyKEEN, and `build_model`."""

from kgeval.formats.checkpoints import id_files, model_file, pickles, pykeen_modules, pykeen_tensors, state_dicts

__all__ = ["id_files", "model_file", "pickles", "pykeen_modules", "pykeen_tensors", "state_dicts"]
