"""Adapters of vector stores, for third-party destinations: penstock has none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from penstock.destinations.adapters.hints import (
    adapted_resource,
    checked_word,
    column_names,
    joined_columns,
    without_hints,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.sources import Resource

_TOKENIZATIONS: Final = ("word", "lowercase", "whitespace", "field")


def lance_adapter(
    data: Any,
    embed: str | Sequence[str] | None = None,
    merge_key: str | Sequence[str] | None = None,
    remove_orphans: bool = True,  # noqa: FBT001, FBT002 - dlt's signature
) -> Resource:
    """Set the columns to embed, the merge key and the removal of orphans for a Lance destination.

    penstock has no such destination: a third-party one finds the hints in its schema.

    >>> lance_adapter([{"body": "…"}], embed="body").columns["body"]["x-lance-embed"]
    True
    """
    return _with_embedding(
        adapted_resource(data),
        columns=column_names("lance_adapter", "embed", embed),
        column_hint="x-lance-embed",
        merge_key=merge_key,
        table_hints={"x-lance-remove-orphans": remove_orphans},
    )


def lancedb_adapter(
    data: Any,
    embed: str | Sequence[str] | None = None,
    merge_key: str | Sequence[str] | None = None,
    no_remove_orphans: bool = False,  # noqa: FBT001, FBT002 - dlt's signature
) -> Resource:
    """Set the columns to embed, the merge key and the removal of orphans for a LanceDB destination.

    penstock has no such destination: a third-party one finds the hints in its schema. The hint
    `x-lancedb-remove-orphans` has the value of `no_remove_orphans`, as in dlt.

    >>> lancedb_adapter([{"body": "…"}], embed="body").columns["body"]["x-lancedb-embed"]
    True
    """
    return _with_embedding(
        adapted_resource(data),
        columns=column_names("lancedb_adapter", "embed", embed),
        column_hint="x-lancedb-embed",
        merge_key=merge_key,
        table_hints={"x-lancedb-remove-orphans": no_remove_orphans},
    )


def qdrant_adapter(data: Any, embed: str | Sequence[str] | None = None) -> Resource:
    """Set the columns to embed for a Qdrant destination.

    penstock has no such destination: a third-party one finds the hints in its schema.

    >>> qdrant_adapter([{"body": "…"}], embed="body").columns["body"]["x-qdrant-embed"]
    True
    """
    columns = {name: {"x-qdrant-embed": True} for name in column_names("qdrant_adapter", "embed", embed)}
    if not columns:
        raise without_hints("qdrant_adapter", "embed")
    return adapted_resource(data).apply_hints(columns=columns)


def weaviate_adapter(
    data: Any,
    vectorize: str | Sequence[str] | None = None,
    tokenization: Mapping[str, str] | None = None,
) -> Resource:
    """Set the columns to vectorize and the tokenization of columns for a Weaviate destination.

    A tokenization is `word`, `lowercase`, `whitespace` or `field`. penstock has no such destination: a
    third-party one finds the hints in its schema.

    >>> weaviate_adapter([{"body": "…"}], vectorize="body", tokenization={"body": "word"}).columns["body"]
    {'name': 'body', 'x-weaviate-vectorize': True, 'x-weaviate-tokenization': 'word'}
    """
    adapter = "weaviate_adapter"
    vectorized = {
        name: {"x-weaviate-vectorize": True} for name in column_names(adapter, "vectorize", vectorize)
    }
    tokenized = {
        name: {"x-weaviate-tokenization": checked_word(adapter, "tokenization", method, _TOKENIZATIONS)}
        for name, method in (tokenization or {}).items()
    }
    columns = joined_columns(vectorized, tokenized)
    if not columns:
        raise without_hints(adapter, "vectorize", "tokenization")
    return adapted_resource(data).apply_hints(columns=columns)


def _with_embedding(
    resource: Resource,
    *,
    columns: Sequence[str],
    column_hint: str,
    merge_key: str | Sequence[str] | None,
    table_hints: Mapping[str, bool],
) -> Resource:
    """Set the hints of embedded columns, which the stores make nullable."""
    return resource.apply_hints(
        columns={name: {column_hint: True, "nullable": True} for name in columns} or None,
        merge_key=merge_key,
        additional_table_hints=table_hints,
    )
