"""Try whether a target can be written as asked for, without writing it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from sfumato.stream.errors import SinkError
from sfumato.stream.media.sink import check_target, open_sink
from sfumato.stream.media.source import Source


def try_sink(
    target: str,
    *,
    like: Source,
    codec: str | None,
    crf: int | None,
    preset: str | None,
) -> None:
    """Look at the target's place, open a sink of the same name somewhere else, encoder and header
    included, and throw it away.

    The name need not be free yet. Raises what :func:`~sfumato.stream.media.open_sink` raises.
    """
    if target in ("", "-", "null"):
        return
    check_target(Path(target), like.carried.path, overwrite=True)
    with TemporaryDirectory() as folder:
        trial = Path(folder, Path(target).name)
        try:
            sink = open_sink(
                trial, like=like, codec=codec, crf=crf, preset=preset, encoder_threads=1
            )
        except SinkError as exc:
            raise SinkError(str(exc).replace(str(trial), target)) from None
        sink.abort()
