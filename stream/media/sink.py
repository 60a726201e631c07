"""Where frames go to: the protocol, and the one function that opens any sink."""

from __future__ import annotations

import os
import re
import shutil
import sys
from contextlib import suppress
from dataclasses import replace
from glob import escape
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from sfumato.kernels.formats import PixelFormat
from sfumato.stream.errors import SinkError
from sfumato.stream.frame import Frame
from sfumato.stream.media.errors import writing
from sfumato.stream.media.source import Source

IMAGE_SUFFIXES = {".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff"}
"""Targets that are single pictures, or sequences where the name has a ``%04d``."""

PATTERN = re.compile(r"%(\d*)d")
"""Where the number of a picture goes in the name of a sequence."""

NAME_MAX = 255
"""Bytes of a file name that every common file system takes."""


class Sink(Protocol):
    """Takes frames in order of presentation."""

    pixels: PixelFormat
    """The format that frames must come in."""
    size_px: tuple[int, int]
    """The (width, height) that frames must have."""
    frames_written: int
    warnings: list[str]
    """What a user should know about this writing, one sentence each; complete after `close`."""

    def write(self, frame: Frame) -> None:
        """Encode a frame, and copy the packets that ride on it.

        Raises:
            SinkError: The frame cannot be written, for example since the disk is full.
            ValueError: The frame has another format or size than asked for.
        """
        ...

    def close(self) -> None:
        """Finish, verify, and only then put the file in its place.

        Raises:
            SinkError: The output could not be finished or is not what was written. Nothing is
                left behind and what was there before is untouched.
        """
        ...

    def abort(self) -> None:
        """Remove what was written so far. Does nothing after `close`."""
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        else:
            self.abort()


def open_sink(
    target: str | os.PathLike[str],
    *,
    like: Source,
    codec: str | None = None,
    crf: int | None = None,
    preset: str | None = None,
    overwrite: bool = False,
    encoder_threads: int | None = None,
    lookahead_frames: int | None = None,
    size_px: tuple[int, int] | None = None,
    recording: bool = False,
) -> Sink:
    """Open a video file, an image, an image sequence, a pipe, or nothing at all.

    Args:
        target: A file, whose ending says what kind; ``out_%04d.png`` for a sequence of images;
            ``-`` for y4m on standard output; ``null`` to count frames and drop them.
        like: The source that frames come from: its rate, colour, rotation, and the streams to copy.
        codec: FFmpeg's or a common name of the encoder; by default H.264, VP9 in WebM.
        crf: Constant quality, 0 best; the scale is the encoder's.
        preset: Speed of the encoder in x264's words.
        overwrite: Replace an existing file.
        encoder_threads: Threads of the encoder; None leaves that to the encoder.
        lookahead_frames: Frames that the encoder may hold back: fewer take less memory and make
            larger files, no worse ones. None leaves that to the preset.
        size_px: (width, height) where it differs from the source's.
        recording: Of what does not come again. Until it is whole, what is there can be played
            under :func:`recording_name`, and stays when an error or anything else ends the program.

    Raises:
        SinkError: The target exists, cannot be written to, is the input, or cannot hold this codec.
        SettingsError: `crf` or `preset` is none of the encoder's.
    """
    from sfumato.stream.media.pipe import NullSink, Y4mSink
    from sfumato.stream.media.stills import ImageSink
    from sfumato.stream.media.writer import VideoWriter

    name = os.fspath(target)
    if not name:
        raise SinkError("the output has no name; give a file, or '-' for standard output")
    size_px = size_px or (like.info.width_px, like.info.height_px)
    if name == "null":
        return NullSink(painted_pixels(like.info.pixels), size_px)
    if name == "-":
        if sys.stdout is not None and sys.stdout.isatty():
            raise SinkError(
                "standard output is a terminal; pipe '-' into a program, or name a file"
            )
        return Y4mSink(like, size_px)
    path = Path(name)
    if path.suffix.lower() in IMAGE_SUFFIXES:
        if codec is not None:
            raise SinkError(f"--codec {codec} does not go with {name}: its ending says how to code")
        return ImageSink(path, like=like, crf=crf, overwrite=overwrite, size_px=size_px)
    check_target(path, like.carried.path, overwrite=overwrite)
    return VideoWriter(
        path,
        like=like,
        codec=codec,
        crf=crf,
        preset=preset,
        overwrite=overwrite,
        encoder_threads=encoder_threads,
        lookahead_frames=lookahead_frames,
        size_px=size_px,
        recording=recording,
    )


def painted_pixels(source: PixelFormat) -> PixelFormat:
    """The format of paintings that need not be coded: the source's, with colours in any case."""
    return replace(source, chroma="420") if source.chroma == "grey" else source


def check_target(path: Path, source: Path | None, *, overwrite: bool) -> None:
    """Raise SinkError where writing `path` cannot or must not succeed."""
    with writing(str(path)):
        _check_target(path, source, overwrite=overwrite)


def _check_target(path: Path, source: Path | None, *, overwrite: bool) -> None:
    if source is not None and path.exists() and path.samefile(source):
        raise SinkError(f"{path} is the input itself; choose another name")
    if path.is_dir():
        raise SinkError(f"{path} is a folder; name a file in it")
    if path.exists() and not path.is_file():
        raise SinkError(f"{path} is a device or pipe, not a file; use '-' for standard output")
    if os.path.lexists(path) and not overwrite:
        raise SinkError(f"{path} exists; use --overwrite to replace it")
    if not path.parent.is_dir():
        raise SinkError(f"the folder {path.parent} does not exist; create it first")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise SinkError(f"cannot write into the folder {path.parent}; choose another one")


def partial_name(path: Path) -> Path:
    """The hidden name under which a file, or a folder of them, is written until it is whole."""
    ending = f".partial-{os.getpid()}{path.suffix}"
    return path.with_name(_short(f".{path.stem}", ending))


def recording_name(path: Path) -> Path:
    """The name of a recording until it is whole: to be seen, since it may be all that is left."""
    return path.with_name(_short(path.stem, f".recording-{os.getpid()}{path.suffix}"))


def _short(stem: str, ending: str) -> str:
    """Both, or another stem where that would be too long for a name."""
    if len(os.fsencode(stem + ending)) <= NAME_MAX:
        return stem + ending
    return f".{sha256(os.fsencode(stem)).hexdigest()}{ending}"


def remove_stale(path: Path) -> None:
    """Remove what killed jobs left behind of the same target."""
    for left in _orphans(path, f".{escape(path.stem)}.partial-"):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


def lost_recordings(path: Path) -> list[Path]:
    """Recordings of the same target that were not ended: their program was killed."""
    return sorted(_orphans(path, f"{escape(path.stem)}.recording-"))


def _orphans(path: Path, beginning: str) -> list[Path]:
    """Unfinished files whose program is gone."""
    import psutil

    def orphaned(left: Path) -> bool:
        owner = left.name.removesuffix(path.suffix).rpartition("-")[2]
        return owner.isdecimal() and not psutil.pid_exists(int(owner))

    return [
        left for left in path.parent.glob(f"{beginning}*{escape(path.suffix)}") if orphaned(left)
    ]


def put_in_place(partial: Path, final: Path, *, overwrite: bool) -> None:
    """Give a finished file its name. Raises SinkError where one appeared there meanwhile."""
    if not overwrite:
        with suppress(OSError):  # some file systems have no links: there, a moment is left open
            try:
                os.link(partial, final)
            except FileExistsError:
                raise SinkError(
                    f"{final} appeared meanwhile; use --overwrite to replace it"
                ) from None
            partial.unlink()
            return
    os.replace(partial, final)


def is_pattern(path: Path) -> bool:
    """Whether a target names a sequence of images."""
    return PATTERN.search(path.name) is not None


def check_frame(frame: Frame, pixels: PixelFormat, size_px: tuple[int, int]) -> None:
    """Raise ValueError unless a frame has the format and size that a sink asked for."""
    if frame.pixels != pixels:
        raise ValueError(f"{frame.pixels = } should be {pixels}")
    if (frame.width_px, frame.height_px) != size_px:
        raise ValueError(f"frame is {frame.width_px}x{frame.height_px}, should be {size_px}")
