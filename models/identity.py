"""Write ``identity``, the style that returns its input: the yardstick for everything around it.

``python -m sfumato.models.identity`` writes it into the gallery; needs the extra
``sfumato[toolkit]``.
"""

from __future__ import annotations

from pathlib import Path

import onnx
from onnx import TensorProto, helper

from sfumato.models.catalog import GALLERY
from sfumato.models.spec import METADATA_KEY, StyleSpec

CELL = 4


def identity_spec() -> StyleSpec:
    """Float cells without clipping, so that ten bits and codes outside RGB survive; radius 0."""
    return StyleSpec(
        name="identity",
        summary="the picture as it is: for tests and measurements",
        dtype="float32",
        clip=False,
        cell=CELL,
        multiple=CELL,
        kmac_per_pixel=0.0,
        smooth=0.0,
    )


def identity_model() -> onnx.ModelProto:
    """One Identity node on float32 cells."""
    spec = identity_spec()
    tensors = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, "h", "w", channels])
        for name, channels in (("picture", spec.input_channels), ("painted", spec.output_channels))
    ]
    node = helper.make_node("Identity", ["picture"], ["painted"], "identity")
    graph = helper.make_graph([node], "identity", tensors[:1], tensors[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    model.producer_name = "sfumato"
    helper.set_model_props(model, {METADATA_KEY: spec.to_json()})
    onnx.checker.check_model(model, full_check=True)
    return model


def write_identity(folder: Path = GALLERY) -> Path:
    """Write ``identity.fp32.onnx`` and say where."""
    path = folder / "identity.fp32.onnx"
    path.write_bytes(identity_model().SerializeToString(deterministic=True))
    return path


if __name__ == "__main__":
    print(write_identity())
