# A pandas series read by a block is captured as a constant.
# needs: pandas
# fires: non_jax_constant line 2

# %% setup
import pandas as pd, jax.numpy as jnp
s = pd.Series([1.0, 2.0, 3.0], dtype="float32")
x = jnp.arange(3.0)

# %% cell
y = x * jnp.asarray(s.to_numpy())
