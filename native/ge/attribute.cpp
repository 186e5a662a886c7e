// Attributes of the graph engine's operators.
#include "ge/operator.h"

namespace ge {
namespace {

// What is kept for a value: narrow integers are widened, so that either width can be asked for.
int64_t kept(int32_t value) { return value; }
int64_t kept(const DataType& value) { return value; }
std::vector<int64_t> kept(const std::vector<int32_t>& value) { return {value.begin(), value.end()}; }
std::string kept(const AscendString& value) { return value.GetString(); }
std::vector<std::string> kept(const std::vector<AscendString>& value) {
  std::vector<std::string> texts;
  for (const AscendString& item : value) texts.emplace_back(item.GetString());
  return texts;
}
template <typename T>
T kept(const T& value) {
  return value;
}

}  // namespace

template <typename T>
Operator& Operator::keep(const std::string& name, const T& value) {
  if (impl_ == nullptr) impl_ = std::make_shared<OperatorImpl>();
  impl_->attributes[name] = kept(value);
  return *this;
}

template <typename T>
Status Operator::find(const std::string& name, T& value) const {
  value = T{};
  if (impl_ == nullptr) return kFailed;
  const auto found = impl_->attributes.find(name);
  if (found == impl_->attributes.end()) return kFailed;
  using Kept = decltype(kept(value));
  const auto* stored = std::any_cast<Kept>(&found->second);
  if (stored == nullptr) return kFailed;
  if constexpr (std::is_same_v<T, std::vector<int32_t>>) {
    value.assign(stored->begin(), stored->end());
  } else {
    value = static_cast<T>(*stored);
  }
  return 0;
}

Operator& Operator::SetAttr(const char* n, bool v) { return keep(n, v); }
Operator& Operator::SetAttr(const char* n, float v) { return keep(n, v); }
Operator& Operator::SetAttr(const char* n, int32_t v) { return keep(n, v); }
Operator& Operator::SetAttr(const char* n, int64_t v) { return keep(n, v); }
Operator& Operator::SetAttr(const char* n, const DataType& v) { return keep(n, v); }
Operator& Operator::SetAttr(const char* n, const std::vector<float>& v) { return keep(n, v); }
Operator& Operator::SetAttr(const char* n, const std::vector<int32_t>& v) { return keep(n, v); }
Operator& Operator::SetAttr(const char* n, const std::vector<int64_t>& v) { return keep(n, v); }
Operator& Operator::SetAttr(const char* n, const std::vector<DataType>& v) { return keep(n, v); }
Operator& Operator::SetAttr(const char* n, const std::vector<std::vector<int64_t>>& v) { return keep(n, v); }
Operator& Operator::SetAttr(const std::string& n, bool v) { return keep(n, v); }
Operator& Operator::SetAttr(const std::string& n, float v) { return keep(n, v); }
Operator& Operator::SetAttr(const std::string& n, int32_t v) { return keep(n, v); }
Operator& Operator::SetAttr(const std::string& n, int64_t v) { return keep(n, v); }
Operator& Operator::SetAttr(const std::string& n, const std::string& v) { return keep(n, v); }
Operator& Operator::SetAttr(const std::string& n, const std::vector<bool>& v) { return keep(n, v); }
Operator& Operator::SetAttr(const std::string& n, const std::vector<float>& v) { return keep(n, v); }
Operator& Operator::SetAttr(const std::string& n, const std::vector<int32_t>& v) { return keep(n, v); }
Operator& Operator::SetAttr(const std::string& n, const std::vector<int64_t>& v) { return keep(n, v); }
Operator& Operator::SetAttr(const std::string& n, const std::vector<std::string>& v) { return keep(n, v); }

Status Operator::GetAttr(const char* n, bool& v) const { return find(n, v); }
Status Operator::GetAttr(const char* n, float& v) const { return find(n, v); }
Status Operator::GetAttr(const char* n, int32_t& v) const { return find(n, v); }
Status Operator::GetAttr(const char* n, int64_t& v) const { return find(n, v); }
Status Operator::GetAttr(const char* n, DataType& v) const { return find(n, v); }
Status Operator::GetAttr(const char* n, std::vector<float>& v) const { return find(n, v); }
Status Operator::GetAttr(const char* n, std::vector<int32_t>& v) const { return find(n, v); }
Status Operator::GetAttr(const char* n, std::vector<int64_t>& v) const { return find(n, v); }
Status Operator::GetAttr(const char* n, std::vector<DataType>& v) const { return find(n, v); }
Status Operator::GetAttr(const char* n, std::vector<std::vector<int64_t>>& v) const { return find(n, v); }
Status Operator::GetAttr(const std::string& n, std::string& v) const { return find(n, v); }
Status Operator::GetAttr(const std::string& n, std::vector<std::string>& v) const { return find(n, v); }

void Operator::AttrRegister(const char* n, bool v) { keep(n, v); }
void Operator::AttrRegister(const char* n, float v) { keep(n, v); }
void Operator::AttrRegister(const char* n, int64_t v) { keep(n, v); }
void Operator::AttrRegister(const char* n, const DataType& v) { keep(n, v); }
void Operator::AttrRegister(const char* n, const AscendString& v) { keep(n, v); }
void Operator::AttrRegister(const char* n, const std::vector<float>& v) { keep(n, v); }
void Operator::AttrRegister(const char* n, const std::vector<int64_t>& v) { keep(n, v); }
void Operator::AttrRegister(const char* n, const std::vector<AscendString>& v) { keep(n, v); }

}  // namespace ge
