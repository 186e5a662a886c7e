"""`jumar smi`: the cards of this machine and who uses them."""
