# Rematerialization, jacfwd, jacrev, jvp.
# compiles: 1 0

# %% setup
import jax
import jax.numpy as jnp
x = jnp.arange(3.0)

def f(v):
    return jnp.sin(v) * v.sum()

# %% cell
g = jax.grad(jax.checkpoint(lambda v: f(v).sum()))(x)
forward, reverse = jax.jacfwd(f)(x), jax.jacrev(f)(x)
y, t = jax.jvp(f, (x,), (jnp.ones(3),))

# %% change
x = x + 1
