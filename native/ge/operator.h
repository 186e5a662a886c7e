// The graph engine's operator: a name, a type and attributes. MindSpore makes one for a kernel of the network to ask
// for the attributes it has by default; no graph is ever built from them. It never looks at the status of `GetAttr`, so
// the value must be one even where there is none. Old string ABI, as MindSpore's. The classes are those of the public
// header, which programs are compiled against.
#pragma once
#include <any>
#include <map>
#include <string>

#include "graph/operator.h"
#include "graph/operator_factory.h"

#define EXPORTED GE_FUNC_VISIBILITY

namespace ge {

struct OperatorImpl {
  std::string name, type;
  std::map<std::string, std::any> attributes;  // integers and lists of them as int64_t
};

using Status = graphStatus;
constexpr Status kFailed = GRAPH_FAILED;

std::map<std::string, std::any> defaults_of(const std::string& type);  // defaults.cpp

}  // namespace ge
