"""Which lines of the source each stage came from: tags, anchors, links, eliminated code."""
