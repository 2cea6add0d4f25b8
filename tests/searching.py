"""How long properties search: one table of profiles, and the share of it that a test asks for."""

from hypothesis import HealthCheck, Phase, settings

EXAMPLES = {"fast": 15, "all": 100, "random": 100, "mutants": 25}
"""By profile, how many examples a property tries that does not say; chosen on the command line."""

SEARCH = (Phase.explicit, Phase.generate)
"""Nobody reads why a test failed on a mutant: no failure is made smaller, or explained."""


def register_profiles() -> None:
    """Register the profiles and load ``all``; ``--hypothesis-profile=fast`` chooses another.

    The same examples are tried in every run, but for ``random``. Machines that run tests are
    shared, and slow for a moment now and then: time decides nothing.
    """
    for name, count in EXAMPLES.items():
        settings.register_profile(
            name,
            deadline=None,
            derandomize=name != "random",
            max_examples=count,
            print_blob=name == "random",
            suppress_health_check=[HealthCheck.too_slow],
            phases=SEARCH if name == "mutants" else tuple(Phase),
        )
    settings.load_profile("all")


def examples(count: int) -> settings:
    """Return the setting of a property that tries ``count`` examples in a whole run.

    In the fast profile it tries the same share of them as every other property, three at least.
    """
    return settings(max_examples=max(count * settings.default.max_examples // 100, 3))
