// Names of allocator settings: those that came after the others were kept are gone, and can come again.
#include <string>
#include <unordered_set>

#include "tests/check.h"

using Keys = std::unordered_set<std::string>;

extern "C" void jumar_keep_keys(const Keys* keys);
extern "C" void jumar_restore_keys(Keys* keys);

int main() {
  const Keys torch{"max_split_size_mb", "a name that is longer than a string keeps in itself"};
  Keys keys = torch;
  jumar_keep_keys(&keys);
  for (int i = 0; i < 100; ++i) keys.insert("cuda_" + std::to_string(i));
  jumar_restore_keys(&keys);
  CHECK(keys == torch);
  CHECK(keys.insert("cuda_1").second);
  return 0;
}
