# A table is read, grouped and turned into arrays; a new one is made of what is known.
# needs: pandas
# may differ: y numpy-becomes-array
# may differ: means* numpy-becomes-array

# %% setup
import numpy as np, pandas as pd, jax.numpy as jnp
table = pd.DataFrame({"k": ["a", "b", "a"], "v": np.array([1.0, 2.0, 3.0], np.float32)})

# %% cell
rows = len(table)
groups = table.groupby("k")["v"].sum().to_dict()
y = jnp.asarray(table["v"].to_numpy()) * 2
summary = pd.DataFrame({"name": list(groups), "sum": list(groups.values())})
print(summary.to_string())

# %% change
table = pd.DataFrame({"k": ["a", "c"], "v": np.array([5.0, 6.0], np.float32)})
