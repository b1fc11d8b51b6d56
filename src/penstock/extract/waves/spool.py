"""Items that one resource gives and another works on later: kept in a file, not in memory."""

from __future__ import annotations

import json
import tempfile
import threading
from typing import IO, TYPE_CHECKING, Any

from penstock.errors import translate_disk_full
from penstock.extract.waves.items import to_work_item
from penstock.package.typed_json import from_typed, to_typed

if TYPE_CHECKING:
    from collections.abc import Iterator


class Spool:
    """Takes items one by one, and gives them back in their order, as often as they are asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._file: IO[str] | None = None

    def add(self, item: Any) -> None:
        """Take an item; refused where it could not travel."""
        line = json.dumps(to_typed(to_work_item(item).value))
        with self._lock, translate_disk_full(tempfile.gettempdir()):
            if self._file is None:
                self._file = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - kept open
            self._file.write(line + "\n")

    def items(self) -> Iterator[Any]:
        """All items so far."""
        with self._lock, translate_disk_full(tempfile.gettempdir()):
            file = self._file
            if file is None:
                return
            file.flush()
            file.seek(0)
        for line in file:
            yield from_typed(json.loads(line))

    def clear(self) -> None:
        """Forget them: they are done."""
        with self._lock:
            if self._file is not None:
                self._file.close()
            self._file = None
