"""Which styles there are, and which files belong to one."""

from __future__ import annotations

import difflib
import errno
import os
from dataclasses import dataclass
from pathlib import Path

from sfumato.models.errors import ModelError
from sfumato.models.spec import Precision

GALLERY = Path(__file__).parent / "gallery"
"""The styles that come with the package: ``NAME.int8.onnx`` and ``NAME.fp32.onnx``."""

PRECISIONS: tuple[Precision, Precision] = ("int8", "fp32")


@dataclass(frozen=True, slots=True)
class StyleFiles:
    """The one or two files of one style."""

    name: str
    int8: Path | None = None
    fp32: Path | None = None

    @property
    def paths(self) -> list[Path]:
        """The files there are, INT8 first; at least one."""
        return [path for path in (self.int8, self.fp32) if path is not None]


def list_styles(gallery: Path = GALLERY) -> list[StyleFiles]:
    """All styles of the gallery by name; reads the folder, not the files."""
    names = {name for path in gallery.glob("*.onnx") if (name := _split(path)[0])}
    return [_beside(gallery, name) for name in sorted(names)]


def find_style(name_or_path: str | os.PathLike[str], gallery: Path = GALLERY) -> StyleFiles:
    """A style by its gallery name, or by the path of an ``.onnx`` file.

    The twin of ``NAME.int8.onnx`` or ``NAME.fp32.onnx`` is found beside it; any other file stands
    alone, at the precision its spec names. Raises :class:`FileNotFoundError` for a missing file and
    :class:`ModelError` for an unknown name (with the near ones and all there are).
    """
    text = os.fspath(name_or_path)
    if _looks_like_path(text):
        return _from_file(Path(text))
    styles = {style.name: style for style in list_styles(gallery)}
    if text in styles:
        return styles[text]
    raise ModelError(_unknown(text, list(styles)))


def _looks_like_path(text: str) -> bool:
    return text.lower().endswith(".onnx") or Path(text).name != text


def _from_file(path: Path) -> StyleFiles:
    if not path.is_file():
        raise FileNotFoundError(errno.ENOENT, "No such style file", str(path))
    name, precision = _split(path)
    if name and precision:
        return _beside(path.parent, name)
    from sfumato.models.head import read_spec  # ONNX Runtime takes 0.1 s to import

    spec = read_spec(path)
    name = spec.name or path.stem
    return StyleFiles(name, **{spec.precision: path})


def _split(path: Path) -> tuple[str, Precision | None]:
    """("toon", "int8") of ``toon.int8.onnx``; ("", None) of any other name."""
    for precision in PRECISIONS:
        ending = f".{precision}.onnx"
        if path.name.endswith(ending):
            return path.name.removesuffix(ending), precision
    return "", None


def _beside(folder: Path, name: str) -> StyleFiles:
    found = {precision: folder / f"{name}.{precision}.onnx" for precision in PRECISIONS}
    return StyleFiles(name, **{key: path for key, path in found.items() if path.is_file()})


def _unknown(name: str, names: list[str]) -> str:
    near = difflib.get_close_matches(name.lower(), names)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    return f"there is no style {name!r}: {hint}styles are {', '.join(names)}, or the path of an .onnx file"
