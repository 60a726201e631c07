"""Which encoder a file gets, how quality and speed are said to it, and which pixels it takes."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Literal

import av
from av.codec.codec import UnknownCodecError
from av.error import FFmpegError

from sfumato.kernels.formats import PixelFormat
from sfumato.stream.errors import SettingsError, SinkError
from sfumato.stream.media.planes import PLANAR, Chroma

PRESETS = (
    "ultrafast",
    "superfast",
    "veryfast",
    "faster",
    "fast",
    "medium",
    "slow",
    "slower",
    "veryslow",
)
"""From fast and large to slow and small; the words are x264's."""

DEFAULT_PRESET = "veryfast"

MOST_BFRAMES = 3
"""B-frames in a row where lookahead is bounded: what x264's fast presets have."""

DEFAULT_CODECS = {
    ".webm": "libvpx-vp9",
    ".gif": "gif",
    ".ogv": "libvpx",
    ".mpg": "mpeg2video",
    ".y4m": "rawvideo",
}
"""By file name; everything else gets H.264."""

ALIASES = {
    "h264": "libx264",
    "x264": "libx264",
    "avc": "libx264",
    "h265": "libx265",
    "x265": "libx265",
    "hevc": "libx265",
    "av1": "libsvtav1",
    "vp9": "libvpx-vp9",
    "vp8": "libvpx",
    "prores": "prores_ks",
    "jpeg": "mjpeg",
}

HOMES = {
    ".mkv": "matroska",
    ".mp4": "mp4",
    ".mov": "mov",
    ".avi": "avi",
    ".webm": "webm",
    ".gif": "gif",
}
"""Containers that are worth a hint when another does not take a codec, by their endings."""

BEST_HOMES = {"gif": ".gif", "libvpx-vp9": ".webm", "prores_ks": ".mov"}
"""Where players look for a codec, of the several that could hold it."""


@dataclass(frozen=True, slots=True)
class Encoder:
    """How one FFmpeg encoder is steered."""

    crf: int | None = None
    """Default quality on the encoder's own scale; None where quality cannot be chosen."""
    scale: Literal["crf", "qscale"] = "crf"
    """Native constant quality, or MPEG's quantizer scale, onto which the x264 scale is mapped."""
    best_crf: int = 51
    """The largest value that the encoder takes."""
    speeds: tuple[str, ...] = ()
    """The word or number for each of :data:`PRESETS`; () where speed cannot be chosen."""
    speed_option: str = "preset"
    options: dict[str, str] = field(default_factory=dict)
    lossless: bool = False
    full_range: bool = False
    """The format is full range by convention (JPEG), in BT.601."""
    even_sizes: bool = False
    """Subsampled planes need an even width (and height)."""
    copies: bool = False
    """Is done with a picture's memory when it has taken the picture."""
    held: dict[str, str] = field(default_factory=dict)
    """Options that bound the frames held back to ``{frames}``: ``{bframes}`` B-frames in a row, or
    ``{fewer}`` where they have to be fewer than that."""


ENCODERS: dict[str, Encoder] = {
    "libx264": Encoder(
        crf=18,
        speeds=PRESETS,
        even_sizes=True,
        copies=True,
        # Spreading bits over time (mbtree) by so short a look ahead costs more than a decibel.
        held={
            "bf": "{bframes}",
            "rc-lookahead": "{frames}",
            "x264-params": "sync-lookahead=0:mbtree=0",
        },
    ),
    "libx265": Encoder(
        crf=20,
        speeds=PRESETS,
        options={"x265-params": "log-level=error"},
        even_sizes=True,
        copies=True,
        held={
            "x265-params": "log-level=error:frame-threads=1:cutree=0:bframes={fewer}"
            ":rc-lookahead={frames}"
        },
    ),
    "libsvtav1": Encoder(
        crf=28,
        best_crf=63,
        speeds=("10", "9", "8", "7", "6", "5", "4", "3", "2"),
        held={"svtav1-params": "pred-struct=1:lookahead={frames}"},  # low delay
    ),
    "libvpx-vp9": Encoder(
        crf=24,
        best_crf=63,
        speeds=("8", "7", "6", "5", "4", "3", "2", "1", "0"),
        speed_option="cpu-used",
        options={"row-mt": "1", "deadline": "realtime"},
        held={"lag-in-frames": "{frames}"},
    ),
    "libvpx": Encoder(options={"deadline": "realtime", "b": "4M"}),
    "mpeg4": Encoder(crf=18, scale="qscale"),
    "mpeg2video": Encoder(crf=18, scale="qscale"),
    "mjpeg": Encoder(crf=18, scale="qscale", full_range=True),
    "ffv1": Encoder(options={"g": "1", "slicecrc": "1"}, lossless=True),
    "ffvhuff": Encoder(lossless=True),
    "huffyuv": Encoder(lossless=True),
    "utvideo": Encoder(lossless=True),
    "png": Encoder(lossless=True),
    "qtrle": Encoder(lossless=True),
    "prores_ks": Encoder(options={"profile": "hq"}),
    "rawvideo": Encoder(lossless=True),
}
"""Encoders that are known by more than their name. Others run with FFmpeg's own defaults."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An encoder with everything said to it."""

    codec: str
    encoder: Encoder
    options: dict[str, str]
    qscale: int | None = None
    warnings: tuple[str, ...] = ()


def choose_encoder(
    target: Path,
    codec: str | None,
    crf: int | None,
    preset: str | None,
    lookahead_frames: int | None = None,
) -> Choice:
    """The encoder for a target and the options that quality, speed and lookahead mean to it.

    Raises:
        SinkError: There is no such encoder.
        SettingsError: The quality or speed is none that it knows.
    """
    name = find_codec(codec) if codec else DEFAULT_CODECS.get(target.suffix.lower(), "libx264")
    encoder = ENCODERS.get(name, Encoder())
    options = dict(encoder.options)
    warnings = []
    qscale = None
    if encoder.crf is None and crf is not None:
        warnings.append(f"--crf has no effect on {name}")
    elif encoder.crf is not None:
        quality = _check_crf(crf if crf is not None else encoder.crf, encoder, name)
        if encoder.scale == "crf":
            options["crf"] = str(quality)
        else:
            qscale = crf_to_qscale(quality)
    if encoder.speeds:
        options[encoder.speed_option] = _speed(preset or DEFAULT_PRESET, encoder, name)
    elif preset is not None:
        warnings.append(f"--preset has no effect on {name}")
    if lookahead_frames is not None:
        options |= _held(encoder, lookahead_frames)
    if target.suffix.lower() == ".avi" and name in ("libx264", "libx265"):
        options["bf"] = "0"  # AVI keeps no times, so pictures have to lie in order
    return Choice(name, encoder, options, qscale, tuple(warnings))


def find_codec(name: str) -> str:
    """FFmpeg's name of an encoder that the user calls `name`. Raises SinkError with guesses."""
    known = ALIASES.get(name.lower(), name)
    try:
        codec = av.Codec(known, "w")
    except UnknownCodecError:
        close = difflib.get_close_matches(name, [*ENCODERS, *ALIASES], n=3, cutoff=0.6)
        hint = " or ".join(close) or "libx264, libx265, libvpx-vp9, libsvtav1 or ffv1"
        raise SinkError(f"--codec {name} is no encoder of this build; try {hint}") from None
    if codec.type != "video":
        raise SinkError(f"--codec {name} is for {codec.type}; try libx264, libx265 or ffv1")
    return known


def home_of(codec: str, refused: str) -> str:
    """What to do where files ending in `refused` cannot hold the codec."""
    for suffix in sorted(HOMES, key=lambda suffix: suffix != BEST_HOMES.get(codec)):
        if suffix != refused.lower() and _takes(HOMES[suffix], codec):
            return f"use a name ending in {suffix}, or another --codec"
    return "use another --codec, such as libx264 or ffv1"


def _takes(form: str, codec: str) -> bool:
    """Whether a container format can hold the codec, found out by trying."""
    try:
        with av.open(BytesIO(), "w", format=form) as trial:
            trial.add_stream(codec, rate=25)
    except (FFmpegError, ValueError):
        return False
    return True


def crf_to_qscale(crf: int) -> int:
    """MPEG's quantizer scale (1 to 31) for an x264 quality: both double every 6 steps of crf.

    The quantizer step of H.264 is 2^((QP-4)/6), that of MPEG-4 twice its scale.
    """
    return max(1, min(31, round(2 ** ((crf - 10) / 6))))


def choose_pixels(
    source: PixelFormat, choice: Choice, *, rgb: bool
) -> tuple[PixelFormat, str, list[str]]:
    """The format the sink wants frames in, FFmpeg's format for the encoder, and warnings.

    Chroma and bits of the source are kept where the encoder can; RGB sources are subsampled to
    4:2:0 unless the encoder is lossless; grey becomes 4:2:0, since a painting has colours. Where
    the encoder takes only RGB, frames come in full 4:4:4 and are converted.
    """
    codec = av.Codec(choice.codec, "w")
    names = [form.name for form in codec.video_formats or []] or list(PLANAR.values())
    chroma: Chroma = "444" if rgb and choice.encoder.lossless else "420" if rgb else source.chroma
    full = choice.encoder.full_range or (source.full_range and (not rgb or choice.encoder.lossless))
    matrix = "bt601" if choice.encoder.full_range else source.matrix
    for bits in (source.bits, 18 - source.bits):
        for kept in _chroma_order(chroma):
            if (name := PLANAR[kept, bits]) in names:
                pixels = PixelFormat(kept, bits, matrix, full)
                return pixels, name, _losses(source, pixels, choice.codec, rgb=rgb)
    pixels = PixelFormat("444", 8, matrix, True)
    name = next((name for name in ("rgb24", "bgr24", "bgr0", "bgra") if name in names), names[0])
    return pixels, name, _losses(source, pixels, choice.codec, rgb=True)


def _chroma_order(chroma: Chroma) -> tuple[Chroma, ...]:
    """What comes nearest when a layout is missing: first more chroma, then less."""
    orders: dict[Chroma, tuple[Chroma, ...]] = {
        "420": ("420", "422", "444"),
        "422": ("422", "444", "420"),
        "444": ("444", "422", "420"),
        "grey": ("420", "422", "444"),
    }
    return orders[chroma]


def _losses(source: PixelFormat, pixels: PixelFormat, codec: str, *, rgb: bool) -> list[str]:
    losses = []
    if pixels.bits < source.bits:
        losses.append(f"{source.bits} to {pixels.bits} bit: {codec} takes no more")
    samples = {"grey": 0, "420": 1, "422": 2, "444": 3}
    if not rgb and samples[pixels.chroma] < samples[source.chroma]:
        losses.append(f"{_words(source)} to {_words(pixels)}: {codec} takes no more")
    if codec == "libx264" and (pixels.bits > 8 or pixels.chroma != "420"):
        kind = f"{_words(pixels)}, {pixels.bits} bit"
        losses.append(f"kept as H.264 {kind}: few players take it; more take --codec libx265")
    return losses


def _words(pixels: PixelFormat) -> str:
    """``4:2:0``."""
    return ":".join(pixels.chroma)


def _check_crf(crf: int, encoder: Encoder, name: str) -> int:
    if not 0 <= crf <= encoder.best_crf:
        raise SettingsError(f"--crf {crf} should be 0 (best) to {encoder.best_crf} for {name}")
    return crf


def _held(encoder: Encoder, frames: int) -> dict[str, str]:
    """Options by which an encoder holds back no more than so many frames."""
    numbers = {
        "frames": frames,
        "bframes": min(frames, MOST_BFRAMES),
        "fewer": max(0, min(frames - 1, MOST_BFRAMES)),
    }
    return {option: value.format(**numbers) for option, value in encoder.held.items()}


def _speed(preset: str, encoder: Encoder, name: str) -> str:
    if preset in PRESETS:
        return encoder.speeds[PRESETS.index(preset)]
    if preset in encoder.speeds:
        return preset
    raise SettingsError(f"--preset {preset} should be one of {', '.join(PRESETS)} for {name}")
