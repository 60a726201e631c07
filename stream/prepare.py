"""Before the first frame: which style file, how precise, and by which plan."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.kernels.formats import PixelFormat
from sfumato.models.catalog import find_style
from sfumato.models.errors import ModelError
from sfumato.models.head import read_spec
from sfumato.models.precision import Choice, pick_precision
from sfumato.models.probe import network_cost
from sfumato.models.spec import StyleSpec
from sfumato.stream.advice import refusal
from sfumato.stream.budget import Budget, find_budget, private_bytes
from sfumato.stream.changes import Changes
from sfumato.stream.errors import BudgetError, StyleError
from sfumato.stream.frame import VideoInfo
from sfumato.stream.memory import COLD_BYTES
from sfumato.stream.planner import Forecast, choose, forecast, forecasts
from sfumato.stream.settings import FileSettings, PaintSettings
from sfumato.stream.tuner import Tunings, pays
from sfumato.stream.warm import Kernels
from sfumato.stream.work import Work

ROOMY_BYTES = 1 << 30
"""From this limit on a second picture is decoded at the same time."""


@contextmanager
def style_errors() -> Generator[None, None, None]:
    """The border to ``models``: its errors become ours."""
    try:
        yield
    except ModelError as exc:
        raise StyleError(str(exc)) from exc


@dataclass(frozen=True, slots=True)
class Output:
    """What the sink will do with painted frames, known before it is opened."""

    pixels: PixelFormat
    encoder: str | None = None
    """FFmpeg's name, or the ending of pictures; None where nothing is encoded."""
    preset: str = ""
    single: bool = False
    """One picture is all it takes."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """All that is decided about a job before its first frame."""

    spec: StyleSpec
    choice: Choice
    work: Work
    budget: Budget
    forecast: Forecast
    reason: str | None
    """Why it cannot run within its budget; None where it can."""
    found: tuple[Forecast, ...] = ()
    """All plans that were considered."""
    tunings: Tunings | None = None
    """Where to put the result of a search for a faster plan; None where none is worth it."""
    kernels: Kernels | None = None
    """Where to remember that they were compiled; None where nothing is painted."""
    changes: Changes | None = None
    """How much of the source changes from frame to frame; None where nobody looked."""

    @property
    def cold(self) -> bool:
        """Kernels have to be compiled first."""
        return self.kernels is not None and not self.kernels.ready

    def foreseeing(self, changes: Changes | None) -> Prepared:
        """The same with what was found of ``changes`` in what to expect of its plan."""
        expected = forecast(self.forecast.plan, self.work, self.budget, changes)
        return replace(self, changes=changes, forecast=expected)

    def to_dict(self) -> dict[str, Any]:
        """What ``plan --json`` prints."""
        one = self.forecast
        return {
            "fits": self.reason is None,
            "reason": self.reason,
            "plan": one.plan.to_dict(),
            "fps": round(one.fps, 2),
            "seconds": None if one.seconds is None else round(one.seconds, 1),
            "peak_rss_bytes": one.peak_rss_bytes,
            "memory_bytes": one.memory_bytes,
            "limit_bytes": one.limit_bytes,
            "error_percent": one.error_percent,
            "changes": None if self.changes is None else self.changes.to_dict(),
        }

    def checked(self) -> Prepared:
        """Itself. Raises :class:`BudgetError` where the plan does not fit."""
        if self.reason is not None:
            raise BudgetError(self.reason)
        return self


def prepare(info: VideoInfo, output: Output, settings: PaintSettings) -> Prepared:
    """Choose the style's file and the plan for one source.

    Raises :class:`StyleError` and :class:`SettingsError`; a budget too small is no error here.
    """
    with style_errors():
        files = find_style(settings.style)
        choice = pick_precision(files, settings.precision, provider=settings.provider)
        spec = read_spec(choice.path)
        cost = network_cost(choice.path, provider=settings.provider)
    strength = spec.smooth if settings.smooth is None else settings.smooth
    work = Work(
        source_px=(info.width_px, info.height_px),
        paint_px=paint_size(info, settings.scale),
        source=info.pixels,
        painted=output.pixels,
        network=cost,
        trim_px=spec.trim_px,
        held_bytes=private_bytes(),
        smoothed=strength > 0,
        mixed=settings.strength < 1,
        encoder=output.encoder,
        preset=output.preset,
        decoder_threads=info.decoder_threads,
        frames=1 if output.single else info.frames_estimate,
    )
    kernels = Kernels(work, spec, settings)
    if not kernels.ready:
        work = replace(work, cold_bytes=COLD_BYTES)
    budget = find_budget(settings.memory_limit_bytes)
    found = forecasts(work, spec, settings, budget)
    chosen = choose(found)
    if not chosen.fits:
        reason = refusal(chosen, work, spec, settings, budget)
        return Prepared(spec, choice, work, budget, chosen, reason)
    tunings = Tunings(choice.path, work, budget)
    if (known := tunings.get(found, chosen)) is not None:
        return Prepared(spec, choice, work, budget, known, None, tuple(found), None, kernels)
    search = tunings if pays(chosen, settings) else None
    return Prepared(spec, choice, work, budget, chosen, None, tuple(found), search, kernels)


def decoder_threads(settings: PaintSettings) -> int:
    """Threads for the source's decoder: two where there are cores and room for what they hold, since
    one that decodes alone holds up what little is left to do where frames repeat."""
    budget = find_budget(settings.memory_limit_bytes)
    roomy = budget.memory_bytes is None or budget.memory_bytes >= ROOMY_BYTES
    return min(2, budget.cores) if roomy else 1


def paint_size(info: VideoInfo, scale: float) -> tuple[int, int]:
    """Width and height at which frames are painted."""
    return max(1, round(info.width_px * scale)), max(1, round(info.height_px * scale))


def expect_output(sink: str, info: VideoInfo, files: FileSettings, *, rgb: bool = False) -> Output:
    """What :func:`~sfumato.stream.media.open_sink` will make of the same target; ``rgb``: of a
    source in RGB."""
    from sfumato.stream.media.encoders import DEFAULT_PRESET, choose_encoder, choose_pixels
    from sfumato.stream.media.sink import IMAGE_SUFFIXES, is_pattern, painted_pixels
    from sfumato.stream.media.stills import image_pixels

    path = Path(sink)
    suffix = path.suffix.lower()
    if sink in ("null", "-"):
        return Output(painted_pixels(info.pixels))
    if suffix in IMAGE_SUFFIXES:
        pixels = image_pixels(suffix, info.pixels, rgb=rgb)
        return Output(pixels, suffix, single=not is_pattern(path))
    choice = choose_encoder(path, files.codec, files.crf, files.preset)
    pixels, _, _ = choose_pixels(info.pixels, choice, rgb=rgb)
    return Output(pixels, choice.codec, files.preset or DEFAULT_PRESET)
