"""What the answers of an object store mean: taken, not now, or something that would come again."""

from __future__ import annotations

from typing import Final

_PRECONDITION_FAILED: Final = 412
_TRANSIENT_STATUSES: Final = frozenset((408, 409, 429))
_FIRST_SERVER_ERROR: Final = 500
_NOT_IMPLEMENTED: Final = 501
# What a store will say again, in the words of S3; and errors of its client, before anything is asked.
_PERMANENT_CODES: Final = frozenset(
    (
        *("NoSuchBucket", "InvalidBucketName", "PermanentRedirect", "301", "400"),
        *("AuthorizationHeaderMalformed", "InvalidToken", "TokenRefreshRequired"),
    )
)
_TRANSIENT_CODES: Final = frozenset(
    ("500", "502", "503", "504", "InternalError", "ServiceUnavailable", "SlowDown", "RequestTimeout")
)
_CREDENTIAL_ERRORS: Final = frozenset(
    ("NoCredentialsError", "PartialCredentialsError", "ProfileNotFound", "NoAuthTokenError")
)


def http_status(error: BaseException) -> int | None:
    """The HTTP status that a client library got, where its error says so."""
    response = getattr(error.__cause__, "response", None)
    found = response.get("ResponseMetadata", {}) if isinstance(response, dict) else {}
    status = found.get("HTTPStatusCode")
    return status if isinstance(status, int) else None


def error_code(error: BaseException) -> str | None:
    """What the store called the error, where its client tells."""
    response = getattr(error.__cause__, "response", None)
    found = response.get("Error", {}) if isinstance(response, dict) else {}
    return str(found["Code"]) if "Code" in found else None


def is_name_taken(error: OSError) -> bool:
    """Whether the store says that a name is taken."""
    return isinstance(error, FileExistsError) or http_status(error) == _PRECONDITION_FAILED


def permanent_failure_reason(error: Exception, path: str) -> str | None:
    """What a store said that it will say again: it lets nobody in, or there is no such bucket; else None."""
    code, kind = error_code(error), type(error).__name__
    # What the disk of this machine denies is clear as it is.
    is_denied = isinstance(error, PermissionError) and not path.startswith("/")
    return (
        f"{code or kind}: {error}"
        if code in _PERMANENT_CODES or kind in _CREDENTIAL_ERRORS or is_denied
        else None
    )


def is_write_conflict(error: Exception) -> bool:
    """Whether two conditional puts met in flight, so that neither has won."""
    return "ConditionalRequestConflict" in str(error)


def is_checksum_mismatch(error: Exception) -> bool:
    """Whether a reply does not match its checksum, which another reply may; s3fs does not retry these."""
    return type(error).__name__ == "FlexibleChecksumError"


def transient_failure_reason(error: Exception) -> str | None:
    """What a store said that may do later what it did not do now: busy, broken or cut off; else None."""
    if isinstance(error, NotImplementedError | TypeError | ValueError):
        return None
    # Errors that only the client library has are about the way to the store.
    is_away = not isinstance(error, OSError) or isinstance(error, TimeoutError | ConnectionError)
    if not (is_away or error_code(error) in _TRANSIENT_CODES or _is_transient_status(http_status(error))):
        return None
    return f"{error_code(error) or type(error).__name__}: {error.__cause__ or error}"


def _is_transient_status(status: int | None) -> bool:
    return (
        status is not None
        and status != _NOT_IMPLEMENTED
        and (status >= _FIRST_SERVER_ERROR or status in _TRANSIENT_STATUSES)
    )
