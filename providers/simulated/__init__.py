"""A simulated cloud behind contract v2: for trying the product, for its tests, and for injecting faults."""
