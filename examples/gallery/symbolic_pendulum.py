"""
Equations in closed form
========================

The kernels that run as machine code also run on symbols and give the equations of motion in SymPy: here the potential
energy of a double pendulum, and its contour lines for given numbers. The equilibria are where the contour lines close
in on a point.
"""

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp

import limber as lb

m, L, g = sp.symbols("m L g", positive=True)
rod = lb.RigidBody(
    m, com=(0, -L / 2, 0), inertia=sp.diag(0, 0, m * L**2 / 12), nodes={"end": (0, -L, 0)}
)
pendulum = lb.Assembly("double pendulum", gravity=(0, -g, 0))
pendulum.attach("upper", rod, lb.Revolute("z"))
pendulum.attach("lower", rod, lb.Revolute("z"), to="upper", at="end")
equations = lb.symbolic.equations(pendulum, q=["q1", "q2"], p=["w1", "w2"])
potential = sp.simplify(equations.potential)
coupling = sp.factor(equations.M[0, 1])
assert sp.simplify(coupling - m * L**2 * (sp.cos(sp.Symbol("q2")) / 2 + sp.Rational(1, 3))) == 0

angle = np.linspace(-np.pi, np.pi, 201)
q1, q2 = np.meshgrid(angle, angle)
height = sp.lambdify(sp.symbols("q1 q2"), potential.subs({m: 1, L: 1, g: 9.81}))(q1, q2)
fig, ax = plt.subplots(figsize=(7, 5.5), layout="constrained")
levels = ax.contourf(np.degrees(q1), np.degrees(q2), height, 24, cmap="viridis")
fig.colorbar(levels, label="potential energy, J (m = 1 kg, L = 1 m)")
ax.set(xlabel="angle of the upper rod, degrees", ylabel="angle between the rods, degrees")
ax.set_title(f"$V = {sp.latex(potential)}$\n$M_{{12}} = {sp.latex(coupling)}$", linespacing=2.0)
ax.plot(0, 0, "w.", ms=12)
ax.annotate("hanging", (0, 0), (8, 8), textcoords="offset points", color="w")
plt.show()
