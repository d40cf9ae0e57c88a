# A NumPy function on a traced array.
# expect: refused "TracerArrayConversion"
# line: 2

# %% setup
import numpy as np
a = np.arange(3.0)

# %% cell
y = np.sin(a)

# %% after
z = np.sin(a)
