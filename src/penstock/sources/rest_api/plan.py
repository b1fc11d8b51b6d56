"""Decides what a configuration means: defaults, parents, placeholders. Nothing is asked for."""

from __future__ import annotations

import graphlib
import re
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from penstock.interfaces.incremental import Incremental
from penstock.interfaces.source import Declared
from penstock.sources.rest.paginators import SinglePagePaginator
from penstock.sources.rest_api.keys import HINTS, said_of, wrong
from penstock.sources.rest_api.templates import expressions

if TYPE_CHECKING:
    from penstock.errors import InvalidSourceConfig

_PARTS: Final = ("path", "params", "json", "data", "headers")
_ENTITY: Final = re.compile(r"\{[a-zA-Z0-9.\-_]+\}")
_WORDS: Final = ("resources", "incremental")
_NAMES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcePlan:
    """One resource: its endpoint, what it takes from its parent, and the hints of its tables."""

    name: str
    endpoint: Mapping[str, Any]
    parent: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    """What placeholders mean: paths into a row of the parent."""
    included: tuple[str, ...] = ()
    steps: tuple[Mapping[str, Any], ...] = ()
    hints: Mapping[str, Any] = field(default_factory=dict)
    spread: int | None = None
    """How many rows of the parent, or pages, make one work item; None where it is not spread."""


def plan_resources(config: Mapping[str, Any]) -> list[ResourcePlan | Any]:
    """Every resource, parents before their children; those that were given ready stay as they are."""
    defaults = config.get("resource_defaults") or {}
    plans: dict[str, Any] = {}
    for said in config["resources"]:
        one = said if isinstance(said, Declared) else _plan(_merged(said, defaults))
        name = getattr(one, "name", None)
        if name in plans:
            raise wrong(f"resources.{name}", "there are two of that name", "give one of them another name")
        plans[str(name)] = one
    for plan in plans.values():
        if isinstance(plan, ResourcePlan) and plan.parent is not None and plan.parent not in plans:
            raise wrong(
                f"resources.{plan.name}",
                f"it takes rows from {plan.parent!r}, and there is no such resource",
                said_of(plan.parent, plans),
            )
    return [plans[name] for name in _in_order(plans)]


def _in_order(plans: Mapping[str, Any]) -> list[str]:
    parents = {
        name: [plan.parent] if isinstance(plan, ResourcePlan) and plan.parent else []
        for name, plan in plans.items()
    }
    try:
        return list(graphlib.TopologicalSorter(parents).static_order())
    except graphlib.CycleError as error:
        names = " -> ".join(map(str, error.args[1]))
        raise wrong("resources", f"they take rows from each other: {names}", "let one be the first") from None


def _merged(said: str | Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """A resource with the defaults under it; `params`, `json` and `columns` are merged key by key."""
    own: Mapping[str, Any] = {"name": said} if isinstance(said, str) else said
    endpoint = own.get("endpoint") or {}
    endpoint = {"path": endpoint} if isinstance(endpoint, str) else dict(endpoint)
    below = defaults.get("endpoint") or {}
    below = {"path": below} if isinstance(below, str) else below
    for part in ("params", "json"):
        if isinstance(below.get(part), Mapping) and isinstance(endpoint.get(part), Mapping):
            endpoint[part] = {**below[part], **endpoint[part]}
    merged = {**defaults, **own, "endpoint": {**below, "path": own["name"], **endpoint}}
    if isinstance(defaults.get("columns"), (list, dict)) and isinstance(own.get("columns"), (list, dict)):
        merged["columns"] = _columns(defaults["columns"], own["columns"])
    return merged


def _columns(below: Any, own: Any) -> dict[str, Any]:
    under, over = (
        said if isinstance(said, dict) else {column["name"]: column for column in said}
        for said in (below, own)
    )
    return {name: {**under.get(name, {}), **over.get(name, {})} for name in {**under, **over}}


def _plan(resource: Mapping[str, Any]) -> ResourcePlan:
    name = resource["name"]
    endpoint = dict(resource["endpoint"])
    params = dict(endpoint.get("params") or {})
    if _ENTITY.search(str(endpoint["path"]).rstrip("/").rpartition("/")[2]):
        endpoint["data_selector"] = endpoint.get("data_selector") or "$"
        endpoint["paginator"] = endpoint.get("paginator") or SinglePagePaginator()
    resolved = {
        key: value
        for key, value in params.items()
        if isinstance(value, dict) and value.get("type") == "resolve"
    }
    where = f"resources.{name}.endpoint"
    endpoint["path"] = _bound_path(where, str(endpoint["path"]), params, resolved)
    endpoint["params"] = {key: value for key, value in params.items() if key not in resolved}
    said = {
        **{key: (value["resource"], value["field"]) for key, value in resolved.items()},
        **dict(_references(where, endpoint)),
    }
    parents = {parent for parent, _ in said.values()}
    if len(parents) > 1:
        raise wrong(where, f"it takes rows from {' and '.join(sorted(parents))}", "name one parent only")
    included = tuple(resource.get("include_from_parent") or ())
    if included and not parents:
        raise wrong(
            f"resources.{name}.include_from_parent",
            "it takes rows from no other resource",
            "bind a field of a parent: {resources.parent.field}",
        )
    spread = resource.get("spread")
    return ResourcePlan(
        name=name,
        endpoint=endpoint,
        parent=next(iter(parents), None),
        fields={key: path for key, (_, path) in said.items()},
        included=included,
        steps=tuple(resource.get("processing_steps") or ()),
        hints={key: resource[key] for key in HINTS if resource.get(key) is not None},
        spread=int(spread) if spread else None,
    )


def _bound_path(where: str, path: str, params: dict[str, Any], resolved: Mapping[str, Any]) -> str:
    """The path with plain parameters put into it; every one that is resolved must stand in it."""
    segments: list[str] = []
    seen: set[str] = set()
    for literal, name in _pieces(f"{where}.path", path):
        segments.append(literal.replace("{", "{{").replace("}", "}}"))
        if not name:
            continue
        if name.partition(".")[0] in _WORDS or name in resolved:
            segments.append(f"{{{name}}}")
            seen.add(name)
        elif name in params and not isinstance(params[name], (dict, Incremental)):
            segments.append(_written(f"{where}.params.{name}", str(params.pop(name))))
        else:
            raise wrong(
                f"{where}.path", f"nothing says what {{{name}}} is", said_of(name, [*params, *_WORDS])
            )
    unbound = [name for name in resolved if name not in seen]
    if unbound:
        raise wrong(
            f"{where}.params.{unbound[0]}",
            f"{{{unbound[0]}}} does not stand in the path {path!r}",
            "in a query, write {resources.parent.field} as the value",
        )
    return "".join(segments)


def _written(where: str, value: str) -> str:
    """A plain parameter as the path has it: the text itself, or what its placeholders will mean."""
    if not any(f"{{{word}." in value for word in _WORDS):
        return value.replace("{", "{{").replace("}", "}}")
    for name in _expressions(where, value):
        if name.partition(".")[0] not in _WORDS:
            raise _no_placeholder(where, name)
    return value


def _expressions(where: str, template: Any) -> list[str]:
    """The placeholders of texts."""
    try:
        return list(expressions(template))
    except ValueError as error:
        raise _half(where, error) from error


def _pieces(where: str, path: str) -> list[tuple[str, str | None]]:
    """The texts of a path, each with the placeholder behind it."""
    try:
        return [(literal, name) for literal, name, _, _ in string.Formatter().parse(path)]
    except ValueError as error:
        raise _half(where, error) from error


def _half(where: str, error: ValueError) -> InvalidSourceConfig:
    return wrong(where, f"a brace stands alone in it ({error})", "write {{ and }} for braces that are meant")


def _no_placeholder(where: str, name: str) -> InvalidSourceConfig:
    return wrong(
        where,
        f"{{{name}}} is no placeholder",
        "write {resources.parent.field} or {incremental.start_value}, and {{ }} for braces",
    )


def _references(where: str, endpoint: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, str]]]:
    """The fields of parents that placeholders name."""
    for part in _PARTS:
        template = endpoint.get(part)
        texts = _without_cursor(template) if part == "params" else template
        for name in _expressions(f"{where}.{part}", texts):
            kind, *rest = name.split(".", _NAMES - 1)
            if kind == "resources" and len(rest) == _NAMES - 1:
                yield name, (rest[0], rest[1])
            elif kind == "resources" or (kind not in _WORDS and part != "path"):
                raise _no_placeholder(f"{where}.{part}", name)


def _without_cursor(params: Any) -> dict[str, Any]:
    return {key: value for key, value in (params or {}).items() if not isinstance(value, (dict, Incremental))}
