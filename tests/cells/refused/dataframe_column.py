# A traced array put into a DataFrame.
# needs: pandas
# expect: refused "."

# %% setup
import jax.numpy as jnp
import pandas as pd
df = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
x = jnp.arange(3.0)

# %% cell
df["b"] = x * 2

# %% after
columns = list(df)
