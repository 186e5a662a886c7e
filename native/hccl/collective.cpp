// HcclAllReduce and its kin: checks the arguments, then queues the work on the stream.
#include <numeric>
#include <type_traits>

#include "api.h"
#include "hccl/exchange.h"
#include "hccl/peer2peer.h"
#include "machine/error.h"

using namespace jumar;
using namespace jumar::hccl;

namespace {

const char* bytes(const void* data) { return static_cast<const char*>(data); }
char* bytes(void* data) { return static_cast<char*>(data); }
char* writable(const void* data) { return static_cast<char*>(const_cast<void*>(data)); }  // declared const by the vendor

// What every call starts with; `code` is 0 when it may go on.
struct Start {
  std::shared_ptr<Comm> comm;
  int32_t code = HCCL_SUCCESS;

  Start(const char* function, void* handle, int32_t type) : comm(find_comm(function, handle)) {
    std::string text;
    if (comm == nullptr) {
      code = HCCL_E_PARA;
    } else if (type_size(type) == 0) {
      code = fail_with(Fault::kArgument, "%s: unknown data type %d", function, type);
    } else if (const Fault fault = comm->fault(&text); fault != Fault::kNone) {
      code = fail(code_of(fault), "%s: %s", function, text.c_str());
    }
  }

  void check_op(const char* function, int32_t type, int32_t op) {
    if (code != HCCL_SUCCESS) return;
    if (op_name(op) == nullptr) {
      code = fail_with(Fault::kArgument, "In [%s], value [%d] for parameter [op] is invalid", function, op);
    } else if (!can_reduce(type)) {
      code = fail_with(Fault::kType, "%s: %s cannot be reduced", function, type_name(type));
    }
  }

  void check_rank(const char* function, uint32_t rank) {
    if (code == HCCL_SUCCESS && rank >= comm->ranks)
      code = fail_with(Fault::kArgument, "%s: rank %u of %u", function, rank, comm->ranks);
  }

  void check_data(const char* function, const void* data, uint64_t count) {
    if (code == HCCL_SUCCESS && data == nullptr && count > 0)
      code = fail_with(Fault::kNull, "%s: a buffer is null", function);
  }

  void check_counts(const char* function, const void* counts) {
    if (code == HCCL_SUCCESS && counts == nullptr) code = fail_with(Fault::kNull, "%s: counts are null", function);
  }

  template <class Body>
  int32_t queue(void* stream, Body body) {
    if (code != HCCL_SUCCESS) return code;
    Comm::submit(comm, *queue_of(stream), std::move(body));
    return HCCL_SUCCESS;
  }
};

// The vendor's arrays are read before the call returns, the buffers later.
Counts numbers(const void* array, uint32_t ranks) {
  const auto* first = static_cast<const uint64_t*>(array);
  return Counts(first, first + ranks);
}

Counts even_places(uint64_t count, uint32_t ranks) {
  Counts places(ranks);
  for (uint32_t rank = 0; rank < ranks; ++rank) places[rank] = rank * count;
  return places;
}

Counts packed_places(const Counts& counts) {
  Counts places(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), places.begin(), uint64_t{0});
  return places;
}

Call call(Kind kind, int32_t type, uint64_t count, int32_t op = 0, uint32_t root = 0) {
  return {kind, type, op, root, count, 0};
}

}  // namespace

int32_t HcclAllReduce(void* send, void* receive, uint64_t count, int32_t type, int32_t op, void* comm, void* stream) {
  Start start("HcclAllReduce", comm, type);
  start.check_op("HcclAllReduce", type, op);
  start.check_data("HcclAllReduce", send, count);
  start.check_data("HcclAllReduce", receive, count);
  return start.queue(stream, [=](Comm& comm) {
    all_reduce(comm, call(Kind::kAllReduce, type, count, op), bytes(send), bytes(receive));
  });
}

int32_t HcclReduce(void* send, void* receive, uint64_t count, int32_t type, int32_t op, uint32_t root, void* comm,
                   void* stream) {
  Start start("HcclReduce", comm, type);
  start.check_op("HcclReduce", type, op);
  start.check_rank("HcclReduce", root);
  start.check_data("HcclReduce", send, count);
  if (start.code == HCCL_SUCCESS && start.comm->rank == root) start.check_data("HcclReduce", receive, count);
  return start.queue(stream, [=](Comm& comm) {
    char* target = comm.rank == root ? bytes(receive) : nullptr;
    all_reduce(comm, call(Kind::kReduce, type, count, op, root), bytes(send), target);
  });
}

int32_t HcclBroadcast(void* data, uint64_t count, int32_t type, uint32_t root, void* comm, void* stream) {
  Start start("HcclBroadcast", comm, type);
  start.check_rank("HcclBroadcast", root);
  start.check_data("HcclBroadcast", data, count);
  return start.queue(stream, [=](Comm& comm) {
    broadcast(comm, call(Kind::kBroadcast, type, count, 0, root), bytes(data));
  });
}

int32_t HcclAllGather(void* send, void* receive, uint64_t count, int32_t type, void* comm, void* stream) {
  Start start("HcclAllGather", comm, type);
  start.check_data("HcclAllGather", send, count);
  start.check_data("HcclAllGather", receive, count);
  return start.queue(stream, [=](Comm& comm) {
    all_gather(comm, call(Kind::kAllGather, type, count), bytes(send), bytes(receive), Counts(comm.ranks, count),
               even_places(count, comm.ranks));
  });
}

int32_t HcclAllGatherV(void* send, uint64_t count, void* receive, const void* counts, const void* places, int32_t type,
                       void* comm, void* stream) {
  Start start("HcclAllGatherV", comm, type);
  start.check_counts("HcclAllGatherV", counts);
  start.check_counts("HcclAllGatherV", places);
  start.check_data("HcclAllGatherV", send, count);
  if (start.code != HCCL_SUCCESS) return start.code;
  const uint32_t ranks = start.comm->ranks;
  return start.queue(stream, [=, counts = numbers(counts, ranks), places = numbers(places, ranks)](Comm& comm) {
    all_gather(comm, call(Kind::kAllGatherV, type, count), bytes(send), bytes(receive), counts, places);
  });
}

int32_t HcclReduceScatter(void* send, void* receive, uint64_t count, int32_t type, int32_t op, void* comm,
                          void* stream) {
  Start start("HcclReduceScatter", comm, type);
  start.check_op("HcclReduceScatter", type, op);
  start.check_data("HcclReduceScatter", send, count);
  start.check_data("HcclReduceScatter", receive, count);
  return start.queue(stream, [=](Comm& comm) {
    reduce_scatter(comm, call(Kind::kReduceScatter, type, count, op), bytes(send), bytes(receive),
                   Counts(comm.ranks, count), even_places(count, comm.ranks));
  });
}

int32_t HcclReduceScatterV(void* send, const void* counts, const void* places, void* receive, uint64_t count,
                           int32_t type, int32_t op, void* comm, void* stream) {
  Start start("HcclReduceScatterV", comm, type);
  start.check_op("HcclReduceScatterV", type, op);
  start.check_counts("HcclReduceScatterV", counts);
  start.check_counts("HcclReduceScatterV", places);
  start.check_data("HcclReduceScatterV", receive, count);
  if (start.code != HCCL_SUCCESS) return start.code;
  const uint32_t ranks = start.comm->ranks;
  return start.queue(stream, [=, counts = numbers(counts, ranks), places = numbers(places, ranks)](Comm& comm) {
    reduce_scatter(comm, call(Kind::kReduceScatterV, type, count, op), bytes(send), bytes(receive), counts, places);
  });
}

int32_t HcclScatter(void* send, void* receive, uint64_t count, int32_t type, uint32_t root, void* comm, void* stream) {
  Start start("HcclScatter", comm, type);
  start.check_rank("HcclScatter", root);
  start.check_data("HcclScatter", receive, count);
  if (start.code == HCCL_SUCCESS && start.comm->rank == root) start.check_data("HcclScatter", send, count);
  return start.queue(stream, [=](Comm& comm) {
    scatter(comm, call(Kind::kScatter, type, count, 0, root), bytes(send), bytes(receive));
  });
}

int32_t HcclAlltoAll(const void* send, uint64_t send_count, int32_t type, const void* receive, uint64_t receive_count,
                     int32_t receive_type, void* comm, void* stream) {
  Start start("HcclAlltoAll", comm, type);
  if (start.code == HCCL_SUCCESS && (send_count != receive_count || type != receive_type))
    return fail_with(Fault::kArgument, "HcclAlltoAll: sends %lu %s, receives %lu %s", send_count, type_name(type),
                receive_count, type_name(receive_type));
  start.check_data("HcclAlltoAll", send, send_count);
  start.check_data("HcclAlltoAll", receive, send_count);
  return start.queue(stream, [=](Comm& comm) {
    const Counts counts(comm.ranks, send_count), places = even_places(send_count, comm.ranks);
    all_to_all(comm, call(Kind::kAlltoAll, type, send_count), bytes(send), counts, places, writable(receive), counts,
               places);
  });
}

int32_t HcclAlltoAllV(const void* send, const void* send_counts, const void* send_places, int32_t type,
                      const void* receive, const void* receive_counts, const void* receive_places,
                      int32_t receive_type, void* comm, void* stream) {
  Start start("HcclAlltoAllV", comm, type);
  for (const void* array : {send_counts, send_places, receive_counts, receive_places})
    start.check_counts("HcclAlltoAllV", array);
  if (start.code != HCCL_SUCCESS) return start.code;
  if (type != receive_type)
    return fail_with(Fault::kArgument, "HcclAlltoAllV: sends %s, receives %s", type_name(type), type_name(receive_type));
  const uint32_t ranks = start.comm->ranks;
  return start.queue(stream, [=, send_counts = numbers(send_counts, ranks), send_places = numbers(send_places, ranks),
                              receive_counts = numbers(receive_counts, ranks),
                              receive_places = numbers(receive_places, ranks)](Comm& comm) {
    all_to_all(comm, call(Kind::kAlltoAllV, type, 0), bytes(send), send_counts, send_places, writable(receive),
               receive_counts, receive_places);
  });
}

int32_t HcclAlltoAllVC(const void* send, const void* matrix, int32_t type, const void* receive, int32_t receive_type,
                       void* comm, void* stream) {
  Start start("HcclAlltoAllVC", comm, type);
  start.check_counts("HcclAlltoAllVC", matrix);
  if (start.code != HCCL_SUCCESS) return start.code;
  if (type != receive_type)
    return fail_with(Fault::kArgument, "HcclAlltoAllVC: sends %s, receives %s", type_name(type), type_name(receive_type));
  const uint32_t ranks = start.comm->ranks, own = start.comm->rank;
  const auto* cells = static_cast<const uint64_t*>(matrix);
  const Counts sent(cells + own * ranks, cells + (own + 1) * ranks);
  Counts received(ranks);
  for (uint32_t from = 0; from < ranks; ++from) received[from] = cells[from * ranks + own];
  return start.queue(stream, [=](Comm& comm) {
    all_to_all(comm, call(Kind::kAlltoAllVC, type, 0), bytes(send), sent, packed_places(sent), writable(receive),
               received, packed_places(received));
  });
}

int32_t HcclBarrier(void* comm, void* stream) {
  Start start("HcclBarrier", comm, kInt8);
  return start.queue(stream, [](Comm& comm) { barrier(comm, call(Kind::kBarrier, kInt8, 0)); });
}
