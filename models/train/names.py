"""The names of the recipes, for whoever asks before PyTorch is installed."""

from __future__ import annotations

from sfumato.models.errors import ModelError

NAMES = ("toon", "toon-fast", "oil", "ukiyoe")
"""Of :data:`sfumato.models.train.recipes.RECIPES`, in its order."""


def check_name(name: str) -> None:
    """Raise :class:`ModelError` with the names there are where no recipe is called so."""
    if name not in NAMES:
        raise ModelError(
            f"no recipe is called {name!r}; there are {', '.join(NAMES)}, "
            "or give --painting FILE for a style of your own"
        )
