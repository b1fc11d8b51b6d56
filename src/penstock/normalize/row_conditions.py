"""Conditions in Spark SQL, evaluated in plain Python: for small tables, which need no Spark otherwise.

The subset is chosen so that results equal those of Spark in its ANSI mode, with three-valued logic; tests
compare both. Anything else is refused as a whole, and Spark evaluates it: an unsupported operator or
function, operands of different types, and values for which the two would differ.
"""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal

import sqlglot
from sqlglot import expressions as exp
from sqlglot.errors import SqlglotError

from penstock.errors import UsageError
from penstock.schema.convert import LARGEST_BIGINT, SMALLEST_BIGINT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_ValueKind = Literal["null", "bool", "bigint", "double", "decimal", "text", "date", "timestamp"]
_KINDS: Final[Mapping[str, _ValueKind]] = {
    "BOOLEAN": "bool",
    "BIGINT": "bigint",
    "DOUBLE": "double",
    "STRING": "text",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "DECIMAL(38,9)": "decimal",
    "DECIMAL(38,0)": "decimal",
}
_COMPARISONS: Final[Mapping[type[exp.Expression], Callable[[Any, Any], bool]]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
}
_ARITHMETIC: Final[Mapping[type[exp.Expression], Callable[[Any, Any], Any]]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
}
# In Spark a predicate as an operand takes more of the text than sqlglot reads into it.
_PREDICATES: Final = (*_COMPARISONS, exp.NullSafeEQ, exp.Is, exp.In, exp.Between, exp.Like, exp.Not)
_CONNECTORS: Final = (exp.And, exp.Or)
_MAX_CONSTANT_DIGITS: Final = 28
_MAX_CONSTANT_SCALE: Final = 9
_INTEGER: Final = re.compile(r"\d+")
_FRACTION: Final = re.compile(r"\d*\.\d+|\d+\.\d*")


class UnsupportedCondition(Exception):
    """Raised where a condition, or a value in it, is left to Spark."""


@dataclass(frozen=True, slots=True)
class _Term:
    """A part of a condition: the type of its values, and the function that returns the value of a row."""

    kind: _ValueKind
    value: Callable[[Mapping[str, Any]], Any]
    constant: Any = None
    """The value, if it is a literal."""
    scale: int = 0
    """The digits after the decimal point of a decimal."""


@cache
def parse_condition(expression: str) -> exp.Expression:
    """Parse a condition for rows in Spark SQL; raise if it is none.

    >>> parse_condition("amount >= 0 OR amount IS NULL").sql()
    'amount >= 0 OR amount IS NULL'
    """
    try:
        parsed = sqlglot.parse_one(expression, read="spark")
    except SqlglotError as error:
        raise UsageError(
            f"{expression!r} is no condition in Spark SQL", hint="pass a condition such as 'amount >= 0'"
        ) from error
    refused = (exp.Query, exp.AggFunc, exp.Window, exp.DDL, exp.DML, exp.Command, exp.Alias)
    if not isinstance(parsed, exp.Expression) or parsed.find(*refused) is not None:
        raise UsageError(
            f"{expression!r} is not a condition for one row",
            hint="leave out subqueries, aggregates and windows: pass gates=[...] to the run for figures of "
            "all rows",
        )
    return parsed


def condition_columns(expression: str) -> tuple[str, ...]:
    """Return the columns that a condition names, in order; of nested columns the first part.

    >>> condition_columns("amount >= 0 AND address.city <> ''")
    ('amount', 'address')
    """
    columns = parse_condition(expression).find_all(exp.Column, bfs=False)
    return tuple(dict.fromkeys(column.parts[0].name for column in columns))


def compile_condition(
    expression: str, column_types: Mapping[str, str]
) -> Callable[[Mapping[str, Any]], bool | None]:
    """Return a function that evaluates a condition for a row; None is the NULL of SQL.

    `column_types` are the types of columns in Spark SQL; a column that it lacks is NULL in every row. Raises
    `UnsupportedCondition` for what only Spark evaluates, and so may the returned function.

    >>> is_valid = compile_condition("amount >= 0 AND paid", {"amount": "BIGINT", "paid": "BOOLEAN"})
    >>> is_valid({"amount": 1, "paid": True}), is_valid({"amount": None, "paid": True})
    (True, None)
    """
    if "\\" in expression:
        raise UnsupportedCondition  # escapes in literals
    term = _Compiler(column_types).compile(parse_condition(expression))
    if term.kind not in ("bool", "null"):
        raise UnsupportedCondition
    return term.value


class _Compiler:
    def __init__(self, column_types: Mapping[str, str]) -> None:
        self._columns: dict[str, tuple[str, str]] = {}
        for name, sql_type in column_types.items():
            if name.lower() in self._columns:
                raise UnsupportedCondition  # names that differ in case only
            self._columns[name.lower()] = (name, sql_type)

    def compile(self, node: exp.Expression) -> _Term:
        build = _BUILDERS.get(type(node))
        if build is None or (node.args.get("negate") and not isinstance(node, exp.Like)):
            raise UnsupportedCondition
        return build(self, node)

    def comparison(self, node: exp.Expression) -> _Term:
        compare = _COMPARISONS[type(node)]
        return _comparison(compare, self.operand(node.this), self.operand(node.expression))

    def arithmetic(self, node: exp.Expression) -> _Term:
        function = _ARITHMETIC[type(node)]
        return _arithmetic(function, self.operand(node.this), self.operand(node.expression))

    def text_function(self, node: exp.Expression) -> _Term:
        if not _has_only(node, "this"):
            raise UnsupportedCondition
        kind, function = _TEXT_FUNCTIONS[type(node)]
        return _apply(kind, function, _of_kind(self.operand(node.this), "text"))

    def operand(self, node: exp.Expression) -> _Term:
        if isinstance(node, (*_PREDICATES, *_CONNECTORS)):
            raise UnsupportedCondition
        return self.compile(node)

    def column(self, node: exp.Column) -> _Term:
        if len(node.parts) > 1 or not isinstance(node.this, exp.Identifier):
            raise UnsupportedCondition
        stored = self._columns.get(node.name.lower())
        if stored is None:
            return _Term("null", lambda _: None)
        name, sql_type = stored
        kind = _KINDS.get(sql_type)
        if kind is None:
            raise UnsupportedCondition
        if kind == "double":
            return _Term(kind, lambda row: _not_nan(row[name]))
        return _Term(kind, lambda row: row[name], scale=9 if sql_type == "DECIMAL(38,9)" else 0)

    def connective(self, node: exp.Expression, *, is_and: bool) -> _Term:
        left, right = _as_bool(self.compile(node.this)), _as_bool(self.compile(node.expression))

        def connect(row: Mapping[str, Any]) -> bool | None:
            first = left.value(row)
            if first is (not is_and):
                return first
            second = right.value(row)
            if second is (not is_and):
                return second
            return None if first is None or second is None else is_and

        return _Term("bool", connect)

    def is_(self, node: exp.Is) -> _Term:
        term, wanted = self.operand(node.this), node.expression
        if isinstance(wanted, exp.Null):
            return _Term("bool", lambda row: term.value(row) is None)
        if isinstance(wanted, exp.Boolean):
            truth, condition = bool(wanted.this), _as_bool(term)
            return _Term("bool", lambda row: condition.value(row) is truth)
        raise UnsupportedCondition

    def in_(self, node: exp.In) -> _Term:
        term, options = self.operand(node.this), [self.operand(option) for option in node.expressions]
        if not options or any(each.constant is None and each.kind != "null" for each in options):
            raise UnsupportedCondition
        equalities = [_comparison(operator.eq, term, option) for option in options]

        def is_in(row: Mapping[str, Any]) -> bool | None:
            results = [equality.value(row) for equality in equalities]
            return True if True in results else None if None in results else False

        return _Term("bool", is_in)

    def between(self, node: exp.Between) -> _Term:
        if node.args.get("symmetric"):
            raise UnsupportedCondition
        term = self.operand(node.this)
        at_least = _comparison(operator.ge, term, self.operand(node.args["low"]))
        at_most = _comparison(operator.le, term, self.operand(node.args["high"]))

        def is_between(row: Mapping[str, Any]) -> bool | None:
            first, second = at_least.value(row), at_most.value(row)
            return False if first is False or second is False else None if None in (first, second) else True

        return _Term("bool", is_between)

    def like(self, node: exp.Like) -> _Term:
        term, pattern = self.operand(node.this), self.operand(node.expression)
        if term.kind == "null":
            return term
        if term.kind != "text" or not isinstance(pattern.constant, str):
            raise UnsupportedCondition
        wildcards = {"%": ".*", "_": "."}
        regex = re.compile(
            "".join(wildcards.get(each) or re.escape(each) for each in pattern.constant), re.DOTALL
        )
        wanted = not node.args.get("negate")
        return _apply("bool", lambda text: (regex.fullmatch(text) is not None) is wanted, term)

    def coalesce(self, node: exp.Coalesce) -> _Term:
        terms = [self.operand(argument) for argument in (node.this, *node.expressions)]
        kinds = {term.kind for term in terms if term.kind != "null"}
        if len(kinds) != 1 or "decimal" in kinds:
            raise UnsupportedCondition
        return _Term(
            kinds.pop(),
            lambda row: next((value for term in terms if (value := term.value(row)) is not None), None),
        )


# --- values


def _constant(kind: _ValueKind, value: Any, *, scale: int = 0) -> _Term:
    return _Term(kind, lambda _: value, constant=value, scale=scale)


def _literal(node: exp.Literal) -> _Term:
    text = str(node.this)
    if node.is_string:
        return _constant("text", text)
    if _INTEGER.fullmatch(text) and int(text) <= LARGEST_BIGINT:
        return _constant("bigint", int(text))
    digits = len(text) - 1
    if _FRACTION.fullmatch(text) and digits <= _MAX_CONSTANT_DIGITS:
        scale = len(text.partition(".")[2])
        if scale <= _MAX_CONSTANT_SCALE:
            return _constant("decimal", Decimal(text), scale=scale)
    raise UnsupportedCondition


def _not_nan(value: float | None) -> float | None:
    """Return a number; raise for NaN, which Spark compares in its own way."""
    if value is not None and math.isnan(value):
        raise UnsupportedCondition
    return value


def _ascii(text: str) -> str:
    """Return a text; raise if the case of its letters depends on tables of Unicode."""
    if not text.isascii():
        raise UnsupportedCondition
    return text


def _in_range(value: int) -> int:
    """Return a number; raise if it exceeds a BIGINT, which is an error in Spark."""
    if not SMALLEST_BIGINT <= value <= LARGEST_BIGINT:
        raise UnsupportedCondition
    return value


def _apply(kind: _ValueKind, function: Callable[[Any], Any], term: _Term) -> _Term:
    """Return a term of a function that is NULL for NULL."""
    return _Term(kind, lambda row: None if (value := term.value(row)) is None else function(value))


def _of_kind(term: _Term, kind: _ValueKind) -> _Term:
    if term.kind not in (kind, "null"):
        raise UnsupportedCondition
    return term


def _as_bool(term: _Term) -> _Term:
    return _of_kind(term, "bool")


def _negative(term: _Term) -> _Term:
    if term.constant is not None and term.kind in ("bigint", "decimal"):
        return _constant(term.kind, -term.constant, scale=term.scale)
    return _apply_number(operator.neg, term)


def _apply_number(function: Callable[[Any], Any], term: _Term) -> _Term:
    match term.kind:
        case "bigint":
            return _apply("bigint", lambda value: _in_range(function(value)), term)
        case "double":
            return _apply("double", function, term)
        case "null":
            return term
        case _:
            raise UnsupportedCondition


# --- operands of common types


def _comparison(compare: Callable[[Any, Any], bool], left: _Term, right: _Term) -> _Term:
    left, right = _comparable(left, right)

    def is_true(row: Mapping[str, Any]) -> bool | None:
        # Both sides: Spark may compute the second one beside a NULL, and stop at an overflow in it.
        first, second = left.value(row), right.value(row)
        return None if first is None or second is None else compare(first, second)

    return _Term("bool", is_true)


def _null_safe_equality(left: _Term, right: _Term) -> _Term:
    left, right = _comparable(left, right)
    return _Term("bool", lambda row: left.value(row) == right.value(row))


def _comparable(left: _Term, right: _Term) -> tuple[_Term, _Term]:
    """Return two terms whose values compare as Spark compares them."""
    kinds = {left.kind, right.kind}
    if "null" in kinds or (len(kinds) == 1 and _have_common_scale(left, right)):
        return left, right
    if kinds <= {"bigint", "double"} or (
        kinds == {"double", "decimal"} and _decimal_is_constant(left, right)
    ):
        return _as_double(left), _as_double(right)
    if kinds == {"bigint", "decimal"} and max(left.scale, right.scale) <= _MAX_CONSTANT_SCALE:
        return left, right
    raise UnsupportedCondition


def _have_common_scale(left: _Term, right: _Term) -> bool:
    """Return whether Spark compares two terms of one type without rounding one of them."""
    scales = {term.scale for term in (left, right) if term.constant is None}
    return not scales or scales == {max(left.scale, right.scale)}


def _decimal_is_constant(left: _Term, right: _Term) -> bool:
    return all(term.constant is not None for term in (left, right) if term.kind == "decimal")


def _as_double(term: _Term) -> _Term:
    return term if term.kind == "double" else _apply("double", float, term)


def _arithmetic(function: Callable[[Any, Any], Any], left: _Term, right: _Term) -> _Term:
    kinds = {left.kind, right.kind}
    if "null" in kinds:
        return _Term("null", lambda _: None)
    are_constants = left.constant is not None and right.constant is not None
    has_fraction = kinds == {"double", "decimal"} and _decimal_is_constant(left, right)
    if are_constants or not (kinds <= {"bigint", "double"} or has_fraction):
        raise UnsupportedCondition
    is_double = kinds != {"bigint"}
    if is_double:
        left, right = _as_double(left), _as_double(right)

    def compute(row: Mapping[str, Any]) -> Any:
        first, second = left.value(row), right.value(row)
        if first is None or second is None:
            return None
        result = function(first, second)
        return _not_nan(result) if is_double else _in_range(result)

    return _Term("double" if is_double else "bigint", compute)


def _has_only(node: exp.Expression, *names: str) -> bool:
    """Return whether a function has no other arguments."""
    return all(name in names for name, value in node.args.items() if value)


_TEXT_FUNCTIONS: Final[Mapping[type[exp.Expression], tuple[_ValueKind, Callable[[str], Any]]]] = {
    exp.Length: ("bigint", len),
    exp.Lower: ("text", lambda text: _ascii(text).lower()),
    exp.Upper: ("text", lambda text: _ascii(text).upper()),
    exp.Trim: ("text", lambda text: text.strip(" ")),
}
_BUILDERS: Final[Mapping[type[exp.Expression], Callable[[_Compiler, Any], _Term]]] = {
    exp.Paren: lambda compiler, node: compiler.compile(node.this),
    exp.Column: _Compiler.column,
    exp.Literal: lambda _, node: _literal(node),
    exp.Boolean: lambda _, node: _constant("bool", bool(node.this)),
    exp.Null: lambda *_: _Term("null", lambda _: None),
    exp.And: lambda compiler, node: compiler.connective(node, is_and=True),
    exp.Or: lambda compiler, node: compiler.connective(node, is_and=False),
    exp.Not: lambda compiler, node: _apply("bool", operator.not_, _as_bool(compiler.compile(node.this))),
    **dict.fromkeys(_COMPARISONS, _Compiler.comparison),
    **dict.fromkeys(_ARITHMETIC, _Compiler.arithmetic),
    **dict.fromkeys(_TEXT_FUNCTIONS, _Compiler.text_function),
    exp.NullSafeEQ: lambda compiler, node: _null_safe_equality(
        compiler.operand(node.this), compiler.operand(node.expression)
    ),
    exp.Is: _Compiler.is_,
    exp.In: _Compiler.in_,
    exp.Between: _Compiler.between,
    exp.Like: _Compiler.like,
    exp.Neg: lambda compiler, node: _negative(compiler.operand(node.this)),
    exp.Abs: lambda compiler, node: _apply_number(abs, compiler.operand(node.this)),
    exp.Coalesce: _Compiler.coalesce,
}
