"""Types of values, by dlt's import path."""

from typing import Dict, TypedDict

from penstock.compat.datetimes import TAnyDateTime
from penstock.compat.types import (
    AnyFun,
    DictStrAny,
    DictStrStr,
    REPattern,
    StrAny,
    StrOrBytesPath,
    StrStr,
    TTableHintTemplate,
)
from penstock.config import TSecretStrValue, TSecretValue
from penstock.sources import TDataItem, TDataItems

__all__ = [
    "AnyFun",
    "Dict",
    "DictStrAny",
    "DictStrStr",
    "REPattern",
    "StrAny",
    "StrOrBytesPath",
    "StrStr",
    "TAnyDateTime",
    "TDataItem",
    "TDataItems",
    "TSecretStrValue",
    "TSecretValue",
    "TTableHintTemplate",
    "TypedDict",
]
