"""The conformance kit held to its list of clauses, to good providers, and to broken ones."""
