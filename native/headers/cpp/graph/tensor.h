// Shapes and tensors of the graph engine, in Jumar's own declarations. The emulator builds no graphs: what is declared
// here without a body refuses by its name when it is called.
#ifndef JUMAR_GRAPH_TENSOR_H
#define JUMAR_GRAPH_TENSOR_H
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graph/ascend_string.h"
#include "graph/types.h"

namespace ge {

class ShapeImpl;
class GE_FUNC_VISIBILITY Shape {
 public:
  Shape();
  ~Shape() = default;
  explicit Shape(const std::vector<int64_t>& dims);
  size_t GetDimNum() const;
  graphStatus SetDim(size_t index, int64_t value);
  int64_t GetDim(size_t index) const;
  std::vector<int64_t> GetDims() const;
  int64_t GetShapeSize() const;

 private:
  std::shared_ptr<ShapeImpl> impl_;
};

class TensorDescImpl;
class GE_FUNC_VISIBILITY TensorDesc {
 public:
  TensorDesc();
  ~TensorDesc() = default;
  explicit TensorDesc(Shape shape, Format format = FORMAT_ND, DataType type = DT_FLOAT);
  TensorDesc(const TensorDesc& other);
  TensorDesc(TensorDesc&& other);
  TensorDesc& operator=(const TensorDesc& other);
  TensorDesc& operator=(TensorDesc&& other);
  Shape GetShape() const;
  void SetShape(const Shape& shape);
  Shape GetOriginShape() const;
  void SetOriginShape(const Shape& shape);
  Format GetFormat() const;
  void SetFormat(Format format);
  Format GetOriginFormat() const;
  void SetOriginFormat(Format format);
  DataType GetDataType() const;
  void SetDataType(DataType type);
  void SetRealDimCnt(const int64_t count);
  int64_t GetRealDimCnt() const;

 private:
  std::shared_ptr<TensorDescImpl> impl;
};

class TensorImpl;
class GE_FUNC_VISIBILITY Tensor {
 public:
  Tensor();
  ~Tensor() = default;
  explicit Tensor(const TensorDesc& description);
  Tensor(const TensorDesc& description, const uint8_t* data, size_t size);
  TensorDesc GetTensorDesc() const;
  graphStatus SetTensorDesc(const TensorDesc& description);
  const uint8_t* GetData() const;
  uint8_t* GetData();
  size_t GetSize() const;
  graphStatus SetData(const uint8_t* data, size_t size);
  graphStatus SetData(const std::string& data);
  graphStatus SetData(const std::vector<std::string>& data);

 private:
  std::shared_ptr<TensorImpl> impl;
};

}  // namespace ge
#endif
