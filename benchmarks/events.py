"""Events like those of a code host: about 690 bytes of nested JSON each, the same every time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_KINDS = ("PushEvent", "PullRequestEvent", "IssuesEvent", "WatchEvent", "ForkEvent")
_WORDS = ("fix", "add", "remove", "rename", "test", "build", "cache", "index", "merge", "parser")


def event(number: int) -> dict[str, Any]:
    """One event: objects three levels deep, a list of objects with a list inside, and a list of texts.

    `payload.size` is a number but in every thousandth row, where it is a text.
    """
    words = [_WORDS[(number + step) % len(_WORDS)] for step in range(4)]
    return {
        "id": number,
        "type": _KINDS[number % len(_KINDS)],
        "created_at": f"2024-{number % 12 + 1:02d}-{number % 28 + 1:02d}T{number % 24:02d}:00:00Z",
        "public": number % 3 != 0,
        "score": number % 1000 + 0.25,
        "actor": {
            "id": number % 50_000,
            "login": f"user{number % 50_000}",
            "url": f"https://api.example.org/users/user{number % 50_000}",
            "plan": {"name": "pro" if number % 7 else "free", "seats": number % 40},
        },
        "repo": {"id": number % 9_000, "name": f"team{number % 300}/repo{number % 9_000}"},
        "payload": {
            "push_id": 10_000_000_000 + number,
            "size": number % 5 if (number + 1) % 1000 else "unknown",
            "ref": f"refs/heads/feature-{number % 700}",
            "commits": [
                {
                    "sha": f"{number * 7919 + index:040x}",
                    "message": " ".join(words),
                    "distinct": index == 0,
                    "files": [f"src/{words[0]}_{index}.py", f"tests/test_{words[1]}.py"],
                }
                for index in range(number % 3 + 1)
            ],
        },
        "labels": [words[0], words[2]][: number % 3],
    }


def events(count: int, *, start: int = 0) -> Iterator[dict[str, Any]]:
    """Yield this number of events."""
    return map(event, range(start, start + count))


def small_table(number: int, rows: int = 10) -> list[dict[str, Any]]:
    """Return the rows of one of many small tables: each has two columns whose names no other table has."""
    return [
        {
            "id": row,
            f"name_{number}": f"{_WORDS[row % len(_WORDS)]} {row}",
            f"amount_{number}": row * 1.25,
            "is_new": row % 2 == 0,
        }
        for row in range(rows)
    ]
