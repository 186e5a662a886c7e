// Collectives inside operators (a product with its all-reduce, the exchange of experts): the group is known by its name,
// and the exchange is done when the call returns. Called by jumar/emulate/torch_ops/group.py.
#include <cstring>

#include "hccl/exchange.h"
#include "machine/error.h"

using namespace jumar;
using namespace jumar::hccl;

namespace {

// 0, or the code of what went wrong, which is the error of the thread then.
template <class Body>
int32_t run(const char* function, const char* name, Body body) {
  const std::shared_ptr<Comm> comm = find_named(function, name);
  if (comm == nullptr) return HCCL_E_PARA;
  const Failure failure = Comm::run(comm, body);
  return failure.code == 0 ? HCCL_SUCCESS : fail(failure.code, "%s: %s", function, failure.text.c_str());
}

Counts packed(const Counts& counts) {
  Counts places(counts.size());
  for (size_t i = 1; i < counts.size(); ++i) places[i] = places[i - 1] + counts[i - 1];
  return places;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int32_t jumar_group_find(const char* name, uint32_t* rank, uint32_t* ranks) {
  const std::shared_ptr<Comm> comm = find_named("group", name);
  if (comm == nullptr) return HCCL_E_PARA;
  *rank = comm->rank;
  *ranks = comm->ranks;
  return HCCL_SUCCESS;
}

int32_t jumar_group_all_reduce(const char* name, const char* operator_name, const void* send, void* receive,
                               uint64_t count, int32_t type, int32_t op) {
  return run(operator_name, name, [=](Comm& comm) {
    all_reduce(comm, {Kind::kAllReduce, type, op, 0, count, 0}, static_cast<const char*>(send),
               static_cast<char*>(receive));
  });
}

// Bytes: `sent[rank]` of `send` go to each rank, `received[rank]` come from it.
int32_t jumar_group_all_to_all(const char* name, const char* operator_name, const void* send, const uint64_t* sent,
                               void* receive, const uint64_t* received) {
  return run(operator_name, name, [=](Comm& comm) {
    const Counts out(sent, sent + comm.ranks), in(received, received + comm.ranks);
    all_to_all(comm, {Kind::kAlltoAllV, kInt8, 0, 0, 0, 0}, static_cast<const char*>(send), out, packed(out),
               static_cast<char*>(receive), in, packed(in));
  });
}

int32_t jumar_group_all_gather(const char* name, const char* operator_name, const void* send, void* receive,
                               uint64_t bytes) {
  return run(operator_name, name, [=](Comm& comm) {
    const Counts counts(comm.ranks, bytes);
    all_gather(comm, {Kind::kAllGather, kInt8, 0, 0, bytes, 0}, static_cast<const char*>(send),
               static_cast<char*>(receive), counts, packed(counts));
  });
}

// A rank that refuses will not come: the others must not wait for it.
void jumar_group_break(const char* name, const char* text) {
  if (const std::shared_ptr<Comm> comm = find_named("group", name)) comm->break_with(Fault::kPeerLost, text);
}

}  // extern "C"
#pragma GCC visibility pop
