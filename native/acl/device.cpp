// What a program can ask about the machine and its cards.
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "acl/context.h"
#include "api.h"
#include "machine/error.h"
#include "machine/ledger.h"
#include "machine/profile.h"

using namespace jumar;

namespace {

constexpr int64_t kMiB = 1 << 20;
constexpr int32_t kDriverPackage = 7;  // in the vendor's enum of packages
constexpr const char* kDriver = "26.1.0";

// Numbers of the vendor's enum aclrtDevAttr.
enum Attribute {
  kAiCpu = 1,
  kAiCore = 101,
  kCubeCore = 102,
  kVectorCore = 201,
  kWarpSize = 202,
  kThreadsPerVectorCore = 203,
  kUnifiedBuffer = 204,
  kTotalMemory = 301,
  kL2Cache = 302,
  kSmpId = 401,
  kPhysicalChip = 402,
  kSuperPodFirst = 403,
  kMainboard = 407,
  kHostConnection = 408,
  kIsVirtual = 501,
  kArchitecture = 601,
};

int64_t device_attribute(int32_t device, int32_t attribute, bool* known) {
  const Chip& chip = profile().chip;
  *known = true;
  switch (attribute) {
    case kAiCpu: return chip.ai_cpu;
    case kAiCore: return chip.ai_core;
    case kCubeCore: return chip.cube_core;
    case kVectorCore: return chip.vector_core;
    case kUnifiedBuffer: return chip.ub_kib * 1024LL;
    case kTotalMemory: return static_cast<int64_t>(profile().memory);
    case kL2Cache: return chip.l2_mib * kMiB;
    case kPhysicalChip: return card_of(device);
    case kArchitecture: return chip.arch;
    default: break;
  }
  // SIMT limits and super pods: the emulated chip has neither, which the vendor reports as zero.
  const bool none = (attribute >= kWarpSize && attribute < kTotalMemory) ||
                    (attribute >= kSmpId && attribute <= kHostConnection) || attribute == kIsVirtual;
  *known = none;
  return 0;
}

}  // namespace

int32_t aclrtGetDeviceCount(uint32_t* count) {
  if (count == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtGetDeviceCount: no output");
  *count = static_cast<uint32_t>(visible_count());
  return ACL_SUCCESS;
}

const char* aclrtGetSocName() { return profile().chip.name; }

int32_t aclrtGetDeviceInfo(uint32_t device, int32_t attribute, int64_t* value) {
  if (!is_device(static_cast<int32_t>(device))) return bad_device("aclrtGetDeviceInfo", static_cast<int32_t>(device));
  if (value == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtGetDeviceInfo: no output");
  bool known = false;
  *value = device_attribute(static_cast<int32_t>(device), attribute, &known);
  if (!known) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtGetDeviceInfo: unknown attribute %d", attribute);
  return ACL_SUCCESS;
}

int32_t aclGetDeviceCapability(uint32_t device, int32_t what, int64_t* value) {
  constexpr int32_t kAttributes[] = {kAiCore, kVectorCore, kL2Cache};
  if (what < 0 || what > 2) return fail(ACL_ERROR_INVALID_PARAM, "aclGetDeviceCapability: unknown item %d", what);
  return aclrtGetDeviceInfo(device, kAttributes[what], value);
}

int32_t aclrtDeviceGetUuid(int32_t device, void* uuid) {
  if (!is_device(device)) return bad_device("aclrtDeviceGetUuid", device);
  char text[17];
  std::snprintf(text, sizeof text, "jumar-card-%05d", card_of(device));
  std::memcpy(uuid, text, 16);
  return ACL_SUCCESS;
}

int32_t aclrtDeviceGetBareTgid(int32_t* pid) {
  if (pid == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtDeviceGetBareTgid: no output");
  *pid = getpid();
  return ACL_SUCCESS;
}

int32_t aclrtGetLogicDevIdByUserDevId(const int32_t user, int32_t* logic) {
  if (!is_device(user)) return bad_device("aclrtGetLogicDevIdByUserDevId", user);
  *logic = card_of(user);
  return ACL_SUCCESS;
}

int32_t aclrtDeviceCanAccessPeer(int32_t* can, int32_t device, int32_t peer) {
  if (!is_device(device)) return bad_device("aclrtDeviceCanAccessPeer", device);
  if (!is_device(peer)) return bad_device("aclrtDeviceCanAccessPeer", peer);
  *can = device != peer ? 1 : 0;
  return ACL_SUCCESS;
}

int32_t aclrtDeviceEnablePeerAccess(int32_t peer, uint32_t) {
  return is_device(peer) ? static_cast<int32_t>(ACL_SUCCESS) : bad_device("aclrtDeviceEnablePeerAccess", peer);
}

int32_t aclrtDeviceDisablePeerAccess(int32_t peer) {
  return is_device(peer) ? static_cast<int32_t>(ACL_SUCCESS) : bad_device("aclrtDeviceDisablePeerAccess", peer);
}

int32_t aclrtGetRunMode(int32_t* mode) {
  if (mode == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtGetRunMode: no output");
  *mode = 1;  // on the host, beside the card
  return ACL_SUCCESS;
}

int32_t aclrtGetDeviceUtilizationRate(int32_t device, void* info) {
  struct Rates {
    int32_t cube, vector, aicpu, memory;
    void* extension;
  };
  if (!is_device(device)) return bad_device("aclrtGetDeviceUtilizationRate", device);
  const double share = static_cast<double>(ledger::used(card_of(device))) / static_cast<double>(profile().memory);
  *static_cast<Rates*>(info) = Rates{0, 0, 0, static_cast<int32_t>(share * 100), nullptr};
  return ACL_SUCCESS;
}

int32_t aclGetCannAttributeList(const int32_t** list, size_t* count) {
  // Infinities and bfloat16 as the chip has them; compiling operators just in time is never needed here.
  static const int32_t both[] = {0, 1};
  const Chip& chip = profile().chip;
  *list = chip.inf_nan ? both : both + 1;
  *count = static_cast<size_t>(chip.inf_nan + chip.bf16);
  return ACL_SUCCESS;
}

int32_t aclGetCannAttribute(int32_t attribute, int32_t* value) {
  const Chip& chip = profile().chip;
  if (attribute < 0 || attribute > 2) return fail(ACL_ERROR_INVALID_PARAM, "aclGetCannAttribute: unknown %d", attribute);
  *value = attribute == 0 ? chip.inf_nan : attribute == 1 ? chip.bf16 : 0;
  return ACL_SUCCESS;
}

int32_t aclsysGetCANNVersion(int32_t package, void* version) {
  struct Version {
    char full[128], major[64], minor[64], release[64], patch[64], reserved[128];
  };
  auto* out = static_cast<Version*>(version);
  *out = Version{};
  const char* text = package == kDriverPackage ? kDriver : profile().cann.c_str();
  std::snprintf(out->full, sizeof out->full, "%s", text);
  std::sscanf(text, "%63[^.].%63[^.].%63[^.].%63s", out->major, out->minor, out->release, out->patch);
  return ACL_SUCCESS;
}

int32_t aclsysGetVersionStr(char*, char* version) {
  std::snprintf(version, 128, "%s", profile().cann.c_str());
  return ACL_SUCCESS;
}

int32_t halGetDeviceInfo(uint32_t device, int32_t module, int32_t item, int64_t* value) {
  // torch_npu asks for the counter frequency only: the emulated clock counts nanoseconds, given in kHz.
  constexpr int32_t kFrequency = 24;
  if (module != 0 || item != kFrequency) return refuse("halGetDeviceInfo", ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  if (!is_device(static_cast<int32_t>(device))) return bad_device("halGetDeviceInfo", static_cast<int32_t>(device));
  *value = 1000000;
  return ACL_SUCCESS;
}

// All cards, whatever is visible: torch_npu reads the variable itself until it uses one.
int32_t drvGetDevNum(uint32_t* count) {
  if (count == nullptr) return ACL_ERROR_RT_PARAM_INVALID;
  *count = static_cast<uint32_t>(profile().cards);
  return ACL_SUCCESS;
}

int32_t halGetAPIVersion(int32_t* version) {
  *version = 0x071905;  // the first one with a counter, which is what torch_npu asks this for
  return ACL_SUCCESS;
}
