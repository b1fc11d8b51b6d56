"""The progress of a cursor in this run, shared by its rows, its frames and user code."""

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
    """The current values of a cursor. User code reads them through its `Incremental`."""

    def __init__(
        self,
        options: CursorOptions,
        *,
        resource: str,
        last_value: Any,
        boundary: Boundary,
        stop: Callable[[], None],
    ) -> None:
        self.options, self.resource, self.boundary, self._stop = options, resource, boundary, stop
        self.path = parse_cursor_path(str(options.cursor_path))
        self.previous_value = last_value
        """The last value of the previous run."""
        self.start_value = self.last_value = lagged_start(options, last_value)
        self.end_value = options.end_value
        self.start_out_of_range = self.end_out_of_range = False
        self.deduplicates = options.deduplicates
        self.is_key_inferred = False
        """Whether the source inferred the key from its data, and no user declared it."""
        self._is_aligned = False

    def use_key(self, primary_key: Any) -> None:
        """Identify rows of frames by this key if none is declared."""
        if self.options.primary_key is None:
            self.options, self.is_key_inferred = self.options.with_key(primary_key), True

    def advance_to(self, last_value: Any) -> None:
        """Advance the last value, and drop the hashes of the old one."""
        self.last_value = last_value
        self.boundary.restart()

    def record_out_of_range(self, *, start_out: bool, end_out: bool) -> None:
        """Record rows out of range; in a declared order no row of the range can follow, so reading stops."""
        self.start_out_of_range, self.end_out_of_range = start_out, end_out
        order = self.options.row_order
        if (end_out and order == "asc") or (start_out and order == "desc"):
            self._stop()

    def align_timezones(self, value: Any) -> None:
        """Align the bounds with the first value: with a time zone or without."""
        if not self._is_aligned:
            self._is_aligned = True
            self.start_value = self.last_value = align_timezone(self.start_value, value)
            self.previous_value = align_timezone(self.previous_value, value)
            self.end_value = align_timezone(self.end_value, value)

    def clamp_to_previous(self) -> None:
        """Keep the last value from moving back to rows that a lag reads again."""
        if self.options.lag and self.previous_value is not None:
            self.last_value = self.options.last_value_func((self.last_value, self.previous_value))

    def coercion_error(self, bound: str, expected: Any, got: str, error: Exception) -> Exception:
        """Return the error for values that cannot be compared."""
        return IncrementalCursorInvalidCoercion(
            resource=self.resource,
            cursor_path=str(self.options.cursor_path),
            bound=bound,
            expected=f"{expected!r}, {type(expected).__name__}",
            got=got,
            cause=str(error),
        )
