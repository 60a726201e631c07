"""What the kernels are told about pixels and tensors: two small tables, no policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Matrix = Literal["bt601", "bt709", "bt2020"]

LUMA_WEIGHTS: dict[Matrix, tuple[float, float]] = {
    "bt601": (0.299, 0.114),
    "bt709": (0.2126, 0.0722),
    "bt2020": (0.2627, 0.0593),
}
"""Kr and Kb of each matrix (ITU-R BT.601-7, BT.709-6, BT.2020-2)."""


@dataclass(frozen=True, slots=True)
class PixelFormat:
    """How a frame's planes hold colour."""

    chroma: Literal["420", "422", "444", "grey"] = "420"
    """Chroma planes are halved in both axes, in x only, not at all, or absent."""
    bits: int = 8
    """8 (uint8 planes) or 10 (uint16 planes, value in the low bits)."""
    matrix: Matrix = "bt709"
    full_range: bool = False
    """Luma 0…255 instead of 16…235 (times 4 at 10 bit)."""

    def __post_init__(self) -> None:
        if self.bits not in (8, 10):
            raise ValueError(f"{self.bits = } should be 8 or 10")

    @property
    def shift_x(self) -> int:
        """log2 of the horizontal chroma subsampling."""
        return 1 if self.chroma in ("420", "422") else 0

    @property
    def shift_y(self) -> int:
        """log2 of the vertical chroma subsampling."""
        return 1 if self.chroma == "420" else 0

    def plane_shapes(self, width_px: int, height_px: int) -> list[tuple[int, int]]:
        """(rows, columns) of each plane; odd sizes round chroma up."""
        luma = (height_px, width_px)
        if self.chroma == "grey":
            return [luma]
        chroma = (-(-height_px >> self.shift_y), -(-width_px >> self.shift_x))
        return [luma, chroma, chroma]


@dataclass(frozen=True, slots=True)
class TensorFormat:
    """How a network wants its pixels (the words are those of the style's spec)."""

    layout: Literal["NCHW", "NHWC"] = "NHWC"
    dtype: Literal["uint8", "float32"] = "uint8"
    channel_order: Literal["RGB", "BGR"] = "RGB"
    black: float = 0.0
    """Tensor value of code 0."""
    white: float = 255.0
    """Tensor value of full-scale (255 at 8 bit, 1023 at 10 bit full range)."""
    cell: int = 1
    """Space-to-depth factor 1, 2, 4 or 8; channel ``c·cell² + dy·cell + dx``."""
    grain: bool = False
    """The input carries cell² more channels with the noise texture."""
    clip: bool = True
    """Colours stay within black…white. Off (float32 only), video codes that no RGB picture has
    come back as they were."""

    def __post_init__(self) -> None:
        if not self.clip and self.dtype != "float32":
            raise ValueError(f"{self.clip = } needs float32, not {self.dtype}")
