"""One block of credentials becomes what fsspec takes and what Hadoop takes."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from penstock.config import AwsCredentials
from penstock.package import FileStorage
from penstock.spark.s3 import (
    object_store_options,
    s3_bucket,
    s3_needs,
    s3a_conf,
    s3a_conf_for_all,
    s3fs_options,
)

LOCATION = "s3://lake/raw"
KEYS: dict[str, Any] = {"aws_access_key_id": "AKEXAMPLE", "aws_secret_access_key": "hush-hush-hush"}
FRESH: dict[str, Any] = {"use_listings_cache": False}


def said(conf: dict[str, str]) -> dict[str, str]:
    """Settings of the bucket, without the beginning that they all have."""
    assert all(key.startswith("fs.s3a.bucket.lake.") for key in conf)
    return {key.removeprefix("fs.s3a.bucket.lake."): str(value) for key, value in conf.items()}


@pytest.mark.parametrize(
    ("fields", "options", "conf"),
    [
        ({}, {}, {}),
        (
            KEYS,
            {"key": "AKEXAMPLE", "secret": "hush-hush-hush"},
            {
                "access.key": "AKEXAMPLE",
                "secret.key": "hush-hush-hush",
                "aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
            },
        ),
        (
            {**KEYS, "aws_session_token": "for-an-hour"},
            {"key": "AKEXAMPLE", "secret": "hush-hush-hush", "token": "for-an-hour"},
            {
                "access.key": "AKEXAMPLE",
                "secret.key": "hush-hush-hush",
                "session.token": "for-an-hour",
                "aws.credentials.provider": "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider",
            },
        ),
        (
            {"profile_name": "work"},
            {"profile": "work"},
            {
                "auth.profile.name": "work",
                "aws.credentials.provider": "org.apache.hadoop.fs.s3a.auth.ProfileAWSCredentialsProvider",
            },
        ),
        (
            {"region_name": "eu-west-1"},
            {"client_kwargs": {"region_name": "eu-west-1"}},
            {"endpoint.region": "eu-west-1"},
        ),
        (
            {"endpoint_url": "http://127.0.0.1:9000"},
            {"endpoint_url": "http://127.0.0.1:9000"},
            {
                "endpoint": "http://127.0.0.1:9000",
                "endpoint.region": "us-east-1",
                "connection.ssl.enabled": "false",
                "path.style.access": "true",
            },
        ),
        (
            {"endpoint_url": "https://store.example.com", "s3_url_style": "vhost", "region_name": "x"},
            {
                "endpoint_url": "https://store.example.com",
                "client_kwargs": {"region_name": "x"},
                "config_kwargs": {"s3": {"addressing_style": "virtual"}},
            },
            {
                "endpoint": "https://store.example.com",
                "endpoint.region": "x",
                "connection.ssl.enabled": "true",
                "path.style.access": "false",
            },
        ),
        (
            {"s3_url_style": "path"},
            {"config_kwargs": {"s3": {"addressing_style": "path"}}},
            {"path.style.access": "true"},
        ),
    ],
)
def test_one_settings_block_configures_python_and_hadoop(
    fields: dict[str, Any], options: dict[str, Any], conf: dict[str, str]
) -> None:
    credentials = AwsCredentials(**fields)

    assert s3fs_options(LOCATION, credentials) == {**FRESH, **options}
    assert said(s3a_conf(LOCATION, credentials)) == conf


def test_keys_win_over_a_profile_on_both_sides() -> None:
    both = AwsCredentials(**KEYS, profile_name="work")

    assert "profile" not in s3fs_options(LOCATION, both)
    assert "auth.profile.name" not in said(s3a_conf(LOCATION, both))


def test_without_credentials_both_sides_look_for_those_of_the_machine() -> None:
    assert s3fs_options(LOCATION, None) == FRESH
    assert s3a_conf(LOCATION, None) == {}


@pytest.mark.parametrize("location", ["/lake/raw", "file:///lake", "gs://lake/raw", "memory://lake", ""])
def test_the_keys_apply_to_their_bucket_only(location: str) -> None:
    credentials = AwsCredentials(**KEYS)

    assert s3fs_options(location, credentials) == {}
    assert s3a_conf(location, credentials) == {}
    assert s3_needs(location, None) == ()


def test_tables_and_packages_may_be_in_two_buckets() -> None:
    conf = s3a_conf_for_all(
        ("s3a://tables.example/x", "s3://packages", None, "/here"), AwsCredentials(**KEYS)
    )

    assert {key.rsplit(".", 2)[0] for key in conf if key.endswith("secret.key")} == {
        "fs.s3a.bucket.tables.example",
        "fs.s3a.bucket.packages",
    }
    assert s3_bucket("S3://Lake") == "Lake"


def test_options_are_plain_texts_so_that_two_secrets_are_two_file_systems() -> None:
    one, other = (
        s3fs_options(LOCATION, AwsCredentials(aws_access_key_id="AK", aws_secret_access_key=secret))
        for secret in ("first-of-two", "second-of-two")
    )

    assert type(one["secret"]) is str
    assert str(one) != str(other)


def test_a_storage_shows_no_keys_and_returns_the_hadoop_settings() -> None:
    storage = FileStorage(LOCATION, credentials=AwsCredentials(**KEYS))

    assert said(storage.hadoop_conf)["secret.key"] == "hush-hush-hush"
    assert "hush" not in repr(storage)
    assert "hush" not in repr(storage.hadoop_conf)
    assert (
        storage.with_root("s3://other/x").hadoop_conf.keys()
        == s3a_conf("s3://other", AwsCredentials(**KEYS)).keys()
    )
    assert FileStorage("memory://lake", credentials=AwsCredentials(**KEYS)).hadoop_conf == {}


def test_settings_for_hadoop_are_plain_text() -> None:
    conf = s3a_conf(LOCATION, AwsCredentials(**KEYS))

    assert pickle.loads(pickle.dumps(conf))["fs.s3a.bucket.lake.secret.key"] == "hush-hush-hush"


def test_an_object_store_creates_objects_with_a_condition() -> None:
    gateway = AwsCredentials(**KEYS, endpoint_url="http://127.0.0.1:7070")
    amazon = AwsCredentials(**KEYS, aws_session_token="for-an-hour", region_name="eu-west-1")
    shared = {
        "AWS_ACCESS_KEY_ID": "AKEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "hush-hush-hush",
        "AWS_CONDITIONAL_PUT": "etag",
    }

    assert object_store_options(LOCATION, gateway) == {
        **shared,
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:7070",
        "AWS_ALLOW_HTTP": "true",
        "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "false",
    }
    assert object_store_options(LOCATION, amazon) == {
        **shared,
        "AWS_SESSION_TOKEN": "for-an-hour",
        "AWS_REGION": "eu-west-1",
        "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "true",
    }
    assert FileStorage(LOCATION, credentials=amazon).object_store_options is not None


@pytest.mark.parametrize(
    ("location", "credentials"),
    [(LOCATION, None), (LOCATION, AwsCredentials(profile_name="work")), ("/lake", AwsCredentials(**KEYS))],
)
def test_without_keys_in_the_settings_an_object_store_has_no_options(
    location: str, credentials: AwsCredentials | None
) -> None:
    assert object_store_options(location, credentials) is None
