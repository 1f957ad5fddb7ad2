"""Optimal control problems in IPOPT, through CasADi: values and sparse derivatives come from `OptimalControl`."""

from __future__ import annotations

from typing import Any

import numpy as np

from limber.checks import number, shown, whole
from limber.control.optimal.solution import OptimalMotion
from limber.errors import ArgumentTypeError, ArgumentValueError, MissingExtraError

HESSIANS = ("exact", "limited-memory")


def casadi() -> Any:
    """Import the module, or raise an error that names the extra."""
    try:
        import casadi as ca  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            'Optimal control needs CasADi with IPOPT: pip install "limber-dynamics[symbolic]".'
        ) from error
    return ca


def solved(
    problem: Any, guess: Any, tolerance: float, iterations: int, hessian: str, progress: bool
):
    """Solve a problem; see `OptimalControl.solve`."""
    ca = casadi()
    if hessian not in HESSIANS:
        raise ArgumentValueError(
            f"hessian must be one of {', '.join(HESSIANS)}, got {shown(hessian)}."
        )
    functions = _functions(ca, problem)
    options: dict[str, Any] = {
        "grad_f": functions["grad_f"],
        "jac_g": functions["jac_g"],
        "print_time": False,
        "calc_lam_p": False,
        "no_nlp_grad": True,  # of parameters, of which there are none
        "ipopt": {
            "tol": number("tolerance", tolerance, above=0.0),
            "max_iter": whole("iterations", iterations, 1),
            "print_level": 5 if progress else 0,
            "sb": "yes",
            "hessian_approximation": hessian,
        },
    }
    if hessian == "exact":
        options["hess_lag"] = functions["hess_lag"]
    start: dict[str, Any] = {"x0": problem.guess()}
    if guess is not None:
        start = _from(problem, guess)
        options["ipopt"] |= {
            "warm_start_init_point": "yes", "mu_init": 1e-4,
            "warm_start_bound_push": 1e-6, "warm_start_mult_bound_push": 1e-6,
        }  # fmt: skip
    solver = ca.nlpsol("problem", "ipopt", functions["nlp"], options)
    found = solver(
        lbx=problem.lower, ubx=problem.upper, lbg=problem.row_lower, ubg=problem.row_upper, **start
    )
    stats = solver.stats()
    failed = next((f.failure for f in functions.values() if f.failure is not None), None)
    if failed is not None:
        raise failed
    z = np.array(found["x"]).ravel()
    history = stats.get("iterations") or {}
    return OptimalMotion(
        problem,
        z,
        float(found["f"]),
        bool(stats["success"]),
        str(stats["return_status"]),
        {name: np.array(history.get(name, [])) for name in ("obj", "inf_pr", "inf_du")},
        {name: np.array(found[name]).ravel() for name in ("lam_x", "lam_g")},
    )


def _from(problem: Any, guess: Any) -> dict[str, Any]:
    """The starting point of the solver from another solution."""
    if not isinstance(guess, OptimalMotion):
        raise ArgumentTypeError(
            f"guess must be a result of OptimalControl.solve, got {shown(guess)}."
        )
    x, u = guess.states, guess.forces
    if x.shape[1:] != (problem.intervals + 1, problem.plants.nx) or u.shape[1] != problem.plants.nu:
        raise ArgumentValueError(
            f"guess has {len(u)} intervals, {x.shape[2]} states and {u.shape[1]} forces, but the problem has "
            f"{problem.intervals}, {problem.plants.nx} and {problem.plants.nu}."
        )
    if len(x) != len(problem.plants):
        x = np.tile(x[:1], (len(problem.plants), 1, 1))
    z = problem.joined(x, u, float(guess.t[-1]))
    start: dict[str, Any] = {"x0": np.clip(z, problem.lower, problem.upper)}
    same = len(guess.multipliers["lam_g"]) == problem.rows
    if same and len(guess.multipliers["lam_x"]) == problem.size:
        start |= {f"{name}0": value for name, value in guess.multipliers.items()}
    return start


def _functions(ca: Any, problem: Any) -> dict[str, Any]:
    """The functions that CasADi requires, by the name of its option."""

    def sparsity(pattern) -> Any:
        rows, columns = pattern.shape
        return ca.Sparsity(rows, columns, pattern.starts.tolist(), pattern.indices.tolist())

    def dense(size: int) -> Any:
        return ca.Sparsity.dense(size, 1)

    n, m = problem.size, problem.rows
    x, none, one, rows = dense(n), ca.Sparsity(0, 0), dense(1), dense(m)
    jacobian, hessian = sparsity(problem.jacobian_pattern), sparsity(problem.hessian_pattern)

    class Called(ca.Callback):
        """A function of arrays with given names and sparsities."""

        def __init__(self, name, inputs, outputs, function):
            ca.Callback.__init__(self)
            self.inputs, self.outputs, self.function = inputs, outputs, function
            self.failure: BaseException | None = None
            self.construct(name, {})

        def get_n_in(self):
            return len(self.inputs)

        def get_n_out(self):
            return len(self.outputs)

        def get_name_in(self, i):
            return self.inputs[i][0]

        def get_name_out(self, i):
            return self.outputs[i][0]

        def get_sparsity_in(self, i):
            return self.inputs[i][1]

        def get_sparsity_out(self, i):
            return self.outputs[i][1]

        def eval(self, given):
            try:
                values = self.function(*(np.array(part).ravel() for part in given))
            except BaseException as error:  # CasADi would swallow it
                self.failure = error
                raise
            return [ca.DM(place, value) for (_, place), value in zip(self.outputs, values)]

    point = [("x", x), ("p", none)]
    return {
        "nlp": Called(
            "nlp", point, [("f", one), ("g", rows)],
            lambda z, _: ([problem.cost(z)[0]], problem.constraints(z)),
        ),
        "grad_f": Called(
            "grad_f", point, [("f", one), ("grad_f_x", x)],
            lambda z, _: ([(found := problem.cost(z))[0]], found[1]),
        ),
        "jac_g": Called(
            "jac_g", point, [("g", rows), ("jac_g_x", jacobian)],
            lambda z, _: (problem.constraints(z), problem.jacobian(z)),
        ),
        "hess_lag": Called(
            "hess_lag", [*point, ("lam_f", one), ("lam_g", rows)], [("hess_gamma_x_x", hessian)],
            lambda z, _, factor, multipliers: (problem.hessian(z, float(factor[0]), multipliers),),
        ),
    }  # fmt: skip
