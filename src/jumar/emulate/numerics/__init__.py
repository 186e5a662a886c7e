"""The arithmetic of the chips, as far as it is documented: `jumar run --numerics card`."""
