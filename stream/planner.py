"""Choose the fastest plan that fits a budget, or say what would fit."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from sfumato.models.spec import StyleSpec
from sfumato.stream.budget import Budget
from sfumato.stream.changes import Changes
from sfumato.stream.coding import encoder_cost
from sfumato.stream.errors import SettingsError
from sfumato.stream.memory import error_percent, predict_memory
from sfumato.stream.plan import MAX_TILE_PX, Plan, make_plan
from sfumato.stream.settings import PaintSettings
from sfumato.stream.speed import predict_speed
from sfumato.stream.work import Work

TILE_STEPS_PX = (MAX_TILE_PX, 600_000, 400_000, 260_000, 160_000, 90_000, 40_000, 1)
"""Largest tiles tried; 1 stands for the smallest there is."""

NEAR = 0.99
"""A plan must be faster than this share of another's speed to be worth more memory."""

LOOKAHEADS: dict[int | None, float] = {None: 1.0, 10: 0.98, 3: 0.96, 1: 0.94, 0: 0.92}
"""Frames of lookahead tried, and what a frame per second is worth with them: an encoder that sees
less ahead writes larger files (x264 superfast without any: 19 % larger at the same quality)."""

MANY_TILES = 2
"""Tiles per worker from which a frame has many."""

RESERVE = 0.6
"""Share of the largest error of a prediction by which plans stay below the limit: predictions tend
to be too high, and a job that grows beyond them is given smaller tiles on its way."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """A plan and what to expect of it."""

    plan: Plan
    fps: float
    memory_bytes: dict[str, int]
    """By part; the sum is the peak."""
    limit_bytes: int | None = None
    seconds: float | None = None
    """Time for the whole source; None where it does not say how long it is."""
    error_percent: float = 0.0
    """Largest difference to expect between this peak and a measured one."""

    @property
    def peak_rss_bytes(self) -> int:
        """Resident memory at the job's worst moment."""
        return sum(self.memory_bytes.values())

    @property
    def fits(self) -> bool:
        """The peak is below the limit by a margin for what the prediction is wrong by."""
        return self.limit_bytes is None or self.peak_rss_bytes <= self.full * self.limit_bytes

    @property
    def full(self) -> float:
        """Share of the limit that this plan may fill."""
        return 1 - RESERVE * self.error_percent / 100


def forecasts(
    work: Work, spec: StyleSpec, settings: PaintSettings, budget: Budget
) -> list[Forecast]:
    """Every plan worth a thought; the first is the one that is taken where memory is no matter."""
    plans = _plans(work, spec, settings, budget.cores)
    return [forecast(plan, work, budget) for plan in plans]


def forecast(plan: Plan, work: Work, budget: Budget, changes: Changes | None = None) -> Forecast:
    """What to expect of one plan; ``changes``: where it is known how much of the source changes.

    Plans are compared without: patches are cut to fit what changed whatever the tiles, so that the
    largest tile that fits wins with them too, and a job does not look before it begins.
    """
    fps = predict_speed(plan, work, budget.cores, changes).fps
    return Forecast(
        plan,
        fps,
        predict_memory(plan, work),
        budget.memory_bytes,
        None if work.frames is None else work.frames / fps,
        error_percent(plan, work),
    )


def choose(found: list[Forecast]) -> Forecast:
    """The first of those that fit and are about as good as any; the smallest where none fits."""
    fitting = [one for one in found if one.fits]
    if not fitting:
        return min(found, key=lambda one: one.peak_rss_bytes)
    best = max(map(worth, fitting))
    return next(one for one in fitting if worth(one) >= NEAR * best)


def worth(one: Forecast) -> float:
    """Frames per second, less what a thin encoder costs in size."""
    return one.fps * LOOKAHEADS.get(one.plan.lookahead_frames, 1.0)


def _plans(work: Work, spec: StyleSpec, settings: PaintSettings, cores: int) -> Iterator[Plan]:
    seen = set()
    for most_px in _tile_steps_px(spec, settings):
        for workers in _worker_counts(settings, cores):
            plan = make_plan(
                *work.paint_px,
                radius_px=spec.radius_px,
                multiple=spec.multiple,
                trim_px=spec.trim_px,
                cores=cores,
                tile_px=settings.tile_px,
                overlap_px=settings.overlap_px,
                workers=workers,
                most_px=most_px,
            )
            if spec.norm == "whole-frame" and len(plan.tiles) > 1:
                raise SettingsError(
                    f"--tile {plan.tile_px[0]}x{plan.tile_px[1]}: the network of {spec.name!r} takes "
                    "averages over the whole frame, which tiles would show as seams: leave it out"
                )
            if (shape := (plan.tile_px, workers)) not in seen:
                seen.add(shape)
                yield from _thinner(plan, work, cores)


def _tile_steps_px(spec: StyleSpec, settings: PaintSettings) -> tuple[int, ...]:
    if spec.norm == "whole-frame":
        return (sys.maxsize,)
    return TILE_STEPS_PX if settings.tile_px is None else (MAX_TILE_PX,)


def _worker_counts(settings: PaintSettings, cores: int) -> list[int]:
    if settings.workers is not None:
        return [settings.workers]
    return [count for count in range(cores, 0, -1) if cores % count == 0]


def _thinner(plan: Plan, work: Work, cores: int) -> Iterator[Plan]:
    """The plan, and the same with shorter queues and a thinner encoder.

    Frames of many tiles keep the workers busy while one thread encodes the last of them and the
    next is decoded: more of either would take memory for nothing.
    """
    many = len(plan.tiles) >= MANY_TILES * plan.workers
    threads = {1: None, cores: None} if many else {cores: None, 1: None}
    if not work.encoder:
        threads = {cores: None}
    queues = [(2, plan.frames_in_flight), (1, plan.frames_in_flight), (1, 1)][many:]
    for lookahead, count, (queue, flight) in product(_lookaheads(work), threads, queues):
        yield replace(
            plan,
            queue_frames=queue,
            frames_in_flight=flight,
            decoder_threads=work.decoder_threads,
            encoder_threads=count,
            lookahead_frames=lookahead,
        )


def _lookaheads(work: Work) -> list[int | None]:
    if work.encoder is None or not (by_preset := encoder_cost(work.encoder).lookahead):
        return [None]
    usual = by_preset.get(work.preset, by_preset.get("", 0))
    return [frames for frames in LOOKAHEADS if frames is None or frames < usual]
