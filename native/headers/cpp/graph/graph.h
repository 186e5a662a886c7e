// A graph of the graph engine, in Jumar's own declarations: the emulator takes MindSpore's graphs elsewhere.
#ifndef JUMAR_GRAPH_GRAPH_H
#define JUMAR_GRAPH_GRAPH_H
#include <memory>
#include <string>
#include <vector>

#include "graph/operator.h"

namespace ge {

class GraphImpl;
class GE_FUNC_VISIBILITY Graph {
 public:
  explicit Graph(const std::string& name);
  explicit Graph(const char* name);
  Graph() = default;
  virtual ~Graph() = default;
  Graph& SetInputs(const std::vector<Operator>& inputs);
  Graph& SetOutputs(const std::vector<Operator>& outputs);
  bool IsValid() const;

 private:
  std::shared_ptr<GraphImpl> impl_;
};

}  // namespace ge
#endif
