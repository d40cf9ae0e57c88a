# A solver of a library that evaluates a random path in each of its steps, such as diffrax.
# silent: key_reuse

# %% setup
import jax, jax.numpy as jnp
key, x, solver = jax.random.key(0), jnp.zeros(3), {}
exec(compile("""
import jax
def solve(rate, key, x):
    def step(x, _):
        return rate(x) + jax.random.normal(key, (3,)), None
    return jax.lax.scan(step, x, length=5)[0]
""", jax.__file__, "exec"), solver)
solve = solver["solve"]

# %% cell
def path(key, x):
    return solve(lambda x: -x, key, x)

y = path(key, x)
