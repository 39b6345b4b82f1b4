"""The bundled trackers on corpora that they were not trained on: CamRest, WOZ 2.0 and KVRET.

    python -m experiments.transfer

The corpora come as rows with the text so far and the state; they become troth's JSON Lines with a schema that was
written here. All services of a corpus are tracked in every turn. `trade` counts a turn whose values are equal
strings; `sgd` accepts similar ones, since KVRET's annotators wrote "7pm" where the user says "7 pm".
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import troth
from experiments.common import arguments, cell, publish, table
from troth.systems.track import track

ANY = "dontcare"
TRACKERS = ("troth-track", "troth-track-robust")
NAMES = {"camrest": "CamRest", "woz": "WOZ 2.0", "kvret": "KVRET"}
RESTAURANT = {
    "restaurant": ("Restaurants of the city", {
        "area": ("Part of the city where the restaurant is", ("north", "south", "east", "west", "centre")),
        "food": ("Cuisine of the restaurant", ()),
        "price range": ("How expensive the restaurant is", ("cheap", "moderate", "expensive")),
    }),
}  # fmt: skip
CAR = {
    "navigate": ("Finds places and the way to them, in a car", {
        "poi": ("Name of the place to go to", ()),
        "poi_type": ("Kind of place, such as a gas station", ()),
        "address": ("Street address of the place", ()),
        "distance": ("How far or how fast: nearest, quickest", ()),
        "traffic_info": ("Traffic on the way that is wanted or avoided", ()),
    }),
    "schedule": ("A calendar of appointments", {
        "event": ("What the appointment is", ()),
        "date": ("Day of the appointment", ()),
        "time": ("Time of the appointment", ()),
        "party": ("Person who takes part in it", ()),
        "agenda": ("What is discussed there", ()),
        "room": ("Room in which it takes place", ()),
    }),
    "weather": ("Weather forecasts", {
        "location": ("City of the forecast", ()),
        "date": ("Day or days of the forecast", ()),
        "weather_attribute": ("What is asked about: rain, snow, temperature", ()),
    }),
}  # fmt: skip
SCHEMAS: dict[str, Mapping[str, Any]] = {"camrest": RESTAURANT, "woz": RESTAURANT, "kvret": CAR}


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    work = options.work / "transfer"
    rows = []
    for corpus, name in NAMES.items():
        gold = write_corpus(options.shared / "data/dst_more/dst_camrest_kvret_woz_test.jsonl.gz", corpus, work)
        columns = [score_tracker(gold, tracker, work) for tracker in TRACKERS]
        rows += [[name, metric, *(cells[metric] for cells in columns)] for metric in columns[0]]
    publish(options.work, "transfer", table(["test set", "metric", *TRACKERS], rows))


def score_tracker(gold: Path, tracker: str, work: Path) -> dict[str, str]:
    """JGA and slot F1 of a tracker, by metric and profile."""
    (done,) = track(tracker, gold, work / f"{gold.parent.name}-{tracker}")
    cells: dict[str, str] = {}
    for profile in ("trade", "sgd"):
        result = troth.dst(done.gold, done.predictions, profile=profile, metrics="jga,slot_f1")
        cells |= {f"{score.metric}, `{profile}`": cell(score) for score in result.scores}
    return cells


def write_corpus(data: Path, corpus: str, work: Path) -> Path:
    """The dialogues of a corpus as JSON Lines beside their schema."""
    folder = work / corpus
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "schema.json").write_text(json.dumps(list(services(SCHEMAS[corpus]))))
    gold = folder / "gold.jsonl"
    with gzip.open(data, "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["meta"]["src"] == corpus]
    gold.write_text("".join(json.dumps(turn) + "\n" for turn in turns(rows, list(SCHEMAS[corpus]))))
    return gold


def turns(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The user turns of a corpus. A row has all utterances so far, the user's last."""
    numbers: dict[str, int] = defaultdict(int)
    for row in rows:
        dialogue = row["meta"]["dialogue"]
        before, _, user = f"\n{row['premise']}".rpartition("\nuser: ")
        state = json.loads(row["hypothesis"])
        turn = {"dialogue": dialogue, "turn": numbers[dialogue], "user": user}
        if system := before.rpartition("\nsystem: ")[2]:
            turn["system"] = system
        yield turn | {"state": {name: state.get(name, {}) for name in names}}
        numbers[dialogue] += 1


def services(described: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The services in SGD's layout, each with one intent that takes all slots."""
    for name, (about, slots) in described.items():
        yield {
            "service_name": name,
            "description": about,
            "slots": [
                {"name": slot, "description": text, "is_categorical": bool(values), "possible_values": list(values)}
                for slot, (text, values) in slots.items()
            ],
            "intents": [
                {
                    "name": f"Use{name.capitalize()}",
                    "description": about,
                    "is_transactional": False,
                    "required_slots": [],
                    "optional_slots": dict.fromkeys(slots, ANY),
                    "result_slots": list(slots),
                }
            ],
        }


if __name__ == "__main__":
    main()
