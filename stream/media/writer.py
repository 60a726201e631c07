"""Video files: frames are encoded, the other streams copied, the whole verified and renamed."""

from __future__ import annotations

import errno
import math
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from threading import Lock
from typing import Any

import av
from av import Packet
from av.container import OutputContainer
from av.error import FFmpegError

from sfumato.stream.errors import SinkError
from sfumato.stream.frame import Frame
from sfumato.stream.media.coder import VideoCoder
from sfumato.stream.media.encoders import choose_encoder, choose_pixels, home_of
from sfumato.stream.media.errors import plain, writing
from sfumato.stream.media.sink import (
    Sink,
    check_frame,
    partial_name,
    put_in_place,
    recording_name,
    remove_stale,
)
from sfumato.stream.media.source import Source, local
from sfumato.stream.media.streams import StreamCopy, useful_metadata
from sfumato.stream.media.verify import Expected, verify

MOVIE_TICKS_MAX = 100_000_000
"""Ticks per second of an MP4's movie clock: beyond this its 32-bit fields fill up in a minute."""

ROUNDING_S = Fraction(1, 2000)
"""Half a millisecond: what Matroska's clock rounds times by, and nobody sees."""

PIECE_US = 1_000_000
"""Microseconds of a recording that are lost at most, beside what the encoder holds back, when the
program is killed."""

FFMPEG_ERRORS = 1 << 16
"""FFmpeg's own errors are numbered from four letters each; the system's stay far below."""


class VideoWriter(Sink):
    """One coded video stream and copies of others; see :class:`~sfumato.stream.media.sink.Sink`.

    A ``recording`` is of what does not come again: it is written so that what is there can be
    played whatever ends the program, under a name that can be seen, and is never removed.
    """

    def __init__(
        self,
        path: Path,
        *,
        like: Source,
        codec: str | None,
        crf: int | None,
        preset: str | None,
        overwrite: bool,
        encoder_threads: int | None,
        lookahead_frames: int | None,
        size_px: tuple[int, int],
        recording: bool = False,
    ) -> None:
        self.path = path
        self._recording = recording
        self.size_px = size_px
        self.frames_written = 0
        self._like = like
        self._choice = choose_encoder(path, codec, crf, preset, lookahead_frames)
        self.pixels, self._av_name, losses = choose_pixels(
            like.info.pixels, self._choice, rgb=like.carried.rgb
        )
        self.warnings = [*self._choice.warnings, *losses]
        self._partial = recording_name(path) if recording else partial_name(path)
        self._overwrite = overwrite
        self._container: OutputContainer | None = None
        self._ended = False
        self._muxing = Lock()
        try:
            with writing(str(path)):
                remove_stale(path)
                self._container = self._open()
                self._coder, self._copies = self._begin(self._container, encoder_threads)
            like.hand_packets_to(self._take)
        except BaseException:
            self.abort()
            raise

    def write(self, frame: Frame) -> None:
        """See :class:`~sfumato.stream.media.sink.Sink`."""
        check_frame(frame, self.pixels, self.size_px)
        if self._container is None:
            raise ValueError(f"{self.path} is closed")
        if frame.side_packets:
            self._take(frame.side_packets)
        with writing(str(self.path)):
            coded = self._coder.encode(frame)
            with self._muxing:
                self._container.mux(coded)
        self.frames_written += 1

    def close(self) -> None:
        """See :class:`~sfumato.stream.media.sink.Sink`."""
        if self._container is None:
            return
        try:
            with writing(str(self.path)):
                self._finish(self._container)
                expected = self._expected()
                del self._coder  # its frames: a decoder will need as many
                self._container = None
                self.warnings += verify(self._partial, str(self.path), expected)
                put_in_place(self._partial, self.path, overwrite=self._overwrite)
        except BaseException:
            self.abort()
            raise
        self._ended = True

    def abort(self) -> None:
        """See :class:`~sfumato.stream.media.sink.Sink`."""
        if self._ended:
            return
        self._ended = True
        kept = self._recording and self.frames_written > 0
        with self._muxing:
            if self._container is not None:
                with suppress(Exception):
                    if kept:
                        self._container.mux(self._coder.flush())
                # Without its end a recording can be played too, and the rest is thrown away.
                with suppress(Exception):
                    self._container.close()
                self._container = None
        if not kept:
            self._partial.unlink(missing_ok=True)

    def _take(self, packets: list[Packet[Any]]) -> None:
        """Copy packets off a frame; the thread that reads may do so before the frame is painted."""
        with writing(str(self.path)), self._muxing:
            if self._container is not None:
                self._copies.mux(packets)
            packets.clear()

    def _open(self) -> OutputContainer:
        try:
            container = av.open(local(self._partial), "w", container_options=self._options())
        except ValueError:
            raise SinkError(
                f"cannot write {self.path}: {self.path.suffix or 'a name without ending'} is no kind "
                "of video file that is known; use .mp4, .mkv, .mov, .webm, .gif, .png or .jpg"
            ) from None
        if container.format.no_file:  # playlists: many files, which no rename puts in place at once
            raise SinkError(
                f"cannot write {self.path}: a {self.path.suffix} output is many files; "
                "use .mp4 or .mkv and cut that into pieces"
            )
        return container

    def _begin(
        self, container: OutputContainer, threads: int | None
    ) -> tuple[VideoCoder, StreamCopy]:
        """Set everything up and write the header, so that what cannot work fails now."""
        carried = self._like.carried
        coder = VideoCoder(
            container,
            self.path.suffix,
            self._like,
            self._choice,
            self.pixels,
            self._av_name,
            self.size_px,
            threads,
        )
        copies = StreamCopy(container, carried)
        container.metadata.update(useful_metadata(carried.metadata))
        container.set_chapters(list(carried.chapters))
        self._start(container)
        copies.begin()
        return coder, copies

    def _start(self, container: OutputContainer) -> None:
        """Open the encoder and the file, and write the header: tell bad choices from bad disks."""
        try:
            container.start_encoding()
        except FFmpegError as error:
            codec, suffix = self._choice.codec, self.path.suffix
            if str(error.filename).startswith("avcodec_open"):
                other = "libx264" if codec == "ffv1" else "ffv1"
                raise SinkError(
                    f"{codec} does not take {self.size_px[0]}x{self.size_px[1]} pictures here "
                    f"({plain(error)}); try another --codec, such as {other}"
                ) from error
            number = error.errno or 0
            if number not in (errno.EINVAL, errno.EPERM) and number < FFMPEG_ERRORS:
                raise
            raise SinkError(
                f"{suffix} files cannot hold {codec} ({plain(error)}); {home_of(codec, suffix)}"
            ) from error

    def _options(self) -> dict[str, str]:
        """MP4 and MOV tell when a stream starts in ticks of the movie: make them fine enough. Their
        index goes to the front, so that a browser can play while it loads; a recording has one in
        each piece until it is whole."""
        flush = {"flush_packets": "1"} if self._recording else {}
        if self._recording and self.path.suffix.lower() in (".mkv", ".webm"):
            flush["cluster_time_limit"] = str(PIECE_US // 1000)
        if self.path.suffix.lower() == ".y4m":
            return {"strict": "unofficial", **flush}  # which 10 bit is, in FFmpeg's view
        if self.path.suffix.lower() not in (".mp4", ".mov", ".m4v"):
            return flush
        video = Fraction(self._like.info.time_base)
        side = [Fraction(stream.time_base or 1) for stream in self._like.carried.side_streams]
        ticks = math.lcm(*(base.denominator for base in (video, *side)))
        fine = ticks if ticks <= MOVIE_TICKS_MAX else video.denominator
        index = {"movflags": "+faststart"}
        if self._recording:
            # Without delay_moov FFmpeg 8.1 crashes where a file ends before its first piece.
            flags = "+hybrid_fragmented+delay_moov"
            index = {"movflags": flags, "frag_duration": str(PIECE_US)}
        return {"movie_timescale": str(max(fine, 1000)), **index, **flush}

    def _finish(self, container: OutputContainer) -> None:
        """Write what is left, and gather what should be said."""
        if self.frames_written == 0:
            raise SinkError(f"{self.path} would be empty: no frame was written")
        self._copies.mux(self._like.trailing_packets)
        container.mux(self._coder.flush())
        container.close()
        self.warnings += self._copies.warnings()
        coded = self._coder.coded_size_px
        if coded not in (self.size_px, self.size_px[::-1]):
            self.warnings.append(
                f"{self._choice.codec} needs even sizes: the last row or column is doubled "
                f"to {coded[0]}x{coded[1]}"
            )
        if self._coder.worst_s > ROUNDING_S:
            self.warnings.append(
                f"frame times moved by up to {float(self._coder.worst_s) * 1000:.0f} ms, as "
                f"{self.path.suffix} files keep a coarser clock"
            )

    def _expected(self) -> Expected:
        carried = self._like.carried
        return Expected(
            frames=self.frames_written,
            first_s=self._coder.first_s,
            last_s=self._coder.last_s,
            sample_aspect=self._coder.sample_aspect,
            side_streams=self._copies.copied,
            chapters=len(carried.chapters),
            metadata=frozenset(useful_metadata(carried.metadata)),
        )
