"""The same for pyACL: load, describe, copy in, execute, copy out."""

import sys

import acl
import numpy as np

HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2


def check(code):
    assert code == 0, acl.get_recent_err_msg()


def buffers(sizes):
    dataset, pointers = acl.mdl.create_dataset(), []
    for size in sizes:
        pointer, code = acl.rt.malloc(size, 0)
        check(code)
        pointers.append(pointer)
        check(acl.mdl.add_dataset_buffer(dataset, acl.create_data_buffer(pointer, size))[1])
    return dataset, pointers


check(acl.init())
check(acl.rt.set_device(0))
model, code = acl.mdl.load_from_file(sys.argv[1])
check(code)
desc = acl.mdl.create_desc()
check(acl.mdl.get_desc(desc, model))
picture = np.full(acl.mdl.get_input_dims(desc, 0)[0]["dims"], 0.4, np.float32)
picture[:, 2] += 0.3
inputs, taken = buffers([acl.mdl.get_input_size_by_index(desc, 0)])
outputs, given = buffers([acl.mdl.get_output_size_by_index(desc, 0)])
data = picture.tobytes()
check(acl.rt.memcpy(taken[0], len(data), acl.util.bytes_to_ptr(data), len(data), HOST_TO_DEVICE))
check(acl.mdl.execute(model, inputs, outputs))
scores = np.frombuffer(acl.util.ptr_to_bytes(given[0], acl.mdl.get_output_size_by_index(desc, 0)), np.float32)
print(f"pyACL: class {scores.argmax()}")
check(acl.mdl.unload(model))
check(acl.rt.reset_device(0))
check(acl.finalize())
