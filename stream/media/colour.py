"""What a stream says about its colour, what is assumed where it says nothing, and how to tag."""

from __future__ import annotations

from dataclasses import dataclass

from av.video.frame import VideoFrame

from sfumato.kernels.formats import Matrix
from sfumato.stream.errors import SourceError

UNSPECIFIED = 2
"""The code for "not said" of matrix, primaries and transfer (ITU-T H.273, tables 2 to 4)."""

LIMITED, FULL = 1, 2
"""FFmpeg's AVColorRange; 0 is unspecified."""

MATRIX_CODES: dict[int, Matrix] = {
    1: "bt709",
    4: "bt601",  # FCC 1953: Kr 0.30, Kb 0.11, within 0.5 % of BT.601
    5: "bt601",
    6: "bt601",
    9: "bt2020",
}
"""H.273 matrix coefficients that need no conversion."""

SMPTE_240M = 7
"""An early HD matrix that none of ours is close to: converted to BT.709."""

SWSCALE_CODES: dict[Matrix, int] = {"bt709": 1, "bt601": 5, "bt2020": 9}
"""SWS_CS_* of libswscale, which is what reformat() takes."""

HDR_TRANSFERS = {16: "PQ (HDR10)", 18: "HLG"}
"""H.273 transfer characteristics that a standard-range picture cannot show."""

UNKNOWN_MATRICES = {
    8: "YCgCo",
    10: "BT.2020 constant luminance",
    11: "SMPTE 2085",
    12: "chromaticity-derived",
    13: "chromaticity-derived constant luminance",
    14: "ICtCp",
    15: "IPT-C2",
    16: "YCgCo-Re",
    17: "YCgCo-Ro",
}
"""H.273 matrix coefficients that are read by nothing here, libswscale included."""

HD_LINES = 720
"""From this height on untagged video counts as BT.709, below it as BT.601."""

SD_PX = (1279, 576)
"""Largest width and height that every player takes for standard definition: others, mpv among
them, take BT.709 from 1280 columns or 577 lines on, as of a wide film cut out of HD."""


@dataclass(frozen=True, slots=True)
class ColourTags:
    """Colour description as coded in streams (ITU-T H.273; range is FFmpeg's AVColorRange)."""

    matrix: int = UNSPECIFIED
    primaries: int = UNSPECIFIED
    transfer: int = UNSPECIFIED
    full_range: bool = False


def refuse_colour(name: str, frame: VideoFrame) -> None:
    """Raise SourceError for colours that would come out wrong.

    HDR video would look washed out without tone mapping.
    """
    if kind := HDR_TRANSFERS.get(frame.color_trc):
        raise SourceError(
            f"{name} is {kind} video, which Sfumato cannot tone-map yet; "
            "convert it to standard range (SDR) first"
        )
    if not is_rgb(frame) and (matrix := UNKNOWN_MATRICES.get(frame.colorspace)):
        raise SourceError(
            f"{name} is coded in {matrix} colours, which cannot be read; convert it to BT.709 first"
        )


def guess_matrix(height_px: int) -> Matrix:
    """The matrix of a stream that carries no tag: what broadcast practice makes likely."""
    return "bt709" if height_px >= HD_LINES else "bt601"


def is_doubtful(matrix: Matrix, size_px: tuple[int, int], *, full_range: bool) -> bool:
    """Whether a guessed matrix is one that other players would not take, so that a wrong one shows.

    Full range is how JPEG codes pictures, which is in BT.601 (ITU-T T.871).
    """
    if matrix == "bt709":
        return full_range
    return size_px[0] > SD_PX[0] or size_px[1] > SD_PX[1]


def matrix_of(frame: VideoFrame) -> tuple[Matrix, bool]:
    """The frame's matrix, and whether that is a guess. RGB frames get the one of their size."""
    if frame.colorspace == SMPTE_240M:
        return "bt709", False
    if (matrix := MATRIX_CODES.get(frame.colorspace)) is not None:
        return matrix, False
    return guess_matrix(frame.height), not is_rgb(frame)


def is_full_range(frame: VideoFrame) -> bool:
    """Whether luma spans 0…255. Untagged means limited, save for the yuvj formats and for grey,
    which libswscale, and so what writes and plays such files, takes for full (its handle_jpeg)."""
    if frame.color_range in (LIMITED, FULL):
        return frame.color_range == FULL or frame.format.name.startswith("yuvj")
    return frame.format.name.startswith(("yuvj", "gray", "ya"))


def is_rgb(frame: VideoFrame) -> bool:
    """Whether the frame is coded in RGB (directly, by palette, or as a sensor mosaic)."""
    return bool(frame.format.is_rgb or frame.format.has_palette or frame.format.is_bayer)


def tags_of(frame: VideoFrame, matrix: Matrix, *, full_range: bool) -> ColourTags:
    """How to tag a picture made from `frame`: its own tags, the gaps filled by the matrix."""
    coded = frame.colorspace if MATRIX_CODES.get(frame.colorspace) == matrix else None
    guess = tags_for(matrix, frame.height, full_range=full_range)
    return ColourTags(
        matrix=coded if coded is not None else guess.matrix,
        primaries=_known(frame.color_primaries, guess.primaries),
        transfer=_known(frame.color_trc, guess.transfer),
        full_range=full_range,
    )


def tags_for(matrix: Matrix, height_px: int, *, full_range: bool) -> ColourTags:
    """The usual tags of a matrix; BT.601 comes in a 625-line (5) and a 525-line (6) variant."""
    if matrix == "bt709":
        return ColourTags(1, 1, 1, full_range)
    if matrix == "bt2020":
        return ColourTags(9, 9, 14, full_range)
    lines = 5 if height_px in (288, 576) else 6
    return ColourTags(lines, lines, 6, full_range)


def _known(code: int, otherwise: int) -> int:
    return otherwise if code in (0, UNSPECIFIED) else code
