"""Steps of Gymnasium environments, and gradients through JAX: `python benchmarks/learning.py [jax]`.

Times are of the processor, so that other programs on the machine do not count.
"""

import sys
import time

import gymnasium
import numpy as np

import limber as lb
import limber.exchange.gym

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

    jax.config.update("jax_enable_x64", True)
    s = lb.exchange.gym.flexible_arm_task().system
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


if __name__ == "__main__":
    environments()
    if "jax" in sys.argv[1:]:
        gradients()
