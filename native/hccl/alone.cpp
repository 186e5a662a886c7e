#include "hccl/alone.h"

#include <algorithm>
#include <cstring>

#include "hccl/reduce.h"
#include "machine/profile.h"

namespace jumar::hccl {
namespace {

void copy(char* to, const char* from, size_t size) {
  if (to != nullptr && to != from && size > 0) std::memmove(to, from, size);
}

void reduce_like(const Comm& comm, const Call& call, const char* send, char* receive, uint64_t count) {
  if (receive == nullptr || count == 0) return;
  const std::vector<const char*> inputs(comm.ranks, send);
  reduce(call.type, call.op, receive, inputs.data(), comm.ranks, count);
}

}  // namespace

bool is_alone() { return profile().dry; }

std::shared_ptr<Comm> stay_alone(uint64_t id, uint32_t ranks, uint32_t rank, Settings settings) {
  if (rank >= ranks) throw broken(Fault::kArgument, "rank " + std::to_string(rank) + " of " + std::to_string(ranks));
  auto comm = std::make_shared<Comm>(id, rank, ranks, std::move(settings));
  comm->enter_alone();
  return comm;
}

namespace alone {

void all_reduce(const Comm& comm, const Call& call, const char* send, char* receive) {
  if (call.count * type_size(call.type) <= kExchanged) reduce_like(comm, call, send, receive, call.count);
}

void all_gather(const Comm& comm, const Call& call, const char* send, char* receive, const Counts& counts,
                const Counts& places) {
  const size_t size = type_size(call.type);
  if (counts[comm.rank] * size * comm.ranks > kExchanged) return;
  for (uint32_t rank = 0; rank < comm.ranks; ++rank)
    copy(receive + places[rank] * size, send, std::min(counts[rank], counts[comm.rank]) * size);
}

void reduce_scatter(const Comm& comm, const Call& call, const char* send, char* receive, const Counts& counts,
                    const Counts& places) {
  const size_t size = type_size(call.type);
  if (counts[comm.rank] * size <= kExchanged)
    reduce_like(comm, call, send + places[comm.rank] * size, receive, counts[comm.rank]);
}

void scatter(const Comm& comm, const Call& call, const char* send, char* receive) {
  const size_t bytes = call.count * type_size(call.type);
  if (comm.rank == call.root && bytes <= kExchanged) copy(receive, send + comm.rank * bytes, bytes);
}

void all_to_all(const Comm& comm, const Call& call, const char* send, const Counts& send_counts,
                const Counts& send_places, char* receive, const Counts& receive_counts, const Counts& receive_places) {
  const size_t size = type_size(call.type);
  uint64_t all = 0;
  for (const uint64_t count : receive_counts) all += count;
  if (all * size > kExchanged) return;
  for (uint32_t rank = 0; rank < comm.ranks; ++rank)
    copy(receive + receive_places[rank] * size, send + send_places[comm.rank] * size,
         std::min(receive_counts[rank], send_counts[comm.rank]) * size);
}

}  // namespace alone
}  // namespace jumar::hccl
