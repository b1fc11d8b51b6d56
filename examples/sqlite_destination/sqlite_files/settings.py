"""The settings of SQLite."""

from penstock.config import configspec
from penstock.interfaces import DestinationClientDwhConfiguration


@configspec
class SqliteConfiguration(DestinationClientDwhConfiguration):
    """A folder with a file for each dataset."""

    destination_name: str | None = "sqlite"
    folder: str

    @property
    def loads_without_spark(self) -> bool:
        """The driver inserts the rows of small tables itself."""
        return True

    def fingerprint(self) -> str:
        return self.folder

    def __str__(self) -> str:
        return f"sqlite:///{self.folder}"
