"""The pure dialects: a document goes in, defects or a Plan come out."""
