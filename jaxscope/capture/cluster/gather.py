"""Values of all processes, brought together in the key-value store by one of them.

No process waits: each stores its value and counts, and the one that completes the count reads
all of them. So the notebook gets one answer from a thousand engines instead of a thousand.
Where some may never arrive, any other one collects what is there.
"""

from __future__ import annotations

import base64
import pickle
import zlib
from typing import Any

from jaxscope.capture._jax import distributed
from jaxscope.capture.cluster.exchange import Store
from jaxscope.capture.cluster.store import JaxStore


def gathered(store: Store, folder: str, process: int, processes: int, mine: Any) -> list[Any]:
    """The values of all processes on the last one, in no order; nothing on the others."""
    stored(store, folder, process, mine)
    if store.count(f"{folder}/count", 1) < processes:
        return []
    return collected(store, folder)


def stored(store: Store, folder: str, process: int, mine: Any) -> None:
    """Store the value of this process."""
    # Pickled, as ipyparallel and Dask do with every result; the service is the cluster's own.
    packed = base64.b85encode(zlib.compress(pickle.dumps(mine))).decode("ascii")
    store.put(f"{folder}/values/{process}", packed)


def collected(store: Store, folder: str) -> list[Any]:
    """The values that are stored, in no order; they are removed."""
    values = store.folder(f"{folder}/values/")
    store.remove(folder)
    return [pickle.loads(zlib.decompress(base64.b85decode(value))) for value in values]


def gathered_here(name: str, mine: Any) -> list[Any] | None:
    """`gathered` over JAX's own processes; None where they are not connected."""
    service = distributed.coordination_service()
    if service is None:
        return None
    store = JaxStore(service.client)
    return gathered(store, _folder(name), service.process, service.processes, mine)


def stored_here(name: str, mine: Any) -> bool:
    """`stored` for JAX's own processes; False where they are not connected."""
    service = distributed.coordination_service()
    if service is None:
        return False
    stored(JaxStore(service.client), _folder(name), service.process, mine)
    return True


def collected_here(name: str) -> list[Any]:
    """`collected` for JAX's own processes."""
    service = distributed.coordination_service()
    return [] if service is None else collected(JaxStore(service.client), _folder(name))


def _folder(name: str) -> str:
    return f"jaxscope/all/{name}"
