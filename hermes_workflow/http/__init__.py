"""What every HTTP door shares: strict bodies and queries, pages by key, credentials, and the one shape of a refusal."""
