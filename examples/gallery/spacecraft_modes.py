"""
Modes of a spacecraft
=====================

A free-floating hub carries a long and a short panel. Its vibrations move both panels and the hub. Their frequencies
are above those of clamped panels, because the hub moves too.
"""

import matplotlib.pyplot as plt
import numpy as np

import limber as lb

craft = lb.models.spacecraft(modes=2).build()
modes = lb.modes(craft)
wall = lb.modes(craft, locked=["hub"])
assert modes.omega[modes.omega > 1e-6][0] > wall.omega[0]

rest = craft.neutral()
panels = ("long panel", "short panel")
nodes = craft.bodies["long panel"].nodes.names


def lines(k, amplitude):
    """The panels (y, z) in mode k, the hub and all else moving with them."""
    q = lb.integrate(craft, rest, amplitude * modes.shapes[:, k].real, 1.0)
    places = [[lb.pose(craft, q, name, node)[1] for node in nodes] for name in panels]
    return [np.transpose(points)[1:] for points in places]


def height(k):
    """How far the panels leave their plane in mode k for a small amplitude."""
    return max(np.abs(z).max() for _, z in lines(k, 1e-3)) / 1e-3


flapping = [k for k in np.flatnonzero(modes.omega > 1e-6) if height(k) > 1e-2][:4]
fig, axes = plt.subplots(2, 2, figsize=(9, 4.6), layout="constrained", sharex=True, sharey=True)
for ax, k in zip(axes.flat, flapping):
    for swing in np.linspace(-1, 1, 7):
        for (y, z), colour in zip(lines(k, 0.1 * swing / height(k)), ("C0", "C1")):
            ax.plot(y, 10 * z, color=colour, alpha=1.0 if swing == 1 else 0.25)
    ax.add_patch(plt.Rectangle((-0.8, -0.3), 1.6, 0.6, color="0.7", zorder=0))
    ax.set(aspect="equal", ylim=(-1.8, 1.8), title=f"{modes.frequencies[k]:.3f} Hz")
fig.supxlabel("along the panels, m")
fig.supylabel("out of their plane, not to scale")
plt.show()
