"""How many examples Hypothesis tries: one factor for all tests.

A test says how many examples it is worth in an ordinary run, `@examples(60)`. The profile in use scales that number:
`quick` tries a tenth, `calm` is the ordinary run, `long` tries three times as many. Pytest's `--quick` and `--long`
choose the profile; so does Hypothesis's own option, `--hypothesis-profile`.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

ORDINARY = 100  # what Hypothesis tries when a test says nothing; a profile's own number is compared with it
PROFILES = {"quick": 10, "calm": ORDINARY, "long": 3 * ORDINARY}


def register() -> None:
    """Make the profiles known, and use the ordinary one."""
    for name, most in PROFILES.items():
        # How fast examples come depends on how busy the machine is, and no test is about that.
        settings.register_profile(name, max_examples=most, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("calm")


def examples(ordinarily: int, **more: Any) -> settings:
    """Settings that try so many examples in an ordinary run; the profile in use scales the number."""
    return settings(max_examples=max(3, ordinarily * settings().max_examples // ORDINARY), **more)
