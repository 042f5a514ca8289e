"""The pure core: a history goes in, decisions come out; stdlib only."""
