# Functional updates.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
x = jnp.arange(6.0).reshape(2, 3)
row = 0

# %% cell
y = x.at[row].set(9.0)
y = y.at[:, 1].add(x[:, 0]).at[1, 2].multiply(2)

# %% change
row = 1
