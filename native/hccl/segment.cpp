#include "hccl/segment.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine/page.h"

namespace jumar::hccl {

Segment::~Segment() {
  if (base_ != nullptr) munmap(base_, bytes_);
}

bool Segment::map(int fd, uint32_t ranks) {
  static_assert(sizeof(Header) <= kHeaderRoom);
  const size_t pipes = whole_pages(kHeaderRoom + ranks * sizeof(Slot));
  const size_t stages = pipes + whole_pages(static_cast<size_t>(ranks) * ranks * sizeof(Pipe));
  const size_t rings = stages + ranks * 4 * kStage;
  bytes_ = rings + static_cast<size_t>(ranks) * ranks * kRing;
  struct stat info {};
  // All ranks make it equally large, so it does not matter who is first. Pages nobody writes to take no memory.
  if (fstat(fd, &info) != 0) return false;
  if (info.st_size < static_cast<off_t>(bytes_) && ftruncate(fd, static_cast<off_t>(bytes_)) != 0) return false;
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (memory == MAP_FAILED) return false;
  madvise(memory, bytes_, MADV_DONTFORK);  // a data loader's child is no rank and must not keep it alive
  base_ = static_cast<char*>(memory);
  ranks_ = ranks;
  pipes_ = reinterpret_cast<Pipe*>(base_ + pipes);
  stages_ = base_ + stages;
  rings_ = base_ + rings;
  return true;
}

bool Segment::map_alone(uint32_t ranks) {
  bytes_ = whole_pages(kHeaderRoom + ranks * sizeof(Slot));
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  base_ = static_cast<char*>(memory);
  ranks_ = ranks;
  return true;
}

}  // namespace jumar::hccl
