"""One check in each file: `CHECK` declares it, `run(host)` reports the facts and the problems."""
