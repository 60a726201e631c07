"""Everything Sfumato raises on purpose.

SfumatoError
 ├─ SettingsError (also ValueError)   an option does not make sense
 ├─ SourceError                       cannot read the input
 ├─ SinkError                         cannot write the output
 ├─ StyleError                        cannot use the style
 ├─ BudgetError                       the memory limit is too small for the job
 └─ Stopped                           the caller asked to stop

Each message names the file or option, the value, and what to do next, on one line.
A missing file raises :class:`FileNotFoundError` as Python's own ``open`` would.
"""

from __future__ import annotations


class SfumatoError(Exception):
    """Base of all errors that a caller may want to catch."""


class SettingsError(SfumatoError, ValueError):
    """An option, or a combination of options, does not make sense."""


class SourceError(SfumatoError):
    """The input cannot be opened, read or understood."""


class SinkError(SfumatoError):
    """The output cannot be created, written or verified."""


class StyleError(SfumatoError):
    """The style cannot be found, loaded or run."""


class BudgetError(SfumatoError):
    """No plan for the job stays within the memory limit; the message says what would."""


class Stopped(SfumatoError):
    """The caller asked to stop, and the work was left; nothing half-written remains."""
