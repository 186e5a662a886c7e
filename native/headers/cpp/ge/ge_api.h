// Entry of the graph engine: the types that MindSpore's headers name. The emulator has no sessions of it.
#ifndef JUMAR_GE_GE_API_H
#define JUMAR_GE_GE_API_H
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/tensor.h"

namespace ge {

using Status = uint32_t;
class Allocator;
using AllocatorPtr = std::shared_ptr<Allocator>;

}  // namespace ge
#endif
