"""Runs the world of a recipe and says what it was like: `python -m tests.fleet_worlds RECIPE.toml …`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.fleet_worlds.fleet import Fleet, Recipe
from tests.fleet_worlds.model import Broken

for path in sys.argv[1:]:
    fleet = Fleet(Recipe.read(Path(path)))
    try:
        fleet.run()
    except Broken as broken:
        print(f"{path}: {broken}")
    print(json.dumps(fleet.report(), indent=2))
