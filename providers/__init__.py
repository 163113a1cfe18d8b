"""The providers shipped with the product; each imports only provider_sdk and never another provider."""
