"""A stream to an address (RTMP, RTSP, MPEG-TS over UDP, TCP or SRT) or into an HLS folder."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import av
import av.error
from av.container import OutputContainer
from av.error import FFmpegError
from av.video.frame import PictureType, VideoFrame
from av.video.stream import VideoStream

from sfumato.stream.errors import SinkError
from sfumato.stream.live.fit import Fit, even_420
from sfumato.stream.live.like import TICKS, RealTimes
from sfumato.stream.live.outlet import LiveSink
from sfumato.stream.live.painter import Painted
from sfumato.stream.media.colour import FULL, LIMITED, tags_for
from sfumato.stream.media.errors import plain, writing, writing_reason
from sfumato.stream.media.planes import frame_of

FORMATS = {"rtmp": "flv", "rtmps": "flv", "rtsp": "rtsp", "udp": "mpegts", "srt": "mpegts"}
FORMATS |= {"tcp": "mpegts", "http": "mpegts", "rtp": "rtp_mpegts"}
"""Container by kind of address."""

X264 = {"preset": "superfast", "tune": "zerolatency", "bf": "0", "crf": "23"}
"""No picture waits for another (x264's zerolatency); quality by content."""

KEYFRAME_S = 2
"""A viewer who comes late waits that long at most."""

SEGMENTS = {
    "hls_time": "2",
    "hls_list_size": "6",
    "hls_flags": "delete_segments+independent_segments",
}
"""HLS: pieces of two seconds, of which the last six are kept."""

WRITE_TIMEOUT_S = 3.0
"""A viewer who takes nothing for so long is gone."""

FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 8.0


class Broadcast(LiveSink):
    """Encodes with little delay and sends; when the other side goes, tries again, waiting longer
    each time. The first connection has to succeed."""

    takes_held = True
    misses_sound = True
    leave_s: float | None = 5.0

    def __init__(
        self,
        address: str,
        *,
        fps: float,
        write_timeout_s: float = WRITE_TIMEOUT_S,
        source: Path | None = None,
        overwrite: bool = False,
    ) -> None:
        """Raises :class:`SinkError` for a kind of address that is not known, and for a playlist
        that exists unless ``overwrite``, or that is the ``source`` itself."""
        scheme, there, _ = address.partition("://")
        if there and scheme.lower() not in FORMATS:
            raise SinkError(f"--sink {address}: {scheme} is not known; use {', '.join(FORMATS)}")
        if not there:
            _check_playlist(playlist_in(address), source, overwrite)
        self.name = address
        self._fps, self._timeout_s = fps, write_timeout_s
        self._fit: Fit | None = None
        self._stream: _Stream | None = None
        self._wait_s, self._again_s = FIRST_WAIT_S, 0.0
        self._opened = self.lost = 0

    def show(self, picture: Painted) -> None:
        """See :class:`LiveSink`."""
        if self._stream is None and time.monotonic() < self._again_s:
            return
        try:
            if self._stream is None:
                self._stream = self._open(picture)
            assert self._fit is not None
            self._stream.send(self._fit(picture.frame), picture.captured_s, held=picture.held)
            self._wait_s = FIRST_WAIT_S
        except (FFmpegError, OSError) as exc:
            self._drop()
            if "://" not in self.name:
                raise SinkError(f"cannot write into {self.name}: {writing_reason(exc)}") from exc
            if self._opened == 0:
                raise SinkError(f"cannot send to {self.name}: {plain(exc)}") from exc
            self.lost += 1
            self._again_s = time.monotonic() + self._wait_s
            self._wait_s = min(2 * self._wait_s, LONGEST_WAIT_S)

    def finish(self) -> list[str]:
        """See :class:`LiveSink`."""
        lost = [f"the stream to {self.name} broke off {self.lost} times"] if self.lost else []
        if self._stream is not None:
            try:
                self._stream.close()
            except (FFmpegError, OSError) as exc:
                lost.append(f"{self.name} was not ended properly: {plain(exc)}")
        return lost

    def abort(self) -> None:
        """See :class:`LiveSink`."""
        self._drop()

    def _open(self, picture: Painted) -> _Stream:
        size_px, pixels = even_420(picture.frame)
        self._fit = Fit(size_px, pixels)
        blank = self._fit(picture.frame)
        stream = _Stream(self.name, blank.width_px, blank.height_px, self._fps, self._timeout_s)
        stream.tag(tags_for(pixels.matrix, size_px[1], full_range=pixels.full_range))
        stream.start()
        self._opened += 1
        return stream

    def _drop(self) -> None:
        """Leave a connection whose other side is gone: what cannot be sent does not matter."""
        if self._stream is not None:
            self._stream.abandon()
            self._stream = None


class _Stream:
    """One connection: container and encoder."""

    def __init__(
        self, address: str, width_px: int, height_px: int, fps: float, timeout_s: float
    ) -> None:
        self._times, self._pieces = RealTimes(), _Pieces()
        self._next_key = 0
        self._container = _open_container(address, timeout_s, self._pieces)
        rate = Fraction(fps).limit_denominator(1001)
        video = self._container.add_stream("libx264", rate=rate, options=dict(X264))
        assert isinstance(video, VideoStream)
        video.width, video.height, video.pix_fmt = width_px, height_px, "yuv420p"
        context = video.codec_context
        context.time_base = TICKS
        context.thread_count = 1
        self._video = video

    def tag(self, tags: Any) -> None:
        """Say what the colours mean."""
        context = self._video.codec_context
        context.colorspace, context.color_primaries = tags.matrix, tags.primaries
        context.color_trc = tags.transfer
        context.color_range = FULL if tags.full_range else LIMITED

    def start(self) -> None:
        """Write the header."""
        self._container.start_encoding()

    def send(self, frame: Any, captured_s: float, *, held: bool) -> None:
        """Encode and send one frame; a held one counts as taken now."""
        picture = frame_of(frame.planes, frame.pixels, (frame.width_px, frame.height_px))
        picture.pts = self._times(time.monotonic() if held else captured_s)
        picture.time_base = TICKS
        if picture.pts >= self._next_key:  # by the clock: pictures may be fewer than promised
            picture.pict_type = PictureType.I
            self._next_key = picture.pts + round(KEYFRAME_S / TICKS)
        self._mux(picture)

    def close(self) -> None:
        """Send what is left, and the end."""
        self._mux(None)
        self._container.close()
        self._pieces.check()

    def abandon(self) -> None:
        """Close what can still be closed."""
        with suppress(FFmpegError, OSError):
            self._container.close()

    def _mux(self, picture: VideoFrame | None) -> None:
        for packet in self._video.encode(picture):
            packet.duration = self._times.step  # FFmpeg adds them up for the last piece's length
            self._container.mux(packet)
        self._pieces.check()


def _open_container(address: str, timeout_s: float, pieces: _Pieces) -> OutputContainer:
    scheme, there, _ = address.partition("://")
    if not there:
        return _open_folder(playlist_in(address), pieces)
    if scheme.lower() == "tcp":  # the only one that FFmpeg gives a timeout for writing
        address += f"{'&' if '?' in address else '?'}timeout={int(timeout_s * 1e6)}"
    try:
        return av.open(address, "w", format=FORMATS[scheme.lower()])
    except av.error.ProtocolNotFoundError:
        raise SinkError(
            f"--sink {address}: this FFmpeg build knows no {scheme} addresses"
        ) from None


def is_stream(name: str) -> bool:
    """Whether a sink's name is an address, a folder or a playlist."""
    return "://" in name or name.endswith(("/", ".m3u8")) or Path(name).is_dir()


def playlist_in(name: str) -> Path:
    """The HLS playlist: ``live.m3u8`` in a folder, or under a name of its own."""
    folder = Path(name)
    return folder if folder.suffix == ".m3u8" else folder / "live.m3u8"


def _check_playlist(playlist: Path, source: Path | None, overwrite: bool) -> None:
    if source is not None and playlist.exists() and playlist.samefile(source):
        raise SinkError(f"{playlist} is the input itself; choose another name")
    if playlist.exists() and not overwrite:
        raise SinkError(f"{playlist} exists; use --overwrite to replace it")


def _open_folder(playlist: Path, pieces: _Pieces) -> OutputContainer:
    with writing(str(playlist)):
        playlist.parent.mkdir(parents=True, exist_ok=True)
        return av.open(
            f"file:{playlist}",
            "w",
            format="hls",
            container_options=dict(SEGMENTS),
            io_open=pieces.open,
        )


class _Pieces:
    """The playlists and segments of a folder, which remember what went wrong: FFmpeg's HLS muxer
    goes on without a word when the disk is full."""

    def __init__(self) -> None:
        self.error: OSError | None = None

    def open(self, address: str, _flags: int, _options: dict[str, str]) -> _Piece:
        """What FFmpeg writes to."""
        path = Path(address.removeprefix("file:"))
        try:
            return _Piece(path.open("wb"), self)
        except OSError as exc:  # PyAV would print it
            self.error = self.error or exc
            return _Piece(BytesIO(), self)

    def check(self) -> None:
        """Raise what went wrong."""
        if self.error is not None:
            raise self.error


class _Piece:
    """One file of :class:`_Pieces`. Raises nothing: PyAV would print what it cannot pass on."""

    def __init__(self, file: BinaryIO, pieces: _Pieces) -> None:
        self._file, self._pieces = file, pieces

    def write(self, data: bytes) -> int:
        """All of it, or none once something went wrong."""
        self._note(lambda: self._file.write(data))
        return len(data)

    def close(self) -> None:
        """No more comes."""
        self._note(self._file.close)

    def _note(self, act: Callable[[], object]) -> None:
        try:
            act()
        except OSError as exc:
            self._pieces.error = self._pieces.error or exc
