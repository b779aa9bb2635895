"""What the readers of model files share: torch files, id files, the settings of PyKEEN, and the assembly of a model."""

from kgeval.formats.checkpoints.assembly import Parts, build_model
from kgeval.formats.checkpoints.containers import (
    read_tensors,
    root_attributes,
    root_class,
    safetensors_header,
    tensor_names,
    top_keys,
)
from kgeval.formats.checkpoints.id_files import find_id_files, labels_of_ids, read_ids
from kgeval.formats.checkpoints.json_text import parse_json
from kgeval.formats.checkpoints.pickles import Stub
from kgeval.formats.checkpoints.plain_files import GAMMA_EPSILON, check_gamma, label_arrays, read_config, read_npy
from kgeval.formats.checkpoints.pykeen_config import (
    find_pykeen_config,
    pykeen_defaults,
    pykeen_settings,
)
from kgeval.formats.checkpoints.pykeen_modules import pykeen_module
from kgeval.formats.checkpoints.pykeen_tensors import (
    PYKEEN_ANCHORS,
    PYKEEN_BATCH_NORMS,
    PYKEEN_MODELS,
    labels_of_mappings,
    pykeen_labels,
    pykeen_tables,
    said_model,
)
from kgeval.formats.checkpoints.state_dicts import (
    add_labels,
    as_matrices,
    checkpoint_file,
    chosen_model,
    complex_with_scalars,
    is_checkpoint,
    model_tensors,
    not_a_model,
    not_unit_row,
    refuse,
    renamed,
    said_norm,
    settings_as_arrays,
    side_by_side,
)
from kgeval.formats.checkpoints.torch_files import is_torch_file, read_torch, state_dict

__all__ = [
    "GAMMA_EPSILON",
    "PYKEEN_ANCHORS",
    "PYKEEN_BATCH_NORMS",
    "PYKEEN_MODELS",
    "Parts",
    "Stub",
    "add_labels",
    "as_matrices",
    "build_model",
    "check_gamma",
    "checkpoint_file",
    "chosen_model",
    "complex_with_scalars",
    "find_id_files",
    "find_pykeen_config",
    "is_checkpoint",
    "is_torch_file",
    "label_arrays",
    "labels_of_ids",
    "labels_of_mappings",
    "model_tensors",
    "not_a_model",
    "not_unit_row",
    "parse_json",
    "pykeen_defaults",
    "pykeen_labels",
    "pykeen_module",
    "pykeen_settings",
    "pykeen_tables",
    "read_config",
    "read_ids",
    "read_npy",
    "read_tensors",
    "read_torch",
    "refuse",
    "renamed",
    "root_attributes",
    "root_class",
    "safetensors_header",
    "said_model",
    "said_norm",
    "settings_as_arrays",
    "side_by_side",
    "state_dict",
    "tensor_names",
    "top_keys",
]
