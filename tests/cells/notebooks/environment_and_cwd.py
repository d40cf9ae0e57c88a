# Environment variables and the working directory that the cell reads and sets.

# %% setup
import os
import jax.numpy as jnp
os.environ["JAXSCOPE_CELL"] = "3"
x = jnp.ones(2)

# %% cell
k = int(os.environ["JAXSCOPE_CELL"])
y = x * k
os.environ["JAXSCOPE_CELL"] = str(k)
here = os.path.basename(os.getcwd()) == os.path.basename(os.path.abspath("."))

# %% change
os.environ["JAXSCOPE_CELL"] = "5"
