# Names of columns are Python's.
# needs: pandas
# silent: non_jax_constant

# %% setup
import pandas as pd, jax.numpy as jnp
df = pd.DataFrame({"a": [1.0], "b": [2.0]})
x = jnp.arange(3.0)

# %% cell
n = len(df.columns)
y = x * n
