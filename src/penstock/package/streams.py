"""A data file that is open: what goes wrong while it is read or written is an error of ours, too."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

from penstock.package.object_files import translate_store_errors

if TYPE_CHECKING:
    from types import TracebackType


class StoreStream:
    """A stream of a client library, which sends and fetches whenever it wants."""

    def __init__(self, stream: IO[bytes], path: str) -> None:
        self._stream: Any = stream
        self._path = path

    def read(self, size: int = -1) -> bytes:
        """The next bytes, fewer only at the end."""
        with translate_store_errors(self._path):
            content: bytes = self._stream.read(size)
            return content

    def write(self, content: Any) -> int:
        """Keep bytes, and send what has come together."""
        with translate_store_errors(self._path):
            count: int = self._stream.write(content)
            return count

    def flush(self) -> None:
        """Nothing must be sent now."""
        with translate_store_errors(self._path):
            self._stream.flush()

    def close(self) -> None:
        """Send what is left; a new file is there from now on."""
        with translate_store_errors(self._path):
            self._stream.close()

    def __enter__(self) -> StoreStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None or not hasattr(self._stream, "discard"):
            self.close()
            return
        # Half a file must not stand where a whole one belongs, or stood.
        with translate_store_errors(self._path):
            self._stream.discard()
            self._stream.closed = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
