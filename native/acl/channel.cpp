// Channels that carry tensors by name between a program and its graph: bounded queues of data sets in this process.
// Items are copied when they are sent, so that what was sent may be freed at once.
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api.h"
#include "machine/error.h"

using namespace jumar;

namespace {

constexpr size_t kCapacity = 128;  // of a channel that names none

struct Item {
  int32_t kind = 0;  // acltdtTensorType
  int32_t type = 0;  // aclDataType
  std::vector<int64_t> dims;
  void* data = nullptr;
  size_t size = 0;
  std::vector<char> own;  // where `data` lies, of items that were received
};

struct Dataset {
  std::vector<Item*> items;
  std::vector<std::unique_ptr<Item>> received;
  std::string name;
};

struct Message {
  std::vector<std::unique_ptr<Item>> items;
  std::string name;
};

struct Channel {
  std::string name;
  size_t capacity;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Message> waiting;
  bool stopped = false;
};

// By name: a graph knows nothing else of the channel that it sends to.
struct Open {
  std::mutex mutex;
  std::map<std::string, Channel*> channels;
};

Open& open_channels() {
  static Open open;
  return open;
}

const Item* item_of(const void* given) { return static_cast<const Item*>(given); }

Channel* channel_of(const void* handle) { return const_cast<Channel*>(static_cast<const Channel*>(handle)); }

Message copied(const Dataset& dataset) {
  Message message;
  for (const Item* item : dataset.items) {
    auto copy = std::make_unique<Item>(*item);
    const char* data = static_cast<const char*>(item->data);
    copy->own.assign(data, data + item->size);
    copy->data = copy->own.data();
    message.items.push_back(std::move(copy));
  }
  return message;
}

// Waits so many milliseconds, or for ever below zero; true where `ready` came about.
template <typename Ready>
bool await(Channel& channel, std::unique_lock<std::mutex>& lock, int32_t timeout, Ready ready) {
  const auto done = [&] { return channel.stopped || ready(); };
  if (timeout < 0)
    channel.changed.wait(lock, done);
  else
    channel.changed.wait_for(lock, std::chrono::milliseconds(timeout), done);
  return ready();
}

}  // namespace

extern "C" {

void* acltdtCreateChannelWithCapacity(uint32_t, const char* name, size_t capacity) {
  if (name == nullptr || capacity == 0) {
    fail(ACL_ERROR_INVALID_PARAM, "%s: no name or no capacity", __func__);
    return nullptr;
  }
  auto channel = std::make_unique<Channel>();
  channel->name = name;
  channel->capacity = capacity;
  std::lock_guard<std::mutex> guard(open_channels().mutex);
  open_channels().channels[name] = channel.get();
  return channel.release();
}

void* acltdtCreateChannel(uint32_t device, const char* name) {
  return acltdtCreateChannelWithCapacity(device, name, kCapacity);
}

int32_t acltdtStopChannel(void* handle) {
  if (handle == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: no channel", __func__);
  std::lock_guard<std::mutex> guard(channel_of(handle)->mutex);
  channel_of(handle)->stopped = true;
  channel_of(handle)->changed.notify_all();
  return ACL_SUCCESS;
}

int32_t acltdtDestroyChannel(void* handle) {
  if (handle == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: no channel", __func__);
  Open& open = open_channels();
  std::lock_guard<std::mutex> guard(open.mutex);
  const auto found = open.channels.find(channel_of(handle)->name);
  if (found != open.channels.end() && found->second == handle) open.channels.erase(found);
  delete channel_of(handle);
  return ACL_SUCCESS;
}

int32_t acltdtCleanChannel(void* handle) {
  if (handle == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: no channel", __func__);
  std::lock_guard<std::mutex> guard(channel_of(handle)->mutex);
  channel_of(handle)->waiting.clear();
  channel_of(handle)->changed.notify_all();
  return ACL_SUCCESS;
}

int32_t acltdtQueryChannelSize(const void* handle, size_t* size) {
  if (handle == nullptr || size == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: no channel or output", __func__);
  std::lock_guard<std::mutex> guard(channel_of(handle)->mutex);
  *size = channel_of(handle)->waiting.size();
  return ACL_SUCCESS;
}

int32_t acltdtSendTensor(const void* handle, const void* dataset, int32_t timeout) {
  if (handle == nullptr || dataset == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, "%s: no channel or data set", __func__);
  Channel& channel = *channel_of(handle);
  Message message = copied(*static_cast<const Dataset*>(dataset));
  message.name = channel.name;
  std::unique_lock<std::mutex> lock(channel.mutex);
  if (!await(channel, lock, timeout, [&] { return channel.waiting.size() < channel.capacity; }))
    return fail(ACL_ERROR_RT_QUEUE_FULL, "%s: channel `%s` is full", __func__, channel.name.c_str());
  channel.waiting.push_back(std::move(message));
  channel.changed.notify_all();
  return ACL_SUCCESS;
}

int32_t acltdtReceiveTensor(const void* handle, void* dataset, int32_t timeout) {
  if (handle == nullptr || dataset == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, "%s: no channel or data set", __func__);
  Channel& channel = *channel_of(handle);
  std::unique_lock<std::mutex> lock(channel.mutex);
  if (!await(channel, lock, timeout, [&] { return !channel.waiting.empty(); }))
    return ACL_ERROR_RT_QUEUE_EMPTY;
  Dataset& into = *static_cast<Dataset*>(dataset);
  into.received = std::move(channel.waiting.front().items);
  into.name = channel.waiting.front().name;
  into.items.clear();
  for (const auto& item : into.received) into.items.push_back(item.get());
  channel.waiting.pop_front();
  channel.changed.notify_all();
  return ACL_SUCCESS;
}

// What a graph hands to its program, under a name of its own; 0 where nobody has opened the channel.
__attribute__((visibility("default"))) int32_t jumarOutfeed(const char* to, const char* name, const void* dataset) {
  Open& open = open_channels();
  std::lock_guard<std::mutex> guard(open.mutex);
  const auto found = open.channels.find(to);
  if (found == open.channels.end()) return 0;
  Message message = copied(*static_cast<const Dataset*>(dataset));
  message.name = name;
  std::lock_guard<std::mutex> inside(found->second->mutex);
  found->second->waiting.push_back(std::move(message));
  found->second->changed.notify_all();
  return 1;
}

void* acltdtCreateDataset() { return new Dataset; }

int32_t acltdtDestroyDataset(void* dataset) {
  delete static_cast<Dataset*>(dataset);
  return ACL_SUCCESS;
}

int32_t acltdtAddDataItem(void* dataset, void* item) {
  if (dataset == nullptr || item == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, "%s: no data set or item", __func__);
  static_cast<Dataset*>(dataset)->items.push_back(static_cast<Item*>(item));
  return ACL_SUCCESS;
}

void* acltdtGetDataItem(const void* dataset, size_t index) {
  const auto* from = static_cast<const Dataset*>(dataset);
  return from != nullptr && index < from->items.size() ? from->items[index] : nullptr;
}

size_t acltdtGetDatasetSize(const void* dataset) {
  return dataset == nullptr ? 0 : static_cast<const Dataset*>(dataset)->items.size();
}

const char* acltdtGetDatasetName(const void* dataset) {
  return dataset == nullptr ? nullptr : static_cast<const Dataset*>(dataset)->name.c_str();
}

void* acltdtCreateDataItem(int32_t kind, const int64_t* dims, size_t count, int32_t type, void* data, size_t size) {
  if ((dims == nullptr && count != 0) || (data == nullptr && size != 0)) {
    fail(ACL_ERROR_INVALID_PARAM, "%s: no dimensions or no data", __func__);
    return nullptr;
  }
  auto item = std::make_unique<Item>();
  item->kind = kind;
  item->type = type;
  item->dims.assign(dims, dims + count);
  item->data = data;
  item->size = size;
  return item.release();
}

int32_t acltdtDestroyDataItem(void* item) {
  delete static_cast<Item*>(item);
  return ACL_SUCCESS;
}

int32_t acltdtGetTensorTypeFromItem(const void* item) { return item == nullptr ? -1 : item_of(item)->kind; }

int32_t acltdtGetDataTypeFromItem(const void* item) { return item == nullptr ? -1 : item_of(item)->type; }

void* acltdtGetDataAddrFromItem(const void* item) { return item == nullptr ? nullptr : item_of(item)->data; }

size_t acltdtGetDataSizeFromItem(const void* item) { return item == nullptr ? 0 : item_of(item)->size; }

size_t acltdtGetDimNumFromItem(const void* item) { return item == nullptr ? 0 : item_of(item)->dims.size(); }

int32_t acltdtGetDimsFromItem(const void* item, int64_t* dims, size_t count) {
  if (item == nullptr || count < item_of(item)->dims.size() || (dims == nullptr && count != 0))
    return fail(ACL_ERROR_INVALID_PARAM, "%s: no item, or no room for its dimensions", __func__);
  if (!item_of(item)->dims.empty())
    std::memcpy(dims, item_of(item)->dims.data(), item_of(item)->dims.size() * sizeof *dims);
  return ACL_SUCCESS;
}

}  // extern "C"
