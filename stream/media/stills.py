"""Image sequences in, images and image sequences out."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any

import av
from av.error import FFmpegError
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame

from sfumato.kernels.formats import PixelFormat
from sfumato.stream.count import count
from sfumato.stream.errors import SinkError, SourceError
from sfumato.stream.frame import Frame, VideoInfo
from sfumato.stream.media.carried import Carried
from sfumato.stream.media.colour import refuse_colour
from sfumato.stream.media.encoders import crf_to_qscale
from sfumato.stream.media.errors import plain, reading, writing
from sfumato.stream.media.normal import Normalizer
from sfumato.stream.media.planes import Chroma, Converter, frame_of
from sfumato.stream.media.side_data import display_matrix
from sfumato.stream.media.sink import (
    PATTERN,
    Sink,
    check_frame,
    check_target,
    is_pattern,
    partial_name,
    put_in_place,
    remove_stale,
)
from sfumato.stream.media.source import Source, local, numbered_images
from sfumato.stream.media.turn import Turn

WEBP_BEST, WEBP_RANGE = 100, 80
JPEG_CRF = 14
"""Default quality of JPEG and WebP on x264's scale: above video's, since a still is looked at."""

RGB_FORMATS = {".png": ("png", "rgb24"), ".bmp": ("bmp", "bgr24"), ".tif": ("tiff", "rgb24")}
RGB_FORMATS[".tiff"] = RGB_FORMATS[".tif"]


class ImageSequence(Source):
    """Numbered or globbed pictures as a video; see :class:`~sfumato.stream.media.source.Source`.

    The first picture decides size and format; later ones of another size are scaled to it.
    """

    def __init__(
        self,
        name: str,
        paths: list[Path],
        first_number: int,
        *,
        rate: Fraction,
        start_s: float,
        duration_s: float | None,
        strict: bool,
    ) -> None:
        self.name = name
        self._skipped = 0
        self.warnings: list[str] = []
        self.trailing_packets: tuple[Any, ...] = ()
        self._strict = strict
        begin = round(start_s * rate)
        end = None if duration_s is None else begin + max(1, round(duration_s * rate))
        self._paths = paths[begin:end]
        self._pictures = self._decoded()
        first = next(self._pictures, None)
        if first is None:
            raise SourceError(f"{name} {self._why_empty()}")
        refuse_colour(name, first[1])
        self._pictures = chain([first], self._pictures)
        self._describe(first[1], rate, first_number + begin)

    def _why_empty(self) -> str:
        if self._paths:
            return f"holds no picture that can be read ({count(self._skipped, 'damaged picture')})"
        return "holds no picture in the wanted part; check --start and --duration"

    def _describe(self, picture: VideoFrame, rate: Fraction, number: int) -> None:
        """Take size and format from the first picture that can be read."""
        self._normal = Normalizer(picture)
        self.info = VideoInfo(
            width_px=picture.width,
            height_px=picture.height,
            pixels=self._normal.pixels,
            frame_rate=rate,
            time_base=1 / rate,
            frames_estimate=len(self._paths),
            guessed_colour=self._normal.guessed,
            notes=self._normal.notes,
        )
        self.carried = Carried(
            tags=self._normal.tags,
            rgb=self._normal.rgb,
            display_matrix=display_matrix(picture),
            first_number=number,
            pictures=tuple(self._paths),
        )

    @property
    def skipped(self) -> int:
        """See :class:`~sfumato.stream.media.source.Source`."""
        return self._skipped

    def frames(self) -> Iterator[Frame]:
        """See :class:`~sfumato.stream.media.source.Source`."""
        for index, picture in self._pictures:
            planes, owner = self._normal.planes(picture)
            yield Frame(
                planes=planes,
                pixels=self._normal.pixels,
                pts=index,
                time_base=self.info.time_base,
                duration=1,
                keep=owner,
            )
        if self._skipped:
            self.warnings.append(f"damaged pictures skipped: {self._skipped}")
        self.warnings += self._normal.warnings()

    def close(self) -> None:
        """See :class:`~sfumato.stream.media.source.Source`. Each file is closed once read."""

    def _decoded(self) -> Iterator[tuple[int, VideoFrame]]:
        """Each readable picture and its place in the sequence."""
        for index, path in enumerate(self._paths):
            try:
                yield index, _read_image(path)
            except SourceError as error:
                self._skipped += 1
                if self._strict:
                    hint = "leave out --strict to skip it"
                    raise SourceError(f"{error}; {hint}") from error


def _read_image(path: Path) -> VideoFrame:
    with reading(str(path)), av.open(local(path), "r") as container:
        if not container.streams.video:
            raise SourceError(f"{path} holds no picture")
        video = container.streams.video[0]
        video.codec_context.thread_count = 1
        picture = next(container.decode(video), None)
        if picture is None:
            raise SourceError(f"{path} holds no picture that can be decoded")
        return picture


class ImageSink(Sink):
    """One picture, or one for each frame; see :class:`~sfumato.stream.media.sink.Sink`.

    Files get their names at the end, all together; until then they lie in a hidden folder.
    """

    def __init__(
        self,
        path: Path,
        *,
        like: Source,
        crf: int | None,
        overwrite: bool,
        size_px: tuple[int, int],
    ) -> None:
        self.path = path
        self.size_px = size_px
        self.frames_written = 0
        self.warnings: list[str] = []
        self._numbered = is_pattern(path)
        self._first_number = like.carried.first_number
        self._overwrite = overwrite
        self._check(like, overwrite=overwrite)
        self._read = frozenset(path.resolve() for path in like.carried.pictures)
        info = like.info
        self.pixels = image_pixels(path.suffix.lower(), info.pixels, rgb=like.carried.rgb)
        if info.pixels.bits > self.pixels.bits:
            self.warnings.append(f"{info.pixels.bits} to {self.pixels.bits} bit for {path.suffix}")
        if like.carried.side_streams:
            self.warnings.append("pictures hold no sound or subtitles: no other stream is copied")
        matrix = like.carried.display_matrix
        self._turn = Turn(matrix) if matrix else None
        self._crf = JPEG_CRF if crf is None else crf
        self._convert = Converter()
        self._encoder: VideoCodecContext | None = None
        self._closed = False
        self._folder = partial_name(path)
        with writing(str(path)):
            remove_stale(path)
            self.abort()  # in a container, a killed job may have had this one's number
            self._folder.mkdir()

    def write(self, frame: Frame) -> None:
        """See :class:`~sfumato.stream.media.sink.Sink`."""
        check_frame(frame, self.pixels, self.size_px)
        if self.frames_written and not self._numbered:
            raise SinkError(
                f"{self.path} is one picture but the input has more; "
                f"use {self.path.stem}_%04d{self.path.suffix}"
            )
        final = self._name(self._first_number + self.frames_written)
        if self._read and final.resolve() in self._read:
            raise SinkError(f"{final} is one of the input's pictures; choose another name")
        with writing(str(final)):
            (self._folder / final.name).write_bytes(self._encode(frame))
        self.frames_written += 1

    def close(self) -> None:
        """See :class:`~sfumato.stream.media.sink.Sink`."""
        if self._closed:
            return
        try:
            if not self.frames_written:
                raise SinkError(f"{self.path} would be empty: no frame was written")
            numbers = range(self._first_number, self._first_number + self.frames_written)
            for number in (numbers[0], numbers[-1]):
                final = self._name(number)
                _check_image(self._folder / final.name, final)
            with writing(str(self.path)):
                for final in map(self._name, numbers):
                    put_in_place(self._folder / final.name, final, overwrite=self._overwrite)
        finally:
            self.abort()
        self._closed = True

    def abort(self) -> None:
        """See :class:`~sfumato.stream.media.sink.Sink`."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _check(self, like: Source, *, overwrite: bool) -> None:
        check_target(self.path, like.carried.path, overwrite=overwrite)
        if self._numbered and not overwrite and _exists(self.path):
            raise SinkError(f"pictures named {self.path} exist; use --overwrite to replace them")

    def _name(self, number: int) -> Path:
        """The first ``%04d`` stands for the number; other per cent signs mean themselves."""
        if not self._numbered:
            return self.path
        return self.path.with_name(
            PATTERN.sub(lambda found: f"{number:{found[1]}d}", self.path.name, count=1)
        )

    def _encode(self, frame: Frame) -> bytes:
        planes, pixels = frame.planes, self.pixels
        if self._turn is not None:
            planes, pixels = self._turn.planes(planes, pixels), self._turn.pixels(pixels)
        size_px = (planes[0].shape[1], planes[0].shape[0])
        picture = frame_of(planes, pixels, size_px)
        rgb = RGB_FORMATS.get(self.path.suffix.lower())
        if rgb is not None:
            picture = self._convert.to_rgb(picture, pixels, rgb[1])
        picture.pts = self.frames_written
        if self._encoder is None:
            self._encoder = _open_encoder(self.path.suffix.lower(), picture, self._crf)
        return b"".join(bytes(packet) for packet in self._encoder.encode(picture))


def _open_encoder(suffix: str, picture: VideoFrame, crf: int) -> VideoCodecContext:
    """An encoder whose every packet is a whole image file."""
    if suffix in RGB_FORMATS:
        codec = RGB_FORMATS[suffix][0]
    else:
        codec = "libwebp" if suffix == ".webp" else "mjpeg"
    encoder = av.CodecContext.create(codec, "w")
    if not isinstance(encoder, VideoCodecContext):
        raise SinkError(f"this FFmpeg build cannot write {suffix} pictures; use .png")
    encoder.width, encoder.height = picture.width, picture.height
    encoder.pix_fmt = picture.format.name
    encoder.time_base = Fraction(1, 25)
    encoder.thread_count = 1
    encoder.color_range = picture.color_range
    if codec == "mjpeg":
        encoder.qmin = encoder.qmax = crf_to_qscale(crf)
    elif codec == "libwebp":
        encoder.options = {"quality": str(round(WEBP_BEST - WEBP_RANGE * (crf / 51) ** 2))}
    return encoder


def image_pixels(suffix: str, source: PixelFormat, *, rgb: bool) -> PixelFormat:
    """RGB files take full 4:4:4; JPEG is full and WebP limited BT.601 by definition."""
    if suffix in RGB_FORMATS:
        return PixelFormat("444", 8, source.matrix, True)
    if suffix == ".webp":
        return PixelFormat("420", 8, "bt601", False)
    chroma: Chroma = "444" if rgb else "420" if source.chroma == "grey" else source.chroma
    return PixelFormat(chroma, 8, "bt601", True)


def _exists(pattern: Path) -> bool:
    try:
        return numbered_images(str(pattern)) is not None
    except FileNotFoundError:
        return False


def _check_image(partial: Path, final: Path) -> None:
    try:
        _read_image(partial)
    except (SourceError, FFmpegError, OSError) as error:
        raise SinkError(f"{final} was written but cannot be read back: {plain(error)}") from error
