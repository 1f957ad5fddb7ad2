"""`jax_function` and `torch_function`: what users call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.codegen.compiler import is_all
from limber.dynamics.ends import Ends
from limber.dynamics.evaluate import check_system
from limber.errors import ArgumentValueError, MissingExtraError


def jax_function(
    system: System,
    function: str,
    *,
    body: str | None = None,
    node: str | int | None = None,
    external: Sequence[tuple[str, str | int]] = (),
    parameters: Sequence[str] = (),
    driven: Sequence[str] = (),
    ends: Ends = (),
    rows: str | ArrayLike = "independent",
) -> Callable[..., Any]:
    """Make a function of a system for JAX: differentiable, with support for `jax.vmap` and `jax.jit`.

    f = lb.exchange.jax_function(s, "forward_dynamics", parameters=["link1.EI"]); jax.grad(lambda EI: f(q, v, tau,
    EI)[0])(5e3)

    Parameters
    ----------
    function, body, node, external, parameters, driven, ends, rows : as in `lb.compile`: the function has the same
        arguments in the same order, parameters of the model last, and arguments can also be given by name; `rows`
        cannot be "all".

    Arrays may have leading batch dimensions. Derivatives of any order with respect to all arguments are exact, in
    forward and in reverse mode. Quaternions are normalized: the function is that of q / |q|, and derivatives with
    respect to q are those of this function of all numbers of q, so they have no component along the quaternion. The
    derivatives along `lb.integrate` are the products of these with `lb.qdot`. A symmetric matrix, such as an inertia,
    is represented by its upper triangle, and a rotation matrix by its nine elements.

    Needs double precision, `jax.config.update("jax_enable_x64", True)`, and a C compiler. On the CPU the code runs
    inside the program that JAX compiles; on other devices, arrays are copied to the CPU and back. Generated code does
    not check values: NaN in an argument or a singular state gives NaN.
    """
    return _made("jax", "JAX", system, function, {
        "body": body, "node": node, "external": external, "parameters": parameters, "driven": driven, "ends": ends,
        "rows": rows,
    })  # fmt: skip


def torch_function(
    system: System,
    function: str,
    *,
    body: str | None = None,
    node: str | int | None = None,
    external: Sequence[tuple[str, str | int]] = (),
    parameters: Sequence[str] = (),
    driven: Sequence[str] = (),
    ends: Ends = (),
    rows: str | ArrayLike = "independent",
) -> Callable[..., Any]:
    """Make a function of a system for PyTorch: differentiable by autograd and by `torch.func`, including
    `torch.func.vmap`.

    f = lb.exchange.torch_function(s, "forward_dynamics"); f(q, v, tau).sum().backward()

    Parameters
    ----------
    function, body, node, external, parameters, driven, ends, rows : as in `lb.compile`: the function has the same
        arguments in the same order, parameters of the model last, and arguments can also be given by name; `rows`
        cannot be "all".

    Tensors may have leading batch dimensions. `jax_function` defines the derivatives; here too they are available in
    forward and in reverse mode, to any order. The results are in double precision, and tensors of other precision are
    converted. On the CPU this needs a C compiler. Tensors on an NVIDIA GPU stay there and are evaluated by generated
    CUDA kernels, which needs CuPy (the extra `gpu`).
    """
    return _made("torch", "PyTorch", system, function, {
        "body": body, "node": node, "external": external, "parameters": parameters, "driven": driven, "ends": ends,
        "rows": rows,
    })  # fmt: skip


def _made(
    library: str, name: str, system: System, function: str, options: dict[str, Any]
) -> Callable[..., Any]:
    """A function for a library, which is imported only here."""
    check_system(system)
    if is_all(options["rows"]):
        raise ArgumentValueError(
            'rows="all" has no derivatives: closure rows that depend on others where the closures are satisfied are '
            'independent elsewhere. Use rows="independent".'
        )
    try:
        import_module(library)
    except ImportError:
        raise MissingExtraError(
            f"{library}_function needs {name}, which is not installed: pip install 'limber-dynamics[{library}]'."
        ) from None
    return import_module(f"limber.exchange.gradients.for_{library}").made(system, function, options)
