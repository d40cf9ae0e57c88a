# Format specifications, nested f-strings and `=` on values that are known.

# %% setup
import jax.numpy as jnp
x, name, n = jnp.ones((2, 3)), "weights", 3

# %% cell
y = x * n
label = f"{name!r:>12} {x.shape} {n:04d} {n / 7:.3f} {x.dtype} {'yes' if n > 2 else f'{n}'}"
line = "%s has %d rows" % (name, x.shape[0])
other = "{0}-{1:+d}".format(name, n)
print(label, line, other, sep="\n", end="!\n")

# %% change
n = 12345
