#include "hccl/exchange.h"

#include <algorithm>
#include <cstring>

#include "hccl/alone.h"
#include "hccl/reduce.h"

namespace jumar::hccl {
namespace {

constexpr size_t kSmall = 16 << 10;  // up to here every rank reduces everything itself: one meeting instead of two
constexpr size_t kLine = 64;

std::string spell(const Call& call) {
  std::string text = kind_name(call.kind);
  if (call.kind == Kind::kBarrier) return text;
  text += "(" + std::to_string(call.count) + " " + type_name(call.type);
  const bool reduces = call.kind == Kind::kAllReduce || call.kind == Kind::kReduce || call.kind == Kind::kReduceScatter ||
                       call.kind == Kind::kReduceScatterV;
  if (reduces) text += std::string(", ") + op_name(call.op);
  if (call.kind == Kind::kBroadcast || call.kind == Kind::kReduce || call.kind == Kind::kScatter)
    text += ", root " + std::to_string(call.root);
  return text + ")";
}

bool same(const Call& a, const Call& b) {
  const bool own_count = a.kind == Kind::kAllGatherV || a.kind == Kind::kReduceScatterV || a.kind == Kind::kAlltoAllV ||
                         a.kind == Kind::kAlltoAllVC;
  return a.kind == b.kind && a.type == b.type && a.op == b.op && a.root == b.root && (own_count || a.count == b.count);
}

// The steps of one call.
class Steps {
 public:
  Steps(Comm& comm, const Call& call) : comm_(comm), call_(call) { call_.number = ++comm.calls; }

  char* input() { return comm_.memory.input(comm_.rank, comm_.steps()); }

  // After it, the inputs of all ranks are complete.
  void meet() {
    at_ = comm_.steps();
    if (first_) comm_.memory.slot(comm_.rank).call[at_ & 1] = call_;
    comm_.step(call_.kind);
    if (first_) compare();
    first_ = false;
  }

  const char* input_of(uint32_t rank) { return comm_.memory.input(rank, at_); }
  // Made after this meeting, seen by the others after the next one.
  char* result() { return comm_.memory.output(comm_.rank, at_ + 1); }
  const char* result_of(uint32_t rank) { return comm_.memory.output(rank, at_); }

 private:
  // A device would hang or corrupt data; all ranks see the same calls here, so all of them fail with the same words.
  void compare() {
    const Call& zero = comm_.memory.slot(0).call[at_ & 1];
    for (uint32_t other = 1; other < comm_.ranks; ++other) {
      const Call& call = comm_.memory.slot(other).call[at_ & 1];
      if (same(zero, call)) continue;
      throw comm_.break_with(Fault::kMismatch,
                             "the arguments for collective communication are inconsistent between ranks: in call " +
                                 std::to_string(zero.number) + " on `" + comm_.name + "`, " + comm_.describe(0) +
                                 " calls " + spell(zero) + " and " + comm_.describe(other) + " calls " + spell(call));
    }
  }

  Comm& comm_;
  Call call_;
  uint64_t at_ = 0;
  bool first_ = true;
};

void copy(char* to, const char* from, size_t size) {
  if (to != from && size > 0) std::memcpy(to, from, size);
}

size_t steps_for(size_t count, size_t piece) { return std::max<size_t>(1, (count + piece - 1) / piece); }

// Elements of one rank's column when a stage holds one column per rank.
size_t column(const Comm& comm, size_t size) { return kStage / comm.ranks / kLine * kLine / size; }

uint64_t largest(const Counts& counts) { return *std::max_element(counts.begin(), counts.end()); }

void reduce_small(Comm& comm, const Call& call, const char* send, char* receive) {
  Steps steps(comm, call);
  copy(steps.input(), send, call.count * type_size(call.type));
  steps.meet();
  if (receive == nullptr) return;
  std::vector<const char*> inputs(comm.ranks);
  for (uint32_t rank = 0; rank < comm.ranks; ++rank) inputs[rank] = steps.input_of(rank);
  reduce(call.type, call.op, receive, inputs.data(), comm.ranks, call.count);
}

struct Range {
  size_t from, size;  // elements
};

Range share(uint32_t rank, uint32_t ranks, size_t count, size_t size) {
  const size_t each = ((count + ranks - 1) / ranks * size + kLine - 1) / kLine * kLine / size;
  const size_t from = std::min<size_t>(count, rank * each);
  return {from, std::min(each, count - from)};
}

// Publishes one number per rank and hands back everybody's: row `rank` is what that rank said.
std::vector<Counts> tell_counts(Comm& comm, Steps& steps, const Counts& own) {
  static_assert(kMaxRanks * sizeof(uint64_t) * 2 <= kStage);
  std::memcpy(steps.input(), own.data(), own.size() * sizeof(uint64_t));
  steps.meet();
  std::vector<Counts> all(comm.ranks, Counts(own.size()));
  for (uint32_t rank = 0; rank < comm.ranks; ++rank)
    std::memcpy(all[rank].data(), steps.input_of(rank), own.size() * sizeof(uint64_t));
  return all;
}

Broken disagree(Comm& comm, const Call& call, uint32_t from, uint64_t sent, uint32_t to, uint64_t expected) {
  return comm.break_with(Fault::kMismatch, std::string("in ") + kind_name(call.kind) + " on `" + comm.name + "`, " +
                                               comm.describe(from) + " has " + std::to_string(sent) + " elements and " +
                                               comm.describe(to) + " expects " + std::to_string(expected));
}

}  // namespace

void all_reduce(Comm& comm, Call call, const char* send, char* receive) {
  if (comm.alone) return alone::all_reduce(comm, call, send, receive);
  const size_t size = type_size(call.type);
  if (call.count * size <= kSmall) return reduce_small(comm, call, send, receive);
  Steps steps(comm, call);
  const size_t piece = kStage / size, pieces = steps_for(call.count, piece);
  std::vector<const char*> inputs(comm.ranks);
  for (size_t at = 0; at <= pieces; ++at) {
    const size_t begin = at * piece, count = at < pieces ? std::min<size_t>(piece, call.count - begin) : 0;
    const Range own = share(comm.rank, comm.ranks, count, size);
    if (count > 0) {
      // The own share is reduced from where it lies.
      copy(steps.input(), send + begin * size, own.from * size);
      const size_t after = own.from + own.size;
      copy(steps.input() + after * size, send + (begin + after) * size, (count - after) * size);
    }
    steps.meet();
    if (own.size > 0) {
      for (uint32_t rank = 0; rank < comm.ranks; ++rank)
        inputs[rank] = rank == comm.rank ? send + (begin + own.from) * size : steps.input_of(rank) + own.from * size;
      reduce(call.type, call.op, steps.result(), inputs.data(), comm.ranks, own.size);
    }
    if (at == 0 || receive == nullptr) continue;
    const size_t before = begin - piece, done = std::min<size_t>(piece, call.count - before);
    for (uint32_t rank = 0; rank < comm.ranks; ++rank) {
      const Range part = share(rank, comm.ranks, done, size);
      copy(receive + (before + part.from) * size, steps.result_of(rank), part.size * size);
    }
  }
}

void broadcast(Comm& comm, Call call, char* data) {
  if (comm.alone) return;
  Steps steps(comm, call);
  const size_t size = type_size(call.type), bytes = call.count * size, pieces = steps_for(bytes, kStage);
  for (size_t at = 0; at < pieces; ++at) {
    const size_t begin = at * kStage, count = std::min(kStage, bytes - begin);
    if (comm.rank == call.root) copy(steps.input(), data + begin, count);
    steps.meet();
    if (comm.rank != call.root) copy(data + begin, steps.input_of(call.root), count);
  }
}

void all_gather(Comm& comm, Call call, const char* send, char* receive, const Counts& counts, const Counts& places) {
  if (comm.alone) return alone::all_gather(comm, call, send, receive, counts, places);
  Steps steps(comm, call);
  const size_t size = type_size(call.type);
  if (call.kind == Kind::kAllGatherV) {
    Counts said = counts;
    said.push_back(call.count);
    const auto all = tell_counts(comm, steps, said);
    for (uint32_t to = 0; to < comm.ranks; ++to)
      for (uint32_t from = 0; from < comm.ranks; ++from)
        if (all[from].back() != all[to][from]) throw disagree(comm, call, from, all[from].back(), to, all[to][from]);
  }
  const size_t longest = largest(counts) * size, pieces = steps_for(longest, kStage);
  for (size_t at = 0; at < pieces; ++at) {
    const size_t begin = at * kStage;
    const auto part = [&](uint32_t rank) {
      return begin < counts[rank] * size ? std::min<size_t>(kStage, counts[rank] * size - begin) : 0;
    };
    copy(steps.input(), send + begin, part(comm.rank));
    steps.meet();
    for (uint32_t turn = 0; turn < comm.ranks; ++turn) {
      const uint32_t rank = (comm.rank + turn) % comm.ranks;
      copy(receive + places[rank] * size + begin, rank == comm.rank ? send + begin : steps.input_of(rank), part(rank));
    }
  }
}

void reduce_scatter(Comm& comm, Call call, const char* send, char* receive, const Counts& counts,
                    const Counts& places) {
  if (comm.alone) return alone::reduce_scatter(comm, call, send, receive, counts, places);
  Steps steps(comm, call);
  const size_t size = type_size(call.type);
  if (call.kind == Kind::kReduceScatterV) {
    Counts said = counts;
    said.push_back(call.count);
    const auto all = tell_counts(comm, steps, said);
    for (uint32_t to = 0; to < comm.ranks; ++to)
      for (uint32_t from = 0; from < comm.ranks; ++from)
        if (all[from][to] != all[to].back()) throw disagree(comm, call, from, all[from][to], to, all[to].back());
  }
  const size_t piece = column(comm, size), pieces = steps_for(largest(counts), piece);
  std::vector<const char*> inputs(comm.ranks);
  for (size_t at = 0; at < pieces; ++at) {
    const size_t begin = at * piece;
    const auto part = [&](uint32_t rank) { return begin < counts[rank] ? std::min(piece, counts[rank] - begin) : 0; };
    for (uint32_t to = 0; to < comm.ranks; ++to)
      if (to != comm.rank)
        copy(steps.input() + to * piece * size, send + (places[to] + begin) * size, part(to) * size);
    steps.meet();
    for (uint32_t from = 0; from < comm.ranks; ++from)
      inputs[from] = from == comm.rank ? send + (places[comm.rank] + begin) * size
                                       : steps.input_of(from) + comm.rank * piece * size;
    reduce(call.type, call.op, receive + begin * size, inputs.data(), comm.ranks, part(comm.rank));
  }
}

void scatter(Comm& comm, Call call, const char* send, char* receive) {
  if (comm.alone) return alone::scatter(comm, call, send, receive);
  Steps steps(comm, call);
  const size_t size = type_size(call.type), piece = column(comm, size), pieces = steps_for(call.count, piece);
  for (size_t at = 0; at < pieces; ++at) {
    const size_t begin = at * piece, part = std::min<size_t>(piece, call.count - begin) * size;
    if (comm.rank == call.root)
      for (uint32_t to = 0; to < comm.ranks; ++to)
        copy(steps.input() + to * piece * size, send + (to * call.count + begin) * size, part);
    steps.meet();
    copy(receive + begin * size, steps.input_of(call.root) + comm.rank * piece * size, part);
  }
}

void all_to_all(Comm& comm, Call call, const char* send, const Counts& send_counts, const Counts& send_places,
                char* receive, const Counts& receive_counts, const Counts& receive_places) {
  if (comm.alone)
    return alone::all_to_all(comm, call, send, send_counts, send_places, receive, receive_counts, receive_places);
  Steps steps(comm, call);
  uint64_t longest = largest(send_counts);
  if (call.kind != Kind::kAlltoAll) {
    Counts said = send_counts;
    said.insert(said.end(), receive_counts.begin(), receive_counts.end());
    const auto all = tell_counts(comm, steps, said);
    for (uint32_t from = 0; from < comm.ranks; ++from)
      for (uint32_t to = 0; to < comm.ranks; ++to) {
        const uint64_t sent = all[from][to], expected = all[to][comm.ranks + from];
        if (sent != expected) throw disagree(comm, call, from, sent, to, expected);
        longest = std::max(longest, sent);
      }
  }
  const size_t size = type_size(call.type), piece = column(comm, size), pieces = steps_for(longest, piece);
  for (size_t at = 0; at < pieces; ++at) {
    const size_t begin = at * piece;
    const auto part = [&](uint64_t count) { return begin < count ? std::min<size_t>(piece, count - begin) * size : 0; };
    for (uint32_t to = 0; to < comm.ranks; ++to)
      copy(steps.input() + to * piece * size, send + (send_places[to] + begin) * size, part(send_counts[to]));
    steps.meet();
    for (uint32_t from = 0; from < comm.ranks; ++from)
      copy(receive + (receive_places[from] + begin) * size, steps.input_of(from) + comm.rank * piece * size,
           part(receive_counts[from]));
  }
}

void barrier(Comm& comm, Call call) {
  if (!comm.alone) Steps(comm, call).meet();
}

}  // namespace jumar::hccl
