# A generator of the cell is used up in the cell; what is left over stays out of the results.

# %% setup
import itertools
import jax.numpy as jnp
x = jnp.arange(4.0)
def windows(seq, n):
    for i in range(len(seq) - n + 1):
        yield seq[i : i + n]

# %% cell
means = [w.mean() for w in windows(x, 2)]
first = next(iter([x * 2]))
chained = list(itertools.chain([x], [x + 1]))
acc = list(itertools.accumulate(means))
zipped = dict(zip("abc", means))

# %% change
x = jnp.arange(3.0)
