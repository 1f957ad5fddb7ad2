"""Every controller on four plants, measured in the same way: `limber compare`.

    arm = comparison.plants()["canadarm"]()
    found = comparison.run(arm, "PD")             # Outcome: .figures, .result
    comparison.compare(arm, ["PD", "PID"])        # several of them

    comparison.tune(arm, "PD")                    # all settings that are tried, the best first

A plant has one function for each controller in its `entries`, from the plant to a `Loop`. To add a controller for arms,
write such a function in `arm_controllers`, under `@CATALOGUE.entry("its name", ...)`.
"""

from limber.comparison.figures import Figures
from limber.comparison.on_canadarm import canadarm
from limber.comparison.on_spacecraft import spacecraft
from limber.comparison.on_two_arms import two_arms
from limber.comparison.on_two_link import two_link
from limber.comparison.plant import Entry, Plant
from limber.comparison.running import Outcome, compare, run
from limber.comparison.tuning import Trial, tune

__all__ = [
    "Entry", "Figures", "Outcome", "Plant", "Trial", "canadarm", "compare", "plants", "run", "spacecraft", "tune", "two_arms",
    "two_link",
]  # fmt: skip


def plants() -> dict:
    """The plants by name; each is a function that builds one."""
    return {
        "canadarm": canadarm,
        "two-link": two_link,
        "spacecraft": spacecraft,
        "two-arms": two_arms,
    }
