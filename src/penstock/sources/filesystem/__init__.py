"""Files as a source: listed by the driver, read by Spark, each once.

`files` reads the new files of a folder; `filesystem` lists files as rows, and `read_csv`, `read_jsonl` and
`read_parquet` read the listed files, as in dlt.
"""

from penstock.sources.extras import required_extra

with required_extra("spark", module="pyspark", needed_for="a source that Spark reads"):
    from penstock.sources.filesystem.access import (
        FilesystemConfigurationResource,
        fsspec_filesystem,
        glob_files,
    )
    from penstock.sources.filesystem.dlt_source import filesystem, read_csv, read_jsonl, read_parquet, readers
    from penstock.sources.filesystem.files import files
    from penstock.sources.filesystem.items import FileItem, FileItemDict

__all__ = [
    "FileItem",
    "FileItemDict",
    "FilesystemConfigurationResource",
    "files",
    "filesystem",
    "fsspec_filesystem",
    "glob_files",
    "read_csv",
    "read_jsonl",
    "read_parquet",
    "readers",
]
