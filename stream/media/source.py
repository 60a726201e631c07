"""Where frames come from: the protocol, and the one function that opens any source."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from glob import glob, has_magic
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Any, Protocol, Self

from sfumato.stream.errors import SettingsError, SourceError
from sfumato.stream.frame import Frame, VideoInfo
from sfumato.stream.media.carried import Carried
from sfumato.stream.media.errors import reading


class Source(Protocol):
    """Frames in order of presentation."""

    info: VideoInfo
    carried: Carried
    warnings: list[str]
    """What a user should know about this reading, one sentence each; complete at the end."""
    trailing_packets: tuple[Any, ...]
    """Packets of copied streams that came after the last frame; set at the end."""

    @property
    def skipped(self) -> int:
        """Packets and pictures that were damaged and left out, so far."""
        ...

    def frames(self) -> Iterator[Frame]:
        """Every frame, once. Raises SourceError when reading fails for good."""
        ...

    def hand_packets_to(self, take: Callable[[list[Any]], None]) -> None:
        """Give packets of copied streams to ``take``, in order, where too many for a frame to carry
        come between two. It empties the list, and may be called by another thread. Without it,
        those are dropped."""
        return

    def close(self) -> None:
        """Let go of the file. May be called more than once."""
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def open_source(
    source: str | os.PathLike[str],
    *,
    start_s: float = 0,
    duration_s: float | None = None,
    strict: bool = False,
    decoder_threads: int = 1,
    image_rate: Fraction = Fraction(25),
    stop: Event | None = None,
) -> Source:
    """Open a video, an image, an image sequence, a pipe or an address.

    Args:
        source: A file; ``frames_%04d.png`` or a quoted ``*.jpg`` for a sequence of images; an
            address with ``://``; or ``-`` for standard input (y4m, or anything else that needs no
            seeking).
        start_s: Seconds after the first picture at which to start. Frames from there on are
            delivered, with times that start at 0.
        duration_s: Seconds after which to end; None for all.
        strict: Raise at the first damaged packet instead of skipping it.
        decoder_threads: Threads of the decoder.
        image_rate: Frames per second of an image sequence.
        stop: Once it is set, a wait for standard input ends with :class:`Stopped`.

    Raises:
        FileNotFoundError: There is no such file.
        SourceError: It is no video or image, is damaged at its start, or is HDR.
        SettingsError: `start_s` or `duration_s` is negative.
    """
    from sfumato.stream.media.reader import VideoReader
    from sfumato.stream.media.stills import ImageSequence

    if start_s < 0 or (duration_s is not None and duration_s <= 0):
        raise SettingsError(f"{start_s = } should be 0 or more and {duration_s = } more than 0")
    name = os.fspath(source)
    if (numbered := numbered_images(name)) is not None:
        paths, first = numbered
        return ImageSequence(
            name,
            paths,
            first,
            rate=image_rate,
            start_s=start_s,
            duration_s=duration_s,
            strict=strict,
        )
    return VideoReader(
        check_readable(name),
        start_s=start_s,
        duration_s=duration_s,
        strict=strict,
        decoder_threads=decoder_threads,
        stop=stop,
    )


def check_readable(name: str) -> str:
    """The name as FFmpeg wants it. Raises where nothing can be read, in a user's words."""
    if not name:
        raise SourceError("the input has no name; give a file, or '-' for standard input")
    if name == "-":
        if sys.stdin is not None and sys.stdin.isatty():
            raise SourceError("nothing is piped into standard input; give a file instead of '-'")
        return "pipe:0"
    if "://" in name:
        return name
    path = Path(name)
    with reading(name):
        if path.is_dir():
            hint = f"name a file, or its images as '{path / '*.png'}'"
            raise SourceError(f"{name} is a folder; {hint}")
        if not path.exists():
            raise FileNotFoundError(2, os.strerror(2), name)
        if path.is_file() and path.stat().st_size == 0:
            raise SourceError(f"{name} is empty")
    return name


def local(path: str | os.PathLike[str]) -> str:
    """A file's name as FFmpeg takes it: a colon in it would begin an address."""
    return f"file:{os.fspath(path)}"


def numbered_images(name: str) -> tuple[list[Path], int] | None:
    """The files of an image pattern and the number of the first, or None for any other name.

    Raises:
        FileNotFoundError: No file matches the pattern.
    """
    with reading(name):
        if not name or "://" in name or Path(name).exists():
            return None
    if re.search(r"%\d*d", Path(name).name):
        found = _printf_matches(Path(name))
        paths, first = [path for _, path in found], found[0][0] if found else 1
    elif has_magic(name):
        paths, first = sorted(map(Path, glob(name))), 1
    else:
        return None
    if not paths:
        raise FileNotFoundError(2, "no file matches the pattern", name)
    return paths, first


def _printf_matches(pattern: Path) -> list[tuple[int, Path]]:
    """Files that ``frames_%04d.png`` can mean, by number; gaps are allowed."""
    head, width, tail = re.split(r"%(\d*)d", pattern.name, maxsplit=1)
    digits = rf"\d{{{int(width)},}}" if width.strip("0") else r"\d+"
    shape = re.compile(re.escape(head) + f"({digits})" + re.escape(tail))
    folder = pattern.parent
    names = os.listdir(folder) if folder.is_dir() else []
    matches = [(shape.fullmatch(name), folder / name) for name in names]
    return sorted((int(match[1]), path) for match, path in matches if match)
