// The collectives over shared memory. All run on the stream's thread and throw Broken.
//
// A collective is a row of steps. In a step each rank puts a piece into its stage, all meet, each takes what it needs
// from the others' stages. Stages exist twice, so one meeting per step is enough: a rank can only be one step ahead.
#pragma once
#include <cstdint>
#include <vector>

#include "hccl/comm.h"

namespace jumar::hccl {

using Counts = std::vector<uint64_t>;  // elements, one entry per rank

void all_reduce(Comm& comm, Call call, const char* send, char* receive);  // and Reduce, where only the root receives
void broadcast(Comm& comm, Call call, char* data);
void all_gather(Comm& comm, Call call, const char* send, char* receive, const Counts& counts, const Counts& places);
void reduce_scatter(Comm& comm, Call call, const char* send, char* receive, const Counts& counts, const Counts& places);
void scatter(Comm& comm, Call call, const char* send, char* receive);
void all_to_all(Comm& comm, Call call, const char* send, const Counts& send_counts, const Counts& send_places,
                char* receive, const Counts& receive_counts, const Counts& receive_places);
void barrier(Comm& comm, Call call);

}  // namespace jumar::hccl
