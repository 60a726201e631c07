"""Write a trained painter as ONNX: one INT8 file in QDQ form, one FP32 twin, same uint8 ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from sfumato.models.spec import METADATA_KEY, StyleSpec
from sfumato.models.train.network import CELL, COLOURS, Painter
from sfumato.models.train.quant import FakeQuant, QuantConv, ShareQuant

Quant = FakeQuant | ShareQuant

OPSET = 19
IR_VERSION = 9


def int8_model(painter: Painter, spec: StyleSpec) -> onnx.ModelProto:
    """U8 activations, S8 weights within 7 bits, int32 biases: integers from end to end."""
    return _Integers().write(painter, spec)


def fp32_model(painter: Painter, spec: StyleSpec) -> onnx.ModelProto:
    """The same weights before rounding, in float32."""
    return _Floats().write(painter, spec)


def set_spec(model: onnx.ModelProto, spec: StyleSpec) -> None:
    """Put ``spec`` into the model's metadata, in place of what was there."""
    del model.metadata_props[:]
    helper.set_model_props(model, {METADATA_KEY: spec.to_json()})


@dataclass
class _Writer:
    """Collects nodes and constants; subclasses say how a step is written."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, onnx.TensorProto] = field(default_factory=dict)
    padded: bool = True
    """Convolutions give as many cells as they take; else see :attr:`StyleSpec.trim_px`."""

    def write(self, painter: Painter, spec: StyleSpec) -> onnx.ModelProto:
        self.padded = spec.trim_px == 0
        x = self.node("Transpose", ["image"], "planes", perm=[0, 3, 1, 2])
        x = self.begin(x)
        if self.padded and spec.grain_seed is None:
            skip = x
        else:
            skip = self.cut(x, "colours", spec.trim_px // CELL, COLOURS)
        x = self.convolve(x, "stem", painter.stem, painter.stem_quant)
        for number, block in enumerate(painter.blocks):
            name = f"block{number}"
            step = self.convolve(x, f"{name}.look", block.look, block.look_quant)
            step = self.convolve(step, f"{name}.mix", block.mix, block.mix_quant)
            if not self.padded:
                x = self.cut(x, f"{name}.skip", block.look.padding[0], painter.shape.width)
            x = self.add(x, step, name, block.sum_quant)
        if painter.shape.gate:
            share = self.convolve(x, "gate", painter.gate, painter.gate_quant)
            skip = self.keep(skip, share)
        x = self.convolve(x, "head", painter.head, painter.head_quant)
        x = self.finish(self.node("Add", [skip, x], "sum"))
        self.node("Transpose", [x], "painted", perm=[0, 2, 3, 1])
        return self.model(spec)

    def node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def constant(self, name: str, value: object) -> str:
        self.constants[name] = numpy_helper.from_array(np.asarray(value), name)
        return name

    def cut(self, x: str, name: str, cells: int, channels: int) -> str:
        """The first channels of ``x``, without so many cells at each side."""
        ends = {"start": [0, cells, cells], "end": [channels, -cells, -cells], "axis": [1, 2, 3]}
        if cells == 0:
            ends = {"start": [0], "end": [channels], "axis": [1]}
        inputs = [self.constant(f"{name}_{k}", np.array(v)) for k, v in ends.items()]
        return self.node("Slice", [x, *inputs], name)

    def model(self, spec: StyleSpec) -> onnx.ModelProto:
        def info(name: str, channels: int, sides: tuple[str, str]) -> onnx.ValueInfoProto:
            shape: list[str | int | None] = [1, *sides, channels]
            return helper.make_tensor_value_info(name, TensorProto.UINT8, shape)

        ends = ("h", "w") if self.padded else ("painted_h", "painted_w")
        graph = helper.make_graph(
            self.nodes,
            spec.name,
            [info("image", spec.input_channels, ("h", "w"))],
            [info("painted", spec.output_channels, ends)],
            list(self.constants.values()),
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="sfumato",
        )
        set_spec(model, spec)
        onnx.checker.check_model(model, full_check=True)
        return model

    def window(self, conv: QuantConv) -> dict[str, list[int]]:
        """The attributes of a convolution."""
        window = {"kernel_shape": list(conv.kernel_size)}
        window |= {"pads": [*conv.padding] * 2} if self.padded else {}
        return window | ({} if max(conv.dilation) == 1 else {"dilations": list(conv.dilation)})

    def begin(self, x: str) -> str:
        raise NotImplementedError

    def convolve(self, x: str, name: str, conv: QuantConv, quant: Quant) -> str:
        raise NotImplementedError

    def add(self, x: str, step: str, name: str, quant: FakeQuant) -> str:
        raise NotImplementedError

    def keep(self, colours: str, share: str) -> str:
        raise NotImplementedError

    def finish(self, x: str) -> str:
        raise NotImplementedError


_CODE = np.float32(1 / 255)


class _Floats(_Writer):
    def begin(self, x: str) -> str:
        x = self.node("Cast", [x], "codes", to=TensorProto.FLOAT)
        return self.node("Mul", [x, self.constant("code", _CODE)], "values")

    def convolve(self, x: str, name: str, conv: QuantConv, quant: Quant) -> str:
        weight, bias = (
            self.constant(f"{name}.{part}", _array(value))
            for part, value in zip(("weight", "bias"), conv.plain(), strict=True)
        )
        x = self.node("Conv", [x, weight, bias], f"{name}.conv", **self.window(conv))
        return x if quant.signed else self.node("Relu", [x], f"{name}.relu")

    def add(self, x: str, step: str, name: str, quant: FakeQuant) -> str:
        return self.node("Relu", [self.node("Add", [x, step], f"{name}.add")], f"{name}.relu")

    def keep(self, colours: str, share: str) -> str:
        ends = [self.constant("none", np.float32(0)), self.constant("all", np.float32(1))]
        share = self.node("Clip", [share, *ends], "share")
        return self.node("Mul", [colours, share], "kept")

    def finish(self, x: str) -> str:
        x = self.node("Mul", [x, self.constant("codes_per_value", np.float32(255))], "scaled")
        ends = [self.constant("black", np.float32(0)), self.constant("white", np.float32(255))]
        x = self.node("Round", [self.node("Clip", [x, *ends], "clipped")], "rounded")
        return self.node("Cast", [x], "painted_planes", to=TensorProto.UINT8)


class _Integers(_Writer):
    def begin(self, x: str) -> str:
        scale, zero = self.constant("code", _CODE), self.constant("black", np.uint8(0))
        return self.node("DequantizeLinear", [x, scale, zero], "values")

    def cut(self, x: str, name: str, cells: int, channels: int) -> str:
        """Cut as integers: whoever else reads ``x`` still reads integers."""
        integers, *range_ = next(node for node in self.nodes if node.output[0] == x).input
        codes = super().cut(integers, f"{name}_codes", cells, channels)
        return self.node("DequantizeLinear", [codes, *range_], name)

    def convolve(self, x: str, name: str, conv: QuantConv, quant: Quant) -> str:
        integers, scale = (_array(t) for t in conv.integers())
        inputs = [self._value(f"{name}.weight", integers.astype(np.int8), scale)]
        unit = scale * self._scales[x]
        bias = np.round(_array(conv.plain()[1]) / unit).astype(np.int32)
        inputs.append(self._value(f"{name}.bias", bias, unit))
        return self._rounded(
            self.node("Conv", [x, *inputs], f"{name}.conv", **self.window(conv)), quant
        )

    def add(self, x: str, step: str, name: str, quant: FakeQuant) -> str:
        return self._rounded(self.node("Add", [x, step], f"{name}.add"), quant)

    def keep(self, colours: str, share: str) -> str:
        kept = self.node("Mul", [colours, share], "kept")
        codes = self.node("QuantizeLinear", [kept, "code", "black"], "kept_codes")
        return self.node("DequantizeLinear", [codes, "code", "black"], "kept_values")

    def finish(self, x: str) -> str:
        return self.node("QuantizeLinear", [x, "code", "black"], "painted_planes")

    @property
    def _scales(self) -> dict[str, Any]:
        """Scale of each rounded activation, by the name of its dequantized tensor."""
        found: dict[str, Any] = {}
        for node in self.nodes:
            if node.op_type == "DequantizeLinear" and node.input[1] in self.constants:
                scale = numpy_helper.to_array(self.constants[node.input[1]])
                if scale.ndim == 0:
                    found[node.output[0]] = scale[()]
        return found

    def _value(self, name: str, integers: NDArray[np.generic], scale: NDArray[np.float32]) -> str:
        zero = np.zeros(scale.shape, integers.dtype)
        parts = (("codes", integers), ("scale", scale), ("zero", zero))
        inputs = [self.constant(f"{name}_{part}", value) for part, value in parts]
        return self.node("DequantizeLinear", inputs, name, axis=0)

    def _rounded(self, x: str, quant: Quant) -> str:
        scale = self.constant(f"{x}_scale", _array(quant.scale).astype(np.float32))
        zero = self.constant(f"{x}_zero", _array(quant.zero).astype(np.uint8))
        codes = self.node("QuantizeLinear", [x, scale, zero], f"{x}_codes")
        return self.node("DequantizeLinear", [codes, scale, zero], f"{x}_values")


def _array(tensor: Any) -> NDArray[np.float32]:
    return tensor.detach().numpy()
