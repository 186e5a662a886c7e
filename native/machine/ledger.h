// Who uses how much of which emulated card, kept in shared memory so that other processes see it.
//
// One file in /dev/shm per user and emulated machine (own_file.h). Rows of processes that died are reclaimed by the next one
// that looks; the process that removes the last row removes the file. Files of machines whose processes were all killed
// are removed by the next process that makes one.
#pragma once
#include <cstddef>
#include <cstdint>

namespace jumar::ledger {

constexpr uint32_t kMagic = 0x4a4d5231;  // "JMR1"
constexpr int kRows = 1024;

struct Row {
  int32_t pid;  // 0: free
  int32_t card;
  uint64_t started;  // clock ticks after boot, as in /proc/<pid>/stat: a pid alone may be reused
  uint64_t used;
  char name[32];
};

struct Table {
  uint32_t magic;
  uint32_t rows;
  uint32_t cards;
  uint32_t reserved;
  uint64_t memory;  // bytes per card
  char soc[32];
  Row row[kRows];
};

void attach(int card);                 // the process shows up on `card`
bool take(int card, size_t bytes);     // false when the card has not that much left
void give(int card, size_t bytes);
size_t used(int card);                 // by all living processes
void detach();                         // the process is gone from all cards

}  // namespace jumar::ledger
