"""Errors as people see them: one line on stderr that says what to do, and an exit code."""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence
from typing import NoReturn

import click


def refuse(error: click.ClickException, cli: click.Group) -> NoReturn:
    """Say what is wrong with the words of a command and where its options are explained; exit."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()  # no words at all: the help itself
    else:
        text = " ".join(error.format_message().split())
        if isinstance(error, click.UsageError):
            path = error.ctx.command_path if error.ctx else _command_path(cli, sys.argv[1:])
            text += f"{'' if text.endswith(('.', '?')) else '.'} See `{path} --help`."
        click.echo(f"Error: {text}", err=True)
    sys.exit(error.exit_code)


def fail(error: Exception) -> NoReturn:
    """Say why the work ended and exit; what is no expected error is raised."""
    from sfumato.stream.errors import SettingsError, SfumatoError

    if isinstance(error, SfumatoError | OSError | MemoryError):
        click.echo(f"Error: {' '.join(_reason(error).split())}", err=True)
        sys.exit(2 if isinstance(error, SettingsError) else 1)
    raise error


def _command_path(group: click.Command, words: Sequence[str]) -> str:
    """The command that the words name: some of click's errors do not know it."""
    path = "sfumato"
    for word in words:
        if not isinstance(group, click.Group) or word not in group.commands:
            break
        group, path = group.commands[word], f"{path} {word}"
    return path


def _reason(error: Exception) -> str:
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"{error.filename}: {error.strerror or 'no such file'}; check the name"
    if isinstance(error, PermissionError) and error.filename:
        return f"{error.filename}: permission denied; check its access rights and its folder's"
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        from sfumato.stream.media.errors import writing_reason

        return f"cannot write: {writing_reason(error)}"
    if isinstance(error, MemoryError):
        return "out of memory; use fewer --workers, a smaller --tile, or --scale"
    return str(error) or type(error).__name__
