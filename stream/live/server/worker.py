"""Paints one uploaded file in a process of its own; says how far it is, in JSON lines on stdout.

A process, because a damaged file can crash a decoder and nobody else should notice. It takes
second place to what is live.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.stream.live.server.kept import FULL, is_full

if TYPE_CHECKING:
    from sfumato.stream.report import Progress

FORMATS = "mov,mp4,matroska,webm,avi,mpegts,mpeg,ogg,flv,gif,png_pipe,jpeg_pipe,webp_pipe"
"""Demuxers that read one file and nothing else: no playlist can make us open what it names."""

STILLS = ("png_pipe", "jpeg_pipe", "webp_pipe")
MOST_PIXELS = 4096 * 2304
EVERY_S = 0.2
"""How often progress is said."""

NICE = 10
MOST_OUTPUT_BYTES = 4_000_000_000


def main() -> None:
    """Read the wish from stdin and paint. Ends with a line ``done`` or ``failed``."""
    wish = json.load(sys.stdin)
    take_second_place()
    try:
        say(done=paint_file(wish))
    except Exception as exc:  # noqa: BLE001 - this process's only answer is this line
        say(failed=_reason(exc, wish))


def say(**what: Any) -> None:
    """One line for the server."""
    print(json.dumps(what), flush=True)


def take_second_place() -> None:
    """Let cameras go first, and write no more than a disk can take."""
    if hasattr(os, "nice"):
        os.nice(NICE)
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_OUTPUT_BYTES, MOST_OUTPUT_BYTES))


def paint_file(wish: Mapping[str, Any]) -> dict[str, Any]:
    """Paint ``wish["source"]`` and say where the result is and what to know about it."""
    still = check_file(wish["source"], wish["longest_s"])
    from sfumato.stream.api import stylize  # takes longer to import than to see that all is junk

    target = Path(wish["folder"]) / ("painted.png" if still else "painted.mp4")
    said_s = 0.0

    def on_progress(progress: Progress) -> None:
        nonlocal said_s
        if (now_s := time.monotonic()) - said_s >= EVERY_S:
            said_s = now_s
            say(frames=progress.frames, of=_total(progress), fps=round(progress.fps, 1))

    report = stylize(
        wish["source"],
        target,
        style=wish["style"],
        strength=wish["strength"],
        duration_s=None if still else wish["longest_s"],
        on_progress=on_progress,
    )
    return {
        "file": target.name,
        "frames": report.frames_out,
        "seconds": round(report.seconds, 1),
        "notes": report.warnings,
    }


def _total(progress: Progress) -> int | None:
    """Pictures in all; None where there are more already than the file lets one expect."""
    estimate = progress.frames_estimate
    return estimate if estimate is not None and progress.frames <= estimate else None


def check_file(source: str, longest_s: float) -> bool:
    """Whether it is a still. Raises :class:`SourceError` for what is not to be opened here.

    FFmpeg guesses the format from the same bytes each time: what passes here is opened as the
    same format again.
    """
    import av
    from av.error import FFmpegError

    from sfumato.stream.errors import SourceError
    from sfumato.stream.media.streams import choose_video

    options = {"format_whitelist": FORMATS, "protocol_whitelist": "file"}
    try:
        container = av.open(f"file:{source}", options=options)
    except (FFmpegError, ValueError, OSError) as exc:
        raise SourceError("this is no video or picture that can be read here") from exc
    with container:
        video, _ = choose_video("the file", container)
        if video.width * video.height > MOST_PIXELS:
            size = f"{video.width}x{video.height}"
            raise SourceError(f"{size} is too large; 4096x2304 at most")
        length_s = (container.duration or 0) / av.time_base
        if length_s > longest_s:
            raise SourceError(f"{length_s:.0f} s are too long; {longest_s:.0f} s at most")
        return container.format.name in STILLS


def _reason(exc: Exception, wish: Mapping[str, Any]) -> str:
    """One line that names no path of this machine."""
    if is_full(exc):
        return FULL
    text = " ".join((str(exc) or type(exc).__name__).split())
    return text.replace(wish["source"], "the file").replace(wish["folder"], "")


if __name__ == "__main__":
    main()
