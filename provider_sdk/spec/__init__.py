"""The contract as it is published, an OpenRPC document and a page, made from the schemas, the types and prose."""
