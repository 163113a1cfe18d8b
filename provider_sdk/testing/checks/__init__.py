"""The checks, by what they look at; in which order they run stands in `order`."""
