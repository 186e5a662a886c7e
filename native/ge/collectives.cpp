// The graph engine's two records of its collectives: how one is built and what it can do. MindSpore before 2.7.1 starts
// both before it opens a communicator, and ends them with it; kernels one by one ask them for nothing. Built for the old
// string ABI, as MindSpore is.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <type_traits>

#include "api.h"
#include "machine/error.h"

#define EXPORTED __attribute__((visibility("default")))

namespace ge {

using Status = uint32_t;
using Options = std::map<std::string, std::string>;

constexpr const char* kCollectives = "ops_kernel_info_hccl";

// The first virtual functions of the vendor's OpsKernelBuilder and OpsKernelInfoStore, which are the same.
class Record {
 public:
  virtual ~Record() = default;
  virtual Status Initialize(const Options&) { return 0; }
  virtual Status Finalize() { return 0; }
};

// The functions after those, N of them: they build a graph, or look into one.
template <int N>
class Refusing : public Refusing<N - 1> {
 public:
  using Refusing<N - 1>::call;
  virtual Status call(std::integral_constant<int, N>) {
    jumar::refuse_by_throwing("ge::OpsKernelBuilder, ge::OpsKernelInfoStore: collectives of a whole graph");
  }
};

template <>
class Refusing<0> : public Record {
 public:
  void call() {}
};

// More functions than the vendor has.
class OpsKernelBuilder : public Refusing<8> {};
class OpsKernelInfoStore : public Refusing<24> {};

class EXPORTED OpsKernelBuilderRegistry {
 public:
  static OpsKernelBuilderRegistry& GetInstance();
  const std::map<std::string, std::shared_ptr<OpsKernelBuilder>>& GetAll() const;

 private:
  std::map<std::string, std::shared_ptr<OpsKernelBuilder>> builders_{
      {kCollectives, std::make_shared<OpsKernelBuilder>()}};
};

OpsKernelBuilderRegistry& OpsKernelBuilderRegistry::GetInstance() {
  static auto& instance = *new OpsKernelBuilderRegistry;  // used while the process ends, too
  return instance;
}

const std::map<std::string, std::shared_ptr<OpsKernelBuilder>>& OpsKernelBuilderRegistry::GetAll() const {
  return builders_;
}

}  // namespace ge

void jumar_door_GetOpsKernelInfoStores(void* stores) {
  using Stores = std::map<std::string, std::shared_ptr<ge::OpsKernelInfoStore>>;
  static_cast<Stores*>(stores)->emplace(ge::kCollectives, std::make_shared<ge::OpsKernelInfoStore>());
}
