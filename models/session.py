"""Run a style: one ONNX Runtime session for all workers, reused buffers for each."""

from __future__ import annotations

from math import prod
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from sfumato.models.cores import is_x86
from sfumato.models.errors import ModelError
from sfumato.models.head import (
    QUIET,
    ModelHead,
    onnx_errors,
    read_head,
    require_spec,
)
from sfumato.models.providers import CPU, check_in_use, full_name, short_name
from sfumato.models.spec import StyleSpec

Tensor = NDArray[np.uint8] | NDArray[np.float32]


class StyleSession:
    """One style, ready to run tiles of up to one size from any number of threads.

    ``workers`` threads run ``intra_op_threads`` wide each; their product should be the cores to
    use. Raises :class:`FileNotFoundError`, and :class:`ModelError` for a file that is no usable
    style, a tile it cannot take, or a provider that is missing or would not really be used.
    """

    def __init__(
        self,
        path: Path,
        width_px: int,
        height_px: int,
        *,
        intra_op_threads: int,
        workers: int,
        provider: str = "cpu",
    ) -> None:
        long_name = full_name(provider)
        head = read_head(path)
        self.spec: StyleSpec = require_spec(head)
        self.provider = short_name(long_name)
        """The provider in use: ``cpu``, ``cuda``, …"""
        self.input_shape, self.output_shape = _check(head, self.spec, width_px, height_px)
        self.any_size = head.fixed_size_px is None
        """Tiles of other shapes may be run too; see :meth:`TileRunner.fit`."""
        options = _options(self.spec, intra_op_threads, workers)
        with onnx_errors(path, f"ONNX Runtime cannot prepare it on {provider!r}"):
            session = ort.InferenceSession(path, options, providers=[long_name], enable_fallback=0)
        check_in_use(session, long_name)
        self._session: Any = session
        self._on_cpu = long_name == CPU
        self._path = path
        hint = f", or its trim_px is not {self.spec.trim_px}" if self.spec.trim_px else ""
        with onnx_errors(path, f"does not run on a tile of {width_px}x{height_px}{hint}"):
            self.runner().try_out()  # the first run plans its memory; errors should come before frames

    def runner(self) -> TileRunner:
        """Buffers and bindings for one worker thread."""
        if self._session is None:
            raise ModelError(f"{self._path}: the session is closed")
        spec, size = self.spec, prod(self.input_shape)
        feed: Tensor = np.zeros(size, spec.dtype)
        # Tiles of other shapes may lose less at their edges: room for an answer that loses nothing.
        fetch: Tensor = np.zeros(size // spec.input_channels * spec.output_channels, spec.dtype)
        runner = TileRunner(self._path, self._session, feed, fetch, rebind=not self._on_cpu)
        runner.fit(self.input_shape, self.output_shape)
        return runner

    def close(self) -> None:
        """Let go of the network; runners still alive keep their memory until they go too."""
        self._session = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()


class TileRunner:
    """One worker's tile: fill ``input``, call :meth:`run`, read ``output``. Not for two threads."""

    def __init__(
        self, path: Path, session: Any, feed: Tensor, fetch: Tensor, *, rebind: bool
    ) -> None:
        self.input: Tensor = feed
        """The network's input, shaped as the spec says; written by the caller."""
        self.output: Tensor = fetch
        """The network's answer; overwritten by each run."""
        self._path, self._session = path, session
        self._rebind = rebind
        self._whole = feed, fetch
        self._binding = session.io_binding()
        self._names = session.get_inputs()[0].name, session.get_outputs()[0].name
        self._bind()

    def fit(self, input_shape: tuple[int, ...], output_shape: tuple[int, ...]) -> None:
        """``input`` and ``output`` become tensors of these shapes, for the runs to come.

        They lie where the first ones lay and have at most as many elements. Raises
        :class:`ValueError` for more, and :meth:`run` for a shape that the network does not take.
        """
        if (self.input.shape, self.output.shape) == (input_shape, output_shape):
            return
        feed, fetch = self._whole
        if prod(input_shape) > feed.size or prod(output_shape) > fetch.size:
            raise ValueError(f"{input_shape = } should have at most {feed.size} elements")
        self.input = feed.reshape(-1)[: prod(input_shape)].reshape(input_shape)
        self.output = fetch.reshape(-1)[: prod(output_shape)].reshape(output_shape)
        self._bind()

    def _bind(self) -> None:
        self._feed = ort.OrtValue.ortvalue_from_numpy(self.input)  # on CPU: the array's own memory
        self._fetch = ort.OrtValue.ortvalue_from_numpy(self.output)
        self._binding.bind_ortvalue_input(self._names[0], self._feed)
        self._binding.bind_ortvalue_output(self._names[1], self._fetch)

    def run(self) -> None:
        """``output`` becomes the network's answer to ``input``. Releases the GIL.

        Raises :class:`ModelError` for a network that fails on what it sees.
        """
        with onnx_errors(self._path, "fails on a picture"):
            self.try_out()

    def try_out(self) -> None:
        """The same, but raises what ONNX Runtime does."""
        if self._rebind:  # a device's copy of the input is made when it is bound
            self._binding.bind_ortvalue_input(self._names[0], self._feed)
        self._session.run_with_iobinding(self._binding)


def _check(
    head: ModelHead, spec: StyleSpec, width_px: int, height_px: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shapes of the two tensors of a tile, after holding the file against its spec."""
    if width_px % spec.multiple or height_px % spec.multiple or min(width_px, height_px) < 1:
        raise ModelError(
            f"{head.path}: a tile of {width_px}x{height_px} is no multiple of {spec.multiple}"
        )
    if min(width_px, height_px) <= 2 * spec.trim_px:
        raise ModelError(
            f"{head.path}: of a tile of {width_px}x{height_px} nothing is left, as the network "
            f"takes {spec.trim_px} pixels off each side"
        )
    if len(head.inputs) != 1:
        names = ", ".join(tensor.name for tensor in head.inputs)
        raise ModelError(f"{head.path}: takes {len(head.inputs)} inputs ({names}), not one picture")
    expected = (
        spec.input_shape(width_px, height_px),
        spec.output_shape(width_px, height_px),
    )
    type_name = {"uint8": "tensor(uint8)", "float32": "tensor(float)"}[spec.dtype]
    for tensor, shape in zip((head.inputs[0], head.outputs[0]), expected, strict=True):
        if tensor.type != type_name or not _fits(tensor.shape, shape):
            raise ModelError(
                f"{head.path}: {tensor.name!r} is {tensor.type} {list(tensor.shape)}, but its spec "
                f"and a tile of {width_px}x{height_px} want {type_name} {list(shape)}"
            )
    return expected


def _fits(shape: tuple[int | str | None, ...], wanted: tuple[int, ...]) -> bool:
    """Fixed sizes are as wanted, and one name never stands for two sizes."""
    if len(shape) != len(wanted):
        return False
    sizes: dict[int | str, int] = {}
    return all(
        size is None
        or size == want
        or (isinstance(size, str) and sizes.setdefault(size, want) == want)
        for size, want in zip(shape, wanted, strict=True)
    )


def _options(spec: StyleSpec, threads: int, workers: int) -> Any:
    options = ort.SessionOptions()
    options.log_severity_level = QUIET
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # a plan for each shape: more memory, and no faster
    entries = {"session.record_ep_graph_assignment_info": "1"}
    if workers > 1:  # idle threads of one worker would take the core that another needs
        entries["session.intra_op.allow_spinning"] = "0"
        entries["session.inter_op.allow_spinning"] = "0"
    if is_x86() and spec.quantization.get("weight_bits") != 7:
        # Full-range S8 weights saturate without VNNI; this converts them to U8 where it matters.
        entries["session.x64quantprecision"] = "1"
    if spec.precision == "fp32":  # else a convolution between two conversions is quantized unasked
        entries["session.disable_quant_qdq"] = "1"
    for key, value in entries.items():
        options.add_session_config_entry(key, value)
    return options
