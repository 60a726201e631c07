"""Where FFmpeg's errors become ours: one line that names the file and says what to do."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

import av.error
from av.error import FFmpegError

from sfumato.stream.errors import SfumatoError, SinkError, SourceError

OPEN_TIMEOUT_S = 15.0
READ_TIMEOUT_S = 20.0
"""How long a network source may stay silent before it counts as gone."""


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Raise what FFmpeg raises as :class:`SourceError`; a missing file stays FileNotFoundError."""
    try:
        yield
    except SfumatoError:
        raise
    except FileNotFoundError as error:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name) from error
    except (FFmpegError, OSError, ValueError) as error:
        raise SourceError(f"cannot read {name}: {reading_reason(error)}") from error


@contextmanager
def writing(name: str) -> Iterator[None]:
    """Raise what FFmpeg raises as :class:`SinkError`."""
    try:
        yield
    except SfumatoError:
        raise
    except (FFmpegError, OSError, ValueError) as error:
        raise SinkError(f"cannot write {name}: {writing_reason(error)}") from error


def reading_reason(error: Exception) -> str:
    """A clause a user can act on."""
    number = getattr(error, "errno", None)
    if isinstance(error, av.error.InvalidDataError) or number in (errno.EINVAL, errno.EBUSY):
        return "not a video or image that can be read, or damaged at its start"
    if isinstance(error, (av.error.ExitError, TimeoutError)):
        return f"no data within {READ_TIMEOUT_S:.0f} s; check the address and the network"
    if isinstance(error, av.error.DecoderNotFoundError):
        return "this FFmpeg build has no decoder for it"
    if isinstance(error, PermissionError):
        return "permission denied; check the file's access rights"
    if number == errno.ENAMETOOLONG:
        return "the name is too long"
    if isinstance(error, av.error.ProtocolNotFoundError):
        return "this kind of address is not supported"
    return plain(error)


def writing_reason(error: Exception) -> str:
    """A clause a user can act on."""
    number = getattr(error, "errno", None)
    if number == errno.ENOSPC:
        return "the disk is full; free some space or choose another folder"
    if number == errno.EFBIG:
        return "the file grew beyond what this system allows (see ulimit -f)"
    if number in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "permission denied; choose a folder that you can write to"
    if number == errno.ENAMETOOLONG:
        return "the name is too long; choose a shorter one"
    if number == errno.EPIPE:
        return "the program reading it has gone"
    if isinstance(error, av.error.PatchWelcomeError) or number == errno.EINVAL:
        return "this kind of file cannot hold such pictures or times; try .mkv or .png"
    return plain(error)


def plain(error: Exception) -> str:
    """The message of an error without FFmpeg's function names."""
    if isinstance(error, (FFmpegError, OSError)) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
