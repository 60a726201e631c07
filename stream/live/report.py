"""What a live run did; JSON."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from sfumato.stream.live.age import AgeMeter
from sfumato.stream.live.run import LiveRun
from sfumato.stream.report import Report, peak_rss_bytes


@dataclass(slots=True, kw_only=True)
class LiveReport(Report):
    """The report of a job, and how fresh its pictures were."""

    age_ms: dict[str, float] = field(default_factory=dict)
    """p50, p95 and max of the time from capture to the first sink's having shown the picture."""
    dropped: dict[str, int] = field(default_factory=dict)
    """Frames that were not shown, by cause."""
    governor: list[dict[str, Any]] = field(default_factory=list)
    """When and why quality was changed."""
    scale: float = 1.0
    """The size at which frames were painted last."""
    reconnects: int = 0

    def to_json(self) -> str:
        """The report as indented JSON, without what is known of jobs only: style, size and
        sinks may change on the way, and each change begins anew."""
        fields = asdict(self)
        del fields["predicted_peak_rss_bytes"], fields["cuts"]
        return json.dumps(fields, indent=2)


class Stopwatch:
    """Wall clock and processor time since it was made."""

    def __init__(self) -> None:
        self.started_unix_s = time.time()
        self.started_s = time.monotonic()
        self._cpu_s = time.process_time()

    def spent_s(self) -> tuple[float, float]:
        """(wall clock, processor) seconds."""
        return time.monotonic() - self.started_s, time.process_time() - self._cpu_s


def live_report(run: LiveRun, shown: AgeMeter, clock: Stopwatch) -> LiveReport:
    """The figures of a run so far; ``shown`` are the pictures that count."""
    stats = run.painter.stats()
    report = LiveReport(source="", sink="", started_unix_s=clock.started_unix_s)
    run.painter.describe(report)
    report.frames_in, report.frames_out = run.reader.frames, shown.shown
    report.frames_reused = stats.frames_reused
    report.tiles_run, report.tiles_reused = stats.tiles_run, stats.tiles_reused
    report.patches_run = stats.patches_run
    report.pixels_reused = round(stats.reused, 4)
    report.seconds, report.cpu_seconds = clock.spent_s()
    report.steady_fps, _ = shown.recent()
    if shown.first_s is not None:
        report.first_frame_s = shown.first_s - clock.started_s
        # What came before is making ready: it is no part of the rate.
        report.fps = (shown.shown - 1) / max(1e-3, report.seconds - report.first_frame_s)
    report.stage_ms = {**stats.stage_ms, "decode": round(run.reader.decode_ms, 3)}
    report.peak_rss_bytes = peak_rss_bytes()
    report.age_ms = report.latency_ms = shown.overall().to_dict()
    report.dropped = stats.dropped
    report.governor = [change.to_dict() for change in stats.changes]
    report.scale, report.reconnects = stats.scale, run.reader.reconnects
    report.warnings += run.reader.warnings()
    return report
