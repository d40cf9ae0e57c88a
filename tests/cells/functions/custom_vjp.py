# A function with a custom derivative.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
@jax.custom_vjp
def f(v): return jnp.sin(v)
def fwd(v): return f(v), v
def bwd(v, g): return (g * 100,)
f.defvjp(fwd, bwd)

y = f(x)
g = jax.grad(lambda v: f(v).sum())(x)

# %% change
x = x + 1
