"""A script without any option: it writes into folders that it names itself."""

import os
from pathlib import Path

os.makedirs("ckpt")
for name in "ab":
    with open(f"ckpt/{name}.ckpt", "w") as file:
        file.write("x")
out = Path("figures")
out.mkdir()
(out / "loss.txt").write_text("0.1")
