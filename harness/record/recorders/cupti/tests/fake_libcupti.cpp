// A fake CUPTI for the fake driver. FAKE_CUPTI_MAJOR: 12 or 13; 12 lacks cuptiSubscribe_v2.
#include "record/recorders/cupti/tests/fake_libcupti.h"

#include <cupti.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "record/recorders/cupti/tests/fake_libcuda.h"

struct CUpti_Subscriber_st {
  CUpti_CallbackFunc callback;
  void* user_data;
};

namespace {

constexpr std::uint32_t kVersion = FAKE_CUPTI_MAJOR == 13 ? CUPTI_API_VERSION : 24;  // 24: CUDA 12.6

struct Driver {
  decltype(&fake_cuda_set_hook) set_hook = nullptr;
  decltype(&fake_cuda_context) context = nullptr;
};

struct Buffer {
  std::uint8_t* bytes = nullptr;
  std::size_t size = 0;
  std::size_t used = 0;
};

struct State {
  // The enabled calls, by domain and call. There is no lock, because a forked child must not wait for one.
  std::atomic<bool> enabled[8][2048] = {};
  std::mutex mutex;  // of the members below
  std::set<CUpti_ActivityKind> kinds;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  CUpti_TimestampCallbackFunc clock = nullptr;
  Buffer buffer;
  std::size_t dropped = 0;
  std::uint64_t kernels = 0;
};

// Never destroyed: callbacks may come until the process has ended.
State& state() {
  static auto* const one = new State;
  return *one;
}

CUpti_Subscriber_st the_subscriber{};
std::atomic<CUpti_SubscriberHandle> subscriber{nullptr};
std::atomic<bool> finalized{false};

const Driver& driver() {
  static const Driver found = [] {
    Driver one;
    void* const cuda = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
    if (cuda == nullptr) return one;
    one.set_hook = reinterpret_cast<decltype(one.set_hook)>(dlsym(cuda, "fake_cuda_set_hook"));
    one.context = reinterpret_cast<decltype(one.context)>(dlsym(cuda, "fake_cuda_context"));
    return one;
  }();
  return found;
}

std::uint64_t number_of(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? 0 : std::strtoull(value, nullptr, 10);
}

bool is_enabled(std::uint32_t domain, std::uint32_t id) {
  return domain < std::size(state().enabled) && id < std::size(state().enabled[0]) &&
         state().enabled[domain][id];
}

void on_call(const FakeCudaCall* call) {
  const CUpti_SubscriberHandle to = subscriber;
  if (to == nullptr || finalized || !is_enabled(CUPTI_CB_DOMAIN_DRIVER_API, call->id)) return;
  CUpti_CallbackData data{};
  data.callbackSite = call->is_exit != 0 ? CUPTI_API_EXIT : CUPTI_API_ENTER;
  data.functionName = call->name;
  data.functionParams = call->parameters;
  data.functionReturnValue = call->result;
  data.context = call->context;
  data.contextUid = call->context_uid;
  data.correlationData = call->correlation_data;
  data.correlationId = call->correlation_id;
  to->callback(to->user_data, CUPTI_CB_DOMAIN_DRIVER_API, call->id, &data);
}

void complete_buffer() {
  State& s = state();
  Buffer done;
  {
    const std::scoped_lock lock(s.mutex);
    done = std::exchange(s.buffer, {});
  }
  if (done.bytes != nullptr) s.complete(nullptr, 0, done.bytes, done.size, done.used);
}

void on_kernel(CUcontext /*context*/, std::uint32_t correlation) {
  State& s = state();
  const std::scoped_lock lock(s.mutex);
  if (finalized || !s.kinds.contains(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) return;
  const std::uint64_t number = s.kernels++;
  if (number < number_of("FAKE_CUPTI_DROPS")) {
    ++s.dropped;
    return;
  }
  if (s.buffer.bytes == nullptr) {
    std::size_t records = 0;
    s.request(&s.buffer.bytes, &s.buffer.size, &records);
    s.buffer.used = 0;
  }
  CUpti_ActivityKernel10 kernel{};
  if (s.buffer.bytes == nullptr || s.buffer.used + sizeof(kernel) > s.buffer.size) {
    ++s.dropped;
    return;
  }
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.correlationId = correlation;
  kernel.name = "fake_kernel";
  if (number >= number_of("FAKE_CUPTI_ZERO_TIMES")) {
    kernel.end = s.clock == nullptr ? 2'000 : s.clock();
    kernel.start = kernel.end - 1'000;
  }
  std::memcpy(s.buffer.bytes + s.buffer.used, &kernel, sizeof(kernel));
  s.buffer.used += sizeof(kernel);
}

constexpr FakeCudaHook kHook{on_call, on_kernel};

/// Returns CUPTI_SUCCESS if a tool may subscribe.
CUptiResult refusal() {
  if (finalized || driver().set_hook == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  if (const char* const text = std::getenv("FAKE_CUPTI_REFUSES");
      text != nullptr && std::atoi(text) == FAKE_CUPTI_MAJOR && std::strchr(text, ':') != nullptr) {
    return static_cast<CUptiResult>(std::atoi(std::strchr(text, ':') + 1));
  }
  const bool taken = std::getenv("FAKE_CUPTI_SUBSCRIBER") != nullptr || subscriber != nullptr;
  return taken ? CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED : CUPTI_SUCCESS;
}

void end_cupti() {
  finalized = true;
  subscriber = nullptr;
  if (driver().set_hook != nullptr) driver().set_hook(nullptr);
}

bool is_known(CUpti_SubscriberHandle handle) {
  return handle != nullptr && handle == subscriber;
}

}  // namespace

extern "C" {

void fake_cupti_fatal_error(void) {
  const CUpti_SubscriberHandle to = subscriber;
  const bool is_reported = to != nullptr && is_enabled(CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR);
  end_cupti();
  if (!is_reported) return;
  CUpti_StateData data{};
  data.notification.result = CUPTI_ERROR_UNKNOWN;
  data.notification.message = "a fatal error of the fake CUPTI";
  to->callback(to->user_data, CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR, &data);
}

CUptiResult cuptiGetVersion(uint32_t* version) {
  *version = kVersion;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetResultString(CUptiResult /*result*/, const char** text) {
  *text = "fake";
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* made, CUpti_CallbackFunc callback, void* user_data) {
  if (const CUptiResult result = refusal(); result != CUPTI_SUCCESS) return result;
  the_subscriber = {callback, user_data};
  subscriber = &the_subscriber;
  *made = &the_subscriber;
  driver().set_hook(&kHook);
  return CUPTI_SUCCESS;
}
#if FAKE_CUPTI_MAJOR >= 13
CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* made, CUpti_CallbackFunc callback, void* user_data,
                              CUpti_SubscriberParams* parameters) {
  const CUptiResult result = cuptiSubscribe(made, callback, user_data);
  const char* const other = std::getenv("FAKE_CUPTI_SUBSCRIBER");
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && other != nullptr)
    std::snprintf(parameters->oldSubscriberName, parameters->oldSubscriberSize, "%s", other);
  return result;
}
#endif
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle handle) {
  if (!is_known(handle)) return CUPTI_ERROR_INVALID_PARAMETER;
  subscriber = nullptr;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiFinalize(void) {
  end_cupti();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
                                CUpti_CallbackId id) {
  if (finalized) return CUPTI_ERROR_NOT_INITIALIZED;
  // A release of CUPTI knows only the calls of the driver of its time.
  const bool is_known_call = domain != CUPTI_CB_DOMAIN_DRIVER_API || kVersion == CUPTI_API_VERSION ||
                             id <= CUPTI_DRIVER_TRACE_CBID_cuMemBatchDecompressAsync_ptsz;
  if (!is_known(handle) || !is_known_call) return CUPTI_ERROR_INVALID_PARAMETER;
  if (domain >= std::size(state().enabled) || id >= std::size(state().enabled[0]))
    return CUPTI_ERROR_INVALID_PARAMETER;
  state().enabled[domain][id] = enable != 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetCallbackState(uint32_t* enable, CUpti_SubscriberHandle handle,
                                  CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  if (finalized) return CUPTI_ERROR_NOT_INITIALIZED;
  if (!is_known(handle)) return CUPTI_ERROR_INVALID_PARAMETER;
  *enable = is_enabled(domain, id) ? 1 : 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t* device) {
  if (finalized) return CUPTI_ERROR_NOT_INITIALIZED;
  if (context == nullptr) return CUPTI_ERROR_INVALID_CONTEXT;
  uint32_t uid = 0;
  driver().context(context, &uid, device);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetContextId(CUcontext context, uint32_t* id) {
  if (finalized) return CUPTI_ERROR_NOT_INITIALIZED;
  if (context == nullptr) return CUPTI_ERROR_INVALID_CONTEXT;
  uint32_t device = 0;
  driver().context(context, id, &device);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  state().request = request;
  state().complete = complete;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock) {
  state().clock = clock;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute, size_t*, void*) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  if (finalized) return CUPTI_ERROR_NOT_INITIALIZED;
  const std::scoped_lock lock(state().mutex);
  state().kinds.insert(kind);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  if (finalized) return CUPTI_ERROR_NOT_INITIALIZED;
  const std::scoped_lock lock(state().mutex);
  state().kinds.erase(kind);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlushAll(uint32_t /*flag*/) {
  if (finalized) return CUPTI_ERROR_NOT_INITIALIZED;
  complete_buffer();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  // Only kernels are recorded, so that all records have one size.
  const auto next =
      *record == nullptr ? buffer : reinterpret_cast<uint8_t*>(*record) + sizeof(CUpti_ActivityKernel10);
  if (next + sizeof(CUpti_ActivityKernel10) > buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  const std::scoped_lock lock(state().mutex);
  *dropped = std::exchange(state().dropped, 0);
  return CUPTI_SUCCESS;
}

}  // extern "C"
