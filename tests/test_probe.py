"""What a network costs: measured, remembered, and about what its tensors say."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.models import probe
from sfumato.models.catalog import find_style
from sfumato.models.errors import ModelError
from sfumato.models.probe import NetworkCost, network_cost


def test_fp32_takes_about_four_times_the_memory_of_int8(tmp_path: Path) -> None:
    files = find_style("toon")
    assert files.int8 is not None and files.fp32 is not None
    int8, fp32 = (
        network_cost(path, cache=tmp_path / "networks.json") for path in (files.int8, files.fp32)
    )
    assert 2 < fp32.bytes_per_px / int8.bytes_per_px < 6
    assert 8 <= int8.bytes_per_px < 100 and int8.ms_per_mpx > 0
    assert int8.fixed_bytes > 2 * files.int8.stat().st_size


def test_it_is_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def measure(path: Path, provider: str) -> NetworkCost:
        calls.append(path)
        return NetworkCost(28.0, 3_000_000, 25.0)

    monkeypatch.setattr(probe, "measure_network", measure)
    path, cache = find_style("toon").paths[0], tmp_path / "networks.json"
    first = network_cost(path, cache=cache)
    assert network_cost(path, cache=cache) == first and len(calls) == 1
    cache.write_text("damaged")
    assert network_cost(path, cache=cache) == first and len(calls) == 2
    assert network_cost(path, cache=cache) == first and len(calls) == 2


def test_a_file_that_is_no_model_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "bad.onnx"
    path.write_bytes(b"nothing")
    with pytest.raises(ModelError, match=r"bad\.onnx"):
        network_cost(path, cache=tmp_path / "networks.json")


def test_trimming_the_heap_is_always_allowed() -> None:
    probe.trim_heap()
    assert probe.private_bytes() > 2**20
