# Two arrays picked at the same places.
# fires: masked_reduction line 3

# %% setup
import jax.numpy as jnp
x = jnp.linspace(-1.0, 1.0, 4096)
z = x * x

# %% cell
def largest(x, z):
    places = jnp.where(x > 0.5, size=4096, fill_value=4095)[0]
    return jnp.max(jnp.tanh(x[places]) * z[places])

y = largest(x, z)
