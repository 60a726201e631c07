"""The yardstick: the script that everyone writes first.

OpenCV reads a frame, Pillow resizes it to a multiple of 32, NumPy makes it a float tensor, ONNX
Runtime runs the FP32 network with its defaults, and OpenCV writes the answer. One thing after the
other, whole frames, no overlap of stages.
"""

from __future__ import annotations

import time
from pathlib import Path

import cv2
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper
from PIL import Image


def rgb_model(fp32: Path, width_px: int, height_px: int, cell: int = 4) -> bytes:
    """The FP32 network between float RGB planes, as such models are usually exported.

    Input and output are float32 (1, 3, height, width) in 0…1; space-to-depth happens in the graph.
    """
    model = onnx.load(fp32)
    graph = model.graph
    ends = [node.op_type for node in (*graph.node[:2], *graph.node[-2:])]
    if ends != ["Transpose", "Cast", "Cast", "Transpose"]:
        raise ValueError(f"{fp32}: its ends should be Transpose and Cast, not {ends}")
    rows, columns, channels = height_px // cell, width_px // cell, 3 * cell * cell
    before = [
        *_reorder("rgb", "cells", [1, 3, rows, cell, columns, cell], [0, 1, 3, 5, 2, 4],
                  [1, channels, rows, columns], graph),
        helper.make_node("Mul", ["cells", "full"], [graph.node[1].output[0]]),
    ]  # fmt: skip
    after = [
        helper.make_node("Div", [graph.node[-2].input[0], "full"], ["unit"]),
        *_reorder("unit", "painting", [1, 3, cell, cell, rows, columns], [0, 1, 4, 2, 5, 3],
                  [1, 3, height_px, width_px], graph),
    ]  # fmt: skip
    graph.initializer.append(helper.make_tensor("full", TensorProto.FLOAT, [], [255.0]))
    shape = [1, 3, height_px, width_px]
    wrapped = helper.make_graph(
        [*before, *graph.node[2:-2], *after],
        "obvious",
        [helper.make_tensor_value_info("rgb", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("painting", TensorProto.FLOAT, shape)],
        list(graph.initializer),
    )
    made = helper.make_model(wrapped, opset_imports=model.opset_import)
    made.ir_version = model.ir_version
    data: bytes = made.SerializeToString()
    return data


def _reorder(
    source: str,
    target: str,
    split: list[int],
    order: list[int],
    joined: list[int],
    graph: onnx.GraphProto,
) -> list[onnx.NodeProto]:
    for name, shape in ((f"{source}_split", split), (f"{target}_joined", joined)):
        graph.initializer.append(helper.make_tensor(name, TensorProto.INT64, [len(shape)], shape))
    return [
        helper.make_node("Reshape", [source, f"{source}_split"], [f"{source}_6d"]),
        helper.make_node("Transpose", [f"{source}_6d"], [f"{target}_6d"], perm=order),
        helper.make_node("Reshape", [f"{target}_6d", f"{target}_joined"], [target]),
    ]


def paint_file(source: Path, target: Path, fp32: Path, frames_most: int) -> tuple[int, float]:
    """Paint the first frames of a video the obvious way.

    Returns (frames, seconds), model loading left out.
    """
    capture = cv2.VideoCapture(str(source))
    size = [int(capture.get(p)) for p in (cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT)]
    width_px, height_px = (side // 32 * 32 for side in size)
    session = ort.InferenceSession(
        rgb_model(fp32, width_px, height_px), providers=["CPUExecutionProvider"]
    )
    rate = capture.get(cv2.CAP_PROP_FPS)
    fourcc = cv2.VideoWriter.fourcc(*"mp4v")
    writer = cv2.VideoWriter(str(target), fourcc, rate, (width_px, height_px))
    frames, started_s = 0, time.perf_counter()
    while frames < frames_most:
        there, picture = capture.read()
        if not there:
            break
        image = Image.fromarray(cv2.cvtColor(picture, cv2.COLOR_BGR2RGB))
        image = image.resize((width_px, height_px), Image.Resampling.BICUBIC)
        tensor = np.asarray(image).astype(np.float32) / 255.0
        tensor = np.transpose(tensor, (2, 0, 1))[None]
        painted = np.asarray(session.run(None, {"rgb": tensor})[0])[0]
        painted = (np.transpose(painted, (1, 2, 0)) * 255.0).clip(0, 255).astype(np.uint8)
        writer.write(cv2.cvtColor(painted, cv2.COLOR_RGB2BGR))
        frames += 1
    writer.release()
    capture.release()
    return frames, time.perf_counter() - started_s
