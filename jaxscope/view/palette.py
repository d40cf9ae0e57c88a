"""Colours that read on light and dark alike, for what cannot know the page's theme."""

COLOURS = (
    "#7c78f0",
    "#d08a2e",
    "#1f9e91",
    "#d9538c",
    "#7a9f2f",
    "#2f93cf",
    "#a566e0",
    "#8c857c",
)
"""Contrast of 3 and more with white and with #111, one for each contestant in every picture."""

INK = "#797d86"
"""Of words: a contrast of 4 with white and with black."""

GREY, GRID = "#868d99", "rgba(134,141,153,.28)"
