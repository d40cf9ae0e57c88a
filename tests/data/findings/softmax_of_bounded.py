# Exponentials of what is bounded, or negative.
# silent: exp_overflow

# %% setup
import jax.numpy as jnp
x = jnp.arange(8.0)

# %% cell
a = jnp.exp(jnp.tanh(x))
p = a / jnp.sum(a)
b = jnp.exp(-x ** 2)
q = b / jnp.sum(b)
