"""Buy once for each row of a CSV file with the columns id and text, however often this program is killed.

Start it again after a crash: finished rows are not bought twice, and unfinished ones continue.
"""

import csv
import sys
from pathlib import Path

from emporion_client import Market, NotDelivered, StillWaiting, TooDear

if len(sys.argv) != 2:
    sys.exit("Name a CSV file: .venv/bin/python examples/resilient_buyer.py rows.csv")
try:
    with Path(sys.argv[1]).open(newline="") as file:
        rows = [(row["id"], row["text"]) for row in csv.DictReader(file, restval="")]
except (OSError, KeyError, ValueError, csv.Error) as error:
    sys.exit(f"{sys.argv[1]} is no CSV file with the columns id and text ({error})")
market = Market(name="List buyer", spend="2.00")  # at most 2 USDC in 24 hours
listing = market.find("count words", max_price="0.05")

for id, text in rows:
    try:
        bought = market.buy(listing, {"text": text}, max_price="0.05", key=f"row-{id}")
    except NotDelivered as ended:
        print(id, "was not delivered:", ended.reason)
    except (TooDear, StillWaiting) as later:
        print(id, "is for the next run:", later)
    else:
        print(id, bought.output)
