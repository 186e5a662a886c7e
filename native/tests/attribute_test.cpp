// Attributes of the graph engine's operators: MindSpore asks for them and never looks whether there is one.
#define _GLIBCXX_USE_CXX11_ABI 0
#include "ge/operator.h"

#include "tests/check.h"

int main() {
  const ge::Operator loss = ge::OperatorFactory::CreateOperator("loss", "KlDivLossGrad");
  bool flag = true;
  CHECK(loss.GetAttr("log_target", flag) == ge::kFailed && !flag);
  std::string text;
  CHECK(loss.GetAttr(std::string("reduction"), text) == 0 && text == "mean");

  ge::Operator pool = ge::OperatorFactory::CreateOperator("pool", "AvgPool3D");
  CHECK(pool.GetAttr("count_include_pad", flag) == 0 && flag);
  pool.SetAttr("count_include_pad", false);
  CHECK(pool.GetAttr("count_include_pad", flag) == 0 && !flag);

  const ge::Operator boxes = ge::OperatorFactory::CreateOperator("boxes", "BoundingBoxEncode");
  std::vector<float> numbers;
  CHECK(boxes.GetAttr("stds", numbers) == 0 && numbers == std::vector<float>(4, 1.0f));

  const ge::Operator other = ge::OperatorFactory::CreateOperator("other", "NoSuchOperator");
  float number = 5;
  int64_t whole = 5;
  std::vector<int64_t> list{5};
  CHECK(other.GetAttr("epsilon", number) == ge::kFailed && number == 0);
  CHECK(other.GetAttr("axis", whole) == ge::kFailed && whole == 0);
  CHECK(other.GetAttr("axes", list) == ge::kFailed && list.empty());
  return 0;
}
