"""One set of keys for S3, told to the two who open it: Python's file system and Hadoop's.

Where nothing is set, both look for the keys of the machine: environment, profile, role.
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
# Signatures name a region, also for stores that have none.
_DEFAULT_REGION: Final = "us-east-1"
_ADDRESSING_STYLES: Final = {"path": "path", "vhost": "virtual", "virtual": "virtual"}


def s3_bucket(location: str | None) -> str | None:
    """The bucket of an address on S3; None for all others.

    >>> s3_bucket("s3://lake/raw"), s3_bucket("/lake/raw")
    ('lake', None)
    """
    scheme, found, rest = (location or "").partition("://")
    return rest.partition("/")[0] if found and scheme.lower() in _SCHEMES else None


def s3_needs(*locations: str | None) -> tuple[str, ...]:
    """What a session must bring for these locations: the jars of S3, if one of them is there.

    >>> s3_needs("/lake", "s3://packages/shop"), s3_needs("/lake")
    (('s3',), ())
    """
    return (S3_PRESET,) if any(s3_bucket(location) is not None for location in locations) else ()


def s3fs_options(location: str, credentials: AwsCredentials | None) -> dict[str, Any]:
    """How fsspec opens an address; nothing for addresses that are not on S3.

    Plain texts, not secret ones: fsspec tells two file systems apart by what their options look like.
    """
    if s3_bucket(location) is None:
        return {}
    options: dict[str, Any] = {"use_listings_cache": False}
    if credentials is None:
        return options
    style = _ADDRESSING_STYLES.get(credentials.s3_url_style or "")
    said = {
        "key": credentials.aws_access_key_id,
        "secret": credentials.aws_secret_access_key,
        "token": credentials.aws_session_token,
        "profile": credentials.profile_name if credentials.aws_access_key_id is None else None,
        "endpoint_url": credentials.endpoint_url,
    }
    options |= {name: str(value) for name, value in said.items() if value is not None}
    if credentials.region_name:
        options["client_kwargs"] = {"region_name": credentials.region_name}
    if style:
        options["config_kwargs"] = {"s3": {"addressing_style": style}}
    return options


def s3a_conf(location: str | None, credentials: AwsCredentials | None) -> dict[str, str]:
    """What Hadoop must be told to open the bucket of an address; other buckets do not hear of it."""
    bucket = s3_bucket(location)
    if bucket is None or credentials is None:
        return {}
    said = {**_credentials_conf(credentials), **_endpoint_conf(credentials)}
    return {f"fs.s3a.bucket.{bucket}.{name}": value for name, value in said.items()}


def s3a_conf_for_all(locations: Iterable[str | None], credentials: AwsCredentials | None) -> dict[str, str]:
    """What Hadoop must be told to open all of these."""
    return {key: value for place in locations for key, value in s3a_conf(place, credentials).items()}


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
    """Where the store is. One with an address of its own is asked by path, as Python's client does it."""
    endpoint, style = credentials.endpoint_url, _ADDRESSING_STYLES.get(credentials.s3_url_style or "")
    region = credentials.region_name or (_DEFAULT_REGION if endpoint else None)
    place = {"endpoint.region": region} if region else {}
    if endpoint:
        plain = endpoint.lower().startswith("http://")
        place |= {"endpoint": endpoint, "connection.ssl.enabled": "false" if plain else "true"}
    if style or endpoint:
        place["path.style.access"] = "false" if style == "virtual" else str(bool(style or endpoint)).lower()
    return place
