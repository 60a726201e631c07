"""Everything worth knowing about one model file, as plain values for JSON."""

from __future__ import annotations

import importlib.util
import math
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sfumato.models.head import ModelHead, TensorInfo, read_head

_MAC_PX = 1 << 16  # side of the picture over which multiplications are averaged: edges vanish


def inspect(path: Path) -> dict[str, Any]:
    """Describe a style or any ONNX file.

    Keys: ``file``, ``bytes``, ``name``, ``licence``, ``spec`` (None for a model from elsewhere),
    ``inputs``, ``outputs``, ``fixed_size_px`` (width and height of the only tile it takes, or None)
    and ``kmac_per_pixel`` (as the spec says it, or None). With the extra ``sfumato[toolkit]`` also
    ``opset``, ``operators`` and ``parameters``, and kMAC are counted. Raises as :func:`sfumato.models.head.read_head`.
    """
    head = read_head(path)
    spec = head.spec
    return {
        "file": str(path),
        "bytes": path.stat().st_size,
        "name": spec.name if spec else path.stem,
        "licence": spec.licence if spec else None,
        "spec": asdict(spec) if spec else None,
        "inputs": [_tensor(tensor) for tensor in head.inputs],
        "outputs": [_tensor(tensor) for tensor in head.outputs],
        "fixed_size_px": head.fixed_size_px,
        "kmac_per_pixel": spec.kmac_per_pixel if spec else None,
        **(_graph(head) if importlib.util.find_spec("onnx") else {}),
    }


def _tensor(tensor: TensorInfo) -> dict[str, Any]:
    return {"name": tensor.name, "type": tensor.type, "shape": list(tensor.shape)}


def _graph(head: ModelHead) -> dict[str, Any]:
    """What only the graph itself tells."""
    import onnx

    model = onnx.load(str(head.path))
    operators = Counter(node.op_type for node in model.graph.node)
    facts: dict[str, Any] = {
        "opset": {item.domain or "ai.onnx": item.version for item in model.opset_import},
        "operators": dict(operators.most_common()),
        "parameters": sum(math.prod(tensor.dims) for tensor in model.graph.initializer),
    }
    if head.spec is not None:
        facts["kmac_per_pixel"] = round(_macs(model, head) / _MAC_PX**2 / 1000, 2)
    return facts


def _macs(model: Any, head: ModelHead) -> int:
    """Multiplications of the convolutions for a picture of ``_MAC_PX`` squared."""
    import onnx

    assert head.spec is not None
    shape = head.spec.input_shape(_MAC_PX, _MAC_PX)
    for dim, size in zip(model.graph.input[0].type.tensor_type.shape.dim, shape, strict=True):
        dim.dim_value = size
    model.graph.output[0].type.tensor_type.ClearField("shape")
    graph = onnx.shape_inference.infer_shapes(model).graph
    shapes = {tensor.name: list(tensor.dims) for tensor in graph.initializer}
    for value in [*graph.value_info, *graph.output]:
        shapes[value.name] = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
    return sum(
        math.prod(shapes[node.output[0]]) * math.prod(shapes[node.input[1]][1:])
        for node in graph.node
        if node.op_type == "Conv"
    )
