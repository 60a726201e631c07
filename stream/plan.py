"""Choose tile shape, workers and queue depths for a frame size on this machine."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.stream.errors import SettingsError
from sfumato.stream.tiles import (
    TILE_PX,
    Tile,
    align_up,
    even_multiple,
    plan_tiles,
    whole_axis,
)

MAX_TILE_PX = 1_200_000
"""Pixels of the largest tile chosen unasked: bounds what one worker's activations take."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How the frames of one job are cut up and worked on."""

    tile_px: tuple[int, int]
    overlap_px: int
    """Pixels that neighbouring tiles share."""
    workers: int
    intra_op: int
    """Threads inside one inference; workers times this is the number of cores used."""
    queue_frames: int
    """Frames decoded ahead."""
    frames_in_flight: int
    """Frames whose tiles the pool holds."""
    tiles: tuple[Tile, ...]
    exact: bool
    """The overlap is the receptive field: the picture does not depend on this plan."""
    decoder_threads: int = 1
    encoder_threads: int = 1
    lookahead_frames: int | None = None
    """Frames that the encoder collects before it decides; None: as many as its preset says."""

    def runs_like(self, other: Plan) -> bool:
        """One network with its threads serves both."""
        mine = (self.tile_px, self.workers, self.intra_op)
        return mine == (other.tile_px, other.workers, other.intra_op)

    def to_dict(self) -> dict[str, object]:
        """The figures for a report."""
        return {
            "tile": f"{self.tile_px[0]}x{self.tile_px[1]}",
            "overlap": self.overlap_px,
            "workers": self.workers,
            "intra_op": self.intra_op,
            "queue": self.queue_frames,
            "frames_in_flight": self.frames_in_flight,
            "tiles_per_frame": len(self.tiles),
            "decoder_threads": self.decoder_threads,
            "encoder_threads": self.encoder_threads,
            "lookahead": self.lookahead_frames,
        }


def best_tile(
    whole_px: tuple[int, int], overlap_px: int, limit_px: int = MAX_TILE_PX
) -> tuple[int, int]:
    """The tile shape of at most ``limit_px`` pixels that computes the fewest in all, for a frame
    whose one tile (see :func:`whole_axis`) would be ``whole_px``."""
    widths, heights = (_cuts(size, overlap_px) for size in whole_px)
    fitting = [(w, h) for w in widths for h in heights if w * h <= limit_px]
    if not fitting:
        return (min(widths), min(heights))
    return min(fitting, key=lambda wh: (wh[0] * widths[wh[0]] * wh[1] * heights[wh[1]], -wh[0]))


def _cuts(whole: int, overlap: int) -> dict[int, int]:
    """Tile length → how many of them an axis takes, for 1, 2, 3… pieces."""
    smallest = 2 * overlap + TILE_PX
    sizes = {whole: 1}
    for pieces in range(2, 65):
        size = align_up(-(-(whole - overlap) // pieces) + overlap, TILE_PX)
        if size < smallest:
            break
        if size < whole:
            sizes.setdefault(size, -(-(whole - overlap) // (size - overlap)))
    return sizes


def make_plan(
    width_px: int,
    height_px: int,
    *,
    radius_px: int,
    multiple: int,
    cores: int,
    trim_px: int = 0,
    tile_px: tuple[int, int] | None = None,
    overlap_px: int | None = None,
    workers: int | None = None,
    most_px: int = MAX_TILE_PX,
) -> Plan:
    """The plan for frames of this size; what the caller gives is kept as it is, save for tiles
    larger than the frame, which end with it. A tile chosen here has at most ``most_px`` pixels.

    One worker per core with one thread each measures faster than one worker with many threads
    wherever there are two frames to work on. Raises :class:`SettingsError` for values that
    cannot work.
    """
    even = even_multiple(multiple)
    whole = (
        whole_axis(width_px, radius_px, multiple),
        whole_axis(height_px, radius_px, multiple),
    )
    halo = 2 * align_up(radius_px, even)
    overlap = align_up(halo if overlap_px is None else overlap_px, even)
    tile = best_tile(whole, overlap, most_px) if tile_px is None else _asked(tile_px, whole, even)
    tiles = plan_tiles(
        width_px,
        height_px,
        tile,
        radius_px=radius_px,
        overlap_px=overlap,
        multiple=multiple,
        trim_px=trim_px,
    )
    workers = workers or cores
    return Plan(
        tile_px=tile,
        overlap_px=overlap,
        workers=workers,
        intra_op=max(1, cores // workers),
        queue_frames=2,
        frames_in_flight=-(-workers // len(tiles)) + 1,
        tiles=tuple(tiles),
        exact=overlap >= halo,
        encoder_threads=cores,
    )


def _asked(tile_px: tuple[int, int], whole_px: tuple[int, int], multiple: int) -> tuple[int, int]:
    """The caller's tile, ending with the frame."""
    for name, size, whole in zip(("width", "height"), tile_px, whole_px, strict=True):
        if size <= 0 or (size < whole and (size % TILE_PX or size % multiple)):
            raise SettingsError(
                f"--tile {tile_px[0]}x{tile_px[1]}: the {name} must be a multiple of 64, "
                f"or at least {whole} to cover the frame"
            )
    return (min(tile_px[0], whole_px[0]), min(tile_px[1], whole_px[1]))
