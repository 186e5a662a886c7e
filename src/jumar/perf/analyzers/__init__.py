"""One analyzer per file: `ADVICE` declares it, `look(facts)` yields advice."""
