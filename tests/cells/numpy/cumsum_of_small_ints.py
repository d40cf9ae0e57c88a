# Arithmetic on a traced NumPy array follows JAX's rules of promotion; that is documented.
# may differ: y numpy-rules

# %% setup
import numpy as np
a = np.array([100, 100], np.int8)

# %% cell
y = a.cumsum()
