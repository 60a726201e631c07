"""How much anybody may send, from how many connections, and what junk is answered."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from sfumato.stream.live.server.limits import Door, Handler, network_of
from tests.serving import answer_to, client, gone, run, status


@pytest.mark.parametrize("path", ["/api/jobs", "/api/enter", "/nowhere"])
def test_a_gigabyte_is_refused_before_it_is_read(path: str) -> None:
    async def test() -> None:
        async with client() as there:
            host = there.base.removeprefix("http://")
            reader, writer = await asyncio.open_connection(*host.split(":"))
            head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: {there.base}\r\n"
            writer.write(f"{head}Content-Length: 1000000000\r\n\r\n".encode())
            answer = await reader.readline()
            assert b" 413 " in answer
            assert await reader.read() != b""  # to its end: the connection is closed
            writer.close()
            await writer.wait_closed()

    run(test, 20)


def test_a_body_without_an_end_is_cut_off() -> None:
    async def test() -> None:
        async with client() as there:
            host = there.base.removeprefix("http://")
            reader, writer = await asyncio.open_connection(*host.split(":"))
            writer.write(
                f"POST /api/enter HTTP/1.1\r\nHost: {host}\r\nOrigin: {there.base}\r\n"
                "Transfer-Encoding: chunked\r\n\r\n".encode()
            )
            for _ in range(8):
                writer.write(b"4000\r\n" + b"x" * 0x4000 + b"\r\n")
            assert b" 413 " in await reader.readline()
            writer.close()
            await asyncio.gather(writer.wait_closed(), return_exceptions=True)

    run(test, 20)


def test_fifty_connections_are_fewer_and_the_page_still_answers() -> None:
    async def test() -> None:
        async with client(max_connections=20) as there:
            host, port = there.base.removeprefix("http://").split(":")
            opened = [await asyncio.open_connection(host, port) for _ in range(50)]
            ended = [asyncio.create_task(reader.read(1)) for reader, _ in opened]
            await gone(lambda: sum(task.done() for task in ended) == 30)
            for _, writer in opened:
                writer.close()
            await asyncio.gather(*ended, return_exceptions=True)
            assert await status(there, "/") == 200

    run(test, 30)


@pytest.mark.parametrize(
    "junk",
    [
        b"\x16\x03\x01\r\n\r\n",
        b"JUNK\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 9000 + b"\r\n\r\n",
        b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)
def test_what_is_no_request_is_answered_in_silence(
    junk: bytes, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        async with client() as there:
            answer = await answer_to(there, junk)
            assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.0 400")), answer
            assert b"Server: Sfumato" in answer and b"nosniff" in answer
            assert b"Python" not in answer and len(answer) < 1000

    run(test)
    assert not caplog.records and capfd.readouterr() == ("", "")


def test_bodies_that_cannot_be_read_are_answered_in_silence(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def test() -> None:
        async with client() as there:
            host = there.base.removeprefix("http://")
            head = f"POST /api/enter HTTP/1.1\r\nHost: {host}\r\nOrigin: {there.base}\r\n"
            zipped = head + "Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\njunk"
            assert b" 400 " in (await answer_to(there, zipped.encode()))[:20]
            chunked = head + "Transfer-Encoding: chunked\r\n\r\nzz\r\njunk"
            assert b" 400 " in (await answer_to(there, chunked.encode()))[:20]

    run(test)
    assert not caplog.records


def test_all_addresses_are_those_of_both_kinds() -> None:
    async def test() -> None:
        async with client(host="::") as there:
            assert await status(there, "/") == 200
            port = there.server.guard.port
            async with there.http.get(f"http://[::1]:{port}/") as answer:
                assert answer.status == 200

    if not socket.has_dualstack_ipv6():
        pytest.skip("no IPv6 here")
    run(test)


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8::1:2:3:4", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("127.0.0.9", None),
        ("::1", None),
        ("::ffff:127.0.0.1", None),
        (None, None),
    ],
)
def test_connections_are_counted_by_network(address: str | None, network: str | None) -> None:
    assert network_of(address) == network


async def answering_nothing(_request: web.BaseRequest) -> web.StreamResponse:
    return web.Response()


def test_one_address_does_not_take_all_connections() -> None:
    async def test() -> None:
        server = web.Server(answering_nothing)
        door = Door(server, 64)
        handlers = [Handler(door, server) for _ in range(64)]
        assert [door.admit(one, "192.0.2.7") for one in handlers] == [True] * 16 + [False] * 48
        assert door.admit(Handler(door, server), "192.0.2.8")
        door.forget(handlers[0])
        assert door.admit(handlers[63], "192.0.2.7")

    run(test)


def test_silent_handshakes_take_places_and_give_them_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr("sfumato.stream.live.server.limits.HANDSHAKE_S", 60.0)

    async def test() -> None:
        async with client(tls=True, max_connections=3) as there:
            port = there.server.guard.port
            silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() == b""  # hung up
            for _, one in (*silent, (reader, writer)):
                one.close()

            async def answered() -> bool:
                with contextlib.suppress(aiohttp.ClientError):
                    url = f"https://127.0.0.1:{port}/"
                    async with there.http.get(url, ssl=False) as answer:
                        return answer.status == 200
                return False

            while not await answered():  # test.run() has the patience
                await asyncio.sleep(0.02)

    run(test, 30)  # before the handshakes would have timed out
