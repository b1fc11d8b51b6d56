"""How far a cursor has come in this run: what its rows, its frames and user code share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import IncrementalCursorInvalidCoercion
from penstock.extract.cursor.bounds import align_timezone, lagged_start
from penstock.interfaces.cursorpath import parse_cursor_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.extract.cursor.boundary import Boundary
    from penstock.interfaces.cursor_options import CursorOptions


class CursorProgress:
    """The values of a cursor that runs. User code sees them through its `Incremental`."""

    def __init__(
        self,
        terms: CursorOptions,
        *,
        resource: str,
        last_value: Any,
        boundary: Boundary,
        stop: Callable[[], None],
    ) -> None:
        self.terms, self.resource, self.boundary, self._stop = terms, resource, boundary, stop
        self.path = parse_cursor_path(str(terms.cursor_path))
        self.previous_value = last_value
        """The last value of the run before."""
        self.start_value = self.last_value = lagged_start(terms, last_value)
        self.end_value = terms.end_value
        self.start_out_of_range = self.end_out_of_range = False
        self.deduplicates = terms.deduplicates
        self.is_key_inferred = False
        """Whether the key is what the source found in its data, and nobody said it."""
        self._is_aligned = False

    def use_key(self, primary_key: Any) -> None:
        """Tell rows of the frames that come apart by this key, where there is none."""
        if self.terms.primary_key is None:
            self.terms, self.is_key_inferred = self.terms.with_key(primary_key), True

    def advance_to(self, last_value: Any) -> None:
        """Move the last value on: what is known at the old one is behind it."""
        self.last_value = last_value
        self.boundary.restart()

    def record_out_of_range(self, *, start_out: bool, end_out: bool) -> None:
        """Take note of where rows lie; where order is promised, nothing can follow what lies outside."""
        self.start_out_of_range, self.end_out_of_range = start_out, end_out
        order = self.terms.row_order
        if (end_out and order == "asc") or (start_out and order == "desc"):
            self._stop()

    def align_timezones(self, value: Any) -> None:
        """Bring the bounds into the form of the first value that comes: with a time zone or without."""
        if not self._is_aligned:
            self._is_aligned = True
            self.start_value = self.last_value = align_timezone(self.start_value, value)
            self.previous_value = align_timezone(self.previous_value, value)
            self.end_value = align_timezone(self.end_value, value)

    def clamp_to_previous(self) -> None:
        """With a lag, rows from before the last value are read again; it never goes back to them."""
        if self.terms.lag and self.previous_value is not None:
            self.last_value = self.terms.last_value_func((self.last_value, self.previous_value))

    def coercion_error(self, bound: str, expected: Any, got: str, error: Exception) -> Exception:
        """The error for values that cannot be compared."""
        return IncrementalCursorInvalidCoercion(
            resource=self.resource,
            cursor_path=str(self.terms.cursor_path),
            bound=bound,
            expected=f"{expected!r}, {type(expected).__name__}",
            got=got,
            cause=str(error),
        )
