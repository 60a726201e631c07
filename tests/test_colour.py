"""Colour: the right matrix and range reach the model, and the output says which they were."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from av.video.frame import VideoFrame
from numpy.typing import NDArray

from sfumato.kernels.formats import LUMA_WEIGHTS, Matrix, PixelFormat
from sfumato.stream.errors import SourceError
from sfumato.stream.frame import Frame
from sfumato.stream.media import open_source
from sfumato.stream.media.normal import Normalizer
from tests.media import make_clip, repaint, repaint_file

BARS = np.array(
    [
        (255, 255, 255), (255, 255, 0), (0, 255, 255), (0, 255, 0),
        (255, 0, 255), (255, 0, 0), (0, 0, 255), (0, 0, 0),
        (191, 191, 191), (180, 30, 90), (20, 200, 120), (60, 60, 200),
    ]
)  # fmt: skip
"""Colour bars, (n, 3) RGB codes."""

TAGS = {"bt709": 1, "bt601": 6, "bt2020": 9}
BAR_PX = 16


def yuv_of(rgb: NDArray[Any], matrix: Matrix, *, full: bool, bits: int = 8) -> NDArray[np.int64]:
    """Y, Cb, Cr codes of RGB codes, (n, 3), as ITU-R BT.601-7 and BT.709-6 define them."""
    kr, kb = LUMA_WEIGHTS[matrix]
    red, green, blue = np.moveaxis(rgb / 255.0, -1, 0)
    luma = kr * red + (1 - kr - kb) * green + kb * blue
    cb, cr = (blue - luma) / (2 - 2 * kb), (red - luma) / (2 - 2 * kr)
    scale = 2 ** (bits - 8)
    if full:
        top = 2**bits - 1
        codes = [luma * top, cb * top + 128 * scale, cr * top + 128 * scale]
    else:
        codes = [(16 + 219 * luma) * scale, (128 + 224 * cb) * scale, (128 + 224 * cr) * scale]
    legal: NDArray[np.int64] = np.clip(np.rint(np.stack(codes, axis=-1)), 0, 2**bits - 1).astype(
        int
    )
    return legal


def rgb_of(yuv: NDArray[Any], pixels: PixelFormat) -> NDArray[np.float64]:
    """RGB on a scale of 255 of Y, Cb, Cr codes, (n, 3): what a model would be given."""
    kr, kb = LUMA_WEIGHTS[pixels.matrix]
    scale = 2 ** (pixels.bits - 8)
    luma, cb, cr = np.moveaxis(yuv.astype(np.float64), -1, 0)
    if pixels.full_range:
        top = 2**pixels.bits - 1
        luma, cb, cr = luma / top, (cb - 128 * scale) / top, (cr - 128 * scale) / top
    else:
        luma = (luma / scale - 16) / 219
        cb, cr = (cb / scale - 128) / 224, (cr / scale - 128) / 224
    red, blue = luma + (2 - 2 * kr) * cr, luma + (2 - 2 * kb) * cb
    green = (luma - kr * red - kb * blue) / (1 - kr - kb)
    return 255 * np.stack([red, green, blue], axis=-1)


def bars_clip(path: Path, codes: NDArray[Any], av_format: str, **tags: int) -> Path:
    """One lossless picture of vertical bars with the given Y, Cb, Cr codes."""
    frame = VideoFrame(BAR_PX * len(codes), 32, av_format)
    dtype = np.uint16 if "10" in av_format else np.uint8
    for number, plane in enumerate(frame.planes):
        rows = np.frombuffer(memoryview(plane), dtype).reshape(plane.height, -1)
        rows[:, : plane.width] = np.repeat(codes[:, number], plane.width // len(codes))
    frame.pts, frame.time_base = 0, Fraction(1, 25)
    with av.open(str(path), "w") as container:
        video: Any = container.add_stream("ffv1", rate=25)
        video.width, video.height, video.pix_fmt = frame.width, frame.height, av_format
        for name, value in tags.items():
            setattr(video.codec_context, name, value)
        container.mux([*video.encode(frame), *video.encode(None)])
    return path


def bars_of(frame: Frame) -> NDArray[np.int64]:
    """The Y, Cb, Cr codes in the middle of each bar, (n, 3)."""
    columns = []
    for plane in frame.planes:
        width = plane.shape[1] // len(BARS)
        columns.append(plane[plane.shape[0] // 2, width // 2 :: width].astype(np.int64))
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("av_format", ["yuv420p", "yuv444p", "yuv420p10le"])
@pytest.mark.parametrize("matrix", ["bt601", "bt709", "bt2020"])
@pytest.mark.parametrize("full", [False, True])
def test_tagged_colour_bars_look_right(
    tmp_path: Path, av_format: str, matrix: Matrix, full: bool
) -> None:
    bits = 10 if "10" in av_format else 8
    codes = yuv_of(BARS, matrix, full=full, bits=bits)
    clip = bars_clip(
        tmp_path / "bars.mkv",
        codes,
        av_format,
        colorspace=TAGS[matrix],
        color_range=2 if full else 1,
    )
    with open_source(clip) as source:
        assert not source.info.guessed_colour
        (frame,) = source.frames()
    assert (frame.pixels.matrix, frame.pixels.full_range) == (matrix, full)
    assert np.abs(rgb_of(bars_of(frame), frame.pixels) - BARS).max() < 2


@pytest.mark.parametrize(
    ("lines", "matrix"), [(576, "bt601"), (718, "bt601"), (720, "bt709"), (1080, "bt709")]
)
def test_untagged_video_is_guessed_by_its_height(
    tmp_path: Path, lines: int, matrix: Matrix
) -> None:
    clip = make_clip(tmp_path / "clip.mp4", frames=1, size_px=(16, lines), options={})
    with open_source(clip) as source:
        assert source.info.guessed_colour
        assert source.info.pixels.matrix == matrix
        assert not source.info.pixels.full_range


@pytest.mark.parametrize(
    ("size_px", "av_format", "said"),
    [
        ((720, 576), "yuv420p", None),
        ((1280, 720), "yuv420p", None),
        ((720, 1280), "yuv420p", None),
        ((1280, 544), "yuv420p", "BT.601 taken"),
        ((960, 640), "yuv420p", "BT.601 taken"),
        ((1280, 720), "yuvj420p", "BT.709 taken"),
        ((640, 480), "yuvj420p", None),
        ((1280, 544), "gray", None),
        ((1280, 544), "rgb24", None),
    ],
)
def test_only_doubtful_guesses_are_spoken_of(
    size_px: tuple[int, int], av_format: str, said: str | None
) -> None:
    notes = Normalizer(VideoFrame(*size_px, av_format)).notes
    assert bool(notes) == bool(said)
    assert said is None or said in notes[0]


@pytest.mark.parametrize("av_format", ["gray", "gray10le", "ya8"])
@pytest.mark.parametrize(("tag", "full"), [(0, True), (1, False), (2, True)])
def test_untagged_grey_is_full_range(av_format: str, tag: int, full: bool) -> None:
    picture = VideoFrame(64, 16, av_format)
    picture.color_range = tag
    assert Normalizer(picture).pixels.full_range == full


def test_libswscale_takes_grey_for_full_range() -> None:
    """Why: who writes grey by FFmpeg, or sees it, has 16 as a grey and not as black."""
    picture = VideoFrame.from_ndarray(np.full((16, 64), 16, np.uint8), format="gray")
    assert picture.color_range == 0
    assert picture.to_ndarray(format="rgb24").max() == 16


@pytest.mark.parametrize("name", ["out.mp4", "out.mkv", "out.mov"])
@pytest.mark.parametrize("lines", [576, 480, 720])
def test_the_guess_is_tagged(tmp_path: Path, name: str, lines: int) -> None:
    clip = make_clip(tmp_path / "clip.mp4", frames=2, size_px=(16, lines), options={})
    repaint_file(clip, tmp_path / name)
    expected = {576: (5, 5, 6), 480: (6, 6, 6), 720: (1, 1, 1)}[lines]
    with av.open(str(tmp_path / name)) as container:
        frame = next(container.decode(video=0))
        assert (frame.colorspace, frame.color_primaries, frame.color_trc) == expected
        assert frame.color_range == 1


@pytest.mark.parametrize("name", ["out.mp4", "out.mkv"])
@pytest.mark.parametrize("tags", [(1, 1, 1, 1), (9, 9, 14, 1), (5, 5, 6, 2), (6, 1, 13, 2)])
def test_tags_are_those_of_the_source(
    tmp_path: Path, name: str, tags: tuple[int, int, int, int]
) -> None:
    keys = ("colorspace", "color_primaries", "color_trc", "color_range")
    clip = make_clip(tmp_path / "clip.mp4", frames=2, tags=dict(zip(keys, tags, strict=True)))
    repaint_file(clip, tmp_path / name)
    with av.open(str(tmp_path / name)) as container:
        frame = next(container.decode(video=0))
        assert tuple(getattr(frame, key) for key in keys) == tags


def test_full_range_by_format_name(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.avi", codec="mjpeg", av_format="yuvj420p", options={})
    with open_source(clip) as source:
        assert source.info.pixels == PixelFormat("420", 8, "bt601", True)
        sink = repaint(source, tmp_path / "out.mp4")
    assert sink.pixels.full_range
    with av.open(str(tmp_path / "out.mp4")) as container:
        assert next(container.decode(video=0)).color_range == 2


@pytest.mark.parametrize(("matrix", "name"), [(8, "YCgCo"), (10, "constant"), (14, "ICtCp")])
def test_matrices_that_nothing_reads_are_refused(tmp_path: Path, matrix: int, name: str) -> None:
    clip = make_clip(tmp_path / "clip.mkv", tags={"colorspace": matrix})
    with pytest.raises(SourceError, match=rf"clip\.mkv is coded in .*{name}.*; convert it to"):
        open_source(clip)


@pytest.mark.parametrize("transfer", [16, 18])
def test_hdr_is_refused_with_the_reason(tmp_path: Path, transfer: int) -> None:
    tags = {"colorspace": 9, "color_primaries": 9, "color_trc": transfer, "color_range": 1}
    clip = make_clip(tmp_path / "clip.mkv", av_format="yuv420p10le", tags=tags)
    with pytest.raises(SourceError, match=r"clip\.mkv is (PQ|HLG).*tone-map.*convert it"):
        open_source(clip)


@pytest.mark.parametrize("passes", [3])
def test_repainting_does_not_drift(tmp_path: Path, passes: int) -> None:
    clip = make_clip(tmp_path / "clip0.mkv", codec="ffv1", frames=2, options={})
    for number in range(passes):
        source, target = (tmp_path / f"clip{number + step}.mkv" for step in (0, 1))
        repaint_file(source, target, codec="ffv1")
    with open_source(clip) as first, open_source(tmp_path / f"clip{passes}.mkv") as last:
        assert first.info.pixels == last.info.pixels
        for before, after in zip(first.frames(), last.frames(), strict=True):
            for one, other in zip(before.planes, after.planes, strict=True):
                assert np.array_equal(one, other)


def picture_of(rgb: NDArray[Any], av_format: str) -> VideoFrame:
    """Bars of RGB codes as a frame of a packed, planar or palette format."""
    row = np.repeat(rgb.astype(np.uint8), BAR_PX, axis=0)[None].repeat(32, axis=0)
    frame = VideoFrame.from_ndarray(np.ascontiguousarray(row), format="rgb24")
    return frame if av_format == "rgb24" else frame.reformat(format=av_format)


@pytest.mark.parametrize("av_format", ["rgb24", "bgr24", "gbrp", "rgba", "bgra", "rgb48le"])
@pytest.mark.parametrize("lines", [32, 720])
def test_rgb_sources_keep_their_colours(av_format: str, lines: int) -> None:
    picture = picture_of(BARS, av_format)
    if lines > 32:
        picture = picture.reformat(height=lines)
    normal = Normalizer(picture)
    planes, _ = normal.planes(picture)
    frame = Frame(planes, normal.pixels, 0, Fraction(1, 25))
    assert normal.rgb
    assert normal.pixels.chroma == "444"
    assert normal.pixels.matrix == ("bt709" if lines == 720 else "bt601")
    assert np.abs(rgb_of(bars_of(frame), frame.pixels) - BARS).max() < 2


@pytest.mark.parametrize(
    ("av_format", "chroma", "bits"),
    [
        ("yuyv422", "422", 8),
        ("uyvy422", "422", 8),
        ("yuv440p", "444", 8),
        ("yuv411p", "422", 8),
        ("yuv410p", "420", 8),
        ("yuva420p", "420", 8),
        ("yuv420p12le", "420", 10),
        ("yuv444p16le", "444", 10),
        ("yuv420p10be", "420", 10),
    ],
)
def test_other_layouts_become_the_nearest_of_ours(av_format: str, chroma: str, bits: int) -> None:
    codes = yuv_of(BARS, "bt709", full=False)
    flat = picture_of(BARS, "rgb24")
    picture = flat.reformat(
        format=av_format, dst_colorspace=1, src_color_range=2, dst_color_range=1
    )
    picture.colorspace, picture.color_range = 1, 1
    normal = Normalizer(picture)
    planes, _ = normal.planes(picture)
    assert (normal.pixels.chroma, normal.pixels.bits) == (chroma, bits)
    assert normal.pixels.matrix == "bt709"
    assert not normal.pixels.full_range
    luma = planes[0][16, BAR_PX // 2 :: BAR_PX] / (4 if bits == 10 else 1)
    assert np.abs(luma - codes[:, 0]).max() <= 1.5
    if "12" in av_format or "16" in av_format:
        assert any("is read at 10 bit" in note for note in normal.notes)


def test_deep_grey_is_read_at_ten_bits() -> None:
    picture = VideoFrame(64, 16, "gray12le")
    rows = np.frombuffer(memoryview(picture.planes[0]), np.uint16).reshape(16, -1)
    rows[:, :64] = np.arange(256, 256 + 64 * 54, 54)
    picture.color_range = 1
    normal = Normalizer(picture)
    (luma,) = normal.planes(picture)[0]
    assert normal.pixels == PixelFormat("grey", 10, "bt601", False)
    assert np.abs(luma[8] - rows[8, :64] / 4).max() <= 1


def test_smpte_240m_is_converted() -> None:
    kr, kb = 0.212, 0.087  # SMPTE 240M-1999
    red, green, blue = np.moveaxis(BARS / 255.0, -1, 0)
    luma = kr * red + (1 - kr - kb) * green + kb * blue
    cb, cr = (blue - luma) / (2 - 2 * kb), (red - luma) / (2 - 2 * kr)
    codes = np.rint(np.stack([16 + 219 * luma, 128 + 224 * cb, 128 + 224 * cr], axis=-1))
    picture = _planar(codes)
    picture.colorspace, picture.color_range = 7, 1
    normal = Normalizer(picture)
    frame = Frame(normal.planes(picture)[0], normal.pixels, 0, Fraction(1, 25))
    assert normal.pixels.matrix == "bt709"
    assert normal.tags.matrix == 1
    assert np.abs(rgb_of(bars_of(frame), frame.pixels) - BARS).max() < 4


def _planar(codes: NDArray[Any]) -> VideoFrame:
    frame = VideoFrame(BAR_PX * len(codes), 32, "yuv444p")
    for number, plane in enumerate(frame.planes):
        rows = np.frombuffer(memoryview(plane), np.uint8).reshape(32, -1)
        rows[:, : plane.width] = np.repeat(codes[:, number], BAR_PX)
    return frame


def test_what_is_transparent_is_black() -> None:
    rgba = np.full((32, 32, 4), 200, np.uint8)
    rgba[:, :16, 3] = 0
    rgba[:, 16:24, 3] = 255
    rgba[:, 24:, 3] = 128
    picture = VideoFrame.from_ndarray(rgba, format="rgba")
    normal = Normalizer(picture)
    luma = normal.planes(picture)[0][0][0]
    for column, expected in ((8, 0), (20, 200), (28, 100)):
        assert abs(int(luma[column]) - expected) <= 1


def test_a_change_of_tags_on_the_way_is_converted() -> None:
    def bars(matrix: Matrix) -> VideoFrame:
        picture = _planar(yuv_of(BARS, matrix, full=False))
        picture.colorspace, picture.color_range = TAGS[matrix], 1
        return picture

    normal = Normalizer(bars("bt709"))
    pictures: Sequence[VideoFrame] = (bars("bt709"), bars("bt601"))
    for picture in pictures:
        frame = Frame(normal.planes(picture)[0], normal.pixels, 0, Fraction(1, 25))
        assert frame.pixels.matrix == "bt709"
        assert np.abs(rgb_of(bars_of(frame), frame.pixels) - BARS).max() < 4
