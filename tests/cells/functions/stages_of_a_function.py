# eval_shape, make_jaxpr and an executable of one's own.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(v): return jnp.sin(v) * 2

shape = jax.eval_shape(f, x).shape
equations = len(jax.make_jaxpr(f)(x).eqns)
y = jax.jit(f).lower(x).compile()(x)

# %% change
x = x + 1
