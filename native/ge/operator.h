// The graph engine's operator: a name, a type and attributes. MindSpore makes one for a kernel of the network to ask
// for the attributes it has by default; no graph is ever built from them. It never looks at the status of `GetAttr`, so
// the value must be one even where there is none. Old string ABI, as MindSpore's.
#pragma once
#include <any>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#define EXPORTED __attribute__((visibility("default")))

namespace ge {

enum DataType : int;

class EXPORTED AscendString {  // graph/ascend_string.cpp
 public:
  AscendString(const char* text);
  const char* GetString() const;

 private:
  std::shared_ptr<void> text_;
};

struct OperatorImpl {
  std::string name, type;
  std::map<std::string, std::any> attributes;  // integers and lists of them as int64_t
};

using Status = uint32_t;
constexpr Status kFailed = 0xFFFFFFFF;

std::map<std::string, std::any> defaults_of(const std::string& type);  // defaults.cpp

class EXPORTED Operator {
 public:
  explicit Operator(const std::string& type);
  Operator(const std::string& name, const std::string& type);
  Operator(const AscendString& name, const AscendString& type);
  virtual ~Operator() = default;

  std::string GetName() const;
  std::string GetOpType() const;
  Status GetName(AscendString& name) const;
  Status GetOpType(AscendString& type) const;

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

  Status GetAttr(const char* name, bool& value) const;
  Status GetAttr(const char* name, float& value) const;
  Status GetAttr(const char* name, int32_t& value) const;
  Status GetAttr(const char* name, int64_t& value) const;
  Status GetAttr(const char* name, DataType& value) const;
  Status GetAttr(const char* name, std::vector<float>& value) const;
  Status GetAttr(const char* name, std::vector<int32_t>& value) const;
  Status GetAttr(const char* name, std::vector<int64_t>& value) const;
  Status GetAttr(const char* name, std::vector<DataType>& value) const;
  Status GetAttr(const char* name, std::vector<std::vector<int64_t>>& value) const;
  Status GetAttr(const std::string& name, std::string& value) const;
  Status GetAttr(const std::string& name, std::vector<std::string>& value) const;

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

 private:
  template <typename T>
  Operator& keep(const std::string& name, const T& value);
  template <typename T>
  Status find(const std::string& name, T& value) const;

  std::shared_ptr<OperatorImpl> impl_;
};

class EXPORTED OperatorFactory {
 public:
  static Operator CreateOperator(const std::string& name, const std::string& type);
  static Operator CreateOperator(const char* name, const char* type);
  static bool IsExistOp(const std::string& type);
  static bool IsExistOp(const char* type);
};

class EXPORTED OperatorCreatorRegister {
 public:
  OperatorCreatorRegister(const std::string& type, const std::function<Operator(const std::string&)>& create);
  OperatorCreatorRegister(const char* type, const std::function<Operator(const AscendString&)>& create);
};

}  // namespace ge
