"""A live run with everything around it: sinks, window, keys, recording, messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic

from sfumato.stream.errors import SfumatoError
from sfumato.stream.live.controls import Controls, stamp
from sfumato.stream.live.figures import figures
from sfumato.stream.live.outlet import LiveSink, Outlet
from sfumato.stream.live.painter import Painted
from sfumato.stream.live.report import LiveReport, Stopwatch, live_report
from sfumato.stream.live.run import LiveRun
from sfumato.stream.live.sinks import FileLive
from sfumato.stream.live.window import Window

FIGURES_S = 0.25
"""How often figures are renewed."""

TICK_S = 0.02
"""How often keys are looked at while no picture comes."""

MESSAGE_S = 2.0
"""How long the answer to a key stays on screen."""

NO_SOUND = "the source's sound is left out: live runs carry pictures only; `sfumato run` keeps it"


class Session:
    """Plays a run to its end. Sinks and window are its own: it closes them."""

    def __init__(
        self,
        run: LiveRun,
        sinks: Sequence[LiveSink],
        window: Window | None = None,
        *,
        show: Callable[[list[str]], None] = lambda _: None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """``show`` gets the figures a few times a second, ``say`` each thing that happens."""
        self._run, self._window = run, window
        self._show, self._say = show, say
        self._clock = Stopwatch()
        self._outlets = [Outlet(sink) for sink in sinks]
        self._recording: Outlet | None = None
        self._finishing: list[Outlet] = []
        self._controls = Controls(run.painter, record=self._record, leave=run.stop.set)
        self._last: Painted | None = None
        self._lines: list[str] = []
        self._lines_s = self._message_s = 0.0
        self._message = ""
        self._said_s = 0.0

    def play(self, source: str) -> LiveReport:
        """Show every picture until the run ends; the report. Raises what ended it."""
        try:
            for picture in self._run.pictures(TICK_S):
                self._step(picture)
            report = self._report(source)
        except BaseException:
            self._save()
            raise
        finally:
            if self._window is not None:
                self._window.close()
        return report

    def _step(self, picture: Painted | None) -> None:
        if picture is not None:
            self._last = picture
            for outlet in self._outlets:
                outlet.show(picture)
            self._record_on(picture)
        self._renew_figures()
        if self._window is not None:
            for key in self._window.pressed():
                self._answer(self._controls.press(key, self._last))
            if picture is not None:
                self._window.show(picture, [*self._lines, *self._current_message()])

    def _renew_figures(self) -> None:
        now_s = monotonic()
        if now_s - self._lines_s < FIGURES_S:
            return
        self._lines_s = now_s
        self._lines = figures(self._run)
        self._show(self._lines)
        for change in self._run.painter.stats().changes:
            if change.at_s > self._said_s:
                self._said_s = change.at_s
                self._answer(change.text)
        for done in [outlet for outlet in self._finishing if outlet.ended]:
            self._finishing.remove(done)
            self._answer(_outcome(done))

    def _answer(self, message: str | None) -> None:
        if message:
            self._message, self._message_s = message, monotonic()
            self._say(message)

    def _current_message(self) -> list[str]:
        return [self._message] if monotonic() - self._message_s < MESSAGE_S else []

    def _record(self) -> str:
        """Begin to record, or end it: the file is then whole."""
        if self._recording is None:
            name = f"{stamp()}.mp4"
            self._recording = Outlet(
                FileLive(name, lambda: self._run.reader.tags, fps=lambda: self._run.reader.fps)
            )
            return f"recording {name}"
        done, self._recording = self._recording, None
        self._finishing.append(done)
        done.end()
        return f"finishing {done.sink.name}"

    def _record_on(self, picture: Painted) -> None:
        if self._recording is not None:
            try:
                self._recording.show(picture)
            except (SfumatoError, OSError):
                self._record()  # why is said once it has ended

    def _report(self, source: str) -> LiveReport:
        """Sum up, and end the sinks properly."""
        names = [outlet.sink.name for outlet in self._outlets]
        meters = [outlet.ages for outlet in self._outlets]
        if self._window is not None:
            names, meters = ["window", *names], [self._window.ages, *meters]
        shown = meters[0] if meters else self._run.painter.ages
        report = live_report(self._run, shown, self._clock)
        report.source, report.sink = source, " ".join(names)
        outlets = self._ending()
        for outlet in outlets:
            if outlet.dropped:
                report.dropped[f"{outlet.sink.name} busy"] = outlet.dropped
            if outlet in self._finishing:
                self._answer(_outcome(outlet))
            else:
                outlet.close()
            report.warnings += outlet.warnings
        if self._run.reader.has_sound and any(outlet.sink.misses_sound for outlet in outlets):
            report.warnings.append(NO_SOUND)
        report.frames_out = shown.shown  # the last ones were still on their way
        return report

    def _ending(self) -> list[Outlet]:
        """All outlets, told to finish; recordings first: what they hold must not wait for a viewer
        who takes nothing."""
        if self._recording is not None:
            self._record()
        outlets = [*self._outlets, *self._finishing]
        for outlet in outlets:
            outlet.end()
        return sorted(outlets, key=lambda outlet: outlet.sink.leave_s is not None)

    def _save(self) -> None:
        """After a fault or a second signal: what was recorded is finished, not thrown away."""
        for outlet in self._ending():
            with suppress(SfumatoError, OSError):
                outlet.close()


def _outcome(recording: Outlet) -> str:
    """Wait for a recording that a key began, and say what became of it: its failure ends no show."""
    try:
        recording.close()
    except (SfumatoError, OSError) as exc:
        return str(exc)
    return f"recorded {recording.sink.name}"
