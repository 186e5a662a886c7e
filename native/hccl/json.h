// As much of JSON as a rank table needs.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace jumar::hccl {

struct Json {
  enum Kind { kNull, kScalar, kList, kObject } kind = kNull;
  std::string scalar;  // strings, numbers and the words true and false
  std::vector<Json> list;
  std::map<std::string, Json> object;

  const Json* find(const std::string& key) const;
};

// Throws std::invalid_argument with the place.
Json parse_json(const std::string& text);

}  // namespace jumar::hccl
