"""Cursors over Python rows, one decision for each row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import IncrementalCursorPathHasValueNone, IncrementalCursorPathMissing
from penstock.extract.cursor.digest import hasher
from penstock.extract.cursor.plan import classify_value
from penstock.interfaces.cursorpath import MISSING

if TYPE_CHECKING:
    from penstock.extract.cursor.progress import CursorProgress
    from penstock.interfaces.cursor_options import CursorOptions


class RowCursor:
    """Detects new rows. Rows at the boundary are hashed at once, because user code may change them later."""

    def __init__(self, progress: CursorProgress) -> None:
        self._progress, self._options = progress, progress.options
        key = self._options.primary_key
        self._known_hasher = hasher(
            key, resource=progress.resource, old_format=progress.boundary.has_old_format
        )
        self._new_hasher = hasher(key, resource=progress.resource)

    def is_new(self, row: Any) -> bool:
        """Return whether the row is new, and advance the cursor."""
        progress = self._progress
        value = progress.path.first(row)
        if value is None or value is MISSING:
            return self._accepts_missing_value(is_missing=value is MISSING)
        progress.align_timezones(value)
        try:
            verdict = classify_value(
                value,
                start=progress.start_value,
                last=progress.last_value,
                end=progress.end_value,
                options=self._options,
            )
        except Exception as error:  # values that do not compare, or a function of a user
            if self._is_user_error(value):
                raise
            raise self._coercion_error(value, error) from error
        if verdict.position != "in" or (verdict.at_start and self._was_read(row)):
            progress.record_out_of_range(
                start_out=verdict.position != "after", end_out=verdict.position == "after"
            )
            return False
        if verdict.advances:
            progress.advance_to(verdict.last_value)
        if verdict.at_last and progress.deduplicates:
            digest = self._known_hasher if progress.boundary.writes_old_format else self._new_hasher
            progress.boundary.add(digest(row))
        progress.start_out_of_range = progress.end_out_of_range = False
        return True

    def _was_read(self, row: Any) -> bool:
        progress = self._progress
        return progress.deduplicates and progress.boundary.contains_earlier(self._known_hasher(row))

    def _accepts_missing_value(self, *, is_missing: bool) -> bool:
        self._progress.start_out_of_range = self._progress.end_out_of_range = False
        if self._options.on_cursor_value_missing != "raise":
            return self._options.on_cursor_value_missing == "include"
        kind = IncrementalCursorPathMissing if is_missing else IncrementalCursorPathHasValueNone
        raise kind(resource=self._progress.resource, cursor_path=str(self._options.cursor_path))

    def _is_user_error(self, value: Any) -> bool:
        """Return whether the user's function failed although the values can be compared."""
        if self._options.is_min_or_max:
            return False
        bounds = (self._progress.end_value, self._progress.last_value)
        return all(bound is None or _are_comparable(value, bound) for bound in bounds)

    def _coercion_error(self, value: Any, error: Exception) -> Exception:
        progress, got = self._progress, f"{value!r}, {type(value).__name__}"
        if progress.end_value is not None and not _can_compare(self._options, value, progress.end_value):
            return progress.coercion_error("end_value", progress.end_value, got, error)
        return progress.coercion_error("initial_value or last value", progress.last_value, got, error)


def _are_comparable(value: Any, bound: Any) -> bool:
    if isinstance(value, type(bound)):
        return True
    try:
        return isinstance(value < bound, bool)
    except TypeError:
        return False


def _can_compare(options: CursorOptions, value: Any, bound: Any) -> bool:
    try:
        options.last_value_func((value, bound))
    except Exception:  # a user's function may raise anything
        return False
    return True
