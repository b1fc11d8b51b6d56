"""The statements of a chain of tables: its plan as SQL over the staged rows of a load. Pure.

What several tables must agree on, such as which root rows are superseded, is put into temporary tables before
the first table changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, assert_never

from sqlglot import exp

from penstock.destinations.lake.plan import first_load_step
from penstock.destinations.sql.ddl import create_temporary_table, drop_table
from penstock.destinations.sql.dialect import column, identifier
from penstock.destinations.sql.staging import POSITION
from penstock.errors import InternalError
from penstock.schema.defaults import ID_COLUMN

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from penstock.destinations.lake.hints import MergeHints, Scd2Hints
    from penstock.destinations.lake.plan import ChainPlan, ChainStep
    from penstock.destinations.sql.dialect import DatasetNames, SqlDialect
    from penstock.destinations.sql.staging import StagedTable
    from penstock.schema import Table

SKIPPED: Final = "_penstock_skipped"
"""The positions of root rows that are not written, and whether they are duplicates."""
SUPERSEDED: Final = "_penstock_superseded"
"""The ids of superseded root rows."""
SUPERSEDED_PARENTS: Final = "_penstock_superseded_{}"
"""The ids of superseded rows without a root key, of one nested table."""
ENDED: Final = "_penstock_ended"
"""The versions that end."""
BEGINNING: Final = "_penstock_beginning"
"""The positions of the versions that begin."""
_ROW, _SET, _FLAGGED = "_penstock_row", "_penstock_set", "_penstock_flagged"
_ROW_ID, _IS_DUPLICATE, _IS_DELETED = "_penstock_id", "_penstock_duplicate", "_penstock_deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement, and the table whose rows it writes."""

    expression: exp.Expression
    table: str | None = None
    """None if the changed rows are not counted: deleted ones, and those of temporary tables."""


@dataclass(frozen=True, kw_only=True)
class ChainStatements:
    """The statements of one chain, whose tables have all columns of the schema."""

    plan: ChainPlan
    tables: Mapping[str, Table]
    staged: Mapping[str, StagedTable]
    """The staged rows by table."""
    existing: Collection[str]
    """The tables that existed before the load, and are not recreated by it."""
    names: DatasetNames
    dialect: SqlDialect
    created_at: str
    """The timestamp of the load, at which versions change if the hints have no other."""

    def statements(self) -> Iterator[Statement]:
        """Yield all statements, in order."""
        sets = list(self._sets())
        yield from (Statement(expression=create_temporary_table(name, query)) for name, query in sets)
        for planned in self.plan.steps:
            is_new = planned.table not in self.existing
            yield from self._step(first_load_step(planned) if is_new else planned)
        temporary = (exp.Table(this=identifier(name)) for name, _ in sets)
        yield from (Statement(expression=drop_table(table)) for table in temporary)

    def ends_versions(self, table: str) -> bool:
        """Return whether updates of a table end versions."""
        return table == self.plan.root and self.plan.sets.versions

    def replaced_rows(self) -> exp.Query | None:
        """Return the number of written root rows whose primary key the table has, where they are replaced.

        None if no row of the root table is deleted by its key; to be run before the temporary tables are
        dropped.
        """
        step, hints = self.plan.step(self.plan.root), self.plan.hints
        if hints is None or step.merge_kind != "delete_insert" or not self._root_exists:
            return None
        if not hints.primary_key or step.rows is None:
            return None
        has_key = exp.Exists(this=self._target_match(step.table, hints.primary_key))
        rows: exp.Select = self._insert(step, has_key).expression.expression
        return rows.select(exp.Count(this=exp.Star()), append=False)

    # --- the sets

    def _sets(self) -> Iterator[tuple[str, exp.Query]]:
        plan = self.plan.sets
        if plan.skipped_rows and self._has_rows:
            yield SKIPPED, self._skipped_rows()
        if not self._root_exists or not self._has_rows:
            return
        if plan.superseding_keys:
            yield SUPERSEDED, self._superseded_rows()
            for number, name in enumerate(plan.intermediate_tables):
                if name in self.existing:
                    yield SUPERSEDED_PARENTS.format(number), self._superseded_parents(name)
        if plan.versions:
            yield ENDED, self._ended_versions()
            yield BEGINNING, self._beginning_versions()

    @property
    def _root_exists(self) -> bool:
        return self.plan.root in self.existing

    @property
    def _has_rows(self) -> bool:
        return self.plan.root in self.staged

    def _skipped_rows(self) -> exp.Select:
        """Return the root rows that lose against a row with the same key, or are flagged for deletion.

        Of rows with the same primary key the first in the order of `dedup_sort` wins, then the last in the
        package.
        """
        hints = self._hints
        is_deleted = self._deleted(self.plan.root)
        is_duplicate: exp.Expression = exp.false()
        if hints.deduplicates:
            order: list[exp.Expression] = [
                exp.Ordered(this=column(POSITION, _ROW), desc=True, nulls_first=False)
            ]
            if hints.dedup_sort is not None:
                name, direction = hints.dedup_sort
                sort = self._value(self.plan.root, name)
                order.insert(0, exp.Ordered(this=sort, desc=direction == "desc", nulls_first=False))
            rank = exp.Window(
                this=exp.RowNumber(),
                partition_by=[self._value(self.plan.root, name) for name in hints.primary_key],
                order=exp.Order(expressions=order),
            )
            is_duplicate = exp.GT(this=rank, expression=exp.Literal.number(1))
        flagged = exp.select(
            column(POSITION, _ROW),
            exp.alias_(is_duplicate, _IS_DUPLICATE, quoted=True),
            exp.alias_(is_deleted, _IS_DELETED, quoted=True),
        ).from_(self._rows(self.plan.root))
        return (
            exp.select(column(POSITION), column(_IS_DUPLICATE))
            .from_(flagged.subquery(identifier(_FLAGGED)))
            .where(exp.or_(column(_IS_DUPLICATE), column(_IS_DELETED)))
        )

    def _superseded_rows(self) -> exp.Query:
        """Return the ids of rows of the root table with a key of the load."""
        root, row_key = self.plan.root, self._hints.row_key
        queries = [
            exp.select(exp.alias_(column(row_key, root), _ROW_ID, quoted=True))
            .from_(self.names.table(root))
            .where(self._exists_row(root, keys))
            for keys in self.plan.sets.superseding_keys
        ]
        return _union(queries)

    def _superseded_parents(self, name: str) -> exp.Query:
        """Return the ids of superseded nested rows without a root key, which are older than that column."""
        table, step = self.tables[name], self.plan.step(name)
        (link,), parent_key = step.match, step.parent_key or step.match[0]
        row_key = next(iter(table.columns_with("row_key")), ID_COLUMN)
        query = (
            exp.select(exp.alias_(column(row_key, name), _ROW_ID, quoted=True))
            .from_(self.names.table(name))
            .where(self._in(column(parent_key, name), self._superseded_ids(table.parent)))
        )
        return query if link == parent_key else query.where(column(link, name).is_(exp.null()))

    def _superseded_ids(self, parent: str | None) -> exp.Query:
        """Return the ids of superseded root rows, and of superseded rows of a parent without a root key."""
        queries = [_set_query(SUPERSEDED, _ROW_ID)]
        intermediate = self.plan.sets.intermediate_tables
        if parent in intermediate and parent in self.existing:
            queries.append(_set_query(SUPERSEDED_PARENTS.format(intermediate.index(parent)), _ROW_ID))
        return _union(queries)

    def _ended_versions(self) -> exp.Query:
        """Return the active versions that the load lacks; with a merge key, only those with its keys."""
        root, scd2 = self.plan.root, self._scd2
        query = (
            exp.select(exp.alias_(column(scd2.version, root), _ROW_ID, quoted=True))
            .from_(self.names.table(root))
            .where(self._is_active(), exp.not_(self._exists_row(root, (scd2.version,))))
        )
        merge_key = self._hints.merge_key
        return query.where(self._exists_row(root, merge_key)) if merge_key else query

    def _beginning_versions(self) -> exp.Query:
        """Return the positions of root rows whose version is not active and that begin one."""
        root, scd2 = self.plan.root, self._scd2
        active = self._target_match(root, (scd2.version,)).where(self._is_active())
        beginning = (
            exp.select(column(POSITION, _ROW))
            .from_(self._rows(root))
            .where(exp.not_(exp.Exists(this=active)))
        )
        if scd2.ending is None:
            return beginning
        return beginning.where(self._value(root, scd2.ending).is_(exp.null()))

    # --- the steps

    def _step(self, step: ChainStep) -> Iterator[Statement]:
        table = self.names.table(step.table)
        match step.commit:
            case "nothing":
                return
            case "append" | "recreate":
                yield self._insert(step)
            case "overwrite":
                yield Statement(expression=exp.delete(table))
                if step.rows is not None:
                    yield self._insert(step)
            case "merge":
                yield from self._merge(step)
            case _:
                assert_never(step.commit)

    def _merge(self, step: ChainStep) -> Iterator[Statement]:
        match step.merge_kind:
            case "delete_insert":
                yield Statement(
                    expression=exp.delete(self.names.table(step.table)).where(self._is_superseded(step))
                )
                if step.rows is not None:
                    yield self._insert(step)
            case "upsert":
                yield from self._upsert(step)
            case "insert":
                yield self._insert(step, unless=self._matching_row(step))
            case "scd2":
                yield Statement(expression=self._end_versions(step))
                yield self._insert(step)
            case None:
                return
            case _:
                assert_never(step.merge_kind)

    def _is_superseded(self, step: ChainStep) -> exp.Expression:
        if step.superseded == "keys":
            return self._exists_row(step.table, step.match)
        link: exp.Expression = column(step.match[0], step.table)
        if step.parent_key is not None and step.parent_key != step.match[0]:
            # Rows that are older than the root key have the id of their parent only.
            link = exp.Coalesce(this=link, expressions=[column(step.parent_key, step.table)])
        return self._in(link, self._superseded_ids(self.tables[step.table].parent))

    def _upsert(self, step: ChainStep) -> Iterator[Statement]:
        name, keys = step.table, step.match
        if self._hints.hard_delete is not None:
            flagged = self._row_match(name, keys).where(self._deleted(name), *self._filters(step))
            yield Statement(expression=exp.delete(self.names.table(name)).where(exp.Exists(this=flagged)))
        winners = exp.select(
            *(exp.alias_(value, key, quoted=True) for key, value in self._projection(name).items())
        ).from_(self._rows(name))
        winners = winners.where(*self._filters(step), exp.not_(self._deleted(name)))
        changes = {key: column(key, _SET) for key in self._projection(name) if key not in keys}
        if changes:
            update = exp.Update(
                this=self.names.table(name),
                expressions=[exp.EQ(this=column(key), expression=value) for key, value in changes.items()],
                from_=exp.From(this=winners.subquery(identifier(_SET))),
                where=exp.Where(this=exp.and_(*(column(key, name).eq(column(key, _SET)) for key in keys))),
            )
            yield Statement(expression=update, table=name)
        yield self._insert(step, exp.not_(self._deleted(name)), unless=self._matching_row(step))

    def _end_versions(self, step: ChainStep) -> exp.Update:
        scd2 = self._scd2
        is_ended = self._in(column(scd2.version, step.table), _set_query(ENDED, _ROW_ID))
        return exp.Update(
            this=self.names.table(step.table),
            expressions=[
                exp.EQ(this=column(scd2.valid_to), expression=self._timestamp(scd2.valid_to, self._boundary))
            ],
            where=exp.Where(this=exp.and_(is_ended, self._is_active())),
        )

    def _insert(
        self, step: ChainStep, *conditions: exp.Expression, unless: exp.Query | None = None
    ) -> Statement:
        """Return the insertion of the staged rows of a step, `unless` a query about a row has a result."""
        projection = self._projection(step.table)
        query = exp.select(*projection.values()).from_(self._rows(step.table))
        filters = [*self._filters(step), *conditions]
        if unless is not None:
            filters.append(exp.not_(exp.Exists(this=unless)))
        query = query.where(*filters) if filters else query
        insert = exp.insert(
            query, self.names.table(step.table), columns=[identifier(name) for name in projection]
        )
        return Statement(expression=insert, table=step.table)

    def _filters(self, step: ChainStep) -> list[exp.Expression]:
        """Return the conditions of the staged rows that are written; a nested row follows its root row."""
        match step.rows:
            case "kept" | "winners" if self.plan.sets.skipped_rows and self._has_rows:
                skipped = _set_query(SKIPPED, POSITION).where(
                    column(POSITION, _SET).eq(column(POSITION, _ROW))
                )
                if step.rows == "winners":
                    skipped = skipped.where(column(_IS_DUPLICATE, _SET))
                return [exp.not_(exp.Exists(this=skipped))]
            case "new" if self._root_exists:
                return [
                    exp.Exists(
                        this=_set_query(BEGINNING, POSITION).where(
                            column(POSITION, _SET).eq(column(POSITION, _ROW))
                        )
                    )
                ]
            case _:
                return []

    # --- rows and values

    @cached_property
    def _hints(self) -> MergeHints:
        if self.plan.hints is None:
            raise InternalError(f"{self.plan.root} is not merged", hint="report this")
        return self.plan.hints

    @property
    def _scd2(self) -> Scd2Hints:
        if self._hints.scd2 is None:
            raise InternalError(f"{self.plan.root} has no row versions", hint="report this")
        return self._hints.scd2

    @property
    def _boundary(self) -> str:
        return self._scd2.boundary or self.created_at

    def _rows(self, table: str) -> exp.Expression:
        """Return the staged rows of a table under the alias of rows."""
        relation = self.staged[table].relation
        if isinstance(relation, exp.Query):
            return relation.subquery(identifier(_ROW))
        rows = relation.copy()
        rows.set("alias", exp.TableAlias(this=identifier(_ROW)))
        return rows

    def _value(self, table: str, name: str) -> exp.Expression:
        """Return a value of a staged row, in the type of its column; null if no row of the load has it."""
        kind = self.dialect.type_of(self.tables[table].columns[name], self.tables[table])
        has_column = name in self.staged[table].columns
        return exp.Cast(this=column(name, _ROW) if has_column else exp.null(), to=kind)

    def _projection(self, table: str) -> dict[str, exp.Expression]:
        """Return the values of all columns of a staged row."""
        columns = self.tables[table].complete_columns()
        values = {definition.name: self._value(table, definition.name) for definition in columns}
        scd2 = self.plan.hints.scd2 if self.plan.hints is not None and table == self.plan.root else None
        if scd2 is not None:
            values[scd2.valid_from] = self._timestamp(scd2.valid_from, self._boundary)
            values[scd2.valid_to] = self._timestamp(scd2.valid_to, scd2.active_record_timestamp)
        return values

    def _timestamp(self, name: str, text: str | None) -> exp.Expression:
        """Return a timestamp in the type of a column of the root; None is null."""
        table = self.tables[self.plan.root]
        value = exp.null() if text is None else exp.Literal.string(text)
        return exp.Cast(this=value, to=self.dialect.type_of(table.columns[name], table))

    def _deleted(self, table: str) -> exp.Expression:
        """Return the condition of staged rows that are flagged for deletion, which is never null."""
        flag = self._hints.hard_delete
        if flag is None or flag.column not in self.staged[table].columns:
            return exp.false()
        value = column(flag.column, _ROW)
        has_value = exp.not_(value.is_(exp.null()))
        return exp.paren(exp.and_(has_value, value.copy())) if flag.is_bool else has_value

    def _is_active(self) -> exp.Expression:
        """Return the condition of active versions in the root table."""
        scd2 = self._scd2
        valid_to = column(scd2.valid_to, self.plan.root)
        is_null = valid_to.is_(exp.null())
        if scd2.active_record_timestamp is None:
            return is_null
        active = self._timestamp(scd2.valid_to, scd2.active_record_timestamp)
        return exp.paren(exp.or_(is_null, valid_to.copy().eq(active)))

    def _row_match(self, table: str, keys: Sequence[str]) -> exp.Select:
        """Return the staged rows that equal a row of the table in these columns."""
        matches = (column(key, table).eq(self._value(table, key)) for key in keys)
        return exp.select(exp.Literal.number(1)).from_(self._rows(table)).where(*matches)

    def _exists_row(self, table: str, keys: Sequence[str]) -> exp.Exists:
        return exp.Exists(this=self._row_match(table, keys))

    def _target_match(self, table: str, keys: Sequence[str]) -> exp.Select:
        """Return the rows of the table that equal a staged row in these columns."""
        matches = (column(key, table).eq(self._value(table, key)) for key in keys)
        return exp.select(exp.Literal.number(1)).from_(self.names.table(table)).where(*matches)

    def _matching_row(self, step: ChainStep) -> exp.Select:
        return self._target_match(step.table, step.match)

    @staticmethod
    def _in(value: exp.Expression, query: exp.Query) -> exp.In:
        return exp.In(this=value, query=query.subquery())


def _set_query(name: str, wanted: str) -> exp.Select:
    """Return a column of a temporary table."""
    table = exp.Table(this=identifier(name), alias=exp.TableAlias(this=identifier(_SET)))
    return exp.select(column(wanted, _SET)).from_(table)


def _union(queries: Iterable[exp.Query]) -> exp.Query:
    first, *others = queries
    for query in others:
        first = exp.union(first, query)
    return first
