"""The incremental cursor of the public API: which rows are new since the last run."""

from __future__ import annotations

import typing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, get_args

from penstock.errors import NotDuringRun, UsageError
from penstock.interfaces.cursor_options import (
    CursorOptions,
    IncrementalRange,
    LastValueFunc,
    OnCursorValueMissing,
    RowOrder,
    last_value_function,
)
from penstock.interfaces.cursorpath import parse_cursor_path as read_path

if TYPE_CHECKING:
    import typing_extensions

    # With a default, so that type checkers need no annotation if the type of the values is not given.
    T = typing_extensions.TypeVar("T", default=Any)
else:
    T = typing.TypeVar("T")


class RunningCursor(Protocol):
    """A running cursor, as far as user code reads it."""

    start_value: Any
    last_value: Any
    start_out_of_range: bool
    end_out_of_range: bool

    def use_key(self, primary_key: Any) -> None:
        """Set a key for later frames if there is none."""


class Incremental(Generic[T]):
    """A cursor: the field by which new rows are recognized; its last value is kept in the state between runs.

    Pass it as the default of an argument of a resource, as `incremental=` of a resource, or with `add_step`.
    The function reads `last_value` to query its source. Rows that an earlier run read are skipped, even if
    the source returns them.

    >>> updated = Incremental[int]("updated_at", initial_value=10)
    >>> updated.cursor_path, updated.start_value
    ('updated_at', 10)
    >>> updated.merge(Incremental(initial_value=20, end_value=30))
    incremental(cursor_path='updated_at', initial_value=20, end_value=30)
    """

    EMPTY: ClassVar[Incremental[Any]]
    """As a hint: the resource has no cursor."""

    def __init__(  # noqa: PLR0913, PLR0917 - the arguments are dlt's
        self,
        cursor_path: str | None = None,
        initial_value: T | None = None,
        last_value_func: LastValueFunc | str | None = max,
        primary_key: Any = None,
        end_value: T | None = None,
        row_order: RowOrder | None = None,
        allow_external_schedulers: bool | None = None,  # noqa: FBT001 - as above
        on_cursor_value_missing: OnCursorValueMissing = "raise",
        lag: float | None = None,
        range_start: IncrementalRange = "closed",
        range_end: IncrementalRange = "open",
    ) -> None:
        self._terms = CursorOptions(
            cursor_path=cursor_path,
            initial_value=initial_value,
            last_value_func=last_value_function(last_value_func),
            primary_key=primary_key,
            end_value=end_value,
            row_order=row_order,
            allow_external_schedulers=allow_external_schedulers,
            on_cursor_value_missing=on_cursor_value_missing,
            lag=lag,
            range_start=range_start,
            range_end=range_end,
        )
        self._running: RunningCursor | None = None
        self.resource_name: str | None = None

    @classmethod
    def of(cls, terms: CursorOptions) -> Self:
        """Return an incremental with these options."""
        incremental = cls()
        incremental._terms = terms
        return incremental

    @property
    def terms(self) -> CursorOptions:
        """All options as one value, with the type in `incremental[type]`."""
        (kind,) = get_args(getattr(self, "__orig_class__", None)) or (None,)
        return self._terms if kind is None else replace(self._terms, value_type=kind)

    @property
    def cursor_path(self) -> str | None:
        """The field or path of the cursor value."""
        return self._terms.cursor_path

    @property
    def initial_value(self) -> T | None:
        """The start value of the first run."""
        value: T | None = self._terms.initial_value
        return value

    @property
    def end_value(self) -> T | None:
        """The end of a range; with it no state is kept."""
        value: T | None = self._terms.end_value
        return value

    @property
    def last_value_func(self) -> LastValueFunc:
        """The function that selects the last value."""
        return self._terms.last_value_func

    @property
    def primary_key(self) -> Any:
        """The key of rows at the boundary, if it differs from the key of the resource."""
        return self._terms.primary_key

    @property
    def row_order(self) -> RowOrder | None:
        """The order of the rows, if known."""
        return self._terms.row_order

    @property
    def allow_external_schedulers(self) -> bool | None:
        """Whether the range may come from a scheduler."""
        return self._terms.allow_external_schedulers

    @property
    def on_cursor_value_missing(self) -> OnCursorValueMissing:
        """The treatment of rows without a cursor value."""
        return self._terms.on_cursor_value_missing

    @property
    def lag(self) -> float | None:
        """The distance before the last value from which rows are read again."""
        return self._terms.lag

    @property
    def range_start(self) -> IncrementalRange:
        """Whether the rows at the start value belong to the range."""
        return self._terms.range_start

    @property
    def range_end(self) -> IncrementalRange:
        """Whether the rows at the end value belong to the range."""
        return self._terms.range_end

    @property
    def start_value(self) -> T | None:
        """The start value of this run; the initial value before it runs."""
        value: T | None = self._running.start_value if self._running else self._terms.initial_value
        return value

    @property
    def last_value(self) -> T | None:
        """The last value that this run has read; the start value before its first row."""
        if self._running is None:
            raise NotDuringRun(what=f"the last value of the incremental on {self.cursor_path}")
        value: T | None = self._running.last_value
        return value

    @property
    def start_out_of_range(self) -> bool:
        """Whether the last row is before the range."""
        return self._running is not None and self._running.start_out_of_range

    @property
    def end_out_of_range(self) -> bool:
        """Whether the last row is after the range."""
        return self._running is not None and self._running.end_out_of_range

    def can_close(self) -> bool:
        """Whether no further row can be in the range, by the declared order."""
        if self.row_order == "asc":
            return self.end_out_of_range
        return self.row_order == "desc" and self.start_out_of_range

    def get_cursor_column_name(self) -> str | None:
        """The column, if the path is only a name."""
        return read_path(self.cursor_path).column if self.cursor_path else None

    def merge(self, other: Incremental[Any]) -> Incremental[T]:
        """Return a copy changed by the options of another one."""
        return Incremental.of(self.terms.merged_with(other.terms))

    def copy(self) -> Incremental[T]:
        """Return a copy that is not running."""
        return Incremental.of(self.terms)

    def is_partial(self) -> bool:
        """Return whether the path is missing."""
        return not self.cursor_path

    def parse_native_representation(self, native_value: Any) -> None:
        """Merge another incremental, or any other value as the initial value."""
        if isinstance(native_value, Incremental):
            self._terms = self.terms.merged_with(native_value.terms)
        else:
            self._terms = replace(self.terms, initial_value=native_value)

    def use_key(self, primary_key: Any) -> None:
        """Set the key of the resource if there is none; also while it runs, before a frame."""
        self._terms = self.terms.with_key(primary_key)
        if self._running is not None:
            self._running.use_key(primary_key)

    def bind(self, running: RunningCursor, *, resource_name: str, terms: CursorOptions) -> None:
        """Connect to a running cursor; called by extract."""
        self._running, self.resource_name, self._terms = running, resource_name, terms

    def __repr__(self) -> str:
        terms, plain = self._terms, CursorOptions()
        options = {name: getattr(terms, name) for name in CursorOptions.__slots__ if name != "value_type"}
        shown = {name: value for name, value in options.items() if value != getattr(plain, name)}
        return f"incremental({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


Incremental.EMPTY = Incremental()


def as_incremental(hint: Any) -> Incremental[Any]:
    """Create an incremental from a hint: an incremental, or its arguments in a dict."""
    if isinstance(hint, Incremental):
        return hint
    if isinstance(hint, dict):
        return Incremental(**hint)
    raise UsageError(
        f"a {type(hint).__name__} is not an incremental", hint="use penstock.sources.incremental(...)"
    )
