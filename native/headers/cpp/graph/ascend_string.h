// The graph engine's string, in Jumar's own declarations.
#ifndef JUMAR_GRAPH_ASCEND_STRING_H
#define JUMAR_GRAPH_ASCEND_STRING_H
#include <memory>
#include <string>

#include "graph/types.h"

namespace ge {

class GE_FUNC_VISIBILITY AscendString {
 public:
  AscendString() = default;
  AscendString(const char* text);
  const char* GetString() const;
  bool operator==(const AscendString& other) const;
  bool operator<(const AscendString& other) const;

 private:
  std::shared_ptr<void> text_;
};

}  // namespace ge
#endif
