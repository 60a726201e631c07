"""What a figure depends on: the machine, the versions, and the code itself."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sfumato.models.cores import cgroup_quota, cpu_flags, cpu_name, usable_cores

PACKAGES = ("numpy", "numba", "onnxruntime", "opencv-python-headless", "av")
FLAGS = ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "amx_int8", "neon", "asimddp", "i8mm")
"""Instruction sets that INT8 speed depends on."""

Facts = dict[str, Any]


def machine_facts() -> Facts:
    """Processor, its instruction sets, cores that may be used and their quota, memory, and system,
    as JSON values."""
    import psutil

    flags = cpu_flags()
    return {
        "cpu": cpu_name(),
        "flags": [flag for flag in FLAGS if flag in flags],
        "cores": usable_cores(),
        "quota": cgroup_quota(),
        "memory_bytes": psutil.virtual_memory().total,
        "system": f"{platform.system()} {platform.machine()}",
    }


def version_facts() -> Facts:
    """Versions of everything that does the work; ``code`` changes with any file of the package."""
    return {
        "sfumato": version("sfumato"),
        "code": code_digest(),
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
    }


@cache
def code_digest() -> str:
    """A short name for the package's sources and shipped styles, whatever the version says."""
    digest = hashlib.sha256()
    for package in ("sfumato.stream", "sfumato.kernels", "sfumato.models"):
        found = find_spec(package)
        for root in (found.submodule_search_locations or []) if found is not None else []:
            for path in sorted(Path(root).rglob("*")):
                if path.suffix in (".py", ".onnx"):
                    digest.update(f"{package} {path.relative_to(root)}".encode())
                    digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def machine_line() -> str:
    """One line for the reader of a table."""
    machine, versions = machine_facts(), version_facts()
    flags = " ".join(flag for flag in machine["flags"] if "vnni" in flag) or "no VNNI"
    cores = "1 core" if machine["cores"] == 1 else f"{machine['cores']} cores"
    return (
        f"{machine['cpu']} ({flags}), {cores}, "
        f"{machine['memory_bytes'] / 2**30:.0f} GiB, ONNX Runtime {versions['onnxruntime']}, "
        f"Python {versions['python']}"
    )
