"""Small tokenizers: bytes in, values with exact spans out; no rule and no setting is known here."""
