"""``python -m sfumato.stream.bench.job PARENT COMMAND …``: `sfumato`, for as long as PARENT lives."""

from __future__ import annotations

import os
import sys

from sfumato.stream.cli import main

_PR_SET_PDEATHSIG = 1  # of <linux/prctl.h>


def end_with_parent(parent: int) -> None:
    """Have the kernel kill this process when the one that started it ends, however it does.

    ``parent`` is the process number of the latter: who comes too late has another one by now.
    Does nothing but on Linux.
    """
    if sys.platform != "linux":
        return
    import ctypes
    import signal

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("Error: the bench that asked for this job has gone")


if __name__ == "__main__":
    end_with_parent(int(sys.argv.pop(1)))
    main()
