// What classes of operators are declared with. The macros that make such classes need CANN's own operator prototypes.
#ifndef JUMAR_GRAPH_OPERATOR_REG_H
#define JUMAR_GRAPH_OPERATOR_REG_H
#include "graph/operator.h"
#include "graph/operator_factory.h"
#include "graph/tensor.h"
#include "graph/types.h"
#endif
