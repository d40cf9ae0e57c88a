# Containers made in the cell may be changed in every way before they are results.

# %% setup
import collections, heapq
import jax.numpy as jnp
x = jnp.arange(4.0)

# %% cell
groups = collections.defaultdict(list)
for i in range(4):
    groups["even" if i % 2 == 0 else "odd"].append(x[i])
groups["odd"].reverse()
queue = collections.deque(maxlen=2)
queue.extend([1, 2, 3])
heap = []
for k in (3, 1, 2):
    heapq.heappush(heap, k)
matrix = [[0] * 2 for _ in range(2)]
matrix[0][1] = x
matrix[1] = matrix[0]
matrix[1][0] = "both"
seen = set()
seen.add(len(groups))
seen |= {9}
ordered = dict(sorted({"b": x, "a": x * 2}.items()))

# %% change
x = x * 10
