"""One resource feeds several transformers, and is read once."""

import dlt

asked = []


@dlt.resource
def cities():
    for name in ["Oslo", "Rome"]:
        asked.append(name)
        yield {"name": name}


@dlt.transformer(data_from=cities)
def weather(city):
    yield {"city": city["name"], "sunny": city["name"] == "Rome"}


@dlt.transformer(data_from=cities, write_disposition="replace")
def mayors(city):
    return [{"city": city["name"], "mayor": number} for number in range(2)]


@dlt.source
def atlas():
    return cities, weather, mayors


def run(extract):
    extract(atlas())
    extract(atlas().with_resources("weather", "mayors"))
    extract([{"asked": len(asked)}], table_name="asked")
