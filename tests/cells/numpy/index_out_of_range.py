# An index that NumPy refuses and JAX clamps.
# expect: raises IndexError "index|bounds|range"

# %% setup
import numpy as np
a = np.arange(3.0)

# %% cell
y = a[10]

# %% after
z = a[0]
