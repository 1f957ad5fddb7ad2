"""Steps of Gymnasium environments, and gradients through JAX and PyTorch: `python benchmarks/learning.py [jax | torch]`.

Times are of the processor, so that other programs on the machine do not count; those of PyTorch are wall times on a GPU.
"""

import sys
import time

import numpy as np

import limber as lb

NAMES = ("limber/FlexibleArm-v0", "limber/FlexibleSpacecraft-v0")
REPEATS = 5


def seconds(run, count):
    """Processor time of one of `count` runs, the best of several tries."""
    found = []
    for _ in range(REPEATS):
        start = time.process_time()
        for _ in range(count):
            run()
        found.append((time.process_time() - start) / count)
    return min(found)


def environments():
    import gymnasium  # noqa: PLC0415

    import limber.exchange.gym  # noqa: F401, PLC0415

    for name in NAMES:
        one, many = gymnasium.make(name), gymnasium.make_vec(name, num_envs=256)
        one.reset(seed=0)
        many.reset(seed=0)
        still, all_still = np.zeros(one.action_space.shape), np.zeros(many.action_space.shape)

        def step(one=one, still=still):
            *_, terminated, truncated, _ = one.step(still)
            if terminated or truncated:
                one.reset()

        single = 1.0 / seconds(step, 200)
        batch = 256.0 / seconds(lambda many=many, still=all_still: many.step(still), 50)
        print(f"{name}: {single:,.0f} steps/s, a vector of 256: {batch:,.0f}")


def gradients():
    import jax  # noqa: PLC0415
    import jax.numpy as jnp  # noqa: PLC0415

    from limber.exchange.gym import flexible_arm_task  # noqa: PLC0415

    jax.config.update("jax_enable_x64", True)
    s = flexible_arm_task().system
    step = lb.exchange.jax_function(s, "step")
    forward = lb.exchange.jax_function(s, "forward_dynamics")
    steps, states = 10_000, 4096

    def rolled(tau):
        def advance(state, _):
            return step(*state, tau, 2e-3), None

        start = jnp.asarray(s.neutral()), jnp.zeros(s.nv)
        return jax.lax.scan(advance, start, None, length=steps)[0][1].sum()

    rng = np.random.default_rng(0)
    tau = jnp.asarray(0.1 * rng.standard_normal(s.nv))
    batch = [jnp.asarray(0.1 * rng.standard_normal((states, s.nv))) for _ in range(3)]

    def cost(q, v, tau):
        return (forward(q, v, tau) ** 2).sum()

    for what, f, arguments, count in (
        ("a step in a scan", rolled, (tau,), steps),
        ("a step in a scan, with the gradient", jax.value_and_grad(rolled), (tau,), steps),
        ("forward dynamics of a state in a batch", forward, batch, states),
        ("the same, with the gradient", jax.value_and_grad(cost), batch, states),
    ):
        run = jax.jit(f)
        jax.block_until_ready(run(*arguments))
        time_of_one = seconds(lambda run=run, x=arguments: jax.block_until_ready(run(*x)), 5)
        print(f"JAX, {what}: {1e6 * time_of_one / count:.3g} us")


def on_gpu():
    """Forward dynamics of the flexible Canadarm, whose tensors stay on the GPU."""
    import torch  # noqa: PLC0415

    s = lb.models.canadarm().build()
    forward = lb.exchange.torch_function(s, "forward_dynamics")
    states = 100_000
    given = [0.01 * torch.randn(states, n, dtype=torch.float64, device="cuda") for n in (s.nq, s.nv, s.nv)]  # fmt: skip
    for x in given:
        x.requires_grad_()

    def best(run):
        found = []
        for _ in range(REPEATS + 1):  # the first one compiles
            torch.cuda.synchronize()
            start = time.perf_counter()
            run()
            torch.cuda.synchronize()
            found.append(time.perf_counter() - start)
        return 1e9 * min(found) / states

    with torch.no_grad():
        value = best(lambda: forward(*given))
    gradient = best(lambda: forward(*given).sum().backward())
    print(f"PyTorch on a GPU, Canadarm: {value:.3g} ns a state, with the gradient {gradient:.3g}")


if __name__ == "__main__":
    {"jax": gradients, "torch": on_gpu}.get("".join(sys.argv[1:]), environments)()
