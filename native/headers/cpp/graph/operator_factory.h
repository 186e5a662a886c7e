// How operators are made by their type, in Jumar's own declarations.
#ifndef JUMAR_GRAPH_OPERATOR_FACTORY_H
#define JUMAR_GRAPH_OPERATOR_FACTORY_H
#include <functional>
#include <string>

#include "graph/operator.h"

namespace ge {

class GE_FUNC_VISIBILITY OperatorFactory {
 public:
  static Operator CreateOperator(const std::string& name, const std::string& type);
  static Operator CreateOperator(const char* name, const char* type);
  static bool IsExistOp(const std::string& type);
  static bool IsExistOp(const char* type);
};

class GE_FUNC_VISIBILITY OperatorCreatorRegister {
 public:
  OperatorCreatorRegister(const std::string& type, const std::function<Operator(const std::string&)>& create);
  OperatorCreatorRegister(const char* type, const std::function<Operator(const AscendString&)>& create);
};

}  // namespace ge
#endif
