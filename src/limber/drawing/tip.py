"""The node of a body that is shown when only one is."""

from __future__ import annotations

from limber.assembly.system import System


def tip(system: System, body: str) -> int:
    """The node "tip" of a body, else one that carries another body, else the one farthest from the body frame."""
    nodes = system.bodies[body].node_set
    if "tip" in nodes.names:
        return nodes.names.index("tip")
    carrying = [c.at for c in system.attachments.values() if c.to == body and c.at is not None]
    if carrying:
        return carrying[0]
    return int((nodes.position**2).sum(axis=1).argmax())
