"""The contract as it is published, made from the schemas and the types."""
