"""The REST API of designs, profiles and tokens, and the addresses of all of it."""
