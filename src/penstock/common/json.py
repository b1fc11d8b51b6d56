"""JSON for values that it has no types for, by dlt's import path."""

from penstock.compat.json import (
    JsonEncoder,
    JsonSerializable,
    dump,
    dumpb,
    dumps,
    load,
    loadb,
    loads,
    set_custom_encoder,
    typed_dump,
    typed_dumpb,
    typed_dumps,
    typed_loadb,
    typed_loads,
)

__all__ = [
    "JsonEncoder",
    "JsonSerializable",
    "dump",
    "dumpb",
    "dumps",
    "load",
    "loadb",
    "loads",
    "set_custom_encoder",
    "typed_dump",
    "typed_dumpb",
    "typed_dumps",
    "typed_loadb",
    "typed_loads",
]
