// An operator of one's own in C++: MindSpore compiles it against its headers and CANN's.
#include "ms_extension/all.h"

namespace own {

ms::Tensor larger(const ms::Tensor &x, const ms::Tensor &y) {
  auto out = ms::Tensor(x.data_type(), x.shape());
  auto runner = std::make_shared<ms::pynative::AclnnOpRunner>("Maximum");
  runner->SetLaunchFunc(LAUNCH_ACLNN_FUNC(aclnnMaximum, x, y, out));
  runner->Run({x, y}, {out});
  return out;
}

}  // namespace own

PYBIND11_MODULE(MS_EXTENSION_NAME, module) { module.def("larger", PYBOOST_CALLER(1, own::larger)); }
