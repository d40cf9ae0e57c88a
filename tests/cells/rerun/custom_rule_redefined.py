# A derivative rule that is defined anew between the runs.

# %% setup
import jax
import jax.numpy as jnp

@jax.custom_jvp
def f(v):
    return v * 2

f.defjvp(lambda p, t: (f(p[0]), t[0] * 10))
x = jnp.arange(3.0)

# %% cell
g = jax.grad(lambda v: f(v).sum())(x)
y = f(x)

# %% change
f.defjvp(lambda p, t: (f(p[0]), t[0] * 77))
