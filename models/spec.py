"""What a style says about itself: the spec that travels inside its ONNX file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

N = TypeVar("N", int, "NDArray[np.float64]")

METADATA_KEY = "sfumato"
"""The one ``metadata_props`` entry of the ONNX file; its value is the spec as JSON."""

Layout = Literal["NCHW", "NHWC"]
DType = Literal["uint8", "float32"]
ChannelOrder = Literal["RGB", "BGR"]
Norm = Literal["none", "folded", "whole-frame"]
Precision = Literal["int8", "fp32"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StyleSpec:
    """How to feed one style and read its answer. Raises ``ValueError`` when built inconsistent.

    The network takes one tensor and returns one. With ``cell`` = r > 1 both hold space-to-depth
    cells: colour ``c`` of the pixel at row ``dy``, column ``dx`` of its r × r cell is channel
    ``c·r² + dy·r + dx`` (the order of PyTorch's ``pixel_unshuffle``); the r² grain channels, where
    the style asks for them, follow the colours of the *input*.
    """

    name: str
    summary: str = ""
    """One line for people: what the picture looks like."""
    layout: Layout = "NHWC"
    dtype: DType = "uint8"
    channel_order: ChannelOrder = "RGB"
    input_range: tuple[float, float] = (0.0, 255.0)
    """Tensor values that stand for black (0) and full white (255)."""
    output_range: tuple[float, float] = (0.0, 255.0)
    clip: bool = True
    """Colours fed and taken are kept within their range; off only where video codes that no RGB
    picture has must pass (float32)."""
    cell: int = 1
    """Space-to-depth factor: the tensor is 1/cell as wide and high as the picture."""
    grain_seed: int | None = None
    """Seed of the noise texture the network also wants (``models.grain``); None: no grain."""
    multiple: int = 1
    """Tile origins and sizes in pixels must be multiples of this."""
    radius_px: int = 0
    """Receptive-field radius, in whole ``multiple``s: pixels farther away change nothing."""
    trim_px: int = 0
    """What the network takes off each side of a tile, in whole ``multiple``s: as much of its radius
    as its convolutions do not pad. Pixels that would be thrown away are then not computed."""
    norm: Norm = "none"
    precision: Precision = "fp32"
    licence: str = "Apache-2.0"
    trained_on: str = ""
    kmac_per_pixel: float | None = None
    smooth: float = 0.5
    """Strength of temporal smoothing, 0…1, where the user names none."""
    textured: bool = False
    """Draws a texture of its own (brush, paper), so that flat fields are not meant to stay flat."""
    quantization: Mapping[str, Any] = field(default_factory=dict)
    """How the INT8 file was made: types, scheme, calibration."""
    acceptance: Mapping[str, Any] = field(default_factory=dict)
    """Measured when the file was made: PSNR against FP32 in dB, flat-field ripple in codes."""

    def __post_init__(self) -> None:
        for name in ("cell", "multiple", "radius_px", "trim_px"):
            if type(value := getattr(self, name)) is not int:
                raise ValueError(f"{name} = {value!r} should be a whole number")
        if not 0 <= self.smooth <= 1:
            raise ValueError(f"{self.smooth = } should be between 0 and 1")
        if self.cell not in (1, 2, 4, 8):
            raise ValueError(f"{self.cell = } should be 1, 2, 4 or 8")
        if self.multiple < 1 or self.multiple % self.cell:
            raise ValueError(f"{self.multiple = } should be a multiple of {self.cell = }")
        if self.radius_px < 0 or self.radius_px % self.multiple:
            raise ValueError(f"{self.radius_px = } should be a multiple of {self.multiple = }")
        if self.trim_px % self.multiple or not 0 <= self.trim_px <= self.radius_px:
            raise ValueError(f"{self.trim_px = } should be a multiple, and at most the radius")
        for name in ("input_range", "output_range"):
            black, white = getattr(self, name)
            if black == white:
                raise ValueError(f"{name} = {black, white} should span more than one value")

    @property
    def input_channels(self) -> int:
        """Channels of the input tensor, grain included."""
        return (3 + (self.grain_seed is not None)) * self.cell**2

    def least_tile_px(self, width_px: int, height_px: int) -> tuple[int, int]:
        """Width and height of the smallest tile that gives at least so many pixels."""
        width, height = (
            -(-side // self.multiple) * self.multiple + 2 * self.trim_px
            for side in (width_px, height_px)
        )
        return width, height

    @property
    def output_channels(self) -> int:
        """Channels of the output tensor."""
        return 3 * self.cell**2

    def input_shape(self, width_px: int, height_px: int) -> tuple[int, ...]:
        """Shape of the tensor that feeds a tile of ``width_px`` × ``height_px`` pixels."""
        return self._shape(width_px, height_px, self.input_channels)

    def output_shape(self, width_px: int, height_px: int) -> tuple[int, ...]:
        """Shape of the answer to such a tile."""
        trimmed = 2 * self.trim_px
        return self._shape(width_px - trimmed, height_px - trimmed, self.output_channels)

    def _shape(self, width_px: int, height_px: int, channels: int) -> tuple[int, ...]:
        cells = (height_px // self.cell, width_px // self.cell)
        return (1, *cells, channels) if self.layout == "NHWC" else (1, channels, *cells)

    def to_json(self) -> str:
        """The spec as the JSON text for ``metadata_props``."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read back :meth:`to_json`; unknown keys of newer versions are ignored."""
        known = {f.name for f in fields(cls)}
        values = {key: value for key, value in json.loads(text).items() if key in known}
        for name in ("input_range", "output_range"):
            if name in values:
                values[name] = tuple(values[name])
        return cls(**values)


def computed_px(width_px: N, height_px: N, trim_px: int) -> N:
    """Pixels computed for a tile by a network that takes ``trim_px`` off each side: the mean of what
    it sees and what it gives."""
    return (width_px - trim_px) * (height_px - trim_px) + trim_px**2
