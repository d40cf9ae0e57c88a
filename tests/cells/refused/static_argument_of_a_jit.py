# A traced float as a static argument of the user's own jit.
# expect: refused "A static argument needs a known value.*-s lr"
# line: 3

# %% setup
import jax
import jax.numpy as jnp
x, lr = jnp.arange(3.0), 0.5

# %% cell
scale = jax.jit(lambda v, n: v * n, static_argnums=1)
y = scale(x, lr)
del scale

# %% after
%%jaxjit -q -n 1 -s lr
scale = jax.jit(lambda v, n: v * n, static_argnums=1)
y = scale(x, lr)
del scale
