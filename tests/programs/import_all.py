"""Imports every module of jumar that needs nothing from outside; prints how many, and which failed otherwise."""

import importlib
import json
import pkgutil

import jumar

EXTRAS = {"PIL", "boto3", "botocore", "mindspore", "numpy", "obs", "onnx", "onnxruntime", "onnxscript", "orjson"}
EXTRAS |= {"_pytest", "pytest", "torch", "torch_npu", "triton", "yaml"}
# Programs that others start, and what is copied elsewhere.
APART = (".copied.", ".programs.", ".hooks.site", "jumar.pth", "jumar.__main__", "jumar.emulate.proof.tests")


def main():
    imported, failed = 0, {}
    for module in pkgutil.walk_packages(jumar.__path__, "jumar.", onerror=lambda _: None):
        if any(word in module.name for word in APART):
            continue
        try:
            importlib.import_module(module.name)
            imported += 1
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in EXTRAS:
                failed[module.name] = repr(error)
        except Exception as error:
            failed[module.name] = repr(error)
    print(json.dumps({"imported": imported, "failed": failed}))


main()
