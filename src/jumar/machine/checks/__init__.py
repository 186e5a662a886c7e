"""One check in each file: `CHECK` declares it, `run(host)` tells the facts and what is wrong with them."""
