# Three hundred inputs in one dictionary.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
tree = {f"w{i}": jnp.asarray(float(i)) for i in range(300)}

# %% cell
total = sum(tree.values())

# %% change
tree = {k: v + 1 for k, v in tree.items()}
