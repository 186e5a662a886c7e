import json

import torch

schemas = {}
for schema in torch._C._jit_get_all_schemas():
    if schema.name.startswith(("aten::", "atb::", "npu::")):
        full = schema.name + ("." + schema.overload_name if schema.overload_name else "")
        schemas[full] = [[argument.name for argument in schema.arguments], len(schema.returns)]
print(json.dumps(schemas))
