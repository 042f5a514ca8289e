"""The tools of chat agents: what there is, with JSON Schemas to register as they are, and one address that runs each."""
