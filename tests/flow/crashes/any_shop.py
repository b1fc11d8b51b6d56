"""The shop in any table format at any address: on a disk or in a bucket."""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tests.conftest import SEED
from tests.flow.crashes import plain_files_shop, shop
from tests.flow.crashes.lakes import LAKES

import penstock
from penstock.package import FileStorage, Packages

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession
    from tests.flow.crashes.steps import Steps

    from penstock.config import AwsCredentials
    from penstock.interfaces import Destination

KINDS = (*LAKES, "files")


def tried_kinds(place: str) -> tuple[str, ...]:
    """Return every table format if steps are requested, else one that the seed chooses for a test."""
    return KINDS if shop.REQUESTED else (random.Random(f"{SEED} {place}").choice(KINDS),)


@dataclass(frozen=True)
class Shop:
    """One shop: its table format, its address, and the disk of the machine that runs it."""

    kind: str
    location: str
    disk: Path
    spark: SparkSession
    credentials: AwsCredentials | None = None
    settings_at: Callable[[str, str], Mapping[str, Any]] = lambda kind, location: {}
    """Further settings of the destination, by table format and address."""

    def on(self, disk: Path) -> Shop:
        """Return the same shop, run by another machine."""
        return replace(self, disk=disk)

    @property
    def packages(self) -> Packages:
        root = f"{self.location}/{shop.NAME}/_dlt_pkg/{shop.NAME}"
        return Packages.at(root, credentials=self.credentials)

    def destination(self, steps: Steps | None = None) -> Destination:
        """Return the destination; with `steps` every table commit is a step."""
        settings = {"credentials": self.credentials, **self.settings_at(self.kind, self.location)}
        if self.kind == "files":
            return penstock.destinations.filesystem(self.location, **settings)
        lake = LAKES[self.kind]
        if steps is None:
            return lake.destination(self.location, **settings)
        return lake.destination_with_steps(steps, self.location, **settings)

    def pipeline(self, steps: Steps | None = None) -> penstock.Pipeline:
        return penstock.pipeline(
            shop.NAME,
            pipelines_dir=self.disk,
            destination=self.destination(steps),
            dataset_name=shop.NAME,
            spark=self.spark,
        )

    def batches(self, upto: int) -> list[Any]:
        return plain_files_shop.shop(upto) if self.kind == "files" else shop.shop(upto)

    def run(self, upto: int, steps: Steps | None = None) -> None:
        self.pipeline(steps).run(self.batches(upto))

    def content(self) -> Any:
        """Return the content that readers see, without the ids of loads."""
        dataset = self.pipeline().dataset()
        if self.kind == "files":
            tables = [name for name in plain_files_shop.TABLES if name in dataset.tables]
            return plain_files_shop.comparable_content(
                {name: dataset[name].arrow().to_pylist() for name in tables}
            )
        frames = {table: dataset[table].spark() for table in shop.TABLES}
        return shop.comparable_content(shop.rows_of(frames), dataset.load_ids())

    def expire_lease(self) -> None:
        """Mark the holder of the lease as ended, so that the next run takes over at once."""
        shop.expire_holder(self.packages)

    def relative(self, path: str) -> str:
        """Return a path relative to the shop or to the disk of its machine."""
        for folder in (self.location.split("://")[-1], str(self.disk)):
            path = path.removeprefix(f"{folder}/")
        return path

    def remove(self) -> None:
        """Delete the tables and packages."""
        FileStorage(self.location, credentials=self.credentials).delete("")

    def copy(self, location: str, disk: Path) -> Shop:
        """Copy a shop after its first load to another address.

        Iceberg tables name their files by the whole path, so the first load runs again there.
        """
        other = replace(self, location=location, disk=disk)
        if self.kind in LAKES and not LAKES[self.kind].can_move:
            other.run(1)
            return other
        source, target = (FileStorage(item.location, credentials=self.credentials) for item in (self, other))
        source.file_system.copy(source.root, target.root, recursive=True)
        shutil.copytree(self.disk, disk)
        return other
