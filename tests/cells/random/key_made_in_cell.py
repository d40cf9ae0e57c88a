# A key made from a static seed.
# compiles: 1 1

# %% setup
import jax
seed = 0

# %% cell
key = jax.random.key(seed)
draws = [jax.random.bernoulli(k, 0.5, (4,)) for k in jax.random.split(key, 2)]

# %% change
seed = 1
