// HcclSend, HcclRecv, HcclBatchSendRecv and groups.
#include <cstddef>

#include "api.h"
#include "hccl/peer2peer.h"
#include "machine/error.h"

using namespace jumar;
using namespace jumar::hccl;

namespace {

using Transfers = std::vector<std::shared_ptr<Transfer>>;

// The vendor's HcclSendRecvItem.
struct Item {
  int32_t direction;  // 0: send, 1: receive
  void* data;
  uint64_t count;
  int32_t type;
  uint32_t peer;
};

int32_t queue_transfers(const char* function, const Item* items, uint32_t count, void* handle, void* stream) {
  const std::shared_ptr<Comm> comm = find_comm(function, handle);
  if (comm == nullptr) return HCCL_E_PARA;
  std::string text;
  if (const Fault fault = comm->fault(&text); fault != Fault::kNone)
    return fail(code_of(fault), "%s: %s", function, text.c_str());
  Transfers transfers;
  std::vector<Span> spans;
  for (const Item* item = items; item != items + count; ++item) {
    const size_t size = type_size(item->type);
    if (size == 0) return fail_with(Fault::kArgument, "%s: unknown data type %d", function, item->type);
    if (item->peer >= comm->ranks)
      return fail_with(Fault::kArgument, "%s: rank %u of %u", function, item->peer, comm->ranks);
    if (item->data == nullptr && item->count > 0) return fail_with(Fault::kNull, "%s: a buffer is null", function);
    auto transfer = std::make_shared<Transfer>();
    transfer->send = item->direction == 0;
    transfer->peer = item->peer;
    transfer->data = static_cast<char*>(item->data);
    transfer->count = item->count;
    transfer->bytes = item->count * size;
    transfer->type = item->type;
    spans.push_back({transfer->data, transfer->bytes, !transfer->send});
    transfers.push_back(std::move(transfer));
  }
  if (comm->alone) return HCCL_SUCCESS;
  Work work;
  work.start = [comm, transfers] { comm->peers().post(transfers); };
  work.run = [comm, transfers] {
    try {
      comm->peers().wait(transfers);
    } catch (const Broken& broken) {
      return as_failure(broken);
    }
    return Failure{};
  };
  work.spans = std::move(spans);
  queue_of(stream)->submit(std::move(work));
  return HCCL_SUCCESS;
}

thread_local int open_groups = 0;

}  // namespace

int32_t HcclSend(void* data, uint64_t count, int32_t type, uint32_t peer, void* comm, void* stream) {
  const Item item{0, data, count, type, peer};
  return queue_transfers("HcclSend", &item, 1, comm, stream);
}

int32_t HcclRecv(void* data, uint64_t count, int32_t type, uint32_t peer, void* comm, void* stream) {
  const Item item{1, data, count, type, peer};
  return queue_transfers("HcclRecv", &item, 1, comm, stream);
}

int32_t HcclBatchSendRecv(void* items, uint32_t count, void* comm, void* stream) {
  if (items == nullptr) return fail_with(Fault::kNull, "HcclBatchSendRecv: no items");
  return queue_transfers("HcclBatchSendRecv", static_cast<const Item*>(items), count, comm, stream);
}

// Calls are queued at once, and neighbouring sends and receives never wait for each other: a group adds nothing.
int32_t HcclGroupStart() {
  ++open_groups;
  return HCCL_SUCCESS;
}

int32_t HcclGroupEnd() {
  if (open_groups == 0) return fail_with(Fault::kArgument, "HcclGroupEnd: no group was started by this thread");
  --open_groups;
  return HCCL_SUCCESS;
}
