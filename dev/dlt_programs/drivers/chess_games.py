"""Profiles and games of chess players: deferred requests, and archives that the state remembers."""

import dlt
from chess import source
from server import Reply

TURNS = 2
PLAYERS = ("ada", "grace", "linus")


def answer(request):
    """Return profiles, archives and games; at the second turn one more month."""
    way = request.path.split("/")
    name = way[3]
    if len(way) == 4:
        return Reply(
            {
                "username": name,
                "player_id": PLAYERS.index(name),
                "title": "GM" if name == "ada" else None,
                "joined": 1_500_000_000 + PLAYERS.index(name),
                "last_online": 1_700_000_000 + request.turn,
                "followers": 10 * PLAYERS.index(name),
                "is_streamer": name == "grace",
            }
            | ({"name": "Ada L."} if name == "ada" else {})
        )
    if way[-1] == "archives":
        months = ["2022/09", "2022/10", "2022/11"][: 2 if request.turn == 1 else 3]
        return Reply(
            {"archives": [f"https://api.chess.com/pub/player/{name}/games/{month}" for month in months]}
        )
    if name == "linus" and way[-1] == "10":
        return Reply({"code": 0, "message": "not found"}, 404)
    return Reply({"games": [game(name, way[-1], number) for number in range(4)]})


def game(name, month, number):
    """Return one game."""
    return {
        "url": f"https://www.chess.com/game/live/{name}-{month}-{number}",
        "end_time": 1_660_000_000 + int(month) * 100_000 + number,
        "rated": number % 2 == 0,
        "accuracies": {"white": 80.5 + number, "black": 91 - number / 4},
        "white": {"rating": 2000 + number, "result": "win", "username": name},
        "black": {"rating": 1990, "result": "resigned", "username": "guest"},
        "rules": "chess",
    }


def run(_):
    """Load profiles and the games of archives that are new."""
    pipeline = dlt.pipeline("chess_pipeline", destination="duckdb", dataset_name="chess_data")
    data = source(list(PLAYERS), start_month="2022/09", end_month="2022/12")
    pipeline.run(data.with_resources("players_profiles", "players_games"))
    return pipeline
