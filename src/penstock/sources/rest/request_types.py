"""Types of requests, for annotations."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Literal

from requests import Response

Seconds = float | timedelta
TRequestTimeout = Seconds | tuple[Seconds, Seconds] | None
"""A timeout in seconds, a pair of timeouts to connect and to read, or None for no timeout."""
RetryPredicate = Callable[[Response | None, BaseException | None], bool]
"""A function of a response and an error, one of which may be None, that returns whether to retry."""
HTTPMethodBasic = Literal["GET", "POST"]
HTTPMethodExtended = Literal["PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
HTTPMethod = HTTPMethodBasic | HTTPMethodExtended
HookFunction = Callable[[Response, Any, Any], None]
HookEvent = HookFunction | list[HookFunction]
Hooks = dict[str, HookEvent]
"""Functions by the event of `requests` that calls them, which is `response`."""
