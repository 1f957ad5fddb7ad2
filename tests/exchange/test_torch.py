"""Functions for PyTorch: gradients are ours, in both modes, of batches, of any order."""

import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close
from helpers.gradients import (
    PARAMETERS,
    TOLERANCE,
    by_speeds,
    flyer,
    parameter_values,
    right_slopes,
    state,
)
from limber.errors import ArgumentTypeError, ArgumentValueError

torch = pytest.importorskip("torch", reason="the extra torch is not installed")
pytestmark = [
    pytest.mark.slow,
    # what forward differentiation in PyTorch itself uses
    pytest.mark.filterwarnings("ignore:`torch.jit.script:DeprecationWarning"),
]


@pytest.fixture(scope="module")
def forward():
    return lb.exchange.torch_function(flyer(), "forward_dynamics", parameters=["hub.mass"])


def tensors(*arrays, grad=True):
    return [torch.tensor(np.asarray(x, dtype=float), requires_grad=grad) for x in arrays]


@pytest.mark.parametrize("of", ["forward_dynamics", "inverse_dynamics"])
@pytest.mark.parametrize("mode", ["jacfwd", "jacrev"])
def test_jacobians_are_ours(of, mode):
    s, given = flyer(), state()
    f = lb.exchange.torch_function(s, of, parameters=PARAMETERS)
    arguments = tensors(*given, *parameter_values(), grad=False)
    assert_close(f(*arguments), getattr(lb, of)(s, *given), TOLERANCE)
    jacobian = getattr(torch.func, mode)
    found = list(jacobian(f, argnums=tuple(range(len(arguments))))(*arguments))
    found[0] = found[0].numpy() @ by_speeds(s, given[0])
    for mine, right in zip(found, right_slopes(of, *given)):
        assert_close(mine, right, TOLERANCE)


@pytest.mark.parametrize("function", ["forward_dynamics", "step"])
def test_gradcheck(function):
    f = lb.exchange.torch_function(flyer(), function, parameters=["hub.mass"])
    given = [*state(), *([0.01] if function == "step" else []), 3.0]
    inputs = tensors(*given)
    assert torch.autograd.gradcheck(f, inputs, rtol=1e-4, atol=1e-3, check_forward_ad=True)
    assert torch.autograd.gradcheck(
        lambda *x: f(*(y.expand(2, *y.shape) for y in x[:3]), *x[3:]), inputs, rtol=1e-4, atol=1e-3
    )


def test_second_derivatives(forward):
    q, v, tau, mass = tensors(*state(), 3.0)

    def cost(v):
        return forward(q, v, tau, mass).pow(2).sum()

    hessian = torch.func.hessian(cost)(v)
    twice = torch.autograd.functional.hessian(cost, v)  # backward through backward
    assert_close(hessian.detach(), twice, TOLERANCE)
    assert_close(hessian.detach(), hessian.detach().T, TOLERANCE)


def test_vmap_is_a_batch(forward):
    s, (q, v, tau) = flyer(), state(1, 9)
    right = lb.forward_dynamics(s, q, v, tau)
    Q, V, T, mass = tensors(q, v, tau, 3.0, grad=False)
    assert_close(forward(Q, V, T, mass), right, TOLERANCE)
    vmap = torch.func.vmap
    assert_close(vmap(forward, (0, 0, 0, None))(Q, V, T, mass), right, TOLERANCE)
    masses = torch.linspace(2.0, 4.0, 3, dtype=torch.float64)
    both = vmap(vmap(forward, (0, 0, 1, None)), (None, None, None, 0))(Q, V, T.T, masses)
    for m, rows in zip(masses.tolist(), both):
        changed = s.with_parameters({"hub.mass": m})
        assert_close(rows, lb.forward_dynamics(changed, q, v, tau), TOLERANCE)
    inside = vmap(forward, (None, None, None, 0))(Q, V, T, masses)
    assert_close(inside, both, TOLERANCE)


def test_gradients_of_batches(forward):
    s, (q, v, tau) = flyer(), state(1, 9)
    Q, V, T, mass = tensors(q, v, tau, 3.0)
    forward(Q, V, T, mass).pow(2).sum().backward()
    d = lb.derivatives(s, q, v, tau, by=("q", "v", "tau", "hub.mass"))
    N = np.stack([by_speeds(s, x) for x in q])
    assert_close(
        np.einsum("ni,nij->nj", Q.grad, N), 2 * np.einsum("ni,nij->nj", d.value, d.q), TOLERANCE
    )
    assert_close(V.grad, 2 * np.einsum("ni,nij->nj", d.value, d.v), TOLERANCE)
    assert_close(mass.grad, 2 * np.einsum("ni,ni->", d.value, d.parameters["hub.mass"]), TOLERANCE)
    one_by_one = torch.func.vmap(
        torch.func.grad(lambda q, v, t: forward(q, v, t, mass.detach()).pow(2).sum())
    )(Q.detach(), V.detach(), T.detach())
    assert_close(one_by_one, Q.grad, TOLERANCE)


def test_single_precision_is_converted_and_its_gradient_too(forward):
    q, v, tau, mass = tensors(*state(), 3.0, grad=False)
    half = tau.float().requires_grad_()
    found = forward(q, v, tau=half, hub_mass=mass)
    assert found.dtype == torch.float64
    found.sum().backward()
    assert half.grad.dtype == torch.float32


def test_views_of_all_kinds_are_read_as_they_are(forward):
    q, v, tau, mass = tensors(*state(), 3.0, grad=False)
    right = forward(q, v, -tau, mass)
    negative = torch.complex(torch.zeros_like(tau), tau).conj().imag
    assert negative.is_neg()
    assert torch.equal(forward(q, v, negative, mass), right)
    strided = torch.stack([-tau, tau], dim=1)[:, 0]
    assert torch.equal(forward(q, v, strided, mass), right)
    fixed = -tau.numpy()
    fixed.setflags(write=False)
    assert torch.equal(forward(q, v, fixed, mass), right)


@pytest.mark.parametrize("batch", [(), (9,), (3, 2)])
def test_kernels_have_the_states_last(batch):
    """What runs on the GPU, with generated C in the place of the kernel."""
    from limber.exchange.gradients.for_torch import _by_kernel
    from limber.exchange.gradients.smooth import smooth_function

    _, f = smooth_function(flyer(), "step", {"parameters": ["hub.mass", "gravity"]})
    code = f.adjoint.code(1)

    def kernel(*arrays):
        shapes = [a.shape for a in f.adjoint.program.inputs]
        assert all(x.is_contiguous() for x in arrays)
        rows = [x if x.ndim == len(n) else x.movedim(-1, 0) for x, n in zip(arrays, shapes)]
        found = code(*(x.numpy() for x in rows))
        single = all(x.ndim == len(n) for x, n in zip(arrays, shapes))
        return tuple(
            torch.tensor(x)[..., None] if single else torch.tensor(x).movedim(0, -1) for x in found
        )

    count = int(np.prod(batch))
    q, v, tau = (x.reshape(*batch, -1) for x in state(5, count))
    weights = np.random.default_rng(0).standard_normal((2, *batch, 10))
    given = tensors(q, v, tau, 0.01, 3.0, [0, 0, -9.8], weights[0], weights[1, ..., :9], grad=False)
    found = _by_kernel(kernel, f.adjoint.program, batch, given)
    for mine, right in zip(found, code(*(x.numpy() for x in given))):
        assert_close(mine, right, TOLERANCE)


def test_on_a_gpu(forward):
    pytest.importorskip("cupy", reason="the extra gpu is not installed")
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU that PyTorch can use")
    given = [*state(1, 300), 3.0]
    here = tensors(*given)
    there = [x.detach().cuda().requires_grad_() for x in here]
    for arguments in (here, there):
        forward(*arguments).pow(2).sum().backward()
    assert forward(*there).is_cuda
    assert_close(forward(*there).detach().cpu(), forward(*here).detach(), TOLERANCE)
    for x, y in zip(here, there):
        assert y.grad.is_cuda
        assert_close(y.grad.cpu(), x.grad, TOLERANCE)


def test_on_a_stream_of_a_gpu(forward):
    """Nothing waits for the host: what comes before and after on the same stream is in order."""
    pytest.importorskip("cupy", reason="the extra gpu is not installed")
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU that PyTorch can use")
    given = [*state(2, 2000), 3.0]
    right = forward(*tensors(*given, grad=False))
    stream = torch.cuda.Stream()
    slow = torch.randn(6000, 6000, dtype=torch.float64, device="cuda")
    there = [x.cuda() for x in tensors(*given, grad=False)]
    forward(*there)  # compiles
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        for _ in range(5):
            q, v, tau, mass = (x.clone() for x in there)
            v += 0.0 * (slow @ slow)[0, 0]  # arrives late
            found = 2.0 * forward(q, v, tau, mass)
            del q, v, tau, mass
            torch.randn(2000, 9, dtype=torch.float64, device="cuda")  # takes memory that is free
    stream.synchronize()
    assert_close(found.cpu(), 2.0 * right, TOLERANCE)


def test_what_cannot_work_is_refused(forward):
    q, v, tau, mass = tensors(*state(), 3.0, grad=False)
    with pytest.raises(ArgumentValueError, match=r"tau .*must have shape \(9,\).*got \(4,\)"):
        forward(q, v, tau[:4], mass)
    with pytest.raises(ArgumentTypeError, match="q must be a tensor of real numbers"):
        forward(q + 1j, v, tau, mass)
    for wrong in (None, "one", object()):
        with pytest.raises(ArgumentTypeError, match=r"tau must be an? tensor of real numbers, got"):
            forward(q, v, wrong, mass)
    with pytest.raises(ArgumentValueError, match="v is on the device 'meta'"):
        forward(q, v.to("meta"), tau, mass)
