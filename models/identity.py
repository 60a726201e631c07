"""Write ``identity``, the style that returns its input: the yardstick for everything around it.

``python -m sfumato.models.identity`` writes both files into the gallery; needs the extra
``sfumato[toolkit]``.
"""

from __future__ import annotations

from pathlib import Path

import onnx
from onnx import TensorProto, helper

from sfumato.models.catalog import GALLERY, PRECISIONS
from sfumato.models.spec import METADATA_KEY, Precision, StyleSpec

CELL = 4


def identity_spec(precision: Precision) -> StyleSpec:
    """The spec of one of the two files: the tensors of the painted styles, radius 0."""
    return StyleSpec(
        name="identity",
        summary="the picture as it is: for tests and measurements",
        cell=CELL,
        multiple=CELL,
        precision=precision,
        kmac_per_pixel=0.0,
        quantization={"weight_bits": 7} if precision == "int8" else {},
    )


def identity_model(precision: Precision) -> onnx.ModelProto:
    """One Identity node on uint8 cells; the files differ in their spec only."""
    spec = identity_spec(precision)
    tensors = [
        helper.make_tensor_value_info(name, TensorProto.UINT8, [1, "h", "w", channels])
        for name, channels in (("picture", spec.input_channels), ("painted", spec.output_channels))
    ]
    node = helper.make_node("Identity", ["picture"], ["painted"], "identity")
    graph = helper.make_graph([node], "identity", tensors[:1], tensors[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    model.producer_name = "sfumato"
    helper.set_model_props(model, {METADATA_KEY: spec.to_json()})
    onnx.checker.check_model(model, full_check=True)
    return model


def write_identity(folder: Path = GALLERY) -> list[Path]:
    """Write ``identity.int8.onnx`` and ``identity.fp32.onnx`` and say where."""
    paths = []
    for precision in PRECISIONS:
        path = folder / f"identity.{precision}.onnx"
        path.write_bytes(identity_model(precision).SerializeToString(deterministic=True))
        paths.append(path)
    return paths


if __name__ == "__main__":
    for written in write_identity():
        print(written)
