"""What a network costs: measured, remembered, and about what its tensors say."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
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
        return NetworkCost(28.0, 3_000_000, 25.0, 40.0)

    monkeypatch.setattr(probe, "measure_network", measure)
    path, cache = find_style("toon").paths[0], tmp_path / "networks.json"
    first = network_cost(path, cache=cache)
    assert network_cost(path, cache=cache) == first and len(calls) == 1
    cache.write_text("damaged")
    assert network_cost(path, cache=cache) == first and len(calls) == 2
    assert network_cost(path, cache=cache) == first and len(calls) == 2


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" * 100_000, id="deep"),
        '{"KEY": [1]}',
        '{"KEY": {"bytes_per_px": 28.0, "fixed_bytes": 3000000}}',
        *(
            '{"KEY": {"bytes_per_px": VALUE, "fixed_bytes": 3000000, "ms_per_mpx": 25.0}}'.replace(
                "VALUE", value
            )
            for value in ('"x"', "null", "[1]", "true", "NaN", "Infinity", "-28", "0", "1e300")
        ),
        '{"KEY": {"bytes_per_px": 28.0, "fixed_bytes": 1' + 400 * "0" + ', "ms_per_mpx": 25.0}}',
    ],
)
def test_what_was_never_measured_is_measured_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    measured = NetworkCost(28.0, 3_000_000, 25.0, 40.0)
    monkeypatch.setattr(probe, "measure_network", lambda path, provider: measured)
    path, cache = find_style("toon").paths[0], tmp_path / "networks.json"
    network_cost(path, cache=cache)
    [key] = json.loads(cache.read_text())
    cache.write_text(text.replace("KEY", key))
    assert network_cost(path, cache=cache) == measured
    assert json.loads(cache.read_text())[key] == asdict(measured)


@pytest.mark.skipif(sys.platform != "linux", reason="the limit counts bytes of files on Linux")
def test_a_full_disk_leaves_no_file(tmp_path: Path) -> None:
    lines = [
        "import resource, signal, sys, pathlib",
        "from sfumato.models.cache import Measurements",
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)",
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))",
        "Measurements('', pathlib.Path(sys.argv[1])).put('key', {'value': 1})",
    ]
    words = [sys.executable, "-c", "\n".join(lines), str(tmp_path / "networks.json")]
    assert subprocess.run(words, check=False).returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_model_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "bad.onnx"
    path.write_bytes(b"nothing")
    with pytest.raises(ModelError, match=r"bad\.onnx"):
        network_cost(path, cache=tmp_path / "networks.json")


def test_trimming_the_heap_is_always_allowed() -> None:
    probe.trim_heap()
    assert probe.private_bytes() > 2**20
