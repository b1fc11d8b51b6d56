"""Two keys that meet in one name are both kept, and it is said which."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final, TypeVar

from penstock.schema.shorten import append_tag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from penstock.schema.naming import NamingConvention

K = TypeVar("K")

EMPTY_KEY_NAME: Final = "_empty"
_NO_KNOWN_NAMES: Final[dict[str, str]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class NameCollision:
    """A key that could not have its plain name, because another key had it first."""

    key: str
    plain_name: str
    assigned_name: str
    owner_key: str


def plain_name(key: str, naming: NamingConvention) -> str:
    """Normalise a key that comes from data; a key with nothing in it is called `_empty`."""
    return naming.normalize_path(key) or naming.normalize_path(EMPTY_KEY_NAME)


def unique_names(
    keys: Sequence[str],
    naming: NamingConvention,
    *,
    known_names: Mapping[str, str] = _NO_KNOWN_NAMES,
    fold_case: bool = False,
) -> dict[str, str]:
    """Give every key of `raw` a name that no other key has.

    The first key to come has the plain name; a later one that meets it has `_` and a tag of its own key
    appended, so that its name depends on the key and not on the place. Keys in `known` keep the name they
    were given before, which makes names stable from one package to the next. `fold_case` is for destinations
    that cannot tell `ID` from `id`. The result has the keys of `raw` in their order, each once.
    """
    plain = {key: plain_name(key, naming) for key in keys}
    return distinct_names(
        plain, known_names=known_names, key_text=str, max_length=naming.max_length, fold_case=fold_case
    )


def distinct_names(
    plain: Mapping[K, str],
    *,
    key_text: Callable[[K], str],
    known_names: Mapping[K, str],
    reserved: Iterable[str] = (),
    max_length: int | None = None,
    fold_case: bool = False,
) -> dict[K, str]:
    """Make plain names different from each other and from `reserved` ones, the first key first.

    `original` gives the text of a key that its tag is made of.
    """
    fold = str.lower if fold_case else str
    taken = {fold(name) for name in (*known_names.values(), *reserved)}
    names: dict[K, str] = {}
    for key, name in plain.items():
        given = known_names.get(key)
        if given is None:
            candidates = _candidates(name, key_text(key), max_length)
            given = next(candidate for candidate in candidates if fold(candidate) not in taken)
        taken.add(fold(given))
        names[key] = given
    return names


def find_key_collisions(names: Mapping[str, str], naming: NamingConvention) -> tuple[NameCollision, ...]:
    """Tell from the result of `unique_names` which keys had to give way, and to which other key."""
    return find_collisions(names, {key: plain_name(key, naming) for key in names}, key_text=str)


def find_collisions(
    names: Mapping[K, str], plain: Mapping[K, str], *, key_text: Callable[[K], str]
) -> tuple[NameCollision, ...]:
    """Tell from the result of `distinct` which keys had to give way, and to which other key."""
    owners = {name: key for key, name in names.items()}
    folded: dict[str, K] = {}
    for key, name in names.items():
        folded.setdefault(name.lower(), key)
    found = []
    for key, name in names.items():
        if name != plain[key]:
            owner = owners.get(plain[key], folded.get(plain[key].lower()))
            kept_by = "" if owner is None else key_text(owner)
            found.append(
                NameCollision(key=key_text(key), plain_name=plain[key], assigned_name=name, owner_key=kept_by)
            )
    return tuple(found)


def _candidates(plain: str, original: str, max_length: int | None) -> Iterator[str]:
    yield plain
    yield append_tag(plain, original=original, max_length=max_length)
    for attempt in count(2):
        yield append_tag(plain, original=f"{original}\n{attempt}", max_length=max_length)
