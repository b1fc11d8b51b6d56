"""What the registry finds under the name `delta`."""

from penstock.destinations.delta.adapter import DeltaClient
from penstock.destinations.delta.settings import configure
from penstock.interfaces import Capabilities, DestinationSpec

SPEC = DestinationSpec(
    name="delta",
    state_type="dlt.destinations.filesystem",
    capabilities=Capabilities(
        write_dispositions=frozenset({"append"}),
        max_identifier_length=255,
        spark_needs=("delta",),
    ),
    configure=configure,
    open=DeltaClient,
)
