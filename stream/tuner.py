"""Try the planner's best few plans on the job's own first frames, and go on with the fastest."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sfumato.models.cache import Measurements, measurement_key
from sfumato.stream.budget import Budget
from sfumato.stream.plan import Plan
from sfumato.stream.planner import Forecast, worth
from sfumato.stream.settings import PaintSettings
from sfumato.stream.work import Work

BUDGET_S = 3.0
"""The search ends after this long, whatever it found."""

PAYS_S = 20.0
"""Jobs shorter than this are not tuned: what is tried beside the best plan costs about half a
second, and the best is rarely more than a few percent faster than the one predicted to be."""

WINDOW_S, WINDOW_FRAMES = 0.3, 4
"""How long each plan is timed in one go, and the fewest frames."""

ROUNDS = 2
"""Each plan is timed so often, in turns, so that a busy moment does not decide."""

MARGIN = 1.04
"""How much faster than the predicted best a plan must be, in every round, to be taken."""

MOST_PLANS = 4
PROMISING = 0.85
"""Plans predicted to reach less than this share of the best are not tried."""


def pays(chosen: Forecast, settings: PaintSettings) -> bool:
    """Whether a search is worth its while: something is left to choose, and the job is long."""
    free = settings.tile_px is None and settings.workers is None
    long = chosen.seconds is not None and chosen.seconds >= PAYS_S
    return free and long and chosen.plan.exact and settings.provider == "cpu"


def rivals(found: Sequence[Forecast], chosen: Forecast) -> list[Plan]:
    """The chosen plan, then the others worth trying: those of other tiles or workers that fit even
    while both are there, with the chosen one's queues and encoder."""
    plans, shapes = [chosen.plan], {_shape(chosen.plan)}
    for one in sorted(found, key=worth, reverse=True):
        alike = (_rest(one.plan), one.plan.exact) == (_rest(chosen.plan), True)
        if not alike or _shape(one.plan) in shapes or worth(one) < PROMISING * worth(chosen):
            continue
        both = one.peak_rss_bytes + chosen.memory_bytes["network"]
        if one.limit_bytes is None or both <= one.limit_bytes:
            plans.append(one.plan)
            shapes.add(_shape(one.plan))
    return plans[:MOST_PLANS]


def _shape(plan: Plan) -> tuple[object, ...]:
    return plan.tile_px, plan.workers, plan.intra_op


def _rest(plan: Plan) -> tuple[object, ...]:
    """What a switch between frames cannot change."""
    return plan.encoder_threads, plan.lookahead_frames, plan.queue_frames


class Tuner:
    """Asked after every frame, it says when to go on with another plan."""

    def __init__(
        self, plans: Sequence[Plan], clock: Callable[[], float] = time.perf_counter
    ) -> None:
        """``plans``: the one that runs now, then its rivals."""
        self._plans = plans
        self._clock = clock
        self._turns = [index for _ in range(ROUNDS) for index in range(len(plans))]
        self._fps: list[list[float]] = [[] for _ in plans]
        self._settling = self._frames = 0
        self._began_s = self._window_s = 0.0
        self.best: Plan | None = None
        """The result; None until there is one."""
        self._begin()

    def painted(self) -> Plan | None:
        """A frame is done. The plan to switch to, or None to go on."""
        if self.best is not None:
            return None
        now_s = self._clock()
        if self._settling:  # frames that the plan before began
            self._settling -= 1
            self._window_s = now_s
            self._began_s = self._began_s or now_s
            return None
        self._frames += 1
        if self._frames < WINDOW_FRAMES or now_s - self._window_s < WINDOW_S:
            return None
        index = self._turns.pop(0)
        self._fps[index].append(self._frames / (now_s - self._window_s))
        if not self._turns or now_s - self._began_s > BUDGET_S:
            return self._end(index)
        self._begin()
        return self._plans[self._turns[0]]

    def _begin(self) -> None:
        self._frames = 0
        self._settling = 1 + max(plan.frames_in_flight for plan in self._plans)

    def _end(self, index: int) -> Plan | None:
        best = self._fastest()
        self.best = self._plans[best]
        return None if best == index else self.best

    def _fastest(self) -> int:
        """The plan that beats the first in each round by the margin, and by most; else the first."""
        first = self._fps[0]
        gains = [0.0] * len(self._plans)
        for index, fps in enumerate(self._fps):
            if len(fps) == len(first) == ROUNDS:
                gains[index] = min(mine / its for mine, its in zip(fps, first, strict=True))
        best = max(range(len(gains)), key=gains.__getitem__)
        return best if gains[best] >= MARGIN else 0


class Tunings:
    """Results of earlier searches, by machine, style, size and budget."""

    def __init__(self, model: Path, work: Work, budget: Budget, cache: Path | None = None) -> None:
        self._memory = Measurements("plans.json", cache)
        self._key = measurement_key(
            [model],
            work.source_px,
            work.paint_px,
            work.source,
            work.painted,
            work.smoothed,
            (work.encoder, work.preset),
            budget,
        )

    def get(self, found: Sequence[Forecast], chosen: Forecast) -> Forecast | None:
        """The remembered best of the plans ``found``, if it fits; None: never searched."""
        values = self._memory.get(self._key)
        return next(
            (
                one
                for one in found
                if one.fits
                and _rest(one.plan) == _rest(chosen.plan)
                and values == self._values(one.plan)
            ),
            None,
        )

    def put(self, plan: Plan) -> None:
        """Remember the best."""
        self._memory.put(self._key, self._values(plan))

    def _values(self, plan: Plan) -> dict[str, Any]:
        return {"tile_px": [*plan.tile_px], "workers": plan.workers, "intra_op": plan.intra_op}
