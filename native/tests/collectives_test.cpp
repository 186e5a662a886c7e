// The graph engine's records of its collectives, as the HCCL plug-in of MindSpore 2.7.0 uses them.
#define _GLIBCXX_USE_CXX11_ABI 0
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "api.h"
#include "tests/check.h"

using Options = std::map<std::string, std::string>;

namespace ge {

// The beginnings of the vendor's two classes, with the functions in their order. Neither is a base of the other.
class OpsKernelInfoStore {
 public:
  virtual ~OpsKernelInfoStore() = default;
  virtual uint32_t Initialize(const Options& options) = 0;
  virtual uint32_t Finalize() = 0;
  virtual uint32_t CreateSession(const Options& options) = 0;
};

class OpsKernelBuilder {
 public:
  virtual ~OpsKernelBuilder() = default;
  virtual uint32_t Initialize(const Options& options) = 0;
  virtual uint32_t Finalize() = 0;
  virtual uint32_t CalcOpRunningParam(void* node) = 0;
};

class OpsKernelBuilderRegistry {
 public:
  static OpsKernelBuilderRegistry& GetInstance();
  const std::map<std::string, std::shared_ptr<OpsKernelBuilder>>& GetAll() const;
};

}  // namespace ge

template <typename Record, typename Call>
static bool starts_and_refuses(Record& record, Call call) {
  if (record.Initialize({{"ge.exec.rankId", "0"}}) != 0 || record.Finalize() != 0) return false;
  try {
    call(record);
  } catch (const std::runtime_error&) {
    return true;
  }
  return false;
}

int main() {
  const auto builders = ge::OpsKernelBuilderRegistry::GetInstance().GetAll();
  CHECK(builders.size() == 1 && builders.count("ops_kernel_info_hccl") == 1);
  CHECK(starts_and_refuses(*builders.at("ops_kernel_info_hccl"),
                           [](auto& builder) { builder.CalcOpRunningParam(nullptr); }));

  std::map<std::string, std::shared_ptr<ge::OpsKernelInfoStore>> stores;
  jumar_door_GetOpsKernelInfoStores(&stores);
  CHECK(stores.size() == 1);
  CHECK(starts_and_refuses(*stores.at("ops_kernel_info_hccl"), [](auto& store) { store.CreateSession({}); }));
  CHECK(jumar_door_Initialize(&stores) == 0 && jumar_door_Finalize() == 0);

  uint32_t rank = 7;
  CHECK(HcomGetRankId("hccl_world_group", &rank) != 0 && rank == 7);
  CHECK(HcomDestroy() == 0);
  return 0;
}
