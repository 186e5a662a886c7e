// Operators by type: classes of operators register how they are made when a client is loaded.
#include "ge/operator.h"

namespace jumar::aclop {
bool exists(const char* type);  // aclop/run.h, which is built for the other string class
}

namespace ge {
namespace {

using Creator = std::function<Operator(const std::string&)>;

std::map<std::string, Creator>& creators() {
  static auto& known = *new std::map<std::string, Creator>;
  return known;
}

}  // namespace

Operator::Operator(const std::string& type) : Operator(std::string(), type) {}
Operator::Operator(const std::string& name, const std::string& type)
    : impl_(std::make_shared<OperatorImpl>(OperatorImpl{name, type, defaults_of(type)})) {}
Operator::Operator(const AscendString& name, const AscendString& type)
    : Operator(std::string(name.GetString()), std::string(type.GetString())) {}

std::string Operator::GetName() const { return impl_ != nullptr ? impl_->name : ""; }
std::string Operator::GetOpType() const { return impl_ != nullptr ? impl_->type : ""; }

Status Operator::GetName(AscendString& name) const {
  name = AscendString(GetName().c_str());
  return 0;
}

Status Operator::GetOpType(AscendString& type) const {
  type = AscendString(GetOpType().c_str());
  return 0;
}

Operator OperatorFactory::CreateOperator(const std::string& name, const std::string& type) {
  const auto found = creators().find(type);
  return found != creators().end() ? found->second(name) : Operator(name, type);
}
Operator OperatorFactory::CreateOperator(const char* name, const char* type) {
  return CreateOperator(std::string(name), std::string(type));
}

// With the vendor's operator package installed, every type of it exists; here, those that can run.
bool OperatorFactory::IsExistOp(const std::string& type) {
  return creators().count(type) != 0 || jumar::aclop::exists(type.c_str());
}
bool OperatorFactory::IsExistOp(const char* type) { return IsExistOp(std::string(type)); }

OperatorCreatorRegister::OperatorCreatorRegister(const std::string& type, const Creator& create) {
  creators().emplace(type, create);
}
OperatorCreatorRegister::OperatorCreatorRegister(const char* type,
                                                 const std::function<Operator(const AscendString&)>& create) {
  creators().emplace(type, [create](const std::string& name) { return create(AscendString(name.c_str())); });
}

}  // namespace ge
