"""How Django writes dates where the product does not write them itself."""
