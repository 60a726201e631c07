"""Who may come in, and from where."""

from __future__ import annotations

import json
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from click.testing import CliRunner

from sfumato.stream.cli import cli
from sfumato.stream.errors import SettingsError, SfumatoError, StyleError
from sfumato.stream.live.server import page
from sfumato.stream.live.server.app import serving
from sfumato.stream.live.server.gallery import Gallery
from sfumato.stream.live.server.settings import ServeSettings
from tests.serving import answer_to, client, run, status

EVERYWHERE = "0.0.0.0"


def test_page_is_given_with_headers_that_protect_it() -> None:
    async def test() -> None:
        async with client() as there, there.get("/") as answer:
            assert answer.status == 200
            policy = answer.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy and "*" not in policy
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Referrer-Policy"] == "no-referrer"
            assert answer.headers["Server"] == "Sfumato"

    run(test)


def test_page_needs_nothing_from_elsewhere_and_nothing_inline() -> None:
    folder = Path(page.__file__).parent / "page"
    assert {path.name for path in folder.iterdir()} == set(page.TYPES)
    for path in folder.iterdir():
        text = path.read_text()
        addresses = re.findall(r"https?://[^\s\"')]+", text)
        assert set(addresses) <= {"http://www.w3.org/2000/svg"}, path
    markup = (folder / "index.html").read_text()
    assert not re.search(r"<script(?![^>]*src=)|<style| style=| on\w+=", markup)


def test_files_of_the_page_are_the_only_paths() -> None:
    async def test() -> None:
        async with client() as there:
            for path in ("/../pyproject.toml", "/%2e%2e/app.py", "/app.py", "/page/app.js"):
                assert await status(there, path) == 404
            assert await status(there, "/thumbs/..%2f..%2fguard.py") == 404
            assert await status(there, "/thumbs/9.jpg") == 404

    run(test)


def test_page_that_is_known_is_not_sent_again() -> None:
    async def test() -> None:
        async with client() as there:
            async with there.get("/style.css") as answer:
                tag = answer.headers["ETag"]
            assert await status(there, "/style.css", **{"If-None-Match": tag}) == 304

    run(test)


def test_foreign_host_is_refused() -> None:
    async def test() -> None:
        async with client() as there:
            assert await status(there, "/", Host="rebound.example") == 421
            assert await status(there, "/", Host="localhost") == 200
            assert await status(there, "/", Host="192.0.2.7:80") == 421, "we listen here only"

    run(test)


def test_foreign_or_missing_origin_is_refused() -> None:
    async def test() -> None:
        async with client() as there:
            url = f"{there.base}/api/enter"
            strange: tuple[dict[str, str], ...] = (
                {"Origin": "http://elsewhere.example"},
                {"Origin": "null"},
                {},
            )
            for headers in strange:
                async with there.http.post(url, json={}, headers=headers) as answer:
                    assert answer.status == 403
                with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                    await there.http.ws_connect(f"{there.base}/api/live", headers=headers)
                assert refused.value.status == 403

    run(test)


@pytest.mark.parametrize("token", [None, "", "x" * 22, "é", "\ud800", 5, ["a"]])
def test_wrong_token_does_not_come_in(token: object) -> None:
    async def test() -> None:
        async with client(host=EVERYWHERE) as there:
            async with there.post("/api/enter", json={"token": token}) as answer:
                assert answer.status == 401
                assert "Set-Cookie" not in answer.headers
            async with there.post("/api/jobs", data=b"x") as answer:
                assert answer.status == 401
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await there.live()
            assert refused.value.status == 401

    run(test)


def test_right_token_gives_a_cookie_that_scripts_and_other_sites_cannot_use() -> None:
    async def test() -> None:
        async with client(host=EVERYWHERE) as there:
            assert there.token and len(there.token) >= 22
            async with there.post("/api/enter", json={"token": there.token}) as answer:
                cookie = answer.headers["Set-Cookie"]
                assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
                assert there.token not in cookie
            async with there.get("/api/state") as answer:
                assert (await answer.json())["entered"]

    run(test)


def test_this_machine_alone_needs_no_token() -> None:
    async def test() -> None:
        async with client() as there:
            assert there.token is None
            await there.enter()

    run(test)


@pytest.mark.parametrize(
    "body", [b"{", b"[1]", b"\xff\xfe", b'{"token": ' + b"[" * 20_000, b"null", b'"a"']
)
def test_junk_instead_of_json_is_a_short_answer(body: bytes) -> None:
    async def test() -> None:
        async with (
            client(host=EVERYWHERE) as there,
            there.post("/api/enter", data=body) as answer,
        ):
            assert answer.status in (400, 401)
            assert "Traceback" not in await answer.text()

    run(test)


@pytest.mark.parametrize(
    "host",
    ["[localhost]evil.com", "[::1]x;y", "[::1", "localhost:x", "localhost:1:2", "", "a b", "lö"],
)
def test_hosts_are_taken_apart_strictly(host: str) -> None:
    async def test() -> None:
        async with client() as there:
            sent = f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
            assert (await answer_to(there, sent))[9:12] in (b"421", b"400")

    run(test)


def test_request_without_a_host_is_refused() -> None:
    async def test() -> None:
        async with client() as there:
            assert b" 421 " in await answer_to(there, b"GET / HTTP/1.0\r\n\r\n")

    run(test)


def test_sessions_are_few_and_end() -> None:
    from sfumato.stream.live.server.guard import MOST_SESSIONS, Guard

    guard = Guard(ServeSettings())
    for _ in range(MOST_SESSIONS + 10):
        assert guard.enter(None)
    assert len(guard._sessions) == MOST_SESSIONS


def test_token_is_compared_as_a_whole() -> None:
    from sfumato.stream.live.server.guard import Guard

    guard = Guard(ServeSettings(host=EVERYWHERE))
    assert guard.token is not None
    assert guard.enter(guard.token[:-1]) is None
    assert guard.enter(guard.token + " ") is None
    assert guard.enter(guard.token) is not None


def test_settings_that_make_no_sense_name_the_option() -> None:
    senseless: list[tuple[dict[str, Any], str]] = [
        ({"port": 70_000}, "--port 70000"),
        ({"max_viewers": 0}, "--max-viewers 0"),
        ({"max_upload_bytes": 5}, "--max-upload"),
        ({"cert": Path("a.pem")}, "--cert and --key"),
    ]
    for settings, option in senseless:
        with pytest.raises(SettingsError, match=option):
            ServeSettings(**settings)


def test_port_in_use_is_one_line() -> None:
    async def test() -> None:
        async with client() as there:
            settings = ServeSettings(port=there.server.guard.port)
            with pytest.raises(SfumatoError, match=f"--port {settings.port}: cannot listen"):
                async with serving(settings, ["toon"]):
                    pass

    run(test)


def test_https_signs_a_certificate_on_the_spot_and_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    prints = []

    async def test() -> None:
        for _ in range(2):
            async with serving(ServeSettings(port=0, tls=True), ["toon"]) as running:
                address = running.address
                assert address.url.startswith("https://127.0.0.1:")
                assert address.fingerprint is not None
                prints.append(address.fingerprint)
                digest = bytes.fromhex(address.fingerprint.replace(":", ""))
                async with (
                    aiohttp.ClientSession() as http,
                    http.get(address.url, ssl=aiohttp.Fingerprint(digest)) as answer,
                ):
                    assert answer.status == 200
                    assert "wss://127.0.0.1" in answer.headers["Content-Security-Policy"]

    run(test)
    assert prints[0] == prints[1]
    key = tmp_path / "sfumato" / "serve" / "key.pem"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_files_that_are_no_certificate_are_one_line(tmp_path: Path) -> None:
    junk = tmp_path / "junk.pem"
    junk.write_text("not a certificate")

    async def test() -> None:
        with pytest.raises(SettingsError, match=r"junk\.pem: no certificate"):
            async with serving(ServeSettings(port=0, cert=junk, key=junk), ["toon"]):
                pass

    run(test)


def test_missing_extra_says_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    command = sys.modules["sfumato.stream.cli.serve"]
    monkeypatch.setattr(command, "NEEDED", ("aiohttp", "no_such_module_here"))
    result = CliRunner().invoke(cli, ["serve"])
    assert result.exit_code == 1
    assert "pip install 'sfumato[serve]'" in result.output


def test_own_style_with_the_name_of_another_is_shown_beside_it() -> None:
    gallery = Gallery(["/my/toon.onnx", "oil", "toon"])
    assert gallery.keys == ["toon", "oil", "toon-2"]
    assert [gallery.find(key) for key in gallery.keys] == ["/my/toon.onnx", "oil", "toon"]
    assert gallery.key_of("toon") == "toon-2" and gallery.key_of("/my/toon.onnx") == "toon"


def test_state_tells_what_the_page_needs() -> None:
    async def test() -> None:
        async with client() as there, there.get("/api/state") as answer:
            state = json.loads(await answer.text())
            assert [style["style"] for style in state["styles"]] == ["identity", "toon-fast"]
            assert state["styles"][1]["name"] == "Toon fast"
            async with there.get(state["styles"][1]["thumb"]) as picture:
                assert picture.content_type == "image/jpeg"
                assert len(await picture.read()) > 2000

    run(test)


def test_command_says_where_it_is_and_ends_cleanly_on_ctrl_c() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "sfumato", "serve", "--port", "0"],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stderr is not None and process.stdout is not None
        assert re.fullmatch(r"Sfumato is at http://127\.0\.0\.1:\d+/\n", process.stderr.readline())
        assert process.stderr.readline() == "Ctrl-C stops.\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert (process.stdout.read(), process.stderr.read()) == ("", "")


def test_command_that_cannot_listen_is_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sfumato", "serve", "--host", "203.0.113.9"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "--host 203.0.113.9" in done.stderr


@pytest.mark.parametrize("size", ["nan", "inf", "-inf", "1e308"])
def test_upload_size_is_a_number(size: str) -> None:
    result = CliRunner().invoke(cli, ["serve", "--max-upload", size])
    assert result.exit_code == 2 and "--max-upload" in result.output


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--port", "99999"], SettingsError),
        (["--max-upload", "0"], SettingsError),
        (["--scale", "x"], SettingsError),
        (["--max-age", "1"], SettingsError),
        (["--style", "no-such"], StyleError),
    ],
)
def test_command_refuses_what_makes_no_sense(words: list[str], error: type[Exception]) -> None:
    result = CliRunner().invoke(cli, ["serve", *words])
    assert isinstance(result.exception, error)
    assert words[1] in str(result.exception) or words[0] in str(result.exception)
