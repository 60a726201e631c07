"""The most INT8 products per second that one core gives: a plain matrix product, nothing around it."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

from benchmarks.harness import time_in_turns

SHAPES = ((512, 512, 512), (1024, 1024, 1024), (2048, 1024, 1024), (4096, 512, 512))
"""(rows, depth, columns): from what fits the second-level cache to what does not."""
ROUNDS = 12


def roofline_figures(rounds: int = ROUNDS) -> list[dict[str, Any]]:
    """Best GMAC/s of U8 × S8 and of FP32 matrix products on one thread, one row per shape."""
    rows = []
    for shape in SHAPES:
        sessions = {name: _session(name, *shape) for name in ("INT8", "FP32")}
        timings = time_in_turns(
            {name: _call(session, name, shape) for name, session in sessions.items()}, rounds
        )
        macs = float(np.prod(shape))
        speeds = {f"{name} GMAC/s": macs / timing.best_ms / 1e6 for name, timing in timings.items()}
        rows.append({"rows × depth × columns": " × ".join(map(str, shape)), **speeds})
    return rows


def peak_gmac_s(rows: list[dict[str, Any]]) -> float:
    """The best INT8 figure of :func:`roofline_figures`."""
    return max(float(row["INT8 GMAC/s"]) for row in rows)


def _session(name: str, rows: int, depth: int, columns: int) -> Any:
    """ONNX Runtime with one product in it; the right side is constant, as weights are."""
    rng = np.random.default_rng(1)
    int8 = name == "INT8"
    weights = rng.integers(-64, 64, (depth, columns), np.int8)
    weights = weights if int8 else weights.astype(np.float32)
    left, answer = (
        (TensorProto.UINT8, TensorProto.INT32) if int8 else (TensorProto.FLOAT, TensorProto.FLOAT)
    )
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger" if int8 else "MatMul", ["a", "b"], ["c"])],
        "product",
        [helper.make_tensor_value_info("a", left, [rows, depth])],
        [helper.make_tensor_value_info("c", answer, [rows, columns])],
        [numpy_helper.from_array(weights, "b")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    model.ir_version = min(model.ir_version, 10)  # what older ONNX Runtimes read
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def _call(session: Any, name: str, shape: tuple[int, int, int]) -> Any:
    rows, depth, columns = shape
    rng = np.random.default_rng(2)
    left = rng.integers(0, 255, (rows, depth), np.uint8)
    feed = ort.OrtValue.ortvalue_from_numpy(left if name == "INT8" else left.astype(np.float32))
    answer = np.zeros((rows, columns), np.int32 if name == "INT8" else np.float32)
    binding = session.io_binding()
    binding.bind_ortvalue_input("a", feed)
    binding.bind_ortvalue_output("c", ort.OrtValue.ortvalue_from_numpy(answer))
    return lambda: session.run_with_iobinding(binding)
