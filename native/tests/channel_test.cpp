// Channels: what is sent arrives once, in order, as it was when it was sent.
#include <cstring>
#include <initializer_list>
#include <thread>

#include "api.h"
#include "machine/codes.h"
#include "tests/check.h"

using namespace jumar;

extern "C" int32_t jumarOutfeed(const char* to, const char* name, const void* dataset);

int main() {
  CHECK(acltdtCreateChannelWithCapacity(0, nullptr, 2) == nullptr);
  void* channel = acltdtCreateChannelWithCapacity(0, "log", 2);
  void* received = acltdtCreateDataset();
  CHECK(acltdtReceiveTensor(channel, received, 1) == ACL_ERROR_RT_QUEUE_EMPTY);

  float values[] = {1, 2, 3, 4};
  const int64_t dims[] = {2, 2};
  void* sent = acltdtCreateDataset();
  void* item = acltdtCreateDataItem(0, dims, 2, 0, values, sizeof values);
  CHECK(acltdtAddDataItem(sent, item) == ACL_SUCCESS);
  CHECK(acltdtSendTensor(channel, sent, 0) == ACL_SUCCESS);
  values[0] = 9;
  CHECK(acltdtSendTensor(channel, sent, 0) == ACL_SUCCESS);
  CHECK(acltdtSendTensor(channel, sent, 1) == ACL_ERROR_RT_QUEUE_FULL);
  size_t size = 0;
  CHECK(acltdtQueryChannelSize(channel, &size) == ACL_SUCCESS && size == 2);

  std::memset(values, 0, sizeof values);
  for (const float first : {1.0f, 9.0f}) {
    CHECK(acltdtReceiveTensor(channel, received, 0) == ACL_SUCCESS);
    CHECK(std::strcmp(acltdtGetDatasetName(received), "log") == 0 && acltdtGetDatasetSize(received) == 1);
    void* got = acltdtGetDataItem(received, 0);
    int64_t shape[2] = {};
    CHECK(acltdtGetDimNumFromItem(got) == 2 && acltdtGetDimsFromItem(got, shape, 2) == ACL_SUCCESS && shape[1] == 2);
    CHECK(acltdtGetDimsFromItem(got, shape, 1) == ACL_ERROR_INVALID_PARAM);
    CHECK(acltdtGetDataSizeFromItem(got) == sizeof values && acltdtGetTensorTypeFromItem(got) == 0);
    const float* data = static_cast<const float*>(acltdtGetDataAddrFromItem(got));
    CHECK(data[0] == first && data[3] == 4);
  }
  CHECK(acltdtGetDataItem(received, 1) == nullptr);

  CHECK(jumarOutfeed("nobody", "weight", sent) == 0 && jumarOutfeed("log", "weight", sent) == 1);
  CHECK(acltdtReceiveTensor(channel, received, 0) == ACL_SUCCESS);
  CHECK(std::strcmp(acltdtGetDatasetName(received), "weight") == 0 && acltdtGetDatasetSize(received) == 1);

  std::thread waits([&] { CHECK(acltdtReceiveTensor(channel, received, -1) == ACL_ERROR_RT_QUEUE_EMPTY); });
  CHECK(acltdtStopChannel(channel) == ACL_SUCCESS);
  waits.join();
  CHECK(acltdtDestroyDataItem(item) == ACL_SUCCESS && acltdtDestroyDataset(sent) == ACL_SUCCESS);
  CHECK(acltdtDestroyDataset(received) == ACL_SUCCESS && acltdtDestroyChannel(channel) == ACL_SUCCESS);
  return 0;
}
