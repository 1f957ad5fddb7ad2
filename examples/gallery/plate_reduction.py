"""
From a plate to a body
======================

A panel of shell elements with more than a thousand degrees of freedom is reduced to a few modes. With normal modes
alone, the static deflection under a force at a corner converges slowly; one static shape for that corner makes it
exact.
"""

import matplotlib.pyplot as plt
import numpy as np

import limber as lb

x, y = np.meshgrid(np.linspace(0.0, 2.0, 21), np.linspace(0.0, 0.8, 9), indexing="ij")
number = np.arange(x.size).reshape(x.shape)
quads = np.stack([number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]], axis=-1)
mesh = np.column_stack([x.ravel(), y.ravel()]), quads.reshape(-1, 4)
aluminium = lb.Material(E=70e9, nu=0.33, rho=2700.0)
panel = lb.structures.plate(mesh, aluminium, thickness=0.004, names={"corner": (2.0, 0.8, 0.0)})
root = panel.where(x=0.0)


def sag(**options):
    """How far 1 N at the corner moves it, m, by a body of some modes."""
    body = panel.reduce(clamped=root, interface="corner", **options)
    s = lb.Assembly("panel").attach("panel", body, lb.Fixed()).build()
    q = lb.equilibrium(s, external={("panel", "corner"): [0, 0, 0, 0, 0, 1.0]})
    return (lb.pose(s, q, "panel", "corner")[1] - lb.pose(s, s.neutral(), "panel", "corner")[1])[2]


exact = sag(modes=1, method="static-correction")
assert np.isclose(sag(modes=6, method="static-correction"), exact, rtol=1e-6)
counts = [1, 2, 3, 4, 6, 8, 12, 16]
error = [1 - sag(modes=count) / exact for count in counts]

modes = panel.modes(4, clamped=root)
fig, axes = plt.subplots(
    1, 5, figsize=(10, 3.6), layout="constrained", width_ratios=(1, 1, 1, 1, 2.4)
)
for k, ax in enumerate(axes[:4]):
    z = modes.shapes.reshape(len(panel), -1, 4)[:, 2, k].reshape(x.shape)
    ax.contourf(y, x, z, np.linspace(-1, 1, 21) * np.abs(z).max(), cmap="RdBu_r")
    ax.set(aspect="equal", xticks=[], yticks=[], title=f"{modes.omega[k] / (2 * np.pi):.2f} Hz")
axes[0].set_xlabel("clamped here")
axes[4].loglog(counts, 100 * np.array(error), "o-")
axes[4].set(xlabel="normal modes", ylabel="error of the sag, %", title="force at a free corner")
axes[4].set_xticks(counts, map(str, counts))
axes[4].minorticks_off()
plt.show()
