import sys

from jumar.runtime import refusals

for at in range(300):
    refusals.note(refusals.Kind.OPERATOR, f"npu::{sys.argv[1]}_{'x' * at}")
