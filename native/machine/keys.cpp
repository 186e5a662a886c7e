// Names of allocator settings. A CUDA build of torch and torch_npu register some of the same names, and torch ends the
// process at the second: on a machine without GPUs, those of CUDA go before torch_npu comes (emulate/allocator_keys.py).
#include <string>
#include <unordered_set>

using Keys = std::unordered_set<std::string>;

namespace {
Keys kept;
}

extern "C" __attribute__((visibility("default"))) void jumar_keep_keys(const Keys* keys) { kept = *keys; }

extern "C" __attribute__((visibility("default"))) void jumar_restore_keys(Keys* keys) { *keys = kept; }
