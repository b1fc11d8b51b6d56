"""Errors of object store clients are translated into retryable and terminal ones."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError
from s3fs.errors import translate_boto_error

from penstock.errors import PenstockError, StorageAccessDenied, StorageNotReachable
from penstock.package.object_files import ObjectFiles, translate_store_errors


def raised(code: str, message: str = "said so") -> Exception:
    """As s3fs raises what the store answered."""
    answer: Any = {"Error": {"Code": code, "Message": message}}
    found: Exception = translate_boto_error(ClientError(answer, "PutObject"))
    return found


@pytest.mark.parametrize(
    "error",
    [
        raised("403"),
        raised("AccessDenied"),
        raised("InvalidAccessKeyId"),
        raised("SignatureDoesNotMatch"),
        raised("ExpiredToken"),
        raised("NoSuchBucket"),
        raised("PermanentRedirect"),
        NoCredentialsError(),
    ],
    ids=repr,
)
def test_a_denied_access_is_reported_as_such(error: Exception) -> None:
    with (
        pytest.raises(StorageAccessDenied, match="lake/demo was denied: ") as caught,
        translate_store_errors("lake/demo"),
    ):
        raise error

    assert caught.value.__cause__ is error
    assert isinstance(caught.value, OSError)


@pytest.mark.parametrize(
    "error",
    [
        raised("SlowDown"),
        raised("503"),
        raised("InternalError"),
        raised("500"),
        EndpointConnectionError(endpoint_url="http://127.0.0.1:1"),
    ],
    ids=repr,
)
def test_a_busy_or_unreachable_store_is_retryable(error: Exception) -> None:
    with pytest.raises(StorageNotReachable), translate_store_errors("lake/demo"):
        raise error


@pytest.mark.parametrize(
    "error", [raised("NoSuchKey"), FileNotFoundError("x"), FileExistsError("x"), TypeError()]
)
def test_other_errors_are_not_translated(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, translate_store_errors("lake/demo"):
        raise error

    assert caught.value is error
    assert not isinstance(caught.value, PenstockError)


def test_errors_of_the_local_disk_are_not_translated() -> None:
    with pytest.raises(PermissionError), translate_store_errors("/lake/demo"):
        raise PermissionError("Permission denied")


class Closed:
    """A file system without a bucket."""

    def cat_file(self, path: str) -> bytes:
        raise raised("NoSuchBucket")

    pipe_file = cat_file


def test_a_missing_bucket_does_not_look_like_a_missing_file() -> None:
    with pytest.raises(StorageAccessDenied, match="NoSuchBucket"):
        ObjectFiles(Closed()).read("lake/demo/slots/1")
