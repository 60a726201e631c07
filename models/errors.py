"""What goes wrong with styles and networks."""

from __future__ import annotations


class ModelError(Exception):
    """A style cannot be found, read or run here; the message is one line with the next step."""
