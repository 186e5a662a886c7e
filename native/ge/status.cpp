// The register of status texts: clients fill it when they are loaded, with code of their own that knows only that it
// starts with a map. Built for the old string ABI, as MindSpore is.
#include <cstdint>
#include <map>
#include <string>

#define EXPORTED __attribute__((visibility("default")))

namespace ge {

class EXPORTED StatusFactory {
 public:
  static StatusFactory* Instance();

 private:
  std::map<uint32_t, std::string> texts_;
};

StatusFactory* StatusFactory::Instance() {
  static auto& instance = *new StatusFactory;  // used while the process ends, too
  return &instance;
}

}  // namespace ge
