#include "hccl/json.h"

#include <cctype>
#include <stdexcept>

namespace jumar::hccl {
namespace {

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  Json whole() {
    Json value = parse(0);
    skip_space();
    if (at_ != text_.size()) wrong("text after the end");
    return value;
  }

 private:
  static constexpr int kDepth = 64;

  Json parse(int depth) {
    if (depth > kDepth) wrong("nested too deeply");
    skip_space();
    switch (peek()) {
      case '{': return parse_object(depth);
      case '[': return parse_list(depth);
      case '"': {
        Json value;
        value.kind = Json::kScalar;
        value.scalar = parse_string();
        return value;
      }
      default: return parse_word();
    }
  }

  Json parse_object(int depth) {
    Json value;
    value.kind = Json::kObject;
    ++at_;
    for (skip_space(); peek() != '}'; skip_space()) {
      if (!value.object.empty()) expect(',');
      skip_space();
      const std::string key = parse_string();
      skip_space();
      expect(':');
      value.object[key] = parse(depth + 1);
    }
    ++at_;
    return value;
  }

  Json parse_list(int depth) {
    Json value;
    value.kind = Json::kList;
    ++at_;
    for (skip_space(); peek() != ']'; skip_space()) {
      if (!value.list.empty()) expect(',');
      value.list.push_back(parse(depth + 1));
    }
    ++at_;
    return value;
  }

  std::string parse_string() {
    expect('"');
    std::string value;
    while (peek() != '"') {
      if (peek() == '\\') ++at_;
      value += peek();
      ++at_;
    }
    ++at_;
    return value;
  }

  Json parse_word() {
    Json value;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || std::string("+-.").find(text_[at_]) != std::string::npos))
      value.scalar += text_[at_++];
    if (value.scalar.empty()) wrong("a value is missing");
    value.kind = value.scalar == "null" ? Json::kNull : Json::kScalar;
    return value;
  }

  char peek() {
    if (at_ >= text_.size()) wrong("the text ends too early");
    return text_[at_];
  }

  void expect(char letter) {
    if (peek() != letter) wrong(std::string("expected `") + letter + "`");
    ++at_;
  }

  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }

  [[noreturn]] void wrong(const std::string& what) {
    size_t line = 1;
    for (size_t i = 0; i < at_ && i < text_.size(); ++i) line += text_[i] == '\n';
    throw std::invalid_argument("not JSON: line " + std::to_string(line) + ": " + what);
  }

  const std::string& text_;
  size_t at_ = 0;
};

}  // namespace

const Json* Json::find(const std::string& key) const {
  const auto found = object.find(key);
  return found != object.end() ? &found->second : nullptr;
}

Json parse_json(const std::string& text) { return Parser(text).whole(); }

}  // namespace jumar::hccl
