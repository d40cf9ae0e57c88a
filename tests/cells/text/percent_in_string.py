# Lines of a string that look like magics are text.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
note = """
%matplotlib inline
!rm -r nothing
%%time
"""
y = (x
% 2)
z = x \
% 3

# %% change
x = x + 1
