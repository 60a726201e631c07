"""HTTPS: a certificate from files, or one that is signed on the spot and kept for the next time."""

from __future__ import annotations

import datetime
import ipaddress
import os
import socket
import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.stream.errors import SettingsError
from sfumato.stream.live.server.settings import ServeSettings

if TYPE_CHECKING:
    from cryptography import x509

VALID_DAYS = 365
RENEW_DAYS = 30
"""A certificate that ends sooner is replaced."""


@dataclass(frozen=True, slots=True)
class Tls:
    """What a listener needs, and what people can compare on their screen."""

    context: ssl.SSLContext
    fingerprint: str | None
    """SHA-256 of the certificate that we signed ourselves, as browsers show it."""


def open_tls(settings: ServeSettings, addresses: Iterable[str]) -> Tls | None:
    """The certificate for ``addresses`` (IP addresses and names); None for plain HTTP.

    Raises :class:`SettingsError` for files that hold no certificate and key.
    """
    if not settings.secure:
        return None
    cert, key = settings.cert, settings.key
    own = cert is None or key is None
    if cert is None or key is None:
        cert, key = _own_certificate(sorted(addresses))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(cert, key, password=_no_password)
    except (ssl.SSLError, ValueError, OSError) as exc:
        raise SettingsError(
            f"--cert {cert} --key {key}: no certificate and its key in PEM, without a password "
            f"({getattr(exc, 'strerror', None) or exc})"
        ) from exc
    return Tls(context, _fingerprint(cert) if own else None)


def _no_password() -> str:
    """Instead of OpenSSL's own question on the terminal."""
    raise ValueError("the key has a password")


def _own_certificate(names: list[str]) -> tuple[Path, Path]:
    """Files of a self-signed certificate for ``names``: the one from last time if it still does.

    Keeping it means that a phone has to be told once that it may trust it.
    """
    from platformdirs import user_data_path

    folder = user_data_path("sfumato", appauthor=False) / "serve"
    cert, key = folder / "certificate.pem", folder / "key.pem"
    if not (key.is_file() and _covers(cert, names)):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        cert_pem, key_pem = _sign(names)
        _write_private(key, key_pem)
        _write_private(cert, cert_pem)
    return cert, key


def _covers(path: Path, names: list[str]) -> bool:
    from cryptography import x509

    try:
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
        held = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, x509.ExtensionNotFound):
        return False
    ends = certificate.not_valid_after_utc - datetime.timedelta(days=RENEW_DAYS)
    known = {str(entry.value) for entry in held}
    return known.issuperset(names) and ends > datetime.datetime.now(datetime.UTC)


def _sign(names: list[str]) -> tuple[bytes, bytes]:
    """(certificate, key) in PEM, ECDSA P-256; phones refuse more than 398 days."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Sfumato on this network")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=VALID_DAYS))
        .add_extension(x509.SubjectAlternativeName(list(map(_general_name, names))), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    key_pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return certificate.public_bytes(serialization.Encoding.PEM), key_pem


def _general_name(name: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _write_private(path: Path, content: bytes) -> None:
    """Readable by its owner alone from the first byte on; appears whole."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    part.replace(path)


def _fingerprint(path: Path) -> str:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    digest = x509.load_pem_x509_certificate(path.read_bytes()).fingerprint(hashes.SHA256())
    return digest.hex(":").upper()


def own_addresses() -> list[str]:
    """IPv4 addresses of this machine that others on the network may know."""
    import psutil

    found = [
        entry.address
        for entries in psutil.net_if_addrs().values()
        for entry in entries
        if entry.family == socket.AF_INET
    ]
    return [text for text in found if not ipaddress.ip_address(text).is_loopback]
