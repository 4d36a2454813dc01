"""How many examples Hypothesis tries: one factor for all tests.

A test says how many examples it is worth, `@examples(60)`. The profile in use scales that number: `quick` tries a
tenth, `calm` (the ordinary run) a fifth, `long` three times as many. Pytest's `--quick` and `--long` choose the
profile; so does Hypothesis's own option, `--hypothesis-profile`.

`quick` and `calm` try the same examples each time: a commit that was green here is green in CI. `long`, which runs each
night, looks for new ones.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

WHOLE = 100  # what Hypothesis tries by default; a profile's number is the percentage of a test's own number
PROFILES = {"quick": 10, "calm": 20, "long": 300}


def register() -> None:
    """Make the profiles known, and use the ordinary one."""
    for name, most in PROFILES.items():
        # How fast examples come depends on how busy the machine is, and no test is about that.
        same = {} if name == "long" else {"derandomize": True, "database": None}
        patient = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
        settings.register_profile(name, max_examples=most, **patient, **same)
    settings.load_profile("calm")


def examples(number: int, **more: Any) -> settings:
    """Settings that try this NUMBER of examples, scaled by the profile in use."""
    return settings(max_examples=max(3, number * settings().max_examples // WHOLE), **more)
