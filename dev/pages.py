"""Prints the items of the reference pages with their paths and signatures, and the tests of their behaviour.

`python -m dev.pages` reads `dev/pages.toml` and ends with the totals: items at the page's path, faults, and
deviations, each with its reason above. The exit code is 1 when an item is missing or differs from the data.
"""

from __future__ import annotations

import ast
import inspect
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from penstock.config import config_value

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
DATA = Path(__file__).parent / "pages.toml"
MISSING: Any = object()


@dataclass(frozen=True, kw_only=True)
class Item:
    """A class, function, method, property or attribute of a page."""

    page: str
    name: str
    kind: Literal["class", "function", "method", "static method", "property", "attribute"]
    meaning: str
    test: str
    """The test that shows the behaviour: `path::name`."""
    arguments: str | None = None
    """As in a signature, without types; `ConfigValue` is the default of arguments from settings."""
    deviation: str = ""
    """Why the behaviour is not the page's."""

    @property
    def module(self) -> str:
        """The path of the page in penstock."""
        return f"penstock.{self.page}"

    def value(self) -> Any:
        """Return the object of penstock at the page's path, or `MISSING`."""
        owner, _, attribute = self.name.rpartition(".")
        value = getattr(import_module(self.module), owner or self.name, MISSING)
        if not owner or value is MISSING:
            return value
        annotations = {name for base in value.__mro__ for name in inspect.get_annotations(base)}
        return inspect.getattr_static(value, attribute, attribute if attribute in annotations else MISSING)

    def signature(self) -> inspect.Signature | None:
        """Return the signature in penstock, without `self`; None for what takes no arguments."""
        value = self.value()
        if self.arguments is None or value is MISSING:
            return None
        function = value.__func__ if isinstance(value, staticmethod) else value
        signature = inspect.signature(function)
        own = [parameter for name, parameter in signature.parameters.items() if name != "self"]
        return signature.replace(parameters=own)

    def faults(self) -> Iterator[str]:
        """Yield how penstock differs from the data."""
        value = self.value()
        if value is MISSING:
            yield f"{self.module}:{self.name} does not exist"
        elif self.kind == "property" and not isinstance(value, property):
            yield f"{self.name} is not a property"
        elif self.kind == "static method" and not isinstance(value, staticmethod):
            yield f"{self.name} is not a static method"
        else:
            yield from self._argument_faults()
        if not has_test(self.test):
            yield f"{self.name}: there is no test {self.test}"

    def extra_arguments(self) -> list[str]:
        """Return the arguments that the page lacks."""
        page = {parameter.name for parameter in parameters_of(self.arguments or "")}
        signature = self.signature()
        return [name for name in signature.parameters if name not in page] if signature else []

    def _argument_faults(self) -> Iterator[str]:
        signature = self.signature()
        if signature is None:
            return
        expected, actual = parameters_of(self.arguments or ""), signature.parameters
        positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
        order = [parameter.name for parameter in expected if parameter.kind is positional]
        if [name for name, parameter in actual.items() if parameter.kind is positional] != order:
            yield f"{self.name}: positional arguments are not {order}"
        differing = [
            parameter.name
            for parameter in expected
            if (mine := actual.get(parameter.name)) is None
            or (mine.kind, mine.default) != (parameter.kind, parameter.default)
        ]
        if differing:
            yield f"{self.name}: the arguments {', '.join(differing)} differ from the page's"
        for name in self.extra_arguments():
            parameter = actual[name]
            if parameter.kind is not inspect.Parameter.KEYWORD_ONLY or parameter.default is parameter.empty:
                yield f"{self.name}: {name} is not an optional keyword"


def items() -> list[Item]:
    """Read the items of all pages."""
    document = tomllib.loads(DATA.read_text("utf-8"))
    pages = {page: entries for page, entries in document.items() if page not in {"auxiliary", "absent"}}
    return [Item(page=page, **entry) for page, entries in pages.items() for entry in entries]


def auxiliary_names() -> dict[str, list[str]]:
    """Return the names that only the signatures of a page use, by page."""
    names: dict[str, list[str]] = tomllib.loads(DATA.read_text("utf-8"))["auxiliary"]
    return names


def absent_names() -> dict[str, str]:
    """Return the names of the signatures that penstock lacks, with the reasons."""
    names: dict[str, str] = tomllib.loads(DATA.read_text("utf-8"))["absent"]
    return names


def parameters_of(arguments: str) -> list[inspect.Parameter]:
    """Return the parameters of a signature without types.

    >>> [str(parameter) for parameter in parameters_of("data, *, limit=3")]
    ['data', 'limit=3']
    """
    function = ast.parse(f"def function({arguments}): ...").body[0]
    of_function = cast("ast.FunctionDef", function).args
    defaults: list[ast.expr | None] = [None] * (len(of_function.args) - len(of_function.defaults))
    positional = zip(of_function.args, [*defaults, *of_function.defaults], strict=True)
    keywords = zip(of_function.kwonlyargs, of_function.kw_defaults, strict=True)
    return [
        inspect.Parameter(argument.arg, kind, default=_default(default))
        for kind, arguments_of_kind in (
            (inspect.Parameter.POSITIONAL_OR_KEYWORD, positional),
            (inspect.Parameter.KEYWORD_ONLY, keywords),
        )
        for argument, default in arguments_of_kind
    ]


def _default(node: ast.expr | None) -> Any:
    match node:
        case None:
            return inspect.Parameter.empty
        case ast.Name(id="ConfigValue"):
            return config_value
        case _:
            return ast.literal_eval(node)


def has_test(test: str) -> bool:
    """Return whether a file has a test of this name."""
    path, _, name = test.partition("::")
    return name in _tests_of(path)


@cache
def _tests_of(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def main() -> int:
    """Print the items and the totals."""
    listed = items()
    faults = {item.name: list(item.faults()) for item in listed}
    for item in listed:
        extra = f"; more: {', '.join(item.extra_arguments())}" if item.extra_arguments() else ""
        arguments = "" if item.arguments is None else f"({item.arguments})"
        print(f"{item.module}:{item.name}{arguments}{extra}\n    {item.meaning}\n    {item.test}")
        if item.deviation:
            print(f"    deviates: {item.deviation}")
        for fault in faults[item.name]:
            print(f"    FAULT {fault}")
    missing = sum(item.value() is MISSING for item in listed)
    deviating = [item for item in listed if item.deviation]
    print(
        f"\n{len(listed) - missing} of {len(listed)} items are at the page's path; "
        f"{sum(bool(of_item) for of_item in faults.values())} have a fault; {len(deviating)} deviate."
    )
    for name, reason in absent_names().items():
        print(f"absent: {name}: {reason}")
    return int(any(faults.values()))


if __name__ == "__main__":
    sys.exit(main())
