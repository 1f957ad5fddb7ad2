"""External forces in scenario files: wrenches at nodes, constant or as tables over time."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np

from limber.assembly import System
from limber.io.document import Where
from limber.io.fields import Name, NodeName, numbers
from limber.io.section import Section
from limber.scenarios.states import check_body
from limber.simulation.table import Table


class WrenchTableSection(Section):
    """A wrench over time: `times` (n,) with `values` (n, 6), or with only `force` or `moment` (n, 3)."""

    one_of: ClassVar[tuple[str, ...]] = ("values", "force", "moment")
    times: Annotated[Any, numbers(("n",))]
    values: Annotated[Any, numbers(("n", 6))] | None = None
    force: Annotated[Any, numbers(("n", 3))] | None = None
    moment: Annotated[Any, numbers(("n", 3))] | None = None
    smooth: bool = False

    def build(self, where: Where) -> Table:
        """The table."""
        given = next(x for x in (self.values, self.force, self.moment) if x is not None)
        key = next(k for k in self.one_of if getattr(self, k) is given)
        if len(given) != len(self.times):
            raise where.error(
                f"needs one row for each of the {len(self.times)} times, got {len(given)}.", key
            )
        wrench = given
        if self.values is None:
            wrench = np.zeros((len(given), 6))
            wrench[:, slice(3, 6) if self.force is not None else slice(0, 3)] = given
        with where.checked():
            return Table(self.times, wrench, self.smooth)


class WrenchSection(Section):
    """A wrench at a node, in world axes: `wrench` [moment, force], only its `force` or `moment`, or a `table`."""

    one_of: ClassVar[tuple[str, ...]] = ("wrench", "force", "moment", "table")
    body: Name
    node: NodeName | None = None
    wrench: Annotated[Any, numbers((6,))] | None = None
    force: Annotated[Any, numbers((3,))] | None = None
    moment: Annotated[Any, numbers((3,))] | None = None
    table: WrenchTableSection | None = None

    def build(self, system: System, where: Where) -> tuple[tuple[str, str | int | None], Any]:
        """The node at which the wrench acts, and the wrench."""
        check_body(system, self.body, where / "body", joints=False)
        if self.node is not None:
            with (where / "node").checked():
                system.node_number(self.body, self.node)
        key = (self.body, self.node)
        if self.table is not None:
            return key, self.table.build(where / "table")
        if self.wrench is not None:
            return key, self.wrench
        zero = np.zeros(3)
        force, moment = (zero if x is None else x for x in (self.force, self.moment))
        return key, np.concatenate([moment, force])


def external_forces(system: System, sections: list[WrenchSection], where: Where) -> dict:
    """The wrenches of a scenario, in the form that `simulate` accepts."""
    found: dict = {}
    for i, section in enumerate(sections):
        key, wrench = section.build(system, where / i)
        if key in found:
            raise (where / i).error("a wrench at this node is already given: add the two.")
        found[key] = wrench
    return found
