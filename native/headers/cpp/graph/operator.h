// An operator of the graph engine: a name, a type and attributes, in Jumar's own declarations (native/ge has the bodies).
#ifndef JUMAR_GRAPH_OPERATOR_H
#define JUMAR_GRAPH_OPERATOR_H
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "graph/ascend_string.h"
#include "graph/tensor.h"
#include "graph/types.h"

namespace ge {

class Graph;
struct OperatorImpl;

class GE_FUNC_VISIBILITY Operator {
 public:
  explicit Operator(const std::string& type);
  Operator(const std::string& name, const std::string& type);
  Operator(const AscendString& name, const AscendString& type);
  virtual ~Operator() = default;

  std::string GetName() const;
  std::string GetOpType() const;
  graphStatus GetName(AscendString& name) const;
  graphStatus GetOpType(AscendString& type) const;

  Operator& SetAttr(const char* name, bool value);
  Operator& SetAttr(const char* name, float value);
  Operator& SetAttr(const char* name, int32_t value);
  Operator& SetAttr(const char* name, int64_t value);
  Operator& SetAttr(const char* name, const DataType& value);
  Operator& SetAttr(const char* name, const std::vector<float>& value);
  Operator& SetAttr(const char* name, const std::vector<int32_t>& value);
  Operator& SetAttr(const char* name, const std::vector<int64_t>& value);
  Operator& SetAttr(const char* name, const std::vector<DataType>& value);
  Operator& SetAttr(const char* name, const std::vector<std::vector<int64_t>>& value);
  Operator& SetAttr(const std::string& name, bool value);
  Operator& SetAttr(const std::string& name, float value);
  Operator& SetAttr(const std::string& name, int32_t value);
  Operator& SetAttr(const std::string& name, int64_t value);
  Operator& SetAttr(const std::string& name, const std::string& value);
  Operator& SetAttr(const std::string& name, const std::vector<bool>& value);
  Operator& SetAttr(const std::string& name, const std::vector<float>& value);
  Operator& SetAttr(const std::string& name, const std::vector<int32_t>& value);
  Operator& SetAttr(const std::string& name, const std::vector<int64_t>& value);
  Operator& SetAttr(const std::string& name, const std::vector<std::string>& value);

  graphStatus GetAttr(const char* name, bool& value) const;
  graphStatus GetAttr(const char* name, float& value) const;
  graphStatus GetAttr(const char* name, int32_t& value) const;
  graphStatus GetAttr(const char* name, int64_t& value) const;
  graphStatus GetAttr(const char* name, DataType& value) const;
  graphStatus GetAttr(const char* name, std::vector<float>& value) const;
  graphStatus GetAttr(const char* name, std::vector<int32_t>& value) const;
  graphStatus GetAttr(const char* name, std::vector<int64_t>& value) const;
  graphStatus GetAttr(const char* name, std::vector<DataType>& value) const;
  graphStatus GetAttr(const char* name, std::vector<std::vector<int64_t>>& value) const;
  graphStatus GetAttr(const std::string& name, std::string& value) const;
  graphStatus GetAttr(const std::string& name, std::vector<std::string>& value) const;

 protected:
  // Called by the classes of the operators with the values attributes have by default.
  void AttrRegister(const char* name, bool value);
  void AttrRegister(const char* name, float value);
  void AttrRegister(const char* name, int64_t value);
  void AttrRegister(const char* name, const DataType& value);
  void AttrRegister(const char* name, const AscendString& value);
  void AttrRegister(const char* name, const std::vector<float>& value);
  void AttrRegister(const char* name, const std::vector<int64_t>& value);
  void AttrRegister(const char* name, const std::vector<AscendString>& value);
  void InputRegister(const std::string& name);
  void OptionalInputRegister(const std::string& name);
  void OutputRegister(const std::string& name);
  void RequiredAttrRegister(const std::string& name);
  void InferFuncRegister(const std::function<graphStatus(Operator&)>& infer);

 private:
  template <typename T>
  Operator& keep(const std::string& name, const T& value);
  template <typename T>
  graphStatus find(const std::string& name, T& value) const;

  std::shared_ptr<OperatorImpl> impl_;
};

}  // namespace ge
#endif
