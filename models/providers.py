"""Names of ONNX Runtime's execution providers, and proof that the one asked for runs."""

from __future__ import annotations

from typing import Any

import onnxruntime as ort

from sfumato.models.errors import ModelError

CPU = "CPUExecutionProvider"

_PROVIDERS = {
    "cpu": CPU,
    "cuda": "CUDAExecutionProvider",
    "tensorrt": "TensorrtExecutionProvider",
    "openvino": "OpenVINOExecutionProvider",
    "coreml": "CoreMLExecutionProvider",
    "directml": "DmlExecutionProvider",
    "migraphx": "MIGraphXExecutionProvider",
    "rocm": "ROCMExecutionProvider",
    "dnnl": "DnnlExecutionProvider",
    "xnnpack": "XnnpackExecutionProvider",
    "qnn": "QNNExecutionProvider",
    "webgpu": "WebGpuExecutionProvider",
}
_REMOTE = "AzureExecutionProvider"  # in every build; runs nothing of a style
_PACKAGES = {
    "cuda": "onnxruntime-gpu",
    "tensorrt": "onnxruntime-gpu",
    "openvino": "onnxruntime-openvino",
    "directml": "onnxruntime-directml",
    "qnn": "onnxruntime-qnn",
}


def available_providers() -> list[str]:
    """Short names of the providers this ONNX Runtime was built with, best first."""
    return [short_name(long) for long in ort.get_available_providers() if long != _REMOTE]


def short_name(provider: str) -> str:
    """``cuda`` of ``CUDAExecutionProvider``; a name unknown here stays as it is."""
    names = {long: name for name, long in _PROVIDERS.items()}
    return names.get(provider, provider)


def full_name(provider: str) -> str:
    """ONNX Runtime's name of ``provider`` (``cuda``, or ``CUDAExecutionProvider`` itself).

    Raises :class:`ModelError` for one that this ONNX Runtime does not have.
    """
    long = _PROVIDERS.get(provider.lower(), provider)
    if long in ort.get_available_providers():
        return long
    have = ", ".join(available_providers())
    package = _PACKAGES.get(provider.lower())
    hint = f"; `pip install {package}` in place of onnxruntime brings it" if package else ""
    raise ModelError(f"provider {provider!r} is not in this ONNX Runtime (it has: {have}){hint}")


def check_in_use(session: Any, provider: str) -> None:
    """Raise :class:`ModelError` unless ``session`` really runs on the provider of that full name.

    A provider whose driver or library does not load is left out, and one that takes no node leaves
    everything to the CPU; ONNX Runtime says neither aloud. Needs the session option
    ``session.record_ep_graph_assignment_info``; without it (before 1.24) only the first is seen.
    """
    loaded = session.get_providers()
    if provider not in loaded:
        raise ModelError(
            f"provider {provider!r} did not load (running: {', '.join(loaded)}); "
            "check its driver and libraries, or use another --provider"
        )
    if provider == CPU or not hasattr(session, "get_provider_graph_assignment_info"):
        return
    used = {part.ep_name for part in session.get_provider_graph_assignment_info()}
    if provider not in used:
        raise ModelError(
            f"provider {provider!r} loaded but runs no part of this style "
            f"(running: {', '.join(sorted(used))}); use another --provider"
        )
