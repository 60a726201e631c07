"""Files that viewers drop: received with limits, painted by a worker process, kept for a while."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import shutil
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from aiohttp import web

from sfumato.stream.live.server import kept
from sfumato.stream.live.server.guard import Session
from sfumato.stream.live.server.limits import check_length
from sfumato.stream.live.server.settings import ServeSettings

CHUNK_BYTES = 1 << 18
SILENT_S = 20.0
"""How long an upload may pause."""

RECEIVE_S = 1800.0
"""How long an upload may take in all."""

KILLED = -getattr(signal, "SIGKILL", 9)
"""How a process ends that the system stops to get its memory."""

END_S = 5.0
"""How long a worker may take to end when told to."""


@dataclass(slots=True)
class Job:
    """One file on its way. Its folder goes when it goes."""

    key: str
    session: Session
    folder: Path
    state: str = "receiving"
    """receiving, painting, done or failed."""
    progress: dict[str, Any] = field(default_factory=dict)
    reason: str = ""
    result: Path | None = None
    ended_s: float | None = None
    task: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        """Not at its end."""
        return self.state in ("receiving", "painting")

    @property
    def size_bytes(self) -> int:
        """Of the result."""
        return self.result.stat().st_size if self.result and self.result.exists() else 0

    def to_dict(self) -> dict[str, Any]:
        """What its viewer is told."""
        kind = self.result.suffix if self.result else None
        return {"id": self.key, "state": self.state, "reason": self.reason, "kind": kind,
                **self.progress}  # fmt: skip

    def end(self, said: dict[str, Any]) -> None:
        """Take in the worker's last word: ``done`` with figures, or ``failed`` with a reason."""
        self.ended_s = time.monotonic()
        if "failed" in said:
            self.state, self.reason = "failed", said["failed"]
            return
        figures = said["done"]
        self.state, self.result = "done", self.folder / figures.pop("file")
        self.progress = {**figures, "of": figures["frames"]}


class Jobs:
    """All files on their way. An asynchronous context manager: leaving ends and removes all."""

    def __init__(self, settings: ServeSettings) -> None:
        self._settings = settings
        self._jobs: dict[str, Job] = {}
        self._folder = Path()
        self._fuller = asyncio.Event()
        """Set when one more painted file waits."""
        self._sweeping: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._folder = await asyncio.to_thread(kept.make_folder)
        self._sweeping = asyncio.create_task(self._sweep())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._sweeping is not None:
            self._sweeping.cancel()
            await asyncio.gather(self._sweeping, return_exceptions=True)
        for job in list(self._jobs.values()):
            await self.drop(job)
        shutil.rmtree(self._folder, ignore_errors=True)

    async def receive(
        self, request: web.Request, session: Session, style: str, strength: float
    ) -> Job:
        """Take the request's body and begin to paint it. Raises 411, 413, 429, 408, 507
        and 400."""
        if request.content_length is None:
            raise web.HTTPLengthRequired(text="Say how long the file is (Content-Length).")
        check_length(request, self._settings.max_upload_bytes)
        with kept.refusing_full_disk():
            job = await self._admit(session)
        try:
            async with asyncio.timeout(RECEIVE_S):
                with kept.refusing_full_disk():
                    await self._store(request, job.folder / "source")
        except TimeoutError:
            await self.drop(job)
            raise web.HTTPRequestTimeout(text="The upload stopped; try again.") from None
        except BaseException:
            await self.drop(job)
            raise
        job.state = "painting"
        job.task = asyncio.create_task(self._paint(job, style, strength))
        return job

    async def _admit(self, session: Session) -> Job:
        """A place for one more; what the viewer had before goes."""
        for key in session.jobs:
            old = self._jobs.get(key)
            if old is not None and old.running:
                raise web.HTTPTooManyRequests(text="One file at a time; wait for yours to end.")
            if old is not None:
                await self.drop(old)
        if sum(job.running for job in self._jobs.values()) >= self._settings.max_jobs:
            raise web.HTTPTooManyRequests(text="Others are painting files; try again in a while.")
        key = secrets.token_urlsafe(16)
        job = Job(key, session, self._folder / key)
        job.folder.mkdir(mode=0o700)
        self._jobs[key] = job
        session.jobs[:] = [key]
        return job

    async def _store(self, request: web.Request, target: Path) -> None:
        size_bytes = 0
        with target.open("xb") as file:
            while True:
                async with asyncio.timeout(SILENT_S):
                    chunk = await request.content.read(CHUNK_BYTES)
                if not chunk:
                    break
                size_bytes += len(chunk)
                if size_bytes > self._settings.max_upload_bytes:
                    raise web.HTTPRequestEntityTooLarge(
                        self._settings.max_upload_bytes, size_bytes, text="That is too large."
                    )
                await asyncio.to_thread(file.write, chunk)
        if size_bytes == 0:
            raise web.HTTPBadRequest(text="The file is empty.")

    async def _paint(self, job: Job, style: str, strength: float) -> None:
        wish = {
            "source": str(job.folder / "source"),
            "folder": str(job.folder),
            "style": style,
            "strength": strength,
            "longest_s": self._settings.max_clip_s,
        }
        end: dict[str, Any] = {"failed": "This file cannot be painted: it is damaged."}
        try:
            async with asyncio.timeout(self._settings.max_job_s):
                end = await self._watch(job, wish) or end
        except TimeoutError:
            end = {"failed": "Painting took too long and was stopped."}
        finally:
            (job.folder / "source").unlink(missing_ok=True)
            job.end(end)
            self._fuller.set()
        if job.result is None:  # a worker that was killed leaves half a painting
            await asyncio.to_thread(shutil.rmtree, job.folder, ignore_errors=True)

    async def _watch(self, job: Job, wish: dict[str, Any]) -> dict[str, Any] | None:
        """The worker's last word; None where it died without one."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", f"{__package__}.worker",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL, cwd=job.folder,
        )  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        last = None
        try:
            process.stdin.write(json.dumps(wish).encode())
            process.stdin.close()
            async for line in process.stdout:
                said = _parse(line)
                if "frames" in said:
                    job.progress = said
                elif said:
                    last = said
            if await process.wait() == KILLED and last is None:
                last = {"failed": "Painting was stopped; the server may be short of memory."}
        finally:
            await _end(process)
        return last

    def find(self, key: str, session: Session) -> Job:
        """A job of this session. Raises 404 for any other."""
        job = self._jobs.get(key)
        if job is None or job.session is not session:
            raise web.HTTPNotFound(text="There is no such painting (any more).")
        return job

    async def drop(self, job: Job) -> None:
        """End a job if it runs, and remove all it has."""
        self._jobs.pop(job.key, None)
        if job.task is not None:
            job.task.cancel()
            await asyncio.gather(job.task, return_exceptions=True)
        await asyncio.to_thread(shutil.rmtree, job.folder, ignore_errors=True)

    async def _sweep(self) -> None:
        """Remove what has waited long enough, and the oldest of what is too much."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(kept.SWEEP_S):
                    await self._fuller.wait()
            self._fuller.clear()
            waiting, now_s = self._ended(), time.monotonic()
            more = kept.too_many([job.size_bytes for job in waiting])
            for place, job in enumerate(waiting):
                if place < more or now_s - (job.ended_s or 0.0) > kept.KEPT_S:
                    await self.drop(job)

    def _ended(self) -> list[Job]:
        """The oldest first."""
        ended = [job for job in self._jobs.values() if job.ended_s is not None]
        return sorted(ended, key=lambda job: job.ended_s or 0.0)


def _parse(line: bytes) -> dict[str, Any]:
    """A worker's line; nothing for half of one."""
    with contextlib.suppress(ValueError):
        said: dict[str, Any] = json.loads(line)
        return said
    return {}


async def _end(process: asyncio.subprocess.Process) -> None:
    """Terminate, then kill."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(END_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
