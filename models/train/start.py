"""Go on from a shipped style: its weights are a far better beginning than chance."""

# pyright: reportMissingImports=false
from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper

from sfumato.models.errors import ModelError
from sfumato.models.train.network import Painter
from sfumato.models.train.quant import QuantConv


def start_from(painter: Painter, path: Path) -> None:
    """Take over the weights of an FP32 file that this package wrote.

    Blocks that the file does not have are left out of the picture at first: they add nothing.
    Raises :class:`ModelError` where widths differ.
    """
    model = onnx.load(str(path))
    found = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    for name, conv in painter.named_modules():
        if not isinstance(conv, QuantConv):
            continue
        file_name = name.replace("blocks.", "block")
        if f"{file_name}.weight" in found:
            _take(conv, found[f"{file_name}.weight"], found[f"{file_name}.bias"], path)
        elif name.endswith("mix"):
            torch.nn.init.zeros_(conv.weight)
            torch.nn.init.zeros_(_bias(conv))


def _take(conv: QuantConv, weight: np.ndarray, bias: np.ndarray, path: Path) -> None:
    """Undo the bases that :meth:`QuantConv.plain` folds in."""
    if weight.shape != conv.weight.shape:
        raise ModelError(f"{path} has another width than this recipe; leave out its start")
    plain, offset = torch.from_numpy(weight.copy()), torch.from_numpy(bias.copy())
    if conv.after is not None:
        back = torch.linalg.inv(conv.after)
        plain, offset = torch.einsum("po,oikl->pikl", back, plain), back @ offset
    if conv.before is not None:
        offset = offset + conv.centre * plain.sum(dim=(1, 2, 3))
        plain = torch.einsum("oikl,ij->ojkl", plain, torch.linalg.inv(conv.before))
    conv.weight.data.copy_(plain)
    _bias(conv).data.copy_(offset)


def _bias(conv: QuantConv) -> torch.Tensor:
    assert conv.bias is not None
    return conv.bias
