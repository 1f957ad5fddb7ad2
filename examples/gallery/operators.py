"""
Spatial operators
=================

The mass matrix is H phi M phi^T H^T, and its inverse is a product of sparse factors too. An operator is applied by a
sweep over the bodies and never formed; here the operators are formed only to show them. Colours show the magnitude of
the entries.
"""

import matplotlib.pyplot as plt
import numpy as np

import limber as lb

tree = lb.Assembly("tree")
link = lb.beam(1.0, 1.0, EI=100.0, GJ=50.0, modes=1)
for i, parent in enumerate(["world", "b0", "b1", "b1", "b3", "b0", "b5"]):
    where = {} if parent == "world" else {"to": parent, "at": "tip"}
    tree.attach(f"b{i}", link, lb.Revolute("yz"[i % 2]), **where)
s = tree.build()
q = 0.4 * np.random.default_rng(1).standard_normal(s.nq)
o = lb.operators(s, q)

mass = o.H @ o.phi @ o.M @ o.phi.T @ o.H.T
inverse = mass.inv().simplify()
assert str(inverse) == "(I - H psi K)^T D^-1 (I - H psi K)"
assert np.allclose((mass @ inverse).dense(), np.eye(s.nv), atol=1e-6)
assert max(lb.verify_identities(s, q).values()) < 1e-8

shown = {
    "phi": o.phi,
    "psi": o.psi,
    "M": o.M,
    "mass matrix": mass,
    "D": o.D,
    "its inverse": inverse,
}
fig, axes = plt.subplots(2, 3, figsize=(9, 6), layout="constrained")
for ax, (name, operator) in zip(axes.flat, shown.items()):
    dense = np.abs(operator.dense())
    size = np.log10(np.where(dense > 1e-9 * dense.max(), dense, np.nan))
    ax.imshow(size, cmap="viridis", interpolation="none")
    ax.set_title(f"{name}\n{dense.shape[0]} x {dense.shape[1]}", fontsize="medium")
    ax.set(xticks=[], yticks=[])
plt.show()
