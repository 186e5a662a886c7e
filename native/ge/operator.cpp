// The graph engine's operator: a name and a type. MindSpore makes one for every kernel of a network to ask what it is
// called; nothing is ever built from them here, so what describes inputs, outputs and attributes is not kept.
// Built for the old string ABI, as MindSpore is.
#include <memory>
#include <string>

#define EXPORTED __attribute__((visibility("default")))

namespace ge {

class EXPORTED AscendString {  // graph/ascend_string.cpp
 public:
  AscendString(const char* text);
  const char* GetString() const;

 private:
  std::shared_ptr<void> text_;
};

struct OperatorImpl {
  std::string name, type;
};

class EXPORTED Operator {
 public:
  explicit Operator(const std::string& type);
  Operator(const std::string& name, const std::string& type);
  Operator(const AscendString& name, const AscendString& type);
  virtual ~Operator() = default;
  std::string GetName() const;
  std::string GetOpType() const;
  uint32_t GetName(AscendString& name) const;
  uint32_t GetOpType(AscendString& type) const;

 private:
  std::shared_ptr<OperatorImpl> impl_;
};

class EXPORTED OperatorFactory {
 public:
  static Operator CreateOperator(const std::string& name, const std::string& type);
  static Operator CreateOperator(const char* name, const char* type);
};

Operator::Operator(const std::string& type) : Operator("", type) {}
Operator::Operator(const std::string& name, const std::string& type)
    : impl_(std::make_shared<OperatorImpl>(OperatorImpl{name, type})) {}
Operator::Operator(const AscendString& name, const AscendString& type)
    : Operator(std::string(name.GetString()), std::string(type.GetString())) {}

std::string Operator::GetName() const { return impl_ != nullptr ? impl_->name : ""; }
std::string Operator::GetOpType() const { return impl_ != nullptr ? impl_->type : ""; }

uint32_t Operator::GetName(AscendString& name) const {
  name = AscendString(GetName().c_str());
  return 0;
}

uint32_t Operator::GetOpType(AscendString& type) const {
  type = AscendString(GetOpType().c_str());
  return 0;
}

Operator OperatorFactory::CreateOperator(const std::string& name, const std::string& type) { return {name, type}; }
Operator OperatorFactory::CreateOperator(const char* name, const char* type) {
  return {std::string(name), std::string(type)};
}

}  // namespace ge
