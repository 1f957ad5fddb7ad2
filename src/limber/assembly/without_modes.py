"""An assembly with its modes removed."""

from __future__ import annotations

from limber.assembly.assembly import Assembly


def without_modes(assembly: Assembly) -> Assembly:
    """The same bodies, undeformed and rigid: same names, nodes, masses, joints and places."""
    rigid = Assembly(assembly.name, assembly.gravity, assembly.fidelity)
    for name, item in assembly.attachments.items():
        place = item.to, item.at, item.offset, item.rotation, item.inboard
        rigid.attach(name, item.body.without_modes(), item.joint, *place)
    return rigid
