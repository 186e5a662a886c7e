// HcclGetRootInfo, HcclCommInit…, HcclCommDestroy and what a communicator says about itself.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "acl/context.h"
#include "api.h"
#include "hccl/setup.h"
#include "hccl/table.h"
#include "machine/error.h"
#include "machine/refusals.h"

namespace jumar::hccl {
namespace {

struct Kept {
  std::mutex mutex;
  std::map<void*, std::shared_ptr<Comm>> comms;
};

Kept& kept() {
  static Kept* value = new Kept;  // never destroyed: communicators are destroyed during exit
  return *value;
}

void* keep(std::shared_ptr<Comm> comm) {
  std::lock_guard<std::mutex> guard(kept().mutex);
  void* handle = comm.get();
  kept().comms[handle] = std::move(comm);
  return handle;
}

// Runs what may throw and turns it into a code and the error of the thread.
template <class Body>
int32_t attempt(const char* function, Body body) {
  try {
    body();
    return HCCL_SUCCESS;
  } catch (const Broken& broken) {
    const bool several = broken.fault == Fault::kTableMachines || broken.fault == Fault::kOtherMachine;
    if (several) note(Refusal::kArguments, function);
    return fail(code_of(broken.fault), "%s: %s", function, broken.text.c_str());
  } catch (const std::exception& error) {
    return fail(HCCL_E_INTERNAL, "%s: %s", function, error.what());
  }
}

int32_t no_pointer(const char* function) { return fail_with(Fault::kNull, "%s: a pointer is null", function); }

int32_t give_root(const char* function, void* info) {
  constexpr size_t kRoom = 4108;
  static_assert(sizeof(RootInfo) <= kRoom);
  if (info == nullptr) return no_pointer(function);
  return attempt(function, [&] {
    const RootInfo root = make_root();
    std::memset(info, 0, kRoom);
    std::memcpy(info, &root, sizeof root);
  });
}

int32_t init_root(const char* function, uint32_t ranks, const void* info, uint32_t rank, const void* config,
                  void** comm) {
  if (info == nullptr || comm == nullptr) return no_pointer(function);
  RootInfo root;
  std::memcpy(&root, info, sizeof root);
  return attempt(function, [&] { *comm = keep(join_root(root, ranks, rank, settings_from(config))); });
}

std::string machine_name() {
  const char* name = std::getenv("JUMAR_MACHINE");
  return name != nullptr ? name : "";
}

int32_t init_table(const char* function, const RankTable& table, uint32_t rank, const void* config, void** comm) {
  if (comm == nullptr) return no_pointer(function);
  return attempt(function, [&] {
    table.check(rank);
    const std::string key = "table " + machine_name() + " " + table.text;
    *comm = keep(join_named(key, static_cast<uint32_t>(table.devices.size()), rank, settings_from(config)));
  });
}

int32_t init_table_file(const char* function, const char* path, uint32_t rank, const void* config, void** comm) {
  if (path == nullptr) return no_pointer(function);
  RankTable table;
  if (int32_t code = attempt(function, [&] { table = read_table_file(path); })) return code;
  return init_table(function, table, rank, config, comm);
}

}  // namespace

std::shared_ptr<Comm> find_comm(const char* function, void* handle) {
  std::lock_guard<std::mutex> guard(kept().mutex);
  const auto found = kept().comms.find(handle);
  if (found != kept().comms.end()) return found->second;
  fail_with(Fault::kArgument, "%s: not a communicator, or one that was destroyed", function);
  return nullptr;
}

std::shared_ptr<Comm> find_named(const char* function, const char* name) {
  std::lock_guard<std::mutex> guard(kept().mutex);
  const int32_t card = current_device() >= 0 ? card_of(current_device()) : -1;
  std::shared_ptr<Comm> found;
  for (const auto& [handle, comm] : kept().comms) {
    if (comm->name != name || comm->owner != getpid()) continue;
    if (found == nullptr || comm->memory.slot(comm->rank).card == card) found = comm;
  }
  if (found == nullptr) fail_with(Fault::kArgument, "%s: this process has no communicator `%s`", function, name);
  return found;
}

}  // namespace jumar::hccl

using namespace jumar;
using namespace jumar::hccl;

int32_t HcclGetRootInfo(void* info) { return give_root("HcclGetRootInfo", info); }

int32_t HcclGetRootInfoScalable(void* info) { return give_root("HcclGetRootInfoScalable", info); }

int32_t HcclCommInitRootInfo(uint32_t ranks, const void* info, uint32_t rank, void** comm) {
  return init_root("HcclCommInitRootInfo", ranks, info, rank, nullptr, comm);
}

int32_t HcclCommInitRootInfoConfig(uint32_t ranks, const void* info, uint32_t rank, const void* config, void** comm) {
  return init_root("HcclCommInitRootInfoConfig", ranks, info, rank, config, comm);
}

// The other roots share the work of bringing many ranks together; on one machine the first one does it alone.
int32_t HcclCommInitRootInfoScalable(uint32_t ranks, uint32_t roots, const void* infos, uint32_t rank, uint32_t,
                                     const void* config, void** comm) {
  if (roots == 0) return fail_with(Fault::kArgument, "HcclCommInitRootInfoScalable: no root");
  return init_root("HcclCommInitRootInfoScalable", ranks, infos, rank, config, comm);
}

int32_t HcclCommInitAll(uint32_t count, int32_t* devices, void** comms) {
  if (devices == nullptr || comms == nullptr) return no_pointer("HcclCommInitAll");
  std::set<int32_t> different;
  for (uint32_t i = 0; i < count; ++i)
    if (!is_device(devices[i]) || !different.insert(devices[i]).second)
      return fail_with(Fault::kArgument, "HcclCommInitAll: device %d does not exist or is there twice", devices[i]);
  return attempt("HcclCommInitAll", [&] {
    const auto made = make_all(count);
    for (uint32_t i = 0; i < count; ++i) comms[i] = keep(made[i]);
  });
}

int32_t HcclCommInitClusterInfo(const char* path, uint32_t rank, void** comm) {
  return init_table_file("HcclCommInitClusterInfo", path, rank, nullptr, comm);
}

int32_t HcclCommInitClusterInfoConfig(const char* path, uint32_t rank, void* config, void** comm) {
  return init_table_file("HcclCommInitClusterInfoConfig", path, rank, config, comm);
}

int32_t HcclCommInitClusterInfoMemConfig(const char* text, uint32_t rank, void* config, void** comm) {
  if (text == nullptr) return no_pointer("HcclCommInitClusterInfoMemConfig");
  RankTable table;
  const auto read = [&] { table = parse_table("the rank table", text); };
  if (int32_t code = attempt("HcclCommInitClusterInfoMemConfig", read)) return code;
  return init_table("HcclCommInitClusterInfoMemConfig", table, rank, config, comm);
}

int32_t HcclCreateSubCommConfig(void** comm, uint32_t count, uint32_t* ranks, uint64_t id, uint32_t rank, void* config,
                                void** sub) {
  constexpr const char* kName = "HcclCreateSubCommConfig";
  if (comm == nullptr || sub == nullptr) return no_pointer(kName);
  const std::shared_ptr<Comm> parent = find_comm(kName, *comm);
  if (parent == nullptr) return HCCL_E_PARA;
  if (ranks == nullptr && id == 0xFFFFFFFF) {  // the vendor's way to say "not I"
    *sub = nullptr;
    return HCCL_SUCCESS;
  }
  if (ranks == nullptr) return no_pointer(kName);
  std::string key = "sub " + machine_name() + " " + std::to_string(parent->id) + " " + std::to_string(id);
  for (uint32_t i = 0; i < count; ++i) {
    if (ranks[i] >= parent->ranks)
      return fail_with(Fault::kArgument, "%s: rank %u of %u", kName, ranks[i], parent->ranks);
    key += " " + std::to_string(ranks[i]);
  }
  if (rank >= count || ranks[rank] != parent->rank)
    return fail_with(Fault::kArgument, "%s: place %u of the list is not this process's rank %u", kName, rank,
                parent->rank);
  return attempt(kName, [&] { *sub = keep(join_named(key, count, rank, settings_from(config))); });
}

int32_t HcclCommDestroy(void* handle) {
  const std::shared_ptr<Comm> comm = find_comm("HcclCommDestroy", handle);
  if (comm == nullptr) return HCCL_E_PARA;
  comm->finish();
  comm->leave();
  std::lock_guard<std::mutex> guard(kept().mutex);
  kept().comms.erase(handle);
  return HCCL_SUCCESS;
}

int32_t HcclGetCommAsyncError(void* handle, int32_t* error) {
  if (error == nullptr) return no_pointer("HcclGetCommAsyncError");
  const std::shared_ptr<Comm> comm = find_comm("HcclGetCommAsyncError", handle);
  if (comm == nullptr) return HCCL_E_PARA;
  std::string text;
  *error = code_of(comm->fault(&text));
  if (*error != HCCL_SUCCESS) fail(*error, "%s", text.c_str());  // clients ask for the words afterwards
  return HCCL_SUCCESS;
}

int32_t HcclGetCommName(void* handle, char* name) {
  constexpr size_t kRoom = 128;
  if (name == nullptr) return no_pointer("HcclGetCommName");
  const std::shared_ptr<Comm> comm = find_comm("HcclGetCommName", handle);
  if (comm == nullptr) return HCCL_E_PARA;
  std::snprintf(name, kRoom, "%s", comm->name.c_str());
  return HCCL_SUCCESS;
}

int32_t HcclGetRankSize(void* handle, uint32_t* ranks) {
  if (ranks == nullptr) return no_pointer("HcclGetRankSize");
  const std::shared_ptr<Comm> comm = find_comm("HcclGetRankSize", handle);
  if (comm == nullptr) return HCCL_E_PARA;
  *ranks = comm->ranks;
  return HCCL_SUCCESS;
}

int32_t HcclGetRankId(void* handle, uint32_t* rank) {
  if (rank == nullptr) return no_pointer("HcclGetRankId");
  const std::shared_ptr<Comm> comm = find_comm("HcclGetRankId", handle);
  if (comm == nullptr) return HCCL_E_PARA;
  *rank = comm->rank;
  return HCCL_SUCCESS;
}

// Every setting of the vendor's enum is known: names, time limits and ranks are used, the others (buffer size,
// algorithm, expansion mode, retries) choose between ways that give the same result.
uint32_t HcclGetCommConfigCapability() { return 12; }

namespace {

// Sums are always made in the order of the ranks, so every choice of the vendor's settings holds.
std::atomic<int32_t> settings[2];

}  // namespace

int32_t HcclSetConfig(int32_t which, int32_t value) {
  if (which < 0 || which > 1) return fail_with(Fault::kArgument, "HcclSetConfig: unknown setting %d", which);
  settings[which] = value;
  return HCCL_SUCCESS;
}

int32_t HcclGetConfig(int32_t which, int32_t* value) {
  if (value == nullptr) return no_pointer("HcclGetConfig");
  if (which < 0 || which > 1) return fail_with(Fault::kArgument, "HcclGetConfig: unknown setting %d", which);
  *value = settings[which];
  return HCCL_SUCCESS;
}

const char* HcclGetErrorString(int32_t code) {
  switch (code) {
    case HCCL_SUCCESS: return "no error";
    case HCCL_E_PARA: return "parameter error";
    case HCCL_E_PTR: return "empty pointer";
    case HCCL_E_MEMORY: return "memory error";
    case HCCL_E_INTERNAL: return "internal error";
    case HCCL_E_NOT_SUPPORT: return "not support feature";
    case HCCL_E_UNAVAIL: return "resource unavailable";
    case HCCL_E_SYSCALL: return "call system interface error";
    case HCCL_E_TIMEOUT: return "timeout";
    case HCCL_E_OPEN_FILE_FAILURE: return "open file fail";
    case HCCL_E_REMOTE: return "error cqe";
    default: return "unknown error";
  }
}
