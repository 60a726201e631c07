"""Small videos for tests, made with PyAV in a temporary folder, and plain readings of the results.

Readings use PyAV directly, not the code under test.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.container import OutputContainer
from av.stream import Disposition
from av.video.frame import VideoFrame
from numpy.typing import NDArray

from sfumato.kernels.formats import PixelFormat
from sfumato.stream.frame import Frame, Plane
from sfumato.stream.media import Sink, Source, open_sink, open_source
from sfumato.stream.media.planes import Converter, frame_of, planes_of

AUDIO_RATE = 48000
LOSSLESS = {"qp": "0", "bf": "0"}


@dataclass(frozen=True)
class Recipe:
    """What to put into a clip."""

    frames: int = 8
    size_px: tuple[int, int] = (64, 48)
    codec: str = "libx264"
    av_format: str = "yuv420p"
    rate: Fraction = Fraction(25)
    time_base: Fraction | None = None
    pts: Sequence[int] | None = None
    options: dict[str, str] = field(default_factory=lambda: {"qp": "0"})
    tags: dict[str, int] = field(default_factory=dict)
    """Attributes of the codec context: colorspace, color_range, color_primaries, color_trc."""
    rotation_degrees: int = 0
    aspect: Fraction | None = None
    audio_tracks: int = 0
    subtitles: bool = False
    attachment: bool = False
    cover: bool = False
    video_index: int = 0
    """1 puts the first audio track before the video."""
    metadata: dict[str, str] = field(default_factory=dict)
    chapters: tuple[tuple[int, int, str], ...] = ()
    """(start, end, title) in milliseconds."""


def make_clip(path: Path, recipe: Recipe | None = None, **changes: Any) -> Path:
    """Write a clip of moving gradients, with a tone on each audio track."""
    recipe = dataclasses.replace(recipe or Recipe(), **changes)
    with av.open(str(path), "w") as container:
        container.metadata.update(recipe.metadata)
        early = [_add_audio(container, 0)] if recipe.video_index else []
        video = _add_video(container, recipe)
        audio = early + [_add_audio(container, n) for n in range(len(early), recipe.audio_tracks)]
        texts = [_add_subtitles(container)] if recipe.subtitles else []
        cover = _add_cover(container) if recipe.cover else None
        if recipe.attachment:
            container.add_attachment("note.txt", "text/plain", b"an attached note")
        container.set_chapters([_chapter(n, *c) for n, c in enumerate(recipe.chapters)])
        container.start_encoding()
        if cover is not None:
            container.mux(cover.encode(_flat(cover.width, cover.height)))
        for stream in texts:
            container.mux(_subtitle_packets(stream))
        for number, stream in enumerate(audio):
            _encode_tone(container, stream, _length_s(recipe), number)
        for frame in _pictures(recipe):
            container.mux(video.encode(frame))
        container.mux(video.encode(None))
    return path


def planes_for(index: int, size_px: tuple[int, int], av_format: str) -> tuple[Plane, ...]:
    """Picture number `index`: gradients that move, in legal codes of the format."""
    frame = VideoFrame(*size_px, av_format)
    wide = "10le" in av_format or "p010" in av_format
    planes: list[Plane] = []
    for number, plane in enumerate(frame.planes):
        rows, columns = np.mgrid[0 : plane.height, 0 : plane.width]
        codes = 64 + (3 * columns + 2 * rows + 7 * index + 40 * number) % 128
        planes.append(codes.astype(np.uint16) * 4 + 1 if wide else codes.astype(np.uint8))
    return tuple(planes)


def write_planes(frame: VideoFrame, planes: Sequence[Plane]) -> VideoFrame:
    """Put planes into a planar frame."""
    for target, plane in zip(frame.planes, planes, strict=True):
        rows = np.frombuffer(memoryview(target), plane.dtype).reshape(plane.shape[0], -1)
        rows[:, : plane.shape[1]] = plane
    return frame


def repaint(source: Source, target: Path | str, **options: Any) -> Sink:
    """Copy a source into a sink as a style that changes nothing would, and close the sink."""
    with open_sink(target, like=source, **options) as sink:
        for frame in source.frames():
            sink.write(fit(frame, sink.pixels))
    return sink


def repaint_file(
    path: Path | str, target: Path | str, **options: Any
) -> tuple[list[str], list[str]]:
    """:func:`repaint` from file to file; returns the warnings of source and sink."""
    cut = {key: options.pop(key) for key in ("start_s", "duration_s", "strict") if key in options}
    with open_source(path, **cut) as source:
        sink = repaint(source, target, **options)
        return source.warnings, sink.warnings


def fit(frame: Frame, pixels: PixelFormat) -> Frame:
    """The frame in another pixel format."""
    if frame.pixels == pixels:
        return frame
    size_px = (frame.width_px, frame.height_px)
    picture = frame_of(frame.planes, frame.pixels, size_px)
    picture.colorspace = {"bt709": 1, "bt601": 6, "bt2020": 9}[frame.pixels.matrix]
    converted = Converter().to_pixels(picture, pixels, size_px)
    return dataclasses.replace(frame, planes=planes_of(converted), pixels=pixels, keep=converted)


def times(path: Path, kind: str = "video", number: int = 0) -> list[Fraction]:
    """Presentation times in seconds of a stream's packets, in order of presentation."""
    with av.open(str(path)) as container:
        stream = [
            s
            for s in container.streams
            if s.type == kind and not s.disposition & Disposition.attached_pic
        ][number]
        packets = [p for p in container.demux(stream) if p.size and p.pts is not None]
        return sorted(Fraction(p.pts) * p.time_base for p in packets if p.pts is not None)


def pictures(path: Path) -> list[NDArray[Any]]:
    """Each decoded picture's planes, flattened into one array."""
    with av.open(str(path)) as container:
        video = next(
            s for s in container.streams.video if not s.disposition & Disposition.attached_pic
        )
        return [_flatten(frame) for frame in container.decode(video)]


def _flatten(frame: VideoFrame) -> NDArray[Any]:
    parts = []
    for plane in frame.planes:
        wide = "10" in frame.format.name
        rows = np.frombuffer(memoryview(plane), np.uint16 if wide else np.uint8)
        rows = rows.reshape(plane.height, -1)
        parts.append(rows[:, : plane.width * (2 if "nv12" in frame.format.name else 1)].ravel())
    return np.concatenate(parts)


def _add_video(container: OutputContainer, recipe: Recipe) -> Any:
    video: Any = container.add_stream(recipe.codec, rate=recipe.rate, options=dict(recipe.options))
    video.width, video.height = recipe.size_px
    video.pix_fmt = recipe.av_format
    video.codec_context.time_base = recipe.time_base or 1 / recipe.rate
    video.time_base = recipe.time_base or 1 / recipe.rate
    video.codec_context.thread_count = 1
    for name, value in recipe.tags.items():
        setattr(video.codec_context, name, value)
    if recipe.aspect is not None:
        video.codec_context.sample_aspect_ratio = recipe.aspect
    if recipe.rotation_degrees:
        video.set_display_rotation(recipe.rotation_degrees)
    return video


def _pictures(recipe: Recipe) -> list[VideoFrame]:
    frames = []
    for index in range(recipe.frames):
        frame = VideoFrame(*recipe.size_px, recipe.av_format)
        write_planes(frame, planes_for(index, recipe.size_px, recipe.av_format))
        frame.time_base = recipe.time_base or 1 / recipe.rate
        step = 1 / (recipe.rate * frame.time_base)
        frame.pts = recipe.pts[index] if recipe.pts is not None else round(index * step)
        frame.duration = max(1, round(step))
        frames.append(frame)
    return frames


def _length_s(recipe: Recipe) -> float:
    return float(recipe.frames / recipe.rate)


def _add_audio(container: OutputContainer, number: int) -> Any:
    stream: Any = container.add_stream(
        "aac" if "webm" not in container.name else "opus", rate=AUDIO_RATE
    )
    stream.codec_context.layout = "mono"
    stream.metadata["language"] = ("eng", "deu", "fra")[number]
    return stream


def _encode_tone(container: OutputContainer, stream: Any, length_s: float, number: int) -> None:
    count = max(1024, int(length_s * AUDIO_RATE))
    wave = 0.3 * np.sin(np.arange(count) * 2 * np.pi * (440 + 110 * number) / AUDIO_RATE)
    frame = av.AudioFrame.from_ndarray(wave.astype(np.float32)[None], "fltp", "mono")
    frame.sample_rate = AUDIO_RATE
    frame.pts = 0
    container.mux(stream.encode(frame))
    container.mux(stream.encode(None))


def _add_subtitles(container: OutputContainer) -> Any:
    stream: Any = container.add_mux_stream("subrip" if "mp4" not in container.name else "mov_text")
    stream.time_base = Fraction(1, 1000)
    return stream


def _subtitle_packets(stream: Any) -> list[Any]:
    packets = []
    for number, (start_ms, text) in enumerate(((0, b"first"), (100, b"second"), (200, b"third"))):
        packet: Any = av.Packet(text)
        packet.stream = stream
        packet.time_base = Fraction(1, 1000)
        packet.pts = packet.dts = start_ms
        packet.duration = 80 + number
        packets.append(packet)
    return packets


def _add_cover(container: OutputContainer) -> Any:
    cover: Any = container.add_stream("mjpeg", rate=1)
    cover.width, cover.height, cover.pix_fmt = 32, 32, "yuvj420p"
    cover.disposition = Disposition.attached_pic
    return cover


def _flat(width: int, height: int) -> VideoFrame:
    frame = VideoFrame(width, height, "yuvj420p")
    for plane in frame.planes:
        np.frombuffer(memoryview(plane), np.uint8)[:] = 128
    frame.pts = 0
    return frame


def _chapter(number: int, start_ms: int, end_ms: int, title: str) -> Any:
    return {
        "id": number,
        "start": start_ms,
        "end": end_ms,
        "time_base": Fraction(1, 1000),
        "metadata": {"title": title},
    }
