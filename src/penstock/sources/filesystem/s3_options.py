"""What users tell s3fs in its own words, and what of it Spark can be told too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from penstock.config import AwsCredentials

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_CLIENT_KWARGS: Final = "client_kwargs"
_CREDENTIAL_FIELDS: Final = {
    "key": "aws_access_key_id",
    "username": "aws_access_key_id",
    "secret": "aws_secret_access_key",
    "password": "aws_secret_access_key",
    "token": "aws_session_token",
    "profile": "profile_name",
    "endpoint_url": "endpoint_url",
}
_CLIENT_CREDENTIAL_FIELDS: Final = frozenset(AwsCredentials.model_fields) - {
    "profile_name",
    "s3_url_style",
    "conditional_writes",
}
# How Python lists and reads, which is no concern of Spark.
_PYTHON_ONLY_OPTIONS: Final = frozenset({
    *("use_listings_cache", "listings_expiry_time", "max_paths", "skip_instance_cache", "asynchronous"),
    *("default_block_size", "default_fill_cache", "default_cache_type", "max_concurrency", "cache_regions"),
    *("fixed_upload_size", "loop", "batch_size", "version_aware"),
})  # fmt: skip

_DEFAULTS: Final = (("anon", False), ("use_ssl", True), ("requester_pays", False))


def credentials_from_s3fs(
    options: Mapping[str, Any], credentials: AwsCredentials | None
) -> tuple[AwsCredentials | None, tuple[str, ...]]:
    """Credentials with what s3fs was told besides them, and the names of what has no place in them.

    >>> credentials_from_s3fs({"endpoint_url": "http://localhost:9000", "anon": True}, None)
    (AwsCredentials(endpoint_url='http://localhost:9000'), ('anon',))
    """
    found: dict[str, Any] = {}
    untold: list[str] = []
    for name, field, value in _flat_options(options):
        if field is not None:
            found[field] = value
        elif name not in _PYTHON_ONLY_OPTIONS and (name, value) not in _DEFAULTS:
            untold.append(name)
    if found:
        credentials = AwsCredentials(
            **{**(credentials.to_native_representation() if credentials else {}), **found}
        )
    return credentials, tuple(untold)


def _flat_options(options: Mapping[str, Any]) -> Iterator[tuple[str, str | None, Any]]:
    """What is said: its name, the field of credentials that it belongs to, and its value."""
    for name, value in options.items():
        if name == _CLIENT_KWARGS:
            for inner, one in (value or {}).items():
                yield f"{_CLIENT_KWARGS}.{inner}", inner if inner in _CLIENT_CREDENTIAL_FIELDS else None, one
        elif value is not None:
            yield name, _CREDENTIAL_FIELDS.get(name), value
