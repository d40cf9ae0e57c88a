# A traced value in a pandas Series.
# expect: refused "keeps a traced value"
# needs: pandas

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
import pandas as pd

# %% cell
s = pd.Series([x * 2, 1], dtype=object)

# %% change
x = x + 1

# %% after
z = x + 1
