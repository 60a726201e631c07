"""The head of a model file: its spec and its tensors, read without preparing it to run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnxruntime as ort

from sfumato.models.errors import ModelError
from sfumato.models.spec import METADATA_KEY, StyleSpec

QUIET = 4
"""ONNX Runtime's log level that shows fatal errors only: what matters reaches us as exceptions."""

ort.set_default_logger_severity(QUIET)


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One input or output of a model."""

    name: str
    type: str
    """As ONNX Runtime writes it: ``tensor(uint8)``."""
    shape: tuple[int | str | None, ...]
    """Fixed sizes are numbers, free ones names (None where the file gives no name)."""


@dataclass(frozen=True, slots=True)
class ModelHead:
    """What one ONNX file says about itself."""

    path: Path
    spec: StyleSpec | None
    """None where the file carries none: a model from elsewhere."""
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]

    @property
    def input_size(self) -> tuple[int | str | None, int | str | None]:
        """(rows, columns) of the first input's tensor as its shape gives them."""
        channels_last = self.spec is None or self.spec.layout == "NHWC"
        rows, columns = self.inputs[0].shape[1:3] if channels_last else self.inputs[0].shape[2:4]
        return rows, columns

    @property
    def fixed_size_px(self) -> tuple[int, int] | None:
        """(width, height) of the only tile the model takes; None if it takes any."""
        rows, columns = self.input_size
        if self.spec is None or not isinstance(rows, int) or not isinstance(columns, int):
            return None
        return columns * self.spec.cell, rows * self.spec.cell


@contextmanager
def onnx_errors(path: Path, doing: str) -> Iterator[None]:
    """Turn what ONNX Runtime raises inside into one line about ``path``."""
    try:
        yield
    except ModelError:
        raise
    except Exception as exc:  # ONNX Runtime has a class per status code and no common base
        first_line = next(iter(str(exc).splitlines()), "") or type(exc).__name__
        raise ModelError(f"{path}: {doing}: {first_line[:300]}") from exc


def read_head(path: Path) -> ModelHead:
    """Read the spec and tensor shapes of one file, in a few milliseconds.

    Raises :class:`FileNotFoundError`, and :class:`ModelError` for a file that is not ONNX or whose
    spec cannot be read. A file without a spec is no error here.
    """
    with path.open(
        "rb"
    ):  # FileNotFoundError, PermissionError or IsADirectoryError as open gives it
        pass
    options = ort.SessionOptions()
    options.log_severity_level = QUIET
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.add_session_config_entry("session.disable_prepacking", "1")
    with onnx_errors(path, "not an ONNX model that ONNX Runtime can load (damaged or too new?)"):
        session: Any = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return head_of(path, session)


def head_of(path: Path, session: Any) -> ModelHead:
    """The head of a session's model; ``path`` is for messages."""
    text = session.get_modelmeta().custom_metadata_map.get(METADATA_KEY)
    return ModelHead(
        path=path,
        spec=None if text is None else _parse_spec(path, text),
        inputs=tuple(_tensor(arg) for arg in session.get_inputs()),
        outputs=tuple(_tensor(arg) for arg in session.get_outputs()),
    )


def _tensor(arg: Any) -> TensorInfo:
    return TensorInfo(arg.name, arg.type, tuple(arg.shape))


def _parse_spec(path: Path, text: str) -> StyleSpec:
    try:
        return StyleSpec.from_json(text)
    except (ValueError, TypeError, AttributeError) as exc:
        raise ModelError(
            f"{path}: its spec (metadata {METADATA_KEY!r}) cannot be read: {exc}; "
            "it may come from a newer Sfumato, or needs to be written again"
        ) from exc


def read_spec(path: Path) -> StyleSpec:
    """The style's spec. Raises as :func:`read_head`, and :class:`ModelError` where there is none."""
    return require_spec(read_head(path))


def require_spec(head: ModelHead) -> StyleSpec:
    """The spec, or :class:`ModelError` that says how to give the file one."""
    if head.spec is None:
        raise ModelError(
            f"{head.path}: carries no style spec; write StyleSpec.to_json() (sfumato.models.spec) "
            f"into its metadata under {METADATA_KEY!r}"
        )
    return head.spec
