"""S3 credentials for Python's file system and for Hadoop.

Without settings, both use the keys of the machine: environment, profile, role.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.config import AwsCredentials

S3_PRESET: Final = "s3"
"""The key of the preset table."""
_SCHEMES: Final = frozenset(("s3", "s3a", "s3n"))
_S3A_PACKAGE: Final = "org.apache.hadoop.fs.s3a"
# Signatures need a region, also for stores without regions.
_DEFAULT_REGION: Final = "us-east-1"
_ADDRESSING_STYLES: Final = {"path": "path", "vhost": "virtual", "virtual": "virtual"}


def s3_bucket(location: str | None) -> str | None:
    """Return the bucket of an S3 address; None for other addresses.

    >>> s3_bucket("s3://lake/raw"), s3_bucket("/lake/raw")
    ('lake', None)
    """
    scheme, separator, rest = (location or "").partition("://")
    return rest.partition("/")[0] if separator and scheme.lower() in _SCHEMES else None


def s3_needs(*locations: str | None) -> tuple[str, ...]:
    """Return the preset that a session needs for these locations: S3 if one of them is on S3.

    >>> s3_needs("/lake", "s3://packages/shop"), s3_needs("/lake")
    (('s3',), ())
    """
    return (S3_PRESET,) if any(s3_bucket(location) is not None for location in locations) else ()


def s3fs_options(location: str, credentials: AwsCredentials | None) -> dict[str, Any]:
    """Return fsspec's options for an address; empty if it is not on S3.

    Plain texts instead of secret ones: fsspec caches file systems by the text of their options.
    """
    if s3_bucket(location) is None:
        return {}
    options: dict[str, Any] = {"use_listings_cache": False}
    if credentials is None:
        return options
    style = _ADDRESSING_STYLES.get(credentials.s3_url_style or "")
    values = {
        "key": credentials.aws_access_key_id,
        "secret": credentials.aws_secret_access_key,
        "token": credentials.aws_session_token,
        "profile": credentials.profile_name if credentials.aws_access_key_id is None else None,
        "endpoint_url": credentials.endpoint_url,
    }
    options |= {name: str(value) for name, value in values.items() if value is not None}
    if credentials.region_name:
        options["client_kwargs"] = {"region_name": credentials.region_name}
    if style:
        options["config_kwargs"] = {"s3": {"addressing_style": style}}
    return options


def object_store_options(location: str, credentials: AwsCredentials | None) -> dict[str, str] | None:
    """Return the options of Rust's object store for an address; None if its keys are not in the settings.

    An object is created with `If-None-Match`. The options contain secrets.
    """
    if s3_bucket(location) is None or credentials is None or credentials.aws_access_key_id is None:
        return None
    endpoint = credentials.endpoint_url
    is_virtual = _ADDRESSING_STYLES.get(credentials.s3_url_style or "") == "virtual"
    values = {
        "AWS_ACCESS_KEY_ID": credentials.aws_access_key_id,
        "AWS_SECRET_ACCESS_KEY": credentials.aws_secret_access_key,
        "AWS_SESSION_TOKEN": credentials.aws_session_token,
        "AWS_REGION": credentials.region_name or (_DEFAULT_REGION if endpoint else None),
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true" if (endpoint or "").lower().startswith("http://") else None,
        "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": str(is_virtual or not endpoint).lower(),
        "AWS_CONDITIONAL_PUT": "etag",
    }
    return {name: str(value) for name, value in values.items() if value is not None}


def s3a_conf(location: str | None, credentials: AwsCredentials | None) -> dict[str, str]:
    """Return Hadoop's settings for the bucket of an address; they do not affect other buckets."""
    bucket = s3_bucket(location)
    if bucket is None or credentials is None:
        return {}
    conf = {**_credentials_conf(credentials), **_endpoint_conf(credentials)}
    return {f"fs.s3a.bucket.{bucket}.{name}": value for name, value in conf.items()}


def s3a_conf_for_all(locations: Iterable[str | None], credentials: AwsCredentials | None) -> dict[str, str]:
    """Return Hadoop's settings for the buckets of all addresses."""
    return {key: value for location in locations for key, value in s3a_conf(location, credentials).items()}


def _credentials_conf(credentials: AwsCredentials) -> dict[str, str]:
    if credentials.aws_access_key_id is not None and credentials.aws_secret_access_key is not None:
        keys = {
            "access.key": credentials.aws_access_key_id,
            "secret.key": credentials.aws_secret_access_key,
        }
        if credentials.aws_session_token is None:
            return {**keys, "aws.credentials.provider": f"{_S3A_PACKAGE}.SimpleAWSCredentialsProvider"}
        return {
            **keys,
            "session.token": credentials.aws_session_token,
            "aws.credentials.provider": f"{_S3A_PACKAGE}.TemporaryAWSCredentialsProvider",
        }
    if credentials.profile_name is not None:
        return {
            "auth.profile.name": credentials.profile_name,
            "aws.credentials.provider": f"{_S3A_PACKAGE}.auth.ProfileAWSCredentialsProvider",
        }
    return {}


def _endpoint_conf(credentials: AwsCredentials) -> dict[str, str]:
    """Return the settings of the endpoint; a custom one uses path-style access, as in Python."""
    endpoint, style = credentials.endpoint_url, _ADDRESSING_STYLES.get(credentials.s3_url_style or "")
    region = credentials.region_name or (_DEFAULT_REGION if endpoint else None)
    conf = {"endpoint.region": region} if region else {}
    if endpoint:
        plain = endpoint.lower().startswith("http://")
        conf |= {"endpoint": endpoint, "connection.ssl.enabled": "false" if plain else "true"}
    if style or endpoint:
        conf["path.style.access"] = "false" if style == "virtual" else str(bool(style or endpoint)).lower()
    return conf
