"""The options of an incremental cursor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal, get_args

from penstock.errors import UsageError
from penstock.interfaces.cursorpath import parse_cursor_path

LastValueFunc = Callable[[Sequence[Any]], Any]
"""Returns the last value: of one value, or of a new one and the previous one."""
RowOrder = Literal["asc", "desc"]
OnCursorValueMissing = Literal["raise", "include", "exclude"]
IncrementalRange = Literal["open", "closed"]

_FUNCTIONS_BY_NAME: Final[dict[str, LastValueFunc]] = {"max": max, "min": min}
_CHOICES: Final = {
    "row_order": (*get_args(RowOrder), None),
    "on_cursor_value_missing": get_args(OnCursorValueMissing),
    "range_start": get_args(IncrementalRange),
    "range_end": get_args(IncrementalRange),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorOptions:
    """The arguments of `incremental`, each validated; `checked` validates them together."""

    cursor_path: str | None = None
    initial_value: Any = None
    last_value_func: LastValueFunc = max
    primary_key: Any = None
    end_value: Any = None
    row_order: RowOrder | None = None
    allow_external_schedulers: bool | None = None
    on_cursor_value_missing: OnCursorValueMissing = "raise"
    lag: float | None = None
    range_start: IncrementalRange = "closed"
    range_end: IncrementalRange = "open"
    value_type: Any = None
    """The type in `incremental[type]`, or that of the initial value; None without both."""

    def __post_init__(self) -> None:
        if self.cursor_path is not None:
            parse_cursor_path(self.cursor_path)
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                words = ", ".join(str(word) for word in choices if word is not None)
                raise UsageError(
                    f"{getattr(self, name)!r} is not a valid {name} of an incremental",
                    hint=f"use one of: {words}",
                )

    @property
    def effective_type(self) -> Any:
        """Return the type of the cursor values, if known."""
        if self.value_type is not None:
            return self.value_type
        return None if self.initial_value is None else type(self.initial_value)

    @property
    def is_max(self) -> bool:
        """Whether the last value is the greatest."""
        return self.last_value_func is max

    @property
    def is_min_or_max(self) -> bool:
        """Whether the last value is the greatest or smallest, so that Spark can compute it."""
        return self.last_value_func is max or self.last_value_func is min

    @property
    def deduplicates(self) -> bool:
        """Whether rows at the boundary are deduplicated.

        Not with an open boundary, without state, with a lag, which reads rows again on purpose, or with an
        empty key.
        """
        if self.range_start == "open" or self.end_value is not None or (self.lag and self.is_min_or_max):
            return False
        return self.primary_key is None or callable(self.primary_key) or len(self.primary_key) > 0

    def merged_with(self, other: CursorOptions) -> CursorOptions:
        """Return these options changed by others; None keeps an option."""
        options = {each.name: getattr(other, each.name) for each in fields(other)}
        value_type = self.value_type if self.value_type is not None else other.value_type
        changes = {name: value for name, value in options.items() if value is not None}
        return replace(self, **{**changes, "value_type": value_type})

    def with_key(self, primary_key: Any) -> CursorOptions:
        """Return the options with the key of the resource, if they have none."""
        return self if self.primary_key is not None else replace(self, primary_key=primary_key)

    def validate(self) -> CursorOptions:
        """Return the options, or raise an error if they contradict each other."""
        if self.end_value is None:
            return self
        if self.initial_value is None:
            raise UsageError(
                f"the incremental on {self.cursor_path} has an end_value without an initial_value",
                hint="pass both to read the range between them, regardless of the state",
            )
        try:
            is_beyond = self.last_value_func((self.end_value, self.initial_value)) == self.end_value
        except (TypeError, ValueError) as error:
            raise self._invalid_range(f"cannot be compared with: {error}") from error
        if not is_beyond:
            raise self._invalid_range("does not lie before")
        return self

    def _invalid_range(self, problem: str) -> UsageError:
        return UsageError(
            f"the initial_value {self.initial_value!r} of the incremental on {self.cursor_path} {problem} "
            f"(end_value {self.end_value!r})",
            hint="pass two values of one type, of which last_value_func selects the end_value",
        )


def last_value_function(name_or_function: LastValueFunc | str | None) -> LastValueFunc:
    """Return the function, also for the name of a built-in one."""
    if name_or_function is None:
        return max
    if not isinstance(name_or_function, str):
        return name_or_function
    if name_or_function not in _FUNCTIONS_BY_NAME:
        raise UsageError(
            f"{name_or_function!r} is not a valid last_value_func", hint="use max, min or a function"
        )
    return _FUNCTIONS_BY_NAME[name_or_function]
