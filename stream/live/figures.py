"""A run's figures in words, for the window and the terminal."""

from __future__ import annotations

from sfumato.stream.live.run import LiveRun


def figures(run: LiveRun) -> list[str]:
    """A few short lines, the most important first."""
    stats = run.painter.stats()
    ages = stats.age_ms
    stages = {**stats.stage_ms, "decode": run.reader.decode_ms}
    spent = "  ".join(f"{name} {ms:.1f}" for name, ms in stages.items() if ms >= 0.05)
    dropped = ", ".join(f"{count} {cause}" for cause, count in stats.dropped.items()) or "none"
    lines = [
        f"{stats.fps:.1f} fps   age {ages.p50:.0f} ms, 95 % under {ages.p95:.0f} ms",
        f"{stats.style}   strength {stats.strength:g}   scale {stats.scale:g}",
        f"reused: {100 * stats.reused:.0f} % of the picture",
        f"ms: {spent}",
        f"dropped: {dropped}",
    ]
    if run.reader.state != "playing":
        lines.insert(0, f"source: {run.reader.state}")
    return lines
