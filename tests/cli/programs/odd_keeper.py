"""A write that is not followed to the folder that the boot file makes."""

WHERE = ["ckpt", "x.bin"]


def keep():
    with open("/".join(WHERE), "w") as file:
        file.write("x")
