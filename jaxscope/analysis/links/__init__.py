"""Links from the source to the lines of each stage: tags, anchors, links, eliminated code."""
