"""The token request of the JWT bearer flow: signed claims instead of a password.

Also runs where penstock is not installed, on executors that have `cryptography`.
"""

from __future__ import annotations

import base64
import json
import time
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from penstock.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_LIFETIME = 3600


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """An RSA key as text, with its passphrase: PEM, or DER in base64.

    >>> PrivateKey("hunter2")
    PrivateKey(***)
    """

    text: str
    passphrase: str | None = None

    def sign(self, message: bytes) -> bytes:
        """Return the signature of a message by RSA, PKCS #1 v1.5 and SHA-256 (RS256)."""
        primitives = _cryptography("hazmat.primitives.hashes")
        padding = _cryptography("hazmat.primitives.asymmetric.padding")
        signature: bytes = self.load().sign(message, padding.PKCS1v15(), primitives.SHA256())
        return signature

    def load(self) -> Any:
        """Return the key as an object of `cryptography`; raise if the text is not a key."""
        serialization = _cryptography("hazmat.primitives.serialization")
        password = self.passphrase.encode() if self.passphrase else None
        is_pem = self.text.lstrip().startswith("-----BEGIN")
        try:
            if is_pem:
                return serialization.load_pem_private_key(self.text.strip().encode(), password)
            return serialization.load_der_private_key(base64.b64decode(self.text, validate=True), password)
        except (ValueError, TypeError) as error:
            reason = type(error).__name__
        raise UsageError(
            f"the private key cannot be read ({reason})",
            hint="set a PEM text that begins with -----BEGIN, or a DER key in base64, with its passphrase",
        )

    def __repr__(self) -> str:
        return "PrivateKey(***)"


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertionRequest:
    """The token request with a signed assertion, and the parser of its response."""

    issuer: str
    audience: str
    scope: str
    headers: Mapping[str, str]
    private_key: PrivateKey
    default_lifetime: int
    clock: Callable[[], float] = time.time

    def claims(self) -> dict[str, str | int]:
        """Return the claims: issuer, subject, audience, times, and the scope if one is set."""
        now = int(self.clock())
        claims: dict[str, str | int] = {
            "iss": self.issuer,
            "sub": self.issuer,
            "aud": self.audience,
            "exp": now + _LIFETIME,
            "iat": now,
        }
        return {**claims, "scope": self.scope} if self.scope else claims

    def assertion(self) -> str:
        """Return the signed token of the claims."""
        parts = ({"alg": "RS256", "typ": "JWT"}, self.claims())
        message = ".".join(_encode(json.dumps(part, separators=(",", ":")).encode()) for part in parts)
        return f"{message}.{_encode(self.private_key.sign(message.encode()))}"

    def build(self) -> dict[str, Any]:
        """Return the arguments of the POST request."""
        return {
            "headers": dict(self.headers),
            "data": {
                "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
                "assertion": self.assertion(),
            },
        }

    def parse_response(self, response_json: Any) -> tuple[str, int]:
        """Return the token and its lifetime in seconds."""
        lifetime = int(response_json.get("expires_in") or self.default_lifetime)
        return str(response_json["access_token"]), lifetime


def _encode(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()


def _cryptography(module: str) -> Any:
    try:
        return import_module(f"cryptography.{module}")
    except ModuleNotFoundError:
        raise MissingExtra(extra="jwt", needed_for="signing a JSON web token") from None
