"""Every row names its table."""

import dlt


@dlt.resource(table_name=lambda event: f"event_{event['type']}", primary_key="id")
def events():
    yield [{"id": 1, "type": "click"}, {"id": 2, "type": "view"}]
    yield {"id": 3, "type": "click"}


def run(extract):
    extract(events)
    extract(events().select_tables("event_view"))
