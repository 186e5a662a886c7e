// The graph engine's string class: clients make constants of it when they are loaded, long before they need a graph.
#include <memory>
#include <string>

#define EXPORTED __attribute__((visibility("default")))

namespace ge {

class EXPORTED AscendString {
 public:
  AscendString(const char* text);
  const char* GetString() const;
  bool operator==(const AscendString& other) const;
  bool operator<(const AscendString& other) const;

 private:
  std::shared_ptr<std::string> text_;
};

AscendString::AscendString(const char* text) : text_(text != nullptr ? std::make_shared<std::string>(text) : nullptr) {}

const char* AscendString::GetString() const { return text_ != nullptr ? text_->c_str() : ""; }

bool AscendString::operator==(const AscendString& other) const {
  return std::string(GetString()) == other.GetString();
}

bool AscendString::operator<(const AscendString& other) const { return std::string(GetString()) < other.GetString(); }

}  // namespace ge
