# A pandas Series that did not change compiles nothing on the second run.
# needs: pandas
# compiles: 1 0

# %% setup
import jax.numpy as jnp
import pandas as pd
s = pd.Series([1.0, 1.0, 2.0], index=["a", "b", "c"])
x = jnp.arange(3.0)

# %% cell
y = x * s["c"] + jnp.asarray(s.to_numpy())

# %% change
x = x + 1
