"""Two keys that meet in one name are both kept, and it is said which."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final

from penstock.schema.shorten import tagged

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from penstock.schema.names import NamingConvention

NAMELESS: Final = "_empty"
_NOTHING_KNOWN: Final[dict[str, str]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class NameCollision:
    """A key that could not have its plain name, because another key had it first."""

    key: str
    plain_name: str
    given_name: str
    kept_by: str


def plain_name(key: str, naming: NamingConvention) -> str:
    """Normalise a key that comes from data; a key with nothing in it is called `_empty`."""
    return naming.normalize_path(key) or naming.normalize_path(NAMELESS)


def unique_names(
    raw: Sequence[str],
    naming: NamingConvention,
    *,
    known: Mapping[str, str] = _NOTHING_KNOWN,
    fold_case: bool = False,
) -> dict[str, str]:
    """Give every key of `raw` a name that no other key has.

    The first key to come has the plain name; a later one that meets it has `_` and a tag of its own key
    appended, so that its name depends on the key and not on the place. Keys in `known` keep the name they
    were given before, which makes names stable from one package to the next. `fold_case` is for destinations
    that cannot tell `ID` from `id`. The result has the keys of `raw` in their order, each once.
    """
    fold = str.lower if fold_case else str
    taken = {fold(name) for name in known.values()}
    names: dict[str, str] = {}
    for key in raw:
        if key in names:
            continue
        name = known.get(key) or next(name for name in _candidates(key, naming) if fold(name) not in taken)
        taken.add(fold(name))
        names[key] = name
    return names


def collisions(names: Mapping[str, str], naming: NamingConvention) -> tuple[NameCollision, ...]:
    """Tell from the result of `unique_names` which keys had to give way, and to which other key."""
    owners = {name: key for key, name in names.items()}
    folded: dict[str, str] = {}
    for key, name in names.items():
        folded.setdefault(name.lower(), key)
    found = []
    for key, name in names.items():
        plain = plain_name(key, naming)
        if name != plain:
            kept_by = owners.get(plain) or folded.get(plain.lower(), "")
            found.append(NameCollision(key=key, plain_name=plain, given_name=name, kept_by=kept_by))
    return tuple(found)


def _candidates(key: str, naming: NamingConvention) -> Iterator[str]:
    plain = plain_name(key, naming)
    yield plain
    yield tagged(plain, original=key, max_length=naming.max_length)
    for attempt in count(2):
        yield tagged(plain, original=f"{key}\n{attempt}", max_length=naming.max_length)
