"""Hold the picture still where only its noise changes, and say where it really changed.

Every frame is held against the picture shown last. A block of it moves when it differs by more than
two noisy pictures would: in energy, in its mean (light and shadow have little else) or in a single
sample. What moves is shown as it is, with the blocks around it, so that nothing is left behind; the
rest keeps its old samples to the bit. Where the source has no noise, that is exact change detection.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.hold import Blocks, blocks_shape, settle, survey
from sfumato.stream.buffers import Lease, PlanePool, release, share
from sfumato.stream.frame import Frame, Plane
from sfumato.stream.temporal.light import CHROMA_STEP, LUMA_STEP, Light
from sfumato.stream.temporal.noise import NoiseMeter
from sfumato.stream.temporal.shots import CutDetector

Mask = NDArray[np.bool_]

COHERENCE = 8.0
"""Weight of a block's squared mean change beside its mean squared change. Noise has a mean of almost
nothing over 64 samples; a light, a shadow or a flat thing that moves has little else."""

LEAST_VARIANCE = 0.5
"""Of chroma beside noisy luma, in squared codes of 8 bit: codecs round it in large steps."""

_PEAK = 6.5  # standard deviations of single samples: one false alarm in minutes of 720p
_ALONE, _ALONE_CHROMA = 1.25, 2.2
"""A block that differs by so many times what noise can make moves, whatever is around it. Codecs
leave the noise of chroma in few blocks."""

LEAST_CUT = 1 / 8
"""Where fewer of the blocks move, the frame begins no new shot."""

_CROWD = (
    3  # of a block and its neighbours: codecs throw single ones, an edge crosses at least three
)


@dataclass(frozen=True, slots=True)
class Seen:
    """A frame as it will be painted, and what is new in it."""

    frame: Frame
    changed: Mask
    """Blocks of 8 × 8 luma samples where ``frame`` may differ from the one before in any plane."""
    change: Blocks
    """By how much luma changed: mean square and coherence, in squared codes of 8 bit."""
    cut: bool = False
    """Begins a new shot."""
    first: bool = False
    """There is no frame before, or it had another size or format."""
    variance: float = 0.0
    """The source's noise, in squared codes of 8 bit."""


class Hold:
    """Frames in display order → what to paint."""

    def __init__(self, *, still: bool = True) -> None:
        """``still`` False only says what changed and leaves every frame as it is."""
        self.variance = 0.0
        """The noise found so far, in squared codes of 8 bit."""
        self._still = still
        self._cuts = CutDetector()
        self._unseen = False
        """The detector has not seen the last frame."""
        self._past: _Past | None = None

    def __call__(self, frame: Frame) -> Seen:
        """``frame`` with still parts held. Its planes are leased to the caller."""
        past = self._past
        if past is None or not past.fits(frame):
            self.close()
            past, self._unseen = _Past(frame), False
            self._past = past
            return Seen(frame, past.all, past.none_change, self._cuts(frame), first=True)
        if _same(past.shown, frame):
            self._unseen = True
            held = _again(past.shown, frame)
            return Seen(held, past.none, past.none_change, variance=self.variance)
        past.measure(frame)
        variances = past.meter(frame)
        self.variance = variances[0]
        if not self._still:
            variances = [0.0] * len(variances)
        moving = past.moving(variances)
        seen = past.settle(frame, moving, variances, self._cuts_to(frame, moving))
        return replace(seen, variance=self.variance)

    def _cuts_to(self, frame: Frame, moving: Mask) -> bool:
        """Whether ``frame`` begins a new shot; a look at it is spared where little moves."""
        if moving.mean() < LEAST_CUT:
            self._unseen = True
            return False
        if self._unseen and self._past is not None:
            self._cuts(self._past.shown)
            self._unseen = False
        return self._cuts(frame)

    def close(self) -> None:
        """Let go of the last frame."""
        if self._past is not None:
            release(self._past.shown)
            self._past.meter.close()
            self._past = None


def _same(shown: Frame, frame: Frame) -> bool:
    """Every sample is equal; most frames that are not show it in their first rows."""
    pairs = [(_words(a), _words(b)) for a, b in zip(shown.planes, frame.planes, strict=True)]
    return all(
        np.array_equal(a[top : top + 64], b[top : top + 64])
        for a, b in pairs
        for top in range(0, len(a), 64)
    )


def _words(plane: Plane) -> NDArray[Any]:
    """The samples, eight bytes in one where rows can be seen so."""
    dense = plane.strides[1] == plane.itemsize and plane.shape[1] * plane.itemsize % 8 == 0
    return plane.view(np.uint64) if dense else plane


def _again(shown: Frame, frame: Frame) -> Frame:
    """The planes of ``shown`` at the time of ``frame``, whose own planes are let go."""
    release(frame)
    share(shown)
    return replace(frame, planes=shown.planes, keep=shown.keep)


class _Past:
    """The frame shown last, and what was learnt about each block since the shot began."""

    def __init__(self, frame: Frame) -> None:
        self.shown = share(frame)
        shape = blocks_shape(frame.width_px, frame.height_px)
        self.all, self.none = np.ones(shape, np.bool_), np.zeros(shape, np.bool_)
        self.none_change = np.zeros(shape, np.float32)
        self._maps = [np.empty((3, *shape), np.float32) for _ in frame.planes]
        self.meter = NoiseMeter(len(frame.planes))
        self.meter(frame)
        self._light = [
            Light(plane.shape, shape, frame.pixels.bits, CHROMA_STEP if number else LUMA_STEP)
            for number, plane in enumerate(frame.planes)
        ]
        self._pool = PlanePool(frame.width_px, frame.height_px, frame.pixels)

    def fits(self, frame: Frame) -> bool:
        """False where size or format changed in mid-stream."""
        shapes = [plane.shape for plane in self.shown.planes]
        return self.shown.pixels == frame.pixels and shapes == [p.shape for p in frame.planes]

    def measure(self, frame: Frame) -> None:
        """Survey what separates ``frame`` from what is shown."""
        for now, shown, maps in zip(frame.planes, self.shown.planes, self._maps, strict=True):
            survey(now, shown, frame.pixels.bits, maps)

    def moving(self, variances: list[float]) -> Mask:
        """Blocks of the frame measured that are not to be held."""
        return self._moving(variances) if variances[0] > 0 else self._unequal()

    def settle(self, frame: Frame, moving: Mask, variances: list[float], cut: bool) -> Seen:
        """The frame to show, and the blocks that differ from the one before.

        Several frames are on their way at once, so that each has maps of its own.
        """
        noisy = variances[0] > 0
        changed = moving = self.all if cut and noisy else moving
        if noisy:
            followed = self._follow(moving, variances)
            changed = moving | spread(followed) if followed.any() else moving
        square, mean, _ = self._maps[0]
        change = np.multiply(square + COHERENCE * mean * mean, moving, dtype=np.float32)
        if noisy:
            change += self._light[0].change
        self._show(frame, moving, changed, noisy)
        return Seen(self.shown, changed, change, cut)

    def _follow(self, moving: Mask, variances: list[float]) -> Mask:
        """Blocks in which some plane follows slow light."""
        followed = self.none
        for light, maps, variance in zip(self._light, self._maps, variances, strict=True):
            light(maps[1], moving, max(variance, LEAST_VARIANCE))
            followed = followed | light.follows
        return followed

    def _unequal(self) -> Mask:
        for light in self._light:
            light.forget()
        unequal: Mask = np.max([maps[0] for maps in self._maps], axis=0) > 0
        return unequal

    def _moving(self, variances: list[float]) -> Mask:
        """Blocks that differ by far more than noise, or by more together with their neighbours."""
        over, alone = self.none, self.none
        for maps, light, variance in zip(self._maps, self._light, variances, strict=True):
            square, mean, peak = maps
            both = 2 * max(variance, LEAST_VARIANCE)  # what is shown is noisy too
            excess = square / (light.energy_tail * np.float32(both))
            np.maximum(excess, peak * np.float32(1 / (_PEAK * both**0.5)), out=excess)
            np.maximum(excess, light.steps(mean, both), out=excess)
            over = over | (excess > 1)
            alone = alone | (excess > (_ALONE if light is self._light[0] else _ALONE_CHROMA))
        crowd = around(over.astype(np.float32)) >= _CROWD
        return spread(alone | (over & crowd))

    def _show(self, frame: Frame, moving: Mask, changed: Mask, noisy: bool) -> None:
        """``shown`` becomes the picture to show, with a user more for the caller."""
        before = self.shown
        if not noisy or moving.all():
            self.shown = share(frame)
        elif not changed.any():
            self.shown = share(_again(before, frame))
        else:
            self.shown = share(self._settled(frame, moving))
            release(frame)
        release(before)

    def _settled(self, frame: Frame, moving: Mask) -> Frame:
        lease = Lease(self._pool)
        for light, now, shown, out in zip(
            self._light, frame.planes, self.shown.planes, lease.planes, strict=True
        ):
            settle(now, shown, moving.view(np.uint8), light.shift, light.phase, out)
            light.followed()
        return replace(frame, planes=lease.planes, keep=lease)


def around(values: Blocks) -> Blocks:
    """The sum of each block's value and its eight neighbours'."""
    tall = values.copy()
    tall[1:] += values[:-1]
    tall[:-1] += values[1:]
    wide = tall.copy()
    wide[:, 1:] += tall[:, :-1]
    wide[:, :-1] += tall[:, 1:]
    return wide


def spread(mask: Mask) -> Mask:
    """``mask`` and the eight neighbours of each block in it."""
    tall = mask.copy()
    tall[1:] |= mask[:-1]
    tall[:-1] |= mask[1:]
    wide = tall.copy()
    wide[:, 1:] |= tall[:, :-1]
    wide[:, :-1] |= tall[:, 1:]
    return wide
