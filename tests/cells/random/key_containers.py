# Keys in dictionaries and key arrays.
# compiles: 1 0

# %% setup
import jax
keys = {"params": jax.random.key(0), "batch": jax.random.split(jax.random.key(1), 3)}

# %% cell
draws = jax.vmap(lambda k: jax.random.normal(k, (2,)))(keys["batch"])
new = {name: jax.random.fold_in(k, 1) for name, k in keys.items() if name == "params"}
same = keys["batch"]

# %% change
keys["batch"] = jax.random.split(jax.random.key(2), 3)
