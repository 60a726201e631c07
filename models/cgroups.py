"""Linux control groups that this process is in, from the files the kernel shows (v1 and v2)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

PROC = Path("/proc/self")


def cgroup_folders(controller: str, proc: Path = PROC) -> Iterator[Path]:
    """Our group's folder and those above it, in each hierarchy that may hold ``controller``.

    ``proc`` holds ``cgroup`` (see cgroups(7)) and ``mountinfo`` (see proc(5)). Raises
    :class:`OSError` where the system has no such files.
    """
    for folder, mount in _hierarchies(controller, proc):
        yield folder
        while folder != mount:
            folder = folder.parent
            yield folder


def _hierarchies(controller: str, proc: Path) -> list[tuple[Path, Path]]:
    """(folder of our group, folder where its hierarchy is mounted): v1's of the controller, and v2's."""
    groups = {}  # "" is v2's only hierarchy
    for line in (proc / "cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(","):
            groups[name] = path
    found = []
    for line in (proc / "mountinfo").read_text().splitlines():
        ours, _, rest = line.partition(" - ")
        root, mount = ours.split()[3:5]
        kind, _, options = rest.split(maxsplit=2)
        name = controller if controller in options.split(",") else ""
        if (kind == "cgroup2" or (kind == "cgroup" and name)) and name in groups:
            found.append((_below(Path(mount), root, groups[name]), Path(mount)))
    return found


def _below(mount: Path, root: str, group: str) -> Path:
    """The group's folder under ``mount``, which shows the hierarchy from ``root`` down.

    A container often sees its own group as the whole hierarchy while ``/proc`` still names it
    from outside; then the mount point itself is our group.
    """
    try:
        folder = mount / PurePosixPath(group).relative_to(root)
    except ValueError:
        return mount
    return folder if ".." not in folder.parts and folder.is_dir() else mount
