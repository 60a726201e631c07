"""``sfumato doctor``: what this machine can do."""

from __future__ import annotations

import json
import os
import platform
from typing import Any

import click

_PACKAGES = ("onnxruntime", "numpy", "opencv-python-headless", "av", "numba", "onnx", "torch")
_ENCODERS = ("libx264", "libx265", "libsvtav1", "libvpx-vp9", "mjpeg", "ffv1", "gif", "prores_ks")
_FLAGS = ("avx2", "avx512f", "avx_vnni", "avx512_vnni", "amx_int8", "neon", "asimddp")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def doctor(as_json: bool) -> None:
    """Show what this machine can do: CPU, memory, providers, encoders, cameras, versions."""
    facts = machine()
    if as_json:
        click.echo(json.dumps(facts, indent=2))
        return
    for name, value in facts.items():
        click.echo(f"{name + ':':<14} {_line(value)}")
    if not facts["int8 at full speed"]:
        click.echo("Without VNNI instructions INT8 is about twice as fast as FP32, not four times.")


def machine() -> dict[str, Any]:
    """The facts, by name."""
    import av
    import psutil

    from sfumato.kernels._jit import cache_folder
    from sfumato.models.catalog import list_styles
    from sfumato.models.cores import cpu_flags, cpu_name, has_vnni, usable_cores
    from sfumato.models.providers import available_providers
    from sfumato.stream.live.cameras import list_cameras

    flags = cpu_flags()
    return {
        "cpu": cpu_name(),
        "flags": [flag for flag in _FLAGS if flag in flags],
        "int8 at full speed": has_vnni(),
        "cores": f"{usable_cores()} usable of {os.cpu_count()}",
        "memory": f"{psutil.virtual_memory().available / 2**30:.1f} GiB available",
        "providers": available_providers(),
        "encoders": [name for name in _ENCODERS if name in av.codecs_available],
        "cameras": [f"{camera.address} {camera.name}" for camera in list_cameras()],
        "styles": [style.name for style in list_styles()],
        "kernels": f"kept in {folder}" if (folder := cache_folder()) else "kept nowhere",
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "versions": {name: found for name in _PACKAGES if (found := _version(name))},
    }


def _version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _line(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return str(value)
