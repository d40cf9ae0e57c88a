# A helper that appends a traced value to a list it closes over.
# expect: refused "in place|trac"

# %% setup
import jax.numpy as jnp

def make():
    log = []
    def logged(v):
        log.append(v * 2)
        return v + 1
    return logged, lambda: len(log)

logged, count = make()
x = jnp.arange(3.0)

# %% cell
y = logged(x)

# %% after
n = count()
