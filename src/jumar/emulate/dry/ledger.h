// What the run did, for the report: every allocation with its owner, every operator and collective with its shapes.
#pragma once

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace jumar::dry {

enum class Phase : uint8_t { kForward, kBackward, kUpdate };

// As dry/ledger.py reads it.
struct Allocation {
  int64_t address, size;
  uint32_t born, died;  // numbers of events; 0: still alive
  uint32_t module, op;  // numbers of names
  uint32_t site;        // of the peak it made; 0: none
  uint8_t phase, owners, device, step;  // owners: bits, see dry/watch.py
};

class Ledger {
 public:
  void attach();
  void mark(int64_t address, uint8_t owners);
  void end_step();

  uint32_t number(const std::string& name);  // of an operator, a module, a place
  void called(std::string signature);        // an operator, in the order of the run

  std::mutex mutex;
  std::vector<Allocation> allocations;
  std::vector<uint32_t> sequence;  // signatures; 0: the end of a step
  std::vector<std::string> names{""}, signatures{""};
  std::vector<uint32_t> steps;  // events at which steps ended
  uint32_t events = 0;
  int64_t allocated = 0, peak = 0;

 private:
  void take(int64_t address, int64_t size, int device);
  void give(int64_t address);

  std::unordered_map<std::string, uint32_t> numbers_, signature_numbers_;
  std::unordered_map<int64_t, uint32_t> live_;
};

Ledger& ledger();

// Of the calling thread.
struct Now {
  std::vector<uint32_t> modules;
  uint32_t op = 0;
  int64_t grown = -1;  // the allocation that made a new peak, until its place is known
};

Now& now();
void set_main_thread();
void set_updating(bool updating);

}  // namespace jumar::dry
