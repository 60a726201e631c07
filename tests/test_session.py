"""Sessions: real networks run as their spec says, and bad ones are refused in one line."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper

from sfumato.models.catalog import find_style
from sfumato.models.errors import ModelError
from sfumato.models.head import read_head, read_spec
from sfumato.models.identity import write_identity
from sfumato.models.providers import available_providers
from sfumato.models.session import StyleSession, TileRunner
from sfumato.models.spec import METADATA_KEY, StyleSpec
from sfumato.models.tensors import to_picture, to_tensor
from tests.networks import save_cell_net, save_float_net


def session(path: Path, width_px: int = 64, height_px: int = 48, **options: object) -> StyleSession:
    """A session for one worker unless told otherwise."""
    chosen = {"intra_op_threads": 1, "workers": 1, **options}
    return StyleSession(path, width_px, height_px, **chosen)  # type: ignore[arg-type]


def noise(shape: tuple[int, ...], seed: int = 0) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def test_identity_in_the_gallery_is_what_this_code_writes(tmp_path: Path) -> None:
    (shipped,) = find_style("identity").paths
    assert write_identity(tmp_path).read_bytes() == shipped.read_bytes()


@pytest.mark.parametrize("workers", [1, 3])
def test_identity_returns_its_input(workers: int) -> None:
    for path in find_style("identity").paths:
        with session(path, 640, 384, workers=workers) as identity:
            assert identity.spec.radius_px == 0
            runner = identity.runner()
            assert runner.input.shape == (1, 96, 160, 48)
            for seed in range(3):  # the buffers are used again, not copied once
                runner.input[...] = noise(runner.input.shape, seed)
                runner.run()
                np.testing.assert_array_equal(runner.output, runner.input)


def test_buffers_stay_where_they_are(tmp_path: Path) -> None:
    save_cell_net(tmp_path / "net.onnx")
    with session(tmp_path / "net.onnx") as style:
        runner = style.runner()
        feed, fetch = runner.input.ctypes.data, runner.output.ctypes.data
        runner.input[...] = noise(runner.input.shape)
        runner.run()
        first = runner.output.copy()
        runner.output.fill(0)
        runner.run()
        np.testing.assert_array_equal(runner.output, first)
        assert (runner.input.ctypes.data, runner.output.ctypes.data) == (feed, fetch)


def test_tiles_of_other_shapes_give_what_their_own_session_gives(tmp_path: Path) -> None:
    """Even where their answer is the larger: a network that does not pad leaves more of a square."""
    spec = save_cell_net(tmp_path / "net.onnx", trimmed=True)
    feed = noise(spec.input_shape(96, 96))
    with (
        session(tmp_path / "net.onnx", 96, 96) as square,
        session(tmp_path / "net.onnx", 384, 32) as wide,
    ):
        own, other = square.runner(), wide.runner()
        assert own.output.size > other.output.size
        other.fit(spec.input_shape(96, 96), spec.output_shape(96, 96))
        for runner in (own, other):
            runner.input[...] = feed
            runner.run()
        np.testing.assert_array_equal(own.output, other.output)


def test_a_network_that_does_not_take_off_what_its_spec_says_is_refused(tmp_path: Path) -> None:
    spec = save_cell_net(tmp_path / "net.onnx", layers=3, trimmed=True)
    for wrong in (0, 4):
        with_spec_text(tmp_path / "net.onnx", replace(spec, trim_px=wrong).to_json())
        with pytest.raises(ModelError, match=r"64x64.*"):
            session(tmp_path / "net.onnx", 64, 64)


def test_a_tile_of_which_nothing_would_be_left_is_refused(tmp_path: Path) -> None:
    save_cell_net(tmp_path / "net.onnx", trimmed=True)
    with pytest.raises(ModelError, match=r"16x64 nothing is left.*takes 8 pixels off"):
        session(tmp_path / "net.onnx", 16, 64)


def test_a_device_sees_every_new_input(tmp_path: Path) -> None:
    """Devices copy the input when it is bound, so their runners bind it anew for each run."""
    save_cell_net(tmp_path / "net.onnx")
    with session(tmp_path / "net.onnx") as style:
        plain = style.runner()
        bound = TileRunner(
            Path("net.onnx"), style._session, plain.input, plain.output.copy(), rebind=True
        )
        for seed in range(2):
            plain.input[...] = noise(plain.input.shape, seed)
            plain.run()
            bound.run()
            np.testing.assert_array_equal(bound.output, plain.output)


def test_workers_share_a_session_without_mixing_pictures(tmp_path: Path) -> None:
    save_cell_net(tmp_path / "net.onnx", width=32)
    with session(tmp_path / "net.onnx", 128, 64, workers=3) as style:
        alone = style.runner()
        expected = []
        for seed in range(3):
            alone.input[...] = noise(alone.input.shape, seed)
            alone.run()
            expected.append(alone.output.copy())

        def work(seed: int) -> None:
            runner = style.runner()
            runner.input[...] = noise(runner.input.shape, seed)
            for _ in range(20):
                runner.output.fill(0)
                runner.run()
                np.testing.assert_array_equal(runner.output, expected[seed])

        with ThreadPoolExecutor(3) as pool:
            list(pool.map(work, range(3)))


def test_a_run_releases_the_gil(tmp_path: Path) -> None:
    save_float_net(tmp_path / "slow.onnx", layers=4, width=64)
    with session(tmp_path / "slow.onnx", 640, 512) as style:
        runner = style.runner()
        thread = threading.Thread(target=runner.run)
        thread.start()
        turns = 0
        while thread.is_alive():
            time.sleep(0.001)
            turns += 1
        thread.join()
        assert turns > 5


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("grain_seed", [None, 7])
def test_layouts_and_grain(tmp_path: Path, layout: str, grain_seed: int | None) -> None:
    spec = save_cell_net(tmp_path / "net.onnx", layout=layout, grain_seed=grain_seed)  # type: ignore[arg-type]
    picture = noise((48, 64, 3))
    with session(tmp_path / "net.onnx") as style:
        assert style.spec == spec
        runner = style.runner()
        runner.input[...] = to_tensor(picture, spec)
        runner.run()
        painted = to_picture(runner.output, spec)
    assert painted.shape == picture.shape
    assert painted.std() > 20


@pytest.mark.parametrize("value_range", [(0.0, 1.0), (-1.0, 1.0), (0.0, 255.0)])
def test_value_ranges_say_the_same_picture(
    tmp_path: Path, value_range: tuple[float, float]
) -> None:
    painted = []
    for name, span in (("a", value_range), ("b", (0.0, 1.0))):
        spec = save_float_net(tmp_path / f"{name}.onnx", value_range=span, layers=2)
        with session(tmp_path / f"{name}.onnx") as style:
            runner = style.runner()
            runner.input[...] = to_tensor(noise((48, 64, 3)), spec)
            runner.run()
            painted.append(to_picture(runner.output, spec).astype(int))
    assert np.abs(painted[0] - painted[1]).max() <= 1
    assert painted[0].std() > 20


def test_pixels_beyond_the_radius_change_nothing(tmp_path: Path) -> None:
    for int8 in (True, False):
        spec = save_cell_net(tmp_path / "net.onnx", int8=int8, layers=3)
        with session(tmp_path / "net.onnx", 96, 96) as style:
            runner = style.runner()
            runner.input[...] = noise(runner.input.shape)
            runner.run()
            before = runner.output.copy()
            runner.input[:, :, 0] = 255 - runner.input[:, :, 0]
            runner.run()
            reach = spec.radius_px // spec.cell
            assert (runner.output[:, :, reach] != before[:, :, reach]).any()
            np.testing.assert_array_equal(
                runner.output[:, :, reach + 1 :], before[:, :, reach + 1 :]
            )


@pytest.mark.parametrize("weight_bits", [7, 8])
def test_int8_weights_do_not_saturate(tmp_path: Path, weight_bits: int) -> None:
    painted = []
    for int8 in (True, False):
        spec = save_cell_net(
            tmp_path / "net.onnx", int8=int8, weight_bits=weight_bits, layers=1, taps=300
        )
        with session(tmp_path / "net.onnx") as style:
            runner = style.runner()
            runner.input[...] = 255 - noise(runner.input.shape) // 4  # bright: large sums
            runner.run()
            painted.append(to_picture(runner.output, spec).astype(int))
    assert np.abs(painted[0] - painted[1]).mean() < 0.5


def test_fp32_stays_fp32_between_conversions(tmp_path: Path) -> None:
    spec = save_cell_net(tmp_path / "net.onnx", int8=False, layers=1, taps=300)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    plain = ort.InferenceSession(tmp_path / "net.onnx", options, ["CPUExecutionProvider"])
    with session(tmp_path / "net.onnx") as style:
        runner = style.runner()
        runner.input[...] = 255 - noise(runner.input.shape) // 4
        runner.run()
        expected = np.asarray(plain.run(None, {"picture": runner.input})[0], np.uint8)
    difference = to_picture(runner.output, spec).astype(int) - to_picture(expected, spec)
    assert np.abs(difference).max() <= 1


def test_a_provider_that_is_missing_or_would_not_be_used_is_an_error(tmp_path: Path) -> None:
    save_float_net(tmp_path / "net.onnx")
    with pytest.raises(ModelError, match=r"'made-up'.*it has: .*cpu"):
        session(tmp_path / "net.onnx", provider="made-up")
    if "cuda" not in available_providers():
        with pytest.raises(ModelError, match=r"'cuda'.*pip install onnxruntime-gpu"):
            session(tmp_path / "net.onnx", provider="cuda")
    idle = "AzureExecutionProvider"  # loads in the usual builds and runs nothing by itself
    if idle in ort.get_available_providers():
        with pytest.raises(ModelError, match="runs no part"):
            session(tmp_path / "net.onnx", provider=idle)
    assert session(tmp_path / "net.onnx", provider="CPUExecutionProvider").provider == "cpu"


def test_files_that_are_no_style(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        session(tmp_path / "gone.onnx")
    (tmp_path / "page.onnx").write_text("<html>404</html>")
    with pytest.raises(ModelError, match=r"page\.onnx: not an ONNX model"):
        session(tmp_path / "page.onnx")
    save_float_net(tmp_path / "plain.onnx", with_spec=False)
    with pytest.raises(ModelError, match="carries no style spec"):
        session(tmp_path / "plain.onnx")
    save_cell_net(tmp_path / "whole.onnx")
    (tmp_path / "cut.onnx").write_bytes((tmp_path / "whole.onnx").read_bytes()[:999])
    with pytest.raises(ModelError, match=r"cut\.onnx: not an ONNX model"):
        read_head(tmp_path / "cut.onnx")


def with_spec_text(path: Path, text: str, size: tuple[int | str, ...] = ()) -> Path:
    """Rewrite the spec of a network, and fix or name its rows and columns."""
    model = onnx.load(str(path))
    helper.set_model_props(model, {METADATA_KEY: text})
    for dim, value in zip(model.graph.input[0].type.tensor_type.shape.dim[1:3], size, strict=False):
        if isinstance(value, int):
            dim.dim_value = value
        else:
            dim.dim_param = value
    onnx.save(model, str(path))
    return path


def test_a_spec_that_does_not_fit_its_network(tmp_path: Path) -> None:
    spec = save_cell_net(tmp_path / "net.onnx")
    wrong = StyleSpec(name="wrong", dtype="float32", cell=4, multiple=4)
    with_spec_text(tmp_path / "net.onnx", wrong.to_json())
    with pytest.raises(ModelError, match=r"'picture' is tensor\(uint8\).*want tensor\(float\)"):
        session(tmp_path / "net.onnx")
    with_spec_text(tmp_path / "net.onnx", '{"name": "odd", "cell": 3}')
    with pytest.raises(ModelError, match=r"spec .*cannot be read.*cell = 3"):
        read_spec(tmp_path / "net.onnx")
    for multiple in (0, -4):
        with_spec_text(tmp_path / "net.onnx", f'{{"name": "odd", "multiple": {multiple}}}')
        with pytest.raises(ModelError, match=f"cannot be read.*multiple = {multiple}"):
            read_spec(tmp_path / "net.onnx")
    for name, value in (("trim_px", "20.0"), ("radius_px", "null"), ("smooth", "NaN")):
        with_spec_text(tmp_path / "net.onnx", f'{{"name": "odd", "{name}": {value}}}')
        with pytest.raises(ModelError, match=f"cannot be read.*{name} = "):
            read_spec(tmp_path / "net.onnx")
    with_spec_text(tmp_path / "net.onnx", "[]")
    with pytest.raises(ModelError, match=r"cannot be read"):
        read_spec(tmp_path / "net.onnx")
    with_spec_text(tmp_path / "net.onnx", spec.to_json(), (12, 16))
    assert read_head(tmp_path / "net.onnx").fixed_size_px == (64, 48)
    session(tmp_path / "net.onnx", 64, 48).close()
    with pytest.raises(ModelError, match="a tile of 128x48"):
        session(tmp_path / "net.onnx", 128, 48)
    with_spec_text(tmp_path / "net.onnx", spec.to_json(), ("side", "side"))
    session(tmp_path / "net.onnx", 64, 64).close()
    with pytest.raises(ModelError, match=r"'picture' is .*'side', 'side'"):
        session(tmp_path / "net.onnx", 64, 48)
    with pytest.raises(ModelError, match="multiple of 4"):
        session(tmp_path / "net.onnx", 62, 48)


def test_a_closed_session_gives_no_runner() -> None:
    style = session(find_style("identity").paths[0])
    style.close()
    style.close()
    with pytest.raises(ModelError, match="closed"):
        style.runner()


def test_onnx_runtime_reports_to_nobody(tmp_path: Path) -> None:
    homes = {name: str(tmp_path) for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")}
    path = [p for p in sys.path if p]
    code = (
        "from sfumato.models.catalog import find_style\n"
        "from sfumato.models.head import read_spec\n"
        "read_spec(find_style('identity').paths[0])"
    )
    subprocess.run(
        [sys.executable, "-c", code], env={**homes, "PYTHONPATH": os.pathsep.join(path)}, check=True
    )
    assert os.listdir(tmp_path) == []  # its device identifier would lie here
