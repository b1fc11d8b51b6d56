"""The plan of a configuration: defaults, parents and placeholders. Makes no requests."""

from __future__ import annotations

import graphlib
import re
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import suggestion
from penstock.interfaces.incremental import Incremental
from penstock.interfaces.source import DeclarationBase
from penstock.sources.rest.paginators import SinglePagePaginator
from penstock.sources.rest_api.templates import placeholders
from penstock.sources.rest_api.validation import HINT_KEYS, invalid_config

if TYPE_CHECKING:
    from penstock.errors import InvalidSourceConfig

SECTION: Final = "rest_api"
"""The configuration section of the source and its resources."""
_TEMPLATE_PARTS: Final = ("path", "params", "json", "data", "headers")
_ENTITY_PLACEHOLDER: Final = re.compile(r"\{[a-zA-Z0-9.\-_]+\}")
_PLACEHOLDER_ROOTS: Final = ("resources", "incremental")
_REFERENCE_PARTS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcePlan:
    """One resource: its endpoint, the fields of its parent that it uses, and the hints of its tables."""

    name: str
    endpoint: Mapping[str, Any]
    parent: str | None = None
    placeholder_paths: Mapping[str, str] = field(default_factory=dict)
    """Paths into a row of the parent, by placeholder."""
    included_fields: tuple[str, ...] = ()
    steps: tuple[Mapping[str, Any], ...] = ()
    hints: Mapping[str, Any] = field(default_factory=dict)
    spread: int | None = None
    """Parent rows or pages per work item; None to read on the driver."""


def plan_resources(config: Mapping[str, Any]) -> list[ResourcePlan | Any]:
    """Return the plans of all resources, parents before children; ready resources are returned unchanged."""
    defaults = config.get("resource_defaults") or {}
    plans: dict[str, Any] = {}
    for resource in config["resources"]:
        is_ready = isinstance(resource, DeclarationBase)
        plan = resource if is_ready else _plan_resource(_with_defaults(resource, defaults))
        name = getattr(plan, "name", None)
        if name in plans:
            raise invalid_config(f"resources.{name}", "two resources have this name", "rename one of them")
        plans[str(name)] = plan
    for plan in plans.values():
        if isinstance(plan, ResourcePlan) and plan.parent is not None and plan.parent not in plans:
            raise invalid_config(
                f"resources.{plan.name}",
                f"its parent {plan.parent!r} is not a resource",
                suggestion(plan.parent, plans),
            )
    return [plans[name] for name in _topological_order(plans)]


def _topological_order(plans: Mapping[str, Any]) -> list[str]:
    parents = {
        name: [plan.parent] if isinstance(plan, ResourcePlan) and plan.parent else []
        for name, plan in plans.items()
    }
    try:
        return list(graphlib.TopologicalSorter(parents).static_order())
    except graphlib.CycleError as error:
        names = " -> ".join(map(str, error.args[1]))
        raise invalid_config(
            "resources", f"the parents form a cycle: {names}", "remove one of the references"
        ) from None


def _with_defaults(resource: str | Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return a resource with the defaults applied; `params`, `json` and `columns` are merged by key."""
    own: Mapping[str, Any] = {"name": resource} if isinstance(resource, str) else resource
    endpoint = own.get("endpoint") or {}
    endpoint = {"path": endpoint} if isinstance(endpoint, str) else dict(endpoint)
    default = defaults.get("endpoint") or {}
    default = {"path": default} if isinstance(default, str) else default
    for part in ("params", "json"):
        if isinstance(default.get(part), Mapping) and isinstance(endpoint.get(part), Mapping):
            endpoint[part] = {**default[part], **endpoint[part]}
    merged = {**defaults, **own, "endpoint": {**default, "path": own["name"], **endpoint}}
    if isinstance(defaults.get("columns"), (list, dict)) and isinstance(own.get("columns"), (list, dict)):
        merged["columns"] = _merge_columns(defaults["columns"], own["columns"])
    return merged


def _merge_columns(default_columns: Any, columns: Any) -> dict[str, Any]:
    defaults, own = (
        hint if isinstance(hint, dict) else {column["name"]: column for column in hint}
        for hint in (default_columns, columns)
    )
    return {name: {**defaults.get(name, {}), **own.get(name, {})} for name in {**defaults, **own}}


def _plan_resource(resource: Mapping[str, Any]) -> ResourcePlan:
    name = resource["name"]
    endpoint = dict(resource["endpoint"])
    params = dict(endpoint.get("params") or {})
    if _ENTITY_PLACEHOLDER.search(str(endpoint["path"]).rstrip("/").rpartition("/")[2]):
        endpoint["data_selector"] = endpoint.get("data_selector") or "$"
        endpoint["paginator"] = endpoint.get("paginator") or SinglePagePaginator()
    resolved = {
        key: value
        for key, value in params.items()
        if isinstance(value, dict) and value.get("type") == "resolve"
    }
    config_path = f"resources.{name}.endpoint"
    endpoint["path"] = _bind_path(config_path, str(endpoint["path"]), params, resolved)
    endpoint["params"] = {key: value for key, value in params.items() if key not in resolved}
    references = {
        **{key: (value["resource"], value["field"]) for key, value in resolved.items()},
        **dict(_parent_references(config_path, endpoint)),
    }
    parents = {parent for parent, _ in references.values()}
    if len(parents) > 1:
        raise invalid_config(
            config_path, f"it has several parents: {' and '.join(sorted(parents))}", "name one parent only"
        )
    included = tuple(resource.get("include_from_parent") or ())
    if included and not parents:
        raise invalid_config(
            f"resources.{name}.include_from_parent",
            "it has no parent",
            "bind a field of a parent: {resources.parent.field}",
        )
    spread = resource.get("spread")
    return ResourcePlan(
        name=name,
        endpoint=endpoint,
        parent=next(iter(parents), None),
        placeholder_paths={key: path for key, (_, path) in references.items()},
        included_fields=included,
        steps=tuple(resource.get("processing_steps") or ()),
        hints={key: resource[key] for key in HINT_KEYS if resource.get(key) is not None},
        spread=int(spread) if spread else None,
    )


def _bind_path(config_path: str, path: str, params: dict[str, Any], resolved: Mapping[str, Any]) -> str:
    """Return the path with plain parameters inserted; raise if a resolved parameter is not part of it."""
    segments: list[str] = []
    seen: set[str] = set()
    for literal, name in _parse_path(f"{config_path}.path", path):
        segments.append(literal.replace("{", "{{").replace("}", "}}"))
        if not name:
            continue
        if name.partition(".")[0] in _PLACEHOLDER_ROOTS or name in resolved:
            segments.append(f"{{{name}}}")
            seen.add(name)
        elif name in params and not isinstance(params[name], (dict, Incremental)):
            segments.append(_path_value(f"{config_path}.params.{name}", str(params.pop(name))))
        else:
            raise invalid_config(
                f"{config_path}.path",
                f"{{{name}}} has no value",
                suggestion(name, [*params, *_PLACEHOLDER_ROOTS]),
            )
    unbound = [name for name in resolved if name not in seen]
    if unbound:
        raise invalid_config(
            f"{config_path}.params.{unbound[0]}",
            f"{{{unbound[0]}}} is not part of the path {path!r}",
            "in a query, use {resources.parent.field} as the value",
        )
    return "".join(segments)


def _path_value(config_path: str, value: str) -> str:
    """Return the text of a plain parameter in a path; only known placeholders stay active."""
    if not any(f"{{{word}." in value for word in _PLACEHOLDER_ROOTS):
        return value.replace("{", "{{").replace("}", "}}")
    for name in _parse_placeholders(config_path, value):
        if name.partition(".")[0] not in _PLACEHOLDER_ROOTS:
            raise _unknown_placeholder(config_path, name)
    return value


def _parse_placeholders(config_path: str, template: Any) -> list[str]:
    """Return the placeholders in a template."""
    try:
        return list(placeholders(template))
    except ValueError as error:
        raise _unbalanced_brace(config_path, error) from error


def _parse_path(config_path: str, path: str) -> list[tuple[str, str | None]]:
    """Return the literal texts of a path, each with the placeholder that follows."""
    try:
        return [(literal, name) for literal, name, _, _ in string.Formatter().parse(path)]
    except ValueError as error:
        raise _unbalanced_brace(config_path, error) from error


def _unbalanced_brace(config_path: str, error: ValueError) -> InvalidSourceConfig:
    return invalid_config(
        config_path, f"it has an unbalanced brace ({error})", "write {{ and }} for literal braces"
    )


def _unknown_placeholder(config_path: str, name: str) -> InvalidSourceConfig:
    return invalid_config(
        config_path,
        f"{{{name}}} is not a placeholder",
        "use {resources.parent.field} or {incremental.start_value}, and {{ }} for literal braces",
    )


def _parent_references(
    config_path: str, endpoint: Mapping[str, Any]
) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the placeholders that name a field of a parent."""
    for part in _TEMPLATE_PARTS:
        template = endpoint.get(part)
        texts = _without_cursor_params(template) if part == "params" else template
        for name in _parse_placeholders(f"{config_path}.{part}", texts):
            kind, *rest = name.split(".", _REFERENCE_PARTS - 1)
            if kind == "resources" and len(rest) == _REFERENCE_PARTS - 1:
                yield name, (rest[0], rest[1])
            elif kind == "resources" or (kind not in _PLACEHOLDER_ROOTS and part != "path"):
                raise _unknown_placeholder(f"{config_path}.{part}", name)


def _without_cursor_params(params: Any) -> dict[str, Any]:
    return {key: value for key, value in (params or {}).items() if not isinstance(value, (dict, Incremental))}
