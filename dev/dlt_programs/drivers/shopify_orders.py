"""Orders and customers in pages by links, merged by their time of change."""

import os

import dlt
from server import Reply, page
from shopify_dlt import shopify_source

TURNS = 2


def answer(request):
    """Return a page; at the second turn only what has changed."""
    name = request.path.rpartition("/")[2].removesuffix(".json")
    numbers = range(9) if request.turn == 1 else range(7, 12)
    rows, after = page(
        [row(number, request.turn) for number in numbers], int(request.query.get("page_info", 0)), 4
    )
    link = f'<https://{request.host}{request.path}?page_info={after}>; rel="next"'
    return Reply({name: rows}, headers={"Link": link} if after else {})


def row(number, turn):
    """Return an order."""
    return {
        "id": 820_982_911_946_154_500 + number,
        "total_price": f"{number}9.95",
        "test": number % 2 == 0,
        "note": None,
        "line_items": [
            {"id": number * 10 + item, "price": "1.50", "tax_lines": [{"rate": 0.06, "title": "State"}]}
            for item in range(number % 3)
        ],
        "created_at": "2026-01-01T10:00:00-05:00",
        "updated_at": f"2026-0{turn}-{number + 1:02d}T10:00:00-05:00",
    }


def run(turn):
    """Load orders and customers."""
    # The source asks for the interval of a scheduler.
    os.environ |= {
        "DLT_INTERVAL_START": f"2026-0{turn}-01T00:00:00Z",
        "DLT_INTERVAL_END": f"2026-0{turn + 1}-01T00:00:00Z",
    }
    pipeline = dlt.pipeline("shopify", destination="duckdb", dataset_name="shopify_data")
    source = shopify_source(private_app_password="t-6", shop_url="https://acme.myshopify.test")
    pipeline.run(source.with_resources("orders", "customers"))
    return pipeline
