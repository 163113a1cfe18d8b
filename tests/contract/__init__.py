"""The contract's words held to the published schemas and to their clauses."""
