"""The plan of reading files: formats, groups of files with one header, names of columns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar, get_args

from penstock.errors import FileNotReadable, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

T = TypeVar("T")
Format = Literal["csv", "jsonl", "parquet"]
_ENDINGS: Final[dict[str, Format]] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
}
# Compressions that Hadoop unpacks by the ending of a name.
COMPRESSIONS: Final = {".gz": "gzip", ".bz2": "bz2"}
_UNSUPPORTED_ENDINGS: Final = (
    *(".zip", ".xz", ".7z", ".tar", ".tgz", ".tbz2", ".rar", ".z"),
    *(".deflate", ".zst", ".lz4", ".lzo", ".snappy", ".br"),
)
EMPTY_NAME_REASON: Final = "a name in its path is empty, which Hadoop does not support"


def format_of(name: str) -> Format | None:
    """Return the format of a file by its name.

    >>> format_of("a.csv.gz"), format_of("a.parquet"), format_of("a.xml")
    ('csv', 'parquet', None)
    """
    low = name.lower()
    return next((kind for end, kind in _ENDINGS.items() if _without_compression(low).endswith(end)), None)


def _without_compression(name: str) -> str:
    return name.rpartition(".")[0] if name.endswith(tuple(COMPRESSIONS)) else name


def resolve_format(requested: str | None, file_glob: str) -> Format:
    """Return the requested format, or the format of the ending of the glob."""
    if requested is None:
        detected = format_of(file_glob)
        if detected is None:
            raise UsageError(
                f"the format of files that match {file_glob!r} is unknown",
                hint=f"set format: {', '.join(get_args(Format))}; or end file_glob with it, as in **/*.csv",
            )
        return detected
    if requested not in get_args(Format):
        raise UsageError(
            f"{requested!r} is not a format of files", hint=f"use one of: {', '.join(get_args(Format))}"
        )
    return requested  # type: ignore[return-value]  # it is one of them


def check_names(paths: Iterable[str], *, on_disk: bool, is_text: bool = True) -> None:
    """Raise for files with a compression or a name that Spark or Hadoop does not support."""
    for path in paths:
        low = path.lower()
        if is_text and _without_compression(low).endswith(_UNSUPPORTED_ENDINGS):
            raise FileNotReadable(path=path, reason="Spark unpacks only gzip and bzip2")
        if is_text and low.endswith(tuple(COMPRESSIONS)) and not path.endswith(tuple(COMPRESSIONS)):
            raise FileNotReadable(path=path, reason="Hadoop unpacks it only if its ending is in lower case")
        if "" in path.split("/"):
            raise FileNotReadable(path=path, reason=EMPTY_NAME_REASON)
        if on_disk and ":" in path.rpartition("/")[2]:
            raise FileNotReadable(
                path=path, reason="Hadoop cannot open a local file with a colon in its name"
            )


def is_hidden(path: str) -> bool:
    """Return whether a file or one of its folders is hidden, by the rule of Hadoop.

    >>> is_hidden("day=1/a.csv"), is_hidden("_delta_log/0.json"), is_hidden("day=1/.a.csv.crc")
    (False, True, True)
    """
    return any(name.startswith((".", "_")) for name in path.split("/"))


@dataclass(frozen=True, slots=True)
class FileGroup(Generic[T]):
    """Files with the same header, which one job reads."""

    header: Any
    files: tuple[T, ...]


def group_by_header(files: Sequence[T], headers: Sequence[Any]) -> Iterator[FileGroup[T]]:
    """Return groups of files with equal headers; files without a header have no rows and are skipped."""
    groups: dict[Any, list[T]] = {}
    for file, header in zip(files, headers, strict=True):
        if header is not None:
            groups.setdefault(header, []).append(file)
    return (FileGroup(header, tuple(members)) for header, members in groups.items())


def pattern_above(limit: int) -> str:
    """Return a pattern for integers above a limit, without leading zeros.

    >>> pattern_above(127)
    '(?:[0-9]{4,}|[2-9][0-9]{2}|1[3-9][0-9]{1}|12[8-9])'
    """
    digits = str(limit)
    same_length = [
        f"{digits[:index]}[{int(digit) + 1}-9]"
        + (f"[0-9]{{{rest}}}" if (rest := len(digits) - index - 1) else "")
        for index, digit in enumerate(digits)
        if digit != "9"
    ]
    return f"(?:{'|'.join([f'[0-9]{{{len(digits) + 1},}}', *same_length])})"


ColumnTypes = tuple[tuple[str, str], ...]
"""Names of columns with the text of their types."""


def is_nanoseconds(data_type: str) -> bool:
    """Return whether a type is a timestamp in nanoseconds.

    >>> is_nanoseconds("timestamp[ns, tz=UTC]"), is_nanoseconds("int96 timestamp[ns]")
    (True, False)
    """
    return data_type.startswith("timestamp[ns")


def has_timezone(data_type: str) -> bool:
    """Return whether a timestamp type has a time zone; others are local times.

    >>> has_timezone("timestamp[ns, tz=UTC]"), has_timezone("timestamp[ns]")
    (True, False)
    """
    return "tz=" in data_type


def group_by_columns(files: Sequence[T], headers: Sequence[ColumnTypes | None]) -> Iterator[FileGroup[T]]:
    """Return groups of files with compatible columns: equal names have equal types.

    >>> groups = group_by_columns("abc", [(("id", "int"),), (("id", "int"), ("x", "str")), (("id", "str"),)])
    >>> [(group.files, dict(group.header)) for group in groups]
    [(('a', 'b'), {'id': 'int', 'x': 'str'}), (('c',), {'id': 'str'})]
    """
    merged: list[tuple[dict[str, str], list[T]]] = []
    for group in group_by_header(files, headers):
        columns = dict(group.header)
        for merged_columns, members in merged:
            if all(merged_columns.get(name, kind) == kind for name, kind in columns.items()):
                merged_columns.update(columns)
                members.extend(group.files)
                break
        else:
            merged.append((columns, list(group.files)))
    return (FileGroup(tuple(columns.items()), tuple(members)) for columns, members in merged)


def batches(files: Iterable[T], *, size: int) -> Iterator[list[T]]:
    """Yield files in lists of at most `size`."""
    batch: list[T] = []
    for file in files:
        batch.append(file)
        if len(batch) >= size:
            yield batch
            batch = []
    if batch:
        yield batch


def column_names(header: Sequence[str]) -> tuple[str, ...]:
    """Return a unique name for each column: empty and repeated names are numbered.

    >>> column_names(["id", "", "id", " name "])
    ('id', '_c1', 'id_2', ' name ')
    """
    taken = Counter(name for name in header if name)
    names: list[str] = []
    for number, name in enumerate(header):
        candidate = name or f"_c{number}"
        is_free = candidate not in names and (bool(name) or not taken[candidate])
        suffix = number
        while not is_free:
            candidate = f"{name or '_c'}_{suffix}"
            is_free, suffix = candidate not in names and not taken[candidate], suffix + 1
        names.append(candidate)
    return tuple(names)
