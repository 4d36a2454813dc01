"""One writer's lines on disk: their form, their chain, and the fact that each line records. State is in `index`."""
