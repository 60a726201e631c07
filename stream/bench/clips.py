"""The clip at each size, made once."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from functools import cache
from pathlib import Path

import av
from av.container import OutputContainer
from av.video.stream import VideoStream

from sfumato.stream.bench.matrix import AS_IS, size_px
from sfumato.stream.errors import SourceError
from sfumato.stream.media.errors import reading, writing
from sfumato.stream.media.sink import partial_name, remove_stale

_RATE = Fraction(25)
_OPTIONS = {"crf": "18", "preset": "superfast"}


def fingerprint(source: Path) -> str:
    """Name, length and content of a file, as few words as will do: results refer to it."""
    with reading(str(source)):
        known = source.stat()
        return f"{source.name} {known.st_size} {_digest(source, known.st_size, known.st_mtime_ns)}"


@cache
def _digest(source: Path, _size: int, _mtime_ns: int) -> str:
    """Read once, however many jobs ask, as long as it stays as it is."""
    with source.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]


def clip_at(source: Path, size: str, frames: int, folder: Path) -> Path:
    """The first ``frames`` frames of ``source`` at ``size``, kept in ``folder``.

    H.264 without sound, whatever the source is, save for the size ``source``: that is the file
    itself. Fewer frames if it has fewer. Raises :class:`SourceError`, :class:`SinkError`, and
    :class:`FileNotFoundError`.
    """
    if size == AS_IS:
        return source
    digest = fingerprint(source).rsplit(" ", 1)[1]
    clip = folder / f"{digest}-{size}-{frames}.mp4"
    if not clip.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        remove_stale(clip)
        partial = partial_name(clip)
        try:
            _scale(source, partial, size, frames)
            partial.replace(clip)
        finally:
            partial.unlink(missing_ok=True)
    return clip


def duration_s(source: Path, frames: int) -> float:
    """How long ``frames`` frames of ``source`` last at its average rate."""
    with reading(str(source)), av.open(str(source)) as container:
        return float(frames / _rate(_video(container.streams.video, source)))


def _scale(source: Path, target: Path, size: str, frames: int) -> None:
    with (
        reading(str(source)),
        av.open(str(source)) as read,
        writing(str(target)),
        av.open(str(target), "w") as written,
    ):
        video = _video(read.streams.video, source)
        wide, tall = size_px(size, video.width, video.height)
        encoder = _encoder(written, _rate(video), wide, tall)
        for number, frame in enumerate(read.decode(video)):
            if number == frames:
                break
            scaled = frame.reformat(wide, tall, format="yuv420p", interpolation="BICUBIC")
            scaled.pts, scaled.time_base = number, 1 / _rate(video)
            written.mux(encoder.encode(scaled))
        written.mux(encoder.encode(None))


def _encoder(
    container: OutputContainer, rate: Fraction, width_px: int, height_px: int
) -> VideoStream:
    encoder = container.add_stream("libx264", rate, options=_OPTIONS)
    assert isinstance(encoder, VideoStream)
    encoder.width, encoder.height, encoder.pix_fmt = width_px, height_px, "yuv420p"
    return encoder


def _video(streams: tuple[VideoStream, ...], source: Path) -> VideoStream:
    if not streams:
        raise SourceError(f"{source}: holds no video; give a file that does")
    return streams[0]


def _rate(video: VideoStream) -> Fraction:
    return Fraction(video.average_rate) if video.average_rate else _RATE
