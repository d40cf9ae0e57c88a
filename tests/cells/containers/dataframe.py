# A pandas DataFrame is static, with the values it has at the time of the run.
# needs: pandas
# compiles: 1 1

# %% setup
import jax.numpy as jnp
import pandas as pd
df = pd.DataFrame({"a": [1.0, 2.0, 3.0], "name": ["x", "y", "z"]})
s = pd.Series([1.0, 1.0, 2.0])

# %% cell
x = jnp.asarray(df["a"].to_numpy())
y = x * float(s.sum())
names = list(df["name"])
n = len(df)

# %% change
df.loc[0, "a"] = 10.0
