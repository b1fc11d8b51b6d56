"""Names of dlt's destinations: a plug-in is used, and without one the error names a replacement."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

import penstock
from penstock.destinations import plugins
from penstock.errors import UnknownDestination, UsageError
from penstock.interfaces import Destination
from penstock.interfaces.destination import destination_names
from penstock.interfaces.replacements import REPLACEMENTS

if TYPE_CHECKING:
    from pathlib import Path

PLUGIN = """
from penstock.config import configspec
from penstock.destinations.delta.reference import DELTA
from penstock.interfaces import DestinationClientDwhConfiguration


@configspec
class DuckConfiguration(DestinationClientDwhConfiguration):
    destination_name: str | None = "motherduck"
    credentials: str | None = None
    create_indexes: bool = False


class Duck:
    def capabilities(self):
        return DELTA.capabilities()

    def client(self, schema, initial_config=None, *, spark=None):
        raise NotImplementedError

    def spec(self):
        return DuckConfiguration


DUCK = Duck()
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package that registers the destination motherduck."""
    (tmp_path / "duckplug.py").write_text(PLUGIN)
    info = tmp_path / "duckplug-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: duckplug\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[penstock.destinations]\nmotherduck = duckplug:DUCK\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "duckplug", raising=False)


@pytest.mark.parametrize("name", REPLACEMENTS)
def test_a_name_without_a_plugin_is_refused_with_what_to_use_instead(name: str) -> None:
    factory = getattr(penstock.destinations, name)

    with pytest.raises(UnknownDestination) as when_called:
        factory(credentials="secret")
    with pytest.raises(UnknownDestination) as when_passed:
        penstock.pipeline("shop", destination=factory)
    with pytest.raises(UnknownDestination) as by_name:
        penstock.pipeline("shop", destination=name)

    assert REPLACEMENTS[name] in when_called.value.hint
    assert REPLACEMENTS[name] in str(factory.__doc__)
    assert f"known: {', '.join(destination_names())}" in when_called.value.hint
    assert str(when_called.value) == str(when_passed.value) == str(by_name.value)


def test_every_factory_for_a_plugin_has_a_replacement_and_the_name_of_its_destination() -> None:
    factories = {
        name: value for name, value in vars(plugins).items() if name in penstock.destinations.__all__
    }

    assert sorted(factories) == sorted(REPLACEMENTS)
    assert all(Destination.to_name(factory) == name for name, factory in factories.items())


@pytest.mark.usefixtures("plugin")
def test_an_installed_plugin_is_used() -> None:
    destination = penstock.destinations.motherduck("shop.db", create_indexes=True, destination_name="ducks")

    assert destination.destination_description == "ducks (motherduck)"
    assert destination.arguments == {"credentials": "shop.db", "create_indexes": True}
    assert Destination.from_reference(penstock.destinations.motherduck).spec.__name__ == "DuckConfiguration"
    assert Destination.from_reference("penstock.destinations.motherduck").destination_name == "motherduck"


@pytest.mark.usefixtures("plugin")
def test_an_argument_that_the_plugin_does_not_have_is_refused() -> None:
    with pytest.raises(UsageError, match="motherduck has no argument 'csv_format'"):
        penstock.destinations.motherduck(csv_format="pipe")


@pytest.mark.usefixtures("plugin")
def test_the_first_argument_is_the_positional_one() -> None:
    assert plugins.plugin_factory("motherduck", first_argument="create_indexes")(True).arguments == {
        "create_indexes": True
    }
    with pytest.raises(TypeError, match="positional"):
        penstock.destinations.motherduck("shop.db", True)
