"""From the tags in a name to the equations it stands for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Chain = tuple[str, ...]
"""Tags of the equations around a place, outermost first."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the program a name leads."""

    equations: tuple[int, ...]
    """Ids: several where a jaxpr that is used at several places was lowered once."""
    chains: tuple[Chain, ...]
    """The full chains of these equations."""


NOWHERE = Place((), ())


class Chains:
    """All full chains of one program.

    Names are relative to the function they stand in: inside `func.call` and the regions of a reduce
    they carry the inner tags alone, and the caller's chain has to be put before them.
    """

    __slots__ = ("_by_chain",)

    def __init__(self, chains: Sequence[Chain]) -> None:
        """`chains` by equation id; an empty chain stands for an equation that has none."""
        self._by_chain: dict[Chain, tuple[int, ...]] = {}
        for number, chain in enumerate(chains):
            if not chain:
                continue
            self._by_chain[chain] = (*self._by_chain.get(chain, ()), number)

    def __len__(self) -> int:
        return len(self._by_chain)

    def items(self) -> Iterable[tuple[Chain, tuple[int, ...]]]:
        """Each chain with its equations."""
        return self._by_chain.items()

    def joined(self, other: Chains) -> Chains:
        """Both sets of chains; where both have one, its equations are those of `self`."""
        chains = Chains(())
        chains._by_chain = other._by_chain | self._by_chain
        return chains

    def equations(self, chain: Chain) -> tuple[int, ...]:
        """The equations with exactly this chain."""
        return self._by_chain.get(chain, ())

    def find(self, tags: Chain, callers: Iterable[Chain] = ()) -> Place:
        """The equations that a name with these tags stands for.

        Tags at the end that this program does not have are passed over: while it lowers an
        equation, JAX may use jaxprs of its own, which another program tagged.
        """
        if not tags:
            return NOWHERE
        found = self._by_chain.get(tags)
        if found is not None:
            return Place(found, (tags,))
        equations: list[int] = []
        chains: list[Chain] = []
        for caller in callers or ((),):
            chain = self._complete(tags, caller)
            if chain is not None and chain not in chains:
                chains.append(chain)
                equations += self._by_chain[chain]
        if not chains and (chain := self._complete(tags, ())) is not None:
            return Place(self._by_chain[chain], (chain,))
        if not chains:
            # XLA makes equal reducers one: a name may stand where none of its own callers is left.
            chains = [chain for chain in self._by_chain if chain[-len(tags) :] == tags]
            equations = [number for chain in chains for number in self._by_chain[chain]]
        return Place(tuple(equations), tuple(chains))

    def _complete(self, tags: Chain, caller: Chain) -> Chain | None:
        """The longest chain of this program that begins like the caller's and goes on with tags.

        Tried first with the whole of the caller's chain (a call), then with less of it: the region
        of a reduce repeats the tag of the reduce itself.
        """
        best: Chain | None = None
        most = 0
        for kept in range(len(caller), -1, -1):
            for taken in range(len(tags), most, -1):
                chain = caller[:kept] + tags[:taken]
                if chain in self._by_chain:
                    best, most = chain, taken
                    break
        return best
