"""Decides, without Spark, which files are read together, and by which names."""

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
# What Hadoop undoes by the ending of a name.
COMPRESSIONS: Final = {".gz": "gzip", ".bz2": "bz2"}
_UNSUPPORTED_ENDINGS: Final = (
    *(".zip", ".xz", ".7z", ".tar", ".tgz", ".tbz2", ".rar", ".z"),
    *(".deflate", ".zst", ".lz4", ".lzo", ".snappy", ".br"),
)
EMPTY_NAME_REASON: Final = "a name in its path is empty, and Hadoop has no such names"


def format_of(name: str) -> Format | None:
    """The format of a file, by its name.

    >>> format_of("a.csv.gz"), format_of("a.parquet"), format_of("a.xml")
    ('csv', 'parquet', None)
    """
    low = name.lower()
    return next((kind for end, kind in _ENDINGS.items() if _without_compression(low).endswith(end)), None)


def _without_compression(name: str) -> str:
    return name.rpartition(".")[0] if name.endswith(tuple(COMPRESSIONS)) else name


def resolve_format(requested: str | None, file_glob: str) -> Format:
    """The format that files are read in: as it is said, or as the glob ends."""
    if requested is None:
        found = format_of(file_glob)
        if found is None:
            raise UsageError(
                f"{file_glob!r} does not tell the format of the files",
                hint=f"say format: {', '.join(get_args(Format))}; or end file_glob with it, as in **/*.csv",
            )
        return found
    if requested not in get_args(Format):
        raise UsageError(f"{requested!r} is no format of files", hint=f"say {', '.join(get_args(Format))}")
    return requested  # type: ignore[return-value]  # it is one of them


def check_names(paths: Iterable[str], *, on_disk: bool, is_text: bool = True) -> None:
    """Refuse files that Spark would read as if they were not packed, or whose names it cannot take."""
    for path in paths:
        low = path.lower()
        if is_text and _without_compression(low).endswith(_UNSUPPORTED_ENDINGS):
            raise FileNotReadable(path=path, reason="Spark does not unpack it; gzip and bzip2 it does")
        if is_text and low.endswith(tuple(COMPRESSIONS)) and not path.endswith(tuple(COMPRESSIONS)):
            raise FileNotReadable(path=path, reason="Hadoop unpacks it only if its ending is in lower case")
        if "" in path.split("/"):
            raise FileNotReadable(path=path, reason=EMPTY_NAME_REASON)
        if on_disk and ":" in path.rpartition("/")[2]:
            raise FileNotReadable(path=path, reason="Hadoop opens no file on a disk with a colon in its name")


def is_hidden(path: str) -> bool:
    """Whether a file or one of its folders is not meant for readers, as Hadoop has it.

    >>> is_hidden("day=1/a.csv"), is_hidden("_delta_log/0.json"), is_hidden("day=1/.a.csv.crc")
    (False, True, True)
    """
    return any(name.startswith((".", "_")) for name in path.split("/"))


@dataclass(frozen=True, slots=True)
class FileGroup(Generic[T]):
    """Files that one job reads: they have the same head."""

    header: Any
    files: tuple[T, ...]


def group_by_header(files: Sequence[T], headers: Sequence[Any]) -> Iterator[FileGroup[T]]:
    """Files with equal heads together; those without one have no rows, and are left out."""
    groups: dict[Any, list[T]] = {}
    for one, head in zip(files, headers, strict=True):
        if head is not None:
            groups.setdefault(head, []).append(one)
    return (FileGroup(head, tuple(members)) for head, members in groups.items())


def pattern_above(limit: int) -> str:
    """A pattern of all digits, without zeros in front, that make a number above a limit.

    >>> pattern_above(127)
    '(?:[0-9]{4,}|[2-9][0-9]{2}|1[3-9][0-9]{1}|12[8-9])'
    """
    digits = str(limit)
    same_length = [
        f"{digits[:at]}[{int(digit) + 1}-9]" + (f"[0-9]{{{rest}}}" if (rest := len(digits) - at - 1) else "")
        for at, digit in enumerate(digits)
        if digit != "9"
    ]
    return f"(?:{'|'.join([f'[0-9]{{{len(digits) + 1},}}', *same_length])})"


ColumnTypes = tuple[tuple[str, str], ...]
"""Names of columns with their types, as texts."""


def is_nanoseconds(data_type: str) -> bool:
    """Whether a column of this type is a moment in nanoseconds, as Parquet has them.

    >>> is_nanoseconds("timestamp[ns, tz=UTC]"), is_nanoseconds("int96 timestamp[ns]")
    (True, False)
    """
    return data_type.startswith("timestamp[ns")


def has_timezone(data_type: str) -> bool:
    """Whether moments of this type are the same everywhere; others are what a clock on a wall shows.

    >>> has_timezone("timestamp[ns, tz=UTC]"), has_timezone("timestamp[ns]")
    (True, False)
    """
    return "tz=" in data_type


def group_by_columns(files: Sequence[T], headers: Sequence[ColumnTypes | None]) -> Iterator[FileGroup[T]]:
    """Files whose columns fit together: what two of them share has the same type.

    >>> found = group_by_columns("abc", [(("id", "int"),), (("id", "int"), ("x", "str")), (("id", "str"),)])
    >>> [(group.files, dict(group.header)) for group in found]
    [(('a', 'b'), {'id': 'int', 'x': 'str'}), (('c',), {'id': 'str'})]
    """
    joined: list[tuple[dict[str, str], list[T]]] = []
    for group in group_by_header(files, headers):
        columns = dict(group.header)
        for known, members in joined:
            if all(known.get(name, kind) == kind for name, kind in columns.items()):
                known.update(columns)
                members.extend(group.files)
                break
        else:
            joined.append((columns, list(group.files)))
    return (FileGroup(tuple(columns.items()), tuple(members)) for columns, members in joined)


def batches(files: Iterable[T], *, size: int) -> Iterator[list[T]]:
    """Files in lists of so many."""
    batch: list[T] = []
    for one in files:
        batch.append(one)
        if len(batch) >= size:
            yield batch
            batch = []
    if batch:
        yield batch


def column_names(header: Sequence[str]) -> tuple[str, ...]:
    """A name for each column: those without one are numbered, and those that come again are too.

    >>> column_names(["id", "", "id", " name "])
    ('id', '_c1', 'id_2', ' name ')
    """
    taken = Counter(name for name in header if name)
    found: list[str] = []
    for number, name in enumerate(header):
        wanted = name or f"_c{number}"
        is_free = wanted not in found and (bool(name) or not taken[wanted])
        count = number
        while not is_free:
            wanted = f"{name or '_c'}_{count}"
            is_free, count = wanted not in found and not taken[wanted], count + 1
        found.append(wanted)
    return tuple(found)
