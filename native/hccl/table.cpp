#include "hccl/table.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>

#include "acl/context.h"
#include "hccl/comm.h"
#include "hccl/json.h"
#include "machine/profile.h"

namespace jumar::hccl {
namespace {

[[noreturn]] void wrong(const std::string& what, const std::string& why, Fault fault = Fault::kTable) {
  throw broken(fault, what + ": " + why);
}

uint32_t number(const std::string& what, const Json& row, const char* key) {
  const Json* value = row.find(key);
  if (value == nullptr || value->kind != Json::kScalar) wrong(what, std::string("a device has no `") + key + "`");
  char* end = nullptr;
  const long result = std::strtol(value->scalar.c_str(), &end, 10);
  if (value->scalar.empty() || *end != '\0' || result < 0 || result > 1 << 20)
    wrong(what, std::string("`") + key + "` is not a number: " + value->scalar);
  return static_cast<uint32_t>(result);
}

void add(const std::string& what, RankTable& table, const Json& row) {
  const uint32_t rank = number(what, row, "rank_id");
  if (!table.devices.emplace(rank, static_cast<int32_t>(number(what, row, "device_id"))).second)
    wrong(what, "rank " + std::to_string(rank) + " is there twice");
}

const std::vector<Json>& list(const std::string& what, const Json& owner, const char* key) {
  const Json* found = owner.find(key);
  if (found == nullptr || found->kind != Json::kList || found->list.empty())
    wrong(what, std::string("`") + key + "` is missing or empty");
  return found->list;
}

void refuse_machines(const std::string& what, size_t machines) {
  if (machines > 1)
    wrong(what, "it names " + std::to_string(machines) + " machines; emulated cards of several machines cannot be joined",
          Fault::kTableMachines);
}

// 1.0 and 1.2: servers with their devices; the super pods of 1.2 say nothing about one machine.
void read_servers(const std::string& what, const Json& root, RankTable& table) {
  const auto& servers = list(what, root, "server_list");
  refuse_machines(what, servers.size());
  for (const Json& server : servers)
    for (const Json& device : list(what, server, "device")) add(what, table, device);
}

// 2.0: a flat list of ranks; a card that is there twice is on another machine the second time.
void read_ranks(const std::string& what, const Json& root, RankTable& table) {
  std::map<uint32_t, size_t> seen;
  size_t machines = 0;
  for (const Json& row : list(what, root, "rank_list")) {
    add(what, table, row);
    machines = std::max(machines, ++seen[number(what, row, "device_id")]);
  }
  refuse_machines(what, machines);
}

}  // namespace

RankTable parse_table(const std::string& what, const std::string& text) {
  RankTable table{text, {}};
  Json root;
  try {
    root = parse_json(text);
  } catch (const std::invalid_argument& error) {
    wrong(what, error.what());
  }
  const Json* status = root.find("status");
  if (status != nullptr && status->scalar != "completed") wrong(what, "its status is not `completed`: " + status->scalar);
  const Json* version = root.find("version");
  const std::string layout = version != nullptr ? version->scalar : "";
  if (layout == "1.0" || layout == "1.2") {
    read_servers(what, root, table);
  } else if (layout == "2.0") {
    read_ranks(what, root, table);
  } else {
    wrong(what, "its version is not 1.0, 1.2 or 2.0: " + layout);
  }
  std::set<int32_t> cards;
  for (const auto& [rank, card] : table.devices)
    if (!cards.insert(card).second) wrong(what, "device " + std::to_string(card) + " is there twice");
  const uint32_t last = table.devices.rbegin()->first;
  if (last + 1 != table.devices.size())
    wrong(what, "its ranks are not 0 to " + std::to_string(table.devices.size() - 1));
  return table;
}

RankTable read_table_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw broken(Fault::kTableFile, path + " is not a valid real path");
  return parse_table(path, std::string(std::istreambuf_iterator<char>(file), {}));
}

void RankTable::check(uint32_t rank) const {
  const auto found = devices.find(rank);
  if (found == devices.end())
    wrong("the rank table", "it has no rank " + std::to_string(rank) + ", only " + std::to_string(devices.size()));
  if (found->second >= profile().cards)
    wrong("the rank table", "rank " + std::to_string(rank) + " is on device " + std::to_string(found->second) +
                                ", the machine has " + std::to_string(profile().cards) + " cards");
  if (current_device() >= 0 && card_of(current_device()) != found->second)
    wrong("the rank table", "rank " + std::to_string(rank) + " is on device " + std::to_string(found->second) +
                                ", this process uses card " + std::to_string(card_of(current_device())));
}

}  // namespace jumar::hccl
