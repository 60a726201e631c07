"""Small real networks for tests: random weights, known receptive field, spec inside."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from sfumato.models.spec import METADATA_KEY, ChannelOrder, Layout, StyleSpec

_GAIN = 1.5


def save_cell_net(
    path: Path,
    *,
    int8: bool = True,
    layers: int = 2,
    width: int = 16,
    cell: int = 4,
    layout: Layout = "NHWC",
    grain_seed: int | None = None,
    weight_bits: int = 7,
    taps: int = 3,
    trimmed: bool = False,
    seed: int = 0,
    name: str = "random",
) -> StyleSpec:
    """Write a uint8 network on space-to-depth cells, ``layers`` 3×3 convolutions deep.

    Its receptive-field radius is ``layers · cell`` pixels. ``int8=False`` gives the FP32 twin: the
    same input, output and weights. Each output channel sees ``taps`` input values; with few of them,
    any picture gives values over the whole range. ``trimmed``: its convolutions do not pad.
    """
    spec = StyleSpec(
        name=name,
        summary="random weights",
        layout=layout,
        cell=cell,
        multiple=cell,
        radius_px=layers * cell,
        trim_px=layers * cell * trimmed,
        grain_seed=grain_seed,
        precision="int8" if int8 else "fp32",
        quantization={"weight_bits": weight_bits} if int8 else {},
    )
    net = _Net(weight_bits if int8 else None, seed, taps, pads=int(not trimmed))
    tensor = net.dequantize("picture")
    tensor = net.transpose(tensor, (0, 3, 1, 2)) if layout == "NHWC" else tensor
    channels = [spec.input_channels, *[width] * (layers - 1), spec.output_channels]
    for before, after in itertools.pairwise(channels):
        tensor = net.conv(tensor, before, after)
    tensor = net.quantize(tensor)
    tensor = net.transpose(tensor, (0, 2, 3, 1)) if layout == "NHWC" else tensor
    net.save(path, spec, TensorProto.UINT8, tensor)
    return spec


def save_float_net(
    path: Path,
    *,
    layers: int = 1,
    width: int = 8,
    value_range: tuple[float, float] = (0.0, 1.0),
    layout: Layout = "NCHW",
    channel_order: ChannelOrder = "RGB",
    seed: int = 0,
    with_spec: bool = True,
) -> StyleSpec:
    """Write a float32 network on plain pixels, 3×3 convolutions, radius ``layers`` pixels."""
    spec = StyleSpec(
        name="random-float",
        layout=layout,
        dtype="float32",
        channel_order=channel_order,
        input_range=value_range,
        output_range=value_range,
        radius_px=layers,
    )
    black, white = value_range
    net = _Net(None, seed)
    tensor = net.transpose("picture", (0, 3, 1, 2)) if layout == "NHWC" else "picture"
    tensor = net.affine(tensor, 1 / (white - black), -black / (white - black))
    channels = [3, *[width] * (layers - 1), 3]
    for before, after in itertools.pairwise(channels):
        tensor = net.conv(tensor, before, after)
    tensor = net.affine(tensor, white - black, black)
    tensor = net.transpose(tensor, (0, 2, 3, 1)) if layout == "NHWC" else tensor
    net.save(path, spec, TensorProto.FLOAT, tensor, with_spec=with_spec)
    return spec


def save_averaging_net(path: Path) -> None:
    """Write a network that normalizes each colour over all it sees."""
    spec = StyleSpec(name="averages", layout="NCHW", dtype="float32", norm="whole-frame")
    net = _Net(None, 0)
    ends = net.constant(np.full(3, 50, np.float32)), net.constant(np.full(3, 128, np.float32))
    net.save(path, spec, TensorProto.FLOAT, net.node("InstanceNormalization", "picture", *ends))


def save_failing_net(path: Path) -> None:
    """Write a network that runs on dark pictures only: others look up what is not there."""
    spec = StyleSpec(name="fails", layout="NCHW", dtype="float32")
    net = _Net(None, 0)
    share = net.node("Div", net.node("ReduceMax", "picture", keepdims=0), net.constant(200.0))
    index = net.node("Cast", share, to=TensorProto.INT64)
    factor = net.node("Gather", net.constant(np.ones(1, np.float32)), index)
    net.save(path, spec, TensorProto.FLOAT, net.node("Mul", "picture", factor))


class _Net:
    """Grows one chain of nodes; activations are in 0…1, at INT8 in steps of 1/255."""

    def __init__(self, weight_bits: int | None, seed: int, taps: int = 3, *, pads: int = 1) -> None:
        self.weight_bits = weight_bits
        self.pads = pads
        self.taps = taps
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, NDArray[np.generic]] = {
            "step": np.array(1 / 255, np.float32),
            "zero": np.array(0, np.uint8),
        }

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name

    def constant(self, value: NDArray[np.generic] | float) -> str:
        name = f"constant{len(self.constants)}"
        self.constants[name] = np.asarray(value, np.float32 if isinstance(value, float) else None)
        return name

    def quantize(self, tensor: str) -> str:
        return self.node("QuantizeLinear", tensor, "step", "zero")

    def dequantize(self, tensor: str) -> str:
        return self.node("DequantizeLinear", tensor, "step", "zero")

    def transpose(self, tensor: str, order: tuple[int, ...]) -> str:
        return self.node("Transpose", tensor, perm=order)

    def affine(self, tensor: str, factor: float, offset: float) -> str:
        scaled = self.node("Mul", tensor, self.constant(factor))
        return self.node("Add", scaled, self.constant(offset))

    def conv(self, tensor: str, before: int, after: int) -> str:
        """A 3×3 convolution around mid-grey, clipped to 0…1."""
        weights = np.zeros((after, before * 9), np.float32)
        for row in weights:
            chosen = self.rng.choice(row.size, self.taps, replace=False)
            row[chosen] = self.rng.uniform(-1, 1, self.taps)
            row *= _GAIN / np.abs(row).sum()
        bias = (0.5 - 0.5 * weights.sum(1)).astype(np.float32)
        shaped = weights.reshape(after, before, 3, 3)
        feed = self.weights(shaped, bias)
        tensor = self.node("Conv", tensor, *feed, kernel_shape=(3, 3), pads=[self.pads] * 4)
        if self.weight_bits is not None:  # the step to uint8 clips
            return self.dequantize(self.quantize(tensor))
        return self.node("Clip", tensor, self.constant(0.0), self.constant(1.0))

    def weights(self, weights: NDArray[np.float32], bias: NDArray[np.float32]) -> tuple[str, str]:
        """Names of a convolution's weights and bias, quantized per channel at INT8."""
        if self.weight_bits is None:
            return self.constant(weights), self.constant(bias)
        top = 2 ** (self.weight_bits - 1) - 1
        scales = np.abs(weights).max((1, 2, 3)) / top
        whole = np.rint(weights / scales[:, None, None, None]).astype(np.int8)
        kernel = self.node("DequantizeLinear", self.constant(whole), self.constant(scales), axis=0)
        steps = (scales / 255).astype(np.float32)
        counts = np.rint(bias / steps).astype(np.int32)
        offset = self.node("DequantizeLinear", self.constant(counts), self.constant(steps), axis=0)
        return kernel, offset

    def save(
        self, path: Path, spec: StyleSpec, type_: int, last: str, *, with_spec: bool = True
    ) -> None:
        self.nodes.append(helper.make_node("Identity", [last], ["painted"], "painted"))
        shapes: dict[str, list[str | int | None]] = {}
        for name, channels in (("picture", spec.input_channels), ("painted", spec.output_channels)):
            sides = [f"{name}_h", f"{name}_w"] if spec.trim_px else ["h", "w"]
            nhwc = spec.layout == "NHWC"
            shapes[name] = [1, *sides, channels] if nhwc else [1, channels, *sides]
        graph = helper.make_graph(
            self.nodes,
            "network",
            [helper.make_tensor_value_info("picture", type_, shapes["picture"])],
            [helper.make_tensor_value_info("painted", type_, shapes["painted"])],
            [numpy_helper.from_array(v, k) for k, v in self.constants.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        if with_spec:
            helper.set_model_props(model, {METADATA_KEY: spec.to_json()})
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, str(path))
