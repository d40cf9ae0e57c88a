"""Which passes of differentiation a name stack tells of."""

import pytest

from jaxscope.analysis.jaxpr.autodiff_phase import levels, passes, phase, residual_level
from jaxscope.model import Phase

F, B, R = Phase.FORWARD, Phase.BACKWARD, Phase.REMATERIALIZED


def stack(text):
    """`transpose jvp 'layer'`: transforms, and scopes in quotes, outermost first."""
    return tuple(
        ("Scope", word.strip("'")) if word.startswith("'") else ("Transform", word)
        for word in text.split()
    )


@pytest.mark.parametrize(
    ("text", "expected", "word"),
    [
        ("", (), Phase.PRIMAL),
        ("'layer'", (), Phase.PRIMAL),
        ("vmap", (), Phase.PRIMAL),
        ("jvp", (F,), Phase.FORWARD),
        ("jvp 'layer'", (F,), Phase.FORWARD),
        ("transpose jvp", (B,), Phase.BACKWARD),
        ("transpose jvp 'layer'", (B,), Phase.BACKWARD),
        ("vmap transpose jvp", (B,), Phase.BACKWARD),
        ("transpose vmap jvp", (B,), Phase.BACKWARD),
        ("jvp jvp", (F, F), Phase.FORWARD),
        ("jvp transpose jvp", (F, B), Phase.BACKWARD),
        ("transpose jvp transpose jvp", (B, B), Phase.BACKWARD),
        ("transpose jvp jvp", (B, F), Phase.BACKWARD),
        ("transpose jvp jvp 'rematted_computation'", (B, F, R), Phase.REMATERIALIZED),
        # A user's own scopes are no transforms.
        ("'jvp' 'transpose'", (), Phase.PRIMAL),
        ("jvp 'transpose_jvp'", (F,), Phase.FORWARD),
        # A linear function that a solver transposes belongs to no derivative.
        ("transpose", (), Phase.PRIMAL),
        ("jvp transpose", (F,), Phase.FORWARD),
        # Recomputed outside a backward pass there is nothing to recompute for.
        ("jvp 'rematted_computation'", (F, R), Phase.FORWARD),
    ],
)
def test_a_name_stack_tells_its_passes(text, expected, word):
    assert passes(stack(text)) == expected
    assert phase(expected) is word


def test_what_is_done_again_has_the_level_of_its_backward_pass():
    assert levels((B, F, R)) == (B, F)


@pytest.mark.parametrize(
    ("producer", "consumer", "expected"),
    [
        ((F,), (B,), (0, True)),
        ((), (B,), (0, False)),  # an argument: only if the forward pass reads it too
        ((B,), (B,), None),
        ((F,), (F,), None),
        ((F,), (), None),
        ((F, F), (F, B), (1, True)),  # the inner of two derivatives
        ((F, F), (B, B), (0, True)),  # the outer one
        ((F, B), (B, B), (0, True)),
        ((F, B), (B, F), (0, True)),
        ((F,), (F, B), (1, False)),
        ((B,), (F, B), (1, False)),  # the gradient of one thing, used in another derivative
        ((F,), (B, F, R), (0, True)),
        ((B, F, R), (B, F), None),
    ],
)
def test_a_residual_is_made_forward_and_read_backward(producer, consumer, expected):
    assert residual_level(producer, consumer) == expected
