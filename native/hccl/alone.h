// A communicator without peers, for a dry run: this rank's calls return at once.
//
// Every absent rank is taken to hold what this one holds. Up to `kExchanged` bytes that is carried out, so that
// programs can exchange counts and flags; larger buffers are not touched.
#pragma once
#include <cstdint>
#include <memory>

#include "hccl/exchange.h"

namespace jumar::hccl {

constexpr size_t kExchanged = 512 << 10;

bool is_alone();  // JUMAR_DRY asks for it
std::shared_ptr<Comm> stay_alone(uint64_t id, uint32_t ranks, uint32_t rank, Settings settings);

namespace alone {

void all_reduce(const Comm& comm, const Call& call, const char* send, char* receive);
void all_gather(const Comm& comm, const Call& call, const char* send, char* receive, const Counts& counts,
                const Counts& places);
void reduce_scatter(const Comm& comm, const Call& call, const char* send, char* receive, const Counts& counts,
                    const Counts& places);
void scatter(const Comm& comm, const Call& call, const char* send, char* receive);
void all_to_all(const Comm& comm, const Call& call, const char* send, const Counts& send_counts,
                const Counts& send_places, char* receive, const Counts& receive_counts, const Counts& receive_places);

}  // namespace alone
}  // namespace jumar::hccl
