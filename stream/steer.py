"""Between two frames: go on by the same plan, a smaller or a faster one?"""

from __future__ import annotations

from sfumato.stream.advice import mebibytes
from sfumato.stream.plan import Plan
from sfumato.stream.planner import worth
from sfumato.stream.prepare import Prepared
from sfumato.stream.report import Report
from sfumato.stream.shrink import smaller
from sfumato.stream.tuner import Tuner, rivals
from sfumato.stream.watch import Watch


class Steering:
    """Asked after every frame. Memory comes first: once it ran short, nothing is tried any more."""

    def __init__(self, prepared: Prepared, plan: Plan, report: Report, watch: Watch) -> None:
        """``plan`` is what the job begins with; changes are written into ``report``."""
        self._plan, self._report, self._watch = plan, report, watch
        self._limit_bytes = prepared.forecast.limit_bytes or 0
        self._others = [one.plan for one in sorted(prepared.found, key=worth, reverse=True)]
        self._tunings = prepared.tunings
        self._tuner: Tuner | None = None
        if self._tunings is not None and plan == prepared.forecast.plan:
            plans = rivals(prepared.found, prepared.forecast)
            self._tuner = Tuner(plans) if len(plans) > 1 else None

    def next_plan(self) -> Plan | None:
        """The plan to change to; None to go on."""
        plan = self._shrunk() if self._watch.near() else self._tuned()
        if plan is not None:
            self._plan = plan
            self._report.plan = plan.to_dict()
        return plan

    def _shrunk(self) -> Plan | None:
        self._tuner = None
        plan = smaller(self._plan, self._others)
        what = "nothing is left to give" if plan is None else _difference(self._plan, plan)
        if plan is None:
            self._watch.stop()
        self._report.warnings.append(
            f"memory came near the limit of {mebibytes(self._limit_bytes)} "
            f"at frame {self._report.frames_out + 1}: {what}"
        )
        return plan

    def _tuned(self) -> Plan | None:
        if self._tuner is None:
            return None
        plan = self._tuner.painted()
        if self._tuner.best is not None:
            if self._tunings is not None:
                self._tunings.put(self._tuner.best)
            self._tuner = None
        return plan


def _difference(old: Plan, new: Plan) -> str:
    if old.tile_px == new.tile_px and old.workers == new.workers:
        return "queues shortened"
    width, height = new.tile_px
    return f"tiles cut to {width}x{height}, {new.workers} worker{'s' * (new.workers > 1)}"
