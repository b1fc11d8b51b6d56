"""Files as a source: listed by the driver, read by Spark, each once.

`files` reads what is new in a folder; `filesystem` lists files as rows, and `read_csv`, `read_jsonl` and
`read_parquet` read what it lists, as in dlt.
"""

from penstock.sources.extras import required_extra

with required_extra("spark", module="pyspark", needed_for="a source that Spark reads"):
    from penstock.sources.filesystem.dlt_source import filesystem
    from penstock.sources.filesystem.files import files
    from penstock.sources.filesystem.items import FileItem, FileItemDict
    from penstock.sources.filesystem.readers import read_csv, read_jsonl, read_parquet, readers

__all__ = [
    "FileItem",
    "FileItemDict",
    "files",
    "filesystem",
    "read_csv",
    "read_jsonl",
    "read_parquet",
    "readers",
]
