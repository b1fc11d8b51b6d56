"""Streams resources into a package; the driver holds one row group at a time."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import orjson

from penstock.errors import PenstockError, ResourceFailed, RowNotEncodable
from penstock.extract.encode import encode
from penstock.extract.parts import PartWriter
from penstock.extract.plan import Rotation, resource_folder
from penstock.extract.report import ExtractInfo, ResourceReport

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from penstock.interfaces import Resource
    from penstock.package import Package


def extract(
    resources: Iterable[Resource], package: Package, *, schema_name: str, rotation: Rotation | None = None
) -> ExtractInfo:
    """Write every row of every resource, then mark the package as extracted.

    A crash before the mark leaves files that nobody will read. Without a single row there is no mark.
    """
    started = time.monotonic()
    limits = rotation or Rotation()
    reports = tuple(
        _extract_one(resource, package, index, limits) for index, resource in enumerate(resources)
    )
    if any(report.rows for report in reports):
        package.mark_extracted(
            {"schema_name": schema_name, "resources": [asdict(report) for report in reports]}
        )
    return ExtractInfo(load_id=package.load_id, resources=reports, seconds=time.monotonic() - started)


def _extract_one(resource: Resource, package: Package, index: int, rotation: Rotation) -> ResourceReport:
    folder = resource_folder(index)
    with PartWriter(package.store, folder, rotation) as writer:
        for number, row in enumerate(_rows(resource)):
            try:
                text = encode(row)
            except (orjson.JSONEncodeError, TypeError, ValueError, RecursionError) as error:
                raise RowNotEncodable(resource=resource.name, item=number, cause=str(error)) from error
            writer.write(text)
    return ResourceReport(
        resource=resource.name,
        table=resource.table_name,
        write_disposition=resource.write_disposition,
        folder=folder,
        rows=writer.rows,
        bytes=writer.bytes,
        files=writer.files,
    )


def _rows(resource: Resource) -> Iterator[Any]:
    """The resource's rows one by one; a list is a page of rows. The user's errors are wrapped here, once."""
    given = 0
    try:
        for item in resource.rows():
            if isinstance(item, list):
                for row in item:
                    yield row
                    given += 1
            else:
                yield item
                given += 1
    except (PenstockError, GeneratorExit):
        raise
    except Exception as error:
        raise ResourceFailed(resource=resource.name, item=given, cause=repr(error)) from error
