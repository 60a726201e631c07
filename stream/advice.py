"""What to say where no plan fits: how much is needed, and what would fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil

from sfumato.models.spec import StyleSpec
from sfumato.stream.budget import MARGIN, Budget
from sfumato.stream.coding import encoder_cost
from sfumato.stream.planner import Forecast, choose, forecasts
from sfumato.stream.settings import PaintSettings
from sfumato.stream.work import Work

SCALES = (0.9, 0.75, 0.6, 0.5, 0.4, 0.3, 0.25)
"""Tried from the largest."""

SPARE_MIB = 2
"""What this process holds before a job differs by so much from run to run."""


def refusal(
    smallest: Forecast, work: Work, spec: StyleSpec, settings: PaintSettings, budget: Budget
) -> str:
    """One line: what the smallest plan needs, and the mildest change that would fit."""
    plan = smallest.plan
    limit_bytes = smallest.limit_bytes or 0
    width, height = work.source_px
    limit = f"--memory-limit {mebibytes(limit_bytes)}"
    if budget.by_system:
        limit = f"the {mebibytes(limit_bytes)} that this system lets us use"
    return (
        f"{limit} {'are' if budget.by_system else 'is'} too little for {width}x{height}: it needs "
        f"{mebibytes(smallest.peak_rss_bytes)}, with a tile of {plan.tile_px[0]}x{plan.tile_px[1]} "
        f"and {plan.workers} worker{'s' * (plan.workers > 1)}; "
        f"{_way_out(smallest, work, spec, settings, budget)}"
    )


def mebibytes(size_bytes: float) -> str:
    """``212 MiB``."""
    return f"{size_bytes / 2**20:.0f} MiB"


def _way_out(
    smallest: Forecast, work: Work, spec: StyleSpec, settings: PaintSettings, budget: Budget
) -> str:
    for words, other_work, other_settings in _milder(work, settings):
        if choose(forecasts(other_work, spec, other_settings, budget)).fits:
            return f"try {words}"
    least_mib = ceil(smallest.peak_rss_bytes / smallest.full / 2**20) + SPARE_MIB
    if budget.by_system:
        return f"give the container or group at least {ceil(least_mib / (1 - MARGIN))} MiB"
    return f"give it at least --memory-limit {least_mib}M"


def _milder(work: Work, settings: PaintSettings) -> Iterator[tuple[str, Work, PaintSettings]]:
    """Changes of options in the order of what they take from the picture."""
    if work.cold_bytes:
        taken = mebibytes(work.cold_bytes)
        once = f"one run without it first: that compiles the kernels, which takes {taken} once"
        yield once, replace(work, cold_bytes=0), settings
    if settings.tile_px or settings.workers:
        free = replace(settings, tile_px=None, workers=None)
        yield "without --tile and --workers", work, free
    quick = _quickest_preset(work)
    if quick is not None:
        yield f"--preset {quick}", replace(work, preset=quick), settings
    for scale in SCALES:
        if scale < settings.scale:
            yield f"--scale {scale}", _at_scale(work, scale), settings
    if quick is not None:
        for scale in SCALES:
            if scale < settings.scale:
                smaller = replace(_at_scale(work, scale), preset=quick)
                yield f"--preset {quick} --scale {scale}", smaller, settings


def _quickest_preset(work: Work) -> str | None:
    """The encoder's preset that takes least memory, unless that is in use."""
    if work.encoder is None or "ultrafast" not in encoder_cost(work.encoder).ns_per_px:
        return None
    return None if work.preset == "ultrafast" else "ultrafast"


def _at_scale(work: Work, scale: float) -> Work:
    width, height = work.source_px
    return replace(work, paint_px=(max(1, round(width * scale)), max(1, round(height * scale))))
