"""Every controller on three plants, measured in the same way: `limber compare`.

    arm = comparison.plants()["canadarm"]()
    found = comparison.run(arm, "PD")             # Outcome: .figures, .result
    comparison.compare(arm, ["PD", "PID"])        # several of them

A plant has one function for each controller in its `entries`, from the plant to a `Loop`.  To add a controller, write such a
function in the file of the plant, under `@entry(ENTRIES, "its name")`.
"""

from limber.comparison.figures import Figures
from limber.comparison.on_canadarm import canadarm
from limber.comparison.on_spacecraft import spacecraft
from limber.comparison.on_two_link import two_link
from limber.comparison.plant import Entry, Plant
from limber.comparison.running import Outcome, compare, run

__all__ = ["Entry", "Figures", "Outcome", "Plant", "canadarm", "compare", "plants", "run", "spacecraft", "two_link"]  # fmt: skip


def plants() -> dict:
    """The plants by name; each is a function that builds one."""
    return {"canadarm": canadarm, "two-link": two_link, "spacecraft": spacecraft}
