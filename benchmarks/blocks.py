"""Marked blocks of Markdown files that a command writes and nobody edits."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", ROOT / "docs" / "performance.md")
PART_NAMES = (
    "jobs", "network", "kernels", "stages", "scaling", "memory", "start", "reuse",
)  # fmt: skip
"""What is measured, in the order of the page; a part per block."""

END = "<!-- end of figures -->"


def begin(name: str) -> str:
    """The line above the block called ``name``: the command that writes it."""
    return f"<!-- figures: python -m benchmarks figures {name} -->"


def block_names(text: str) -> list[str]:
    """The blocks of a page, in order."""
    return re.findall(re.escape(begin("NAME")).replace("NAME", r"([\w-]+)"), text)


def filled(text: str, name: str, content: str) -> str:
    """The page with ``content`` in its block called ``name``; unchanged if it has none.

    Raises :class:`ValueError` for a block without an end.
    """
    before, mark, rest = text.partition(begin(name))
    if not mark:
        return text
    old, end, after = rest.partition(END)
    if not end or "<!-- figures:" in old:
        raise ValueError(f"the block {name!r} has no {END}")
    return f"{before}{mark}\n\n{content.strip()}\n\n{END}{after}"


def write_block(name: str, content: str) -> None:
    """Put ``content`` into the block called ``name`` of every page that has one."""
    for page in PAGES:
        text = page.read_text()
        changed = filled(text, name, content)
        if changed != text:
            page.write_text(changed)
