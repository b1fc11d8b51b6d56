"""The import paths of the reference pages and of dlt: re-exports of other packages, and no code.

Input:   none.
Output:  the paths of the pages and of dlt, such as `common.typing`.
Imports: every package below.
"""

from decimal import Decimal
from time import sleep

from penstock.common import json, jsonpath
from penstock.common.pendulum import pendulum
from penstock.compat import logger

__all__ = ["Decimal", "json", "jsonpath", "logger", "pendulum", "sleep"]
