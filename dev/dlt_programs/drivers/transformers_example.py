"""The example of transformers in the documentation: details in parallel, then details of the details."""

import runpy

import dlt
from program import SCRIPT
from server import Reply


def answer(request):
    """Return the list, a Pokémon or a species."""
    way = request.path.strip("/").split("/")
    if len(way) == 3:
        address = "https://pokeapi.co/api/v2/pokemon"
        return Reply(
            {"results": [{"name": f"p{item}", "url": f"{address}/{item}/"} for item in range(1, 21)]}
        )
    number = int(way[3])
    if way[2] == "pokemon-species":
        flavors = [{"text": f"line {item}", "version": {"name": "red"}} for item in range(number % 3)]
        return Reply(
            {"id": number, "is_baby": number % 2 == 0, "capture_rate": 45, "flavor_text_entries": flavors}
        )
    return Reply(
        {
            "id": number,
            "name": f"p{number}",
            "height": number / 8,
            "stats": [{"base_stat": 40 + item, "stat": {"name": f"s{item}"}} for item in range(3)],
            "types": [{"slot": 1, "past": [{"generation": "i"}]}],
            "species": {"name": f"s{number}", "url": f"https://pokeapi.co/api/v2/pokemon-species/{number}/"},
        }
    )


def run(_):
    """Run the script; it checks its counts itself."""
    runpy.run_path(SCRIPT, run_name="__main__")
    return dlt.pipeline()
