# A large static list becomes a constant: another value is seen even where the text is cut short.

# %% setup
import jax.numpy as jnp
values = list(range(3000))
x = jnp.zeros(3000)

# %% cell
y = x + jnp.array(values)

# %% change
values[1500] = -1
