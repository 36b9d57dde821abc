#include "record/recorders/cupti/recorder.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

#include "record/recorders/cupti/event_sink.hpp"
#include "record/recorders/exports.hpp"
#include "record/recorders/report_error.hpp"

namespace peakmark {
namespace {

// The first release of CUPTI that has all of memory_calls() and enqueueing_calls(), whatever headers this
// build has.
constexpr std::uint32_t kCuptiWithAllCalls = 130'000;

std::size_t page_bytes() {
  return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

volatile int* page_wiped_on_fork() {
  void* const page = mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  if (madvise(page, page_bytes(), MADV_WIPEONFORK) == 0) return static_cast<volatile int*>(page);
  munmap(page, page_bytes());
  return nullptr;
}

}  // namespace

OwnProcess::OwnProcess() : pid_(getpid()), mark_(page_wiped_on_fork()) {
  if (mark_ != nullptr) *mark_ = 1;
}

OwnProcess::~OwnProcess() {
  if (mark_ != nullptr) munmap(const_cast<int*>(mark_), page_bytes());
}

bool OwnProcess::is_here() const {
  return mark_ != nullptr ? *mark_ == 1 : getpid() == pid_;
}

namespace {

// In static storage, because they are large and need no destructor.
ProfileWriter profile_writer;
ProfileWriter activity_writer;

// Copies and fills are timed, too: a comparison of kernels with the time of a call must know what else the
// call did.
constexpr std::array kTimedKinds{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                 CUPTI_ACTIVITY_KIND_MEMSET};

thread_local bool has_seen_call = false;

bool is_set(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

void print_error(const std::string& text) {
  dprintf(STDERR_FILENO, "peakmark: %s\n", text.c_str());
}

}  // namespace

ProfileWriter& recorder_profile() {
  return profile_writer;
}

Recorder::Recorder(ProfileWriter& profile) : profile_(profile) {}

Recorder* Recorder::start() {
  // never destroyed, even on failure, because CUPTI may have the pointer
  static Recorder* const recorder = new Recorder(profile_writer);
  std::string reason;
  const auto fail = [&]() -> Recorder* {
    report_error(("CUDA is not recorded: " + reason).c_str());
    return nullptr;
  };
  const auto attempt = [&](const CuptiLibrary& library, const std::string&, std::string& why) {
    return recorder->use_library(library, why);
  };
  if (!load_cupti(recorder->cupti_, attempt, reason)) return fail();
  char name[sizeof(ProfileHeader::recorder)];
  std::snprintf(name, sizeof(name), "cupti %u", recorder->version_);
  if (!profile_writer.open_from_environment(name)) return nullptr;

  recorder->sink_ = std::make_unique<ProfileSink>(profile_writer);
  recorder->driver_ = std::make_unique<LoadedDriver>(recorder->cupti_);
  if (const std::int64_t bytes = profile_writer.budget(); bytes != 0) {
    recorder->budget_ = std::make_unique<DeviceBudget>(bytes, *recorder->driver_, *recorder->sink_);
  }
  if (is_set("PEAKMARK_REFUSE")) {
    recorder->refused_ = std::make_unique<DriverRefusal>(
        std::strtoll(std::getenv("PEAKMARK_REFUSE"), nullptr, 10),
        is_set("PEAKMARK_REFUSE_ONCE") ? DriverRefusal::Extent::this_call : DriverRefusal::Extent::process,
        *recorder->driver_, *recorder->sink_);
  } else if (const std::int64_t bytes = profile_writer.max_allocation(); bytes != 0) {
    recorder->refused_ = std::make_unique<DriverRefusal>(bytes, *recorder->driver_, *recorder->sink_);
  }
  recorder->calls_ =
      std::make_unique<CallRecorder>(*recorder->sink_, *recorder->driver_, is_set("PEAKMARK_SYNC"),
                                     recorder->budget_.get(), recorder->refused_.get());
  recorder->open_activity();
  recorder->is_recording_ = true;
  return recorder;
}

/// CUDA loads the recorder while it initialises, before the program can allocate: callbacks before the
/// profile is open do not concern memory.
CuptiAttempt Recorder::use_library(const CuptiLibrary& library, std::string& reason) {
  cupti_ = library;
  version_ = 0;
  cupti_.get_version(&version_);
  const CuptiAttempt result = subscribe(reason);
  if (result != CuptiAttempt::taken || enable_calls(reason)) return result;
  if (cupti_.unsubscribe != nullptr) cupti_.unsubscribe(subscriber_);
  return CuptiAttempt::refused;
}

CuptiAttempt Recorder::subscribe(std::string& reason) {
  char other[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN + 64] = "";
  CUptiResult result = CUPTI_ERROR_UNKNOWN;
  if (cupti_.subscribe_v2 != nullptr) {
    CUpti_SubscriberParams parameters{};
    parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    parameters.subscriberName = "peakmark";
    parameters.oldSubscriberName = other;
    parameters.oldSubscriberSize = sizeof(other);
    result = cupti_.subscribe_v2(&subscriber_, on_callback, this, &parameters);
  } else {
    result = cupti_.subscribe(&subscriber_, on_callback, this);
  }
  if (result == CUPTI_SUCCESS) return CuptiAttempt::taken;
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    reason =
        std::string("CUPTI already has a subscriber, ") +
        (*other != '\0' ? other : "such as Nsight, cuda-gdb, compute-sanitizer or a framework's profiler") +
        ", and allows only one: run without it";
    return CuptiAttempt::hopeless;
  }
  reason = "cuptiSubscribe: " + cupti_.text(result);
  return CuptiAttempt::refused;
}

bool Recorder::enable_calls(std::string& reason) {
  const auto enable = [&](CUpti_CallbackDomain domain, CUpti_CallbackId id) {
    const CUptiResult result = cupti_.enable_callback(1, subscriber_, domain, id);
    if (result != CUPTI_SUCCESS) {
      reason = "CUPTI does not report driver call " + std::to_string(id) + ": " + cupti_.text(result);
    }
    return result == CUPTI_SUCCESS;
  };
  for (const CUpti_CallbackId id : memory_calls()) {
    // A call that this libcupti does not know does not exist in its driver.
    if (!enable(CUPTI_CB_DOMAIN_DRIVER_API, id) && version_ >= kCuptiWithAllCalls) return false;
  }
  if (is_set("PEAKMARK_SYNC")) {
    for (const CUpti_CallbackId id : enqueueing_calls()) {
      if (!enable(CUPTI_CB_DOMAIN_DRIVER_API, id) && version_ >= kCuptiWithAllCalls) return false;
    }
  }
  if (is_set("PEAKMARK_BUDGET")) enable(CUPTI_CB_DOMAIN_DRIVER_API, PEAKMARK_CALL(cuMemGetInfo_v2));
  // If libcupti lacks these calls, so does its driver.
  for (const CUpti_CallbackId id : kNewerMemoryCalls) enable(CUPTI_CB_DOMAIN_DRIVER_API, id);
  enable(CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR);
  enable(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED);
  enable(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
  return true;
}

void Recorder::open_activity() {
  const bool check = is_set("PEAKMARK_ACTIVITY_CHECK");
  const bool work = !check && is_set("PEAKMARK_WORK");
  if (!check && !work && !is_set("PEAKMARK_KERNEL_RECORDS")) {
    no_activity_ = "set PEAKMARK_KERNEL_RECORDS=1 before the program starts";
    return;
  }
  const auto consume = [this](const CUpti_Activity& record) {
    if (use_ == Use::work) return note_work(record);
    kernels_.add(record);
    memory_.add(record);
  };
  bool opened = activity_.open(cupti_, consume, no_activity_);
  if (opened && check) opened = activity_.enable(CUPTI_ACTIVITY_KIND_MEMORY2, no_activity_);
  for (const CUpti_ActivityKind kind : kTimedKinds) {
    if (opened && work) opened = activity_.enable(kind, no_activity_);
  }
  if (!opened) {
    print_error(no_activity_);
    profile_.note(no_activity_.c_str());
    return;
  }
  use_ = check ? Use::check : work ? Use::work : Use::kernels;
  if (work) no_activity_ = "PEAKMARK_WORK is set: kernels are written to the profile one by one";
  if (check) no_activity_ = "PEAKMARK_ACTIVITY_CHECK is set: kernels are not recorded together with memory";
}

/// CUPTI reports when the device began a command, not when the command was enqueued.
void Recorder::note_work(const CUpti_Activity& record) {
  const std::optional<DeviceWork> work = device_work(record);
  if (!work) return;
  if (!work->is_timed()) {
    ++untimed_work_;
    return;
  }
  profile_.work(static_cast<std::int64_t>(work->end - work->start), static_cast<std::int64_t>(work->start));
}

/// Must be called while CUDA still runs.
void Recorder::finish_work() {
  driver_->synchronise_context();
  activity_.flush();
  disable_timed_kinds();
  const std::uint64_t dropped = activity_.dropped();
  std::uint64_t untimed = 0;
  activity_.between_records([&] { untimed = untimed_work_; });
  if (dropped == 0 && untimed == 0) return;
  report_error(("device times are incomplete: CUPTI dropped " + std::to_string(dropped) +
                " records of kernels, and " + std::to_string(untimed) + " have no times")
                   .c_str());
}

void Recorder::on_callback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  auto& recorder = *static_cast<Recorder*>(self);
  // A forked child has none of the parent's memory, and may have inherited a locked mutex.
  if (!recorder.process_.is_here()) return;
  if (!recorder.is_recording_ || LoadedDriver::is_own_call()) return;
  if (domain == CUPTI_CB_DOMAIN_STATE) {
    recorder.has_lost_cupti_ = true;
    recorder.sink_->invalid("CUPTI has ended after a fatal error: later events are missing");
    return;
  }
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    const auto& resource = *static_cast<const CUpti_ResourceData*>(data);
    const auto* const module = static_cast<const CUpti_ModuleResourceData*>(resource.resourceDescriptor);
    if (module == nullptr) return;
    if (id == CUPTI_CBID_RESOURCE_MODULE_LOADED && module->pCubin != nullptr) {
      recorder.calls_->on_module_loaded(
          module->moduleId, std::as_bytes(std::span(module->pCubin, module->cubinSize)), resource.context);
    } else if (id == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING) {
      recorder.calls_->on_module_unloading(module->moduleId);
    }
    return;
  }
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API) return;
  has_seen_call = true;
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  const bool entering = call.callbackSite == CUPTI_API_ENTER;
  recorder.calls_->on_call(
      {.id = id,
       .entering = entering,
       .parameters = call.functionParams,
       .result = entering ? CUDA_SUCCESS : *static_cast<const CUresult*>(call.functionReturnValue),
       .correlation = call.correlationData,
       .context = call.context,
       .context_id = call.contextUid});
}

bool Recorder::sees_calls() {
  has_seen_call = false;
  // Freeing null has no effect in the driver. If the driver has ended, nothing can be concluded.
  return !driver_->call_without_effect() || has_seen_call;
}

/// CUPTI allows only one subscriber: if it accepts another one now, ours has been removed.
bool Recorder::is_subscribed() {
  CUpti_SubscriberHandle other = nullptr;
  const CUptiResult result = cupti_.subscribe(&other, on_callback, this);
  if (result == CUPTI_SUCCESS && cupti_.unsubscribe != nullptr) cupti_.unsubscribe(other);
  return result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
}

void Recorder::check_that_calls_are_seen() {
  if (has_doubt_ || has_lost_cupti_ || sees_calls() || has_doubt_.exchange(true)) return;
  if (is_subscribed()) {
    // A driver that does not report this call would have the same effect.
    return sink_->note(
        "CUPTI does not report every call: if another tool has ended it, later events are missing");
  }
  has_lost_cupti_ = true;
  sink_->invalid("another tool has ended CUPTI (cuptiFinalize): later events are missing");
}

const char* Recorder::synchronise() {
  if (!process_.is_here()) return "a forked child has no CUDA";
  driver_->synchronise_context();
  check_that_calls_are_seen();
  return has_lost_cupti_ ? "CUPTI has ended: CUDA is not recorded any more" : nullptr;
}

bool Recorder::start_kernels(std::string& reason) {
  if (use_ != Use::kernels) {
    reason = no_activity_;
    return false;
  }
  activity_.between_records([&] { kernels_.clear(); });
  activity_.forget_dropped();
  for (const CUpti_ActivityKind kind : kTimedKinds) {
    if (!activity_.enable(kind, reason)) {
      disable_timed_kinds();
      return false;
    }
  }
  // A reader of bytes must know that CUPTI itself holds memory in this part of the profile.
  profile_.note("kernel records begin");
  return true;
}

void Recorder::disable_timed_kinds() {
  for (const CUpti_ActivityKind kind : kTimedKinds) activity_.disable(kind);
}

bool Recorder::stop_kernels(std::vector<KernelTotal>& totals, std::string& reason) {
  if (use_ != Use::kernels) {
    reason = no_activity_;
    return false;
  }
  driver_->synchronise_context();
  activity_.flush();
  disable_timed_kinds();
  profile_.note("kernel records end");
  std::uint64_t untimed = 0;
  activity_.between_records([&] {
    totals = kernels_.totals();
    untimed = kernels_.untimed();
  });
  if (activity_.dropped() > 0) {
    reason = "CUPTI dropped " + std::to_string(activity_.dropped()) + " kernel records";
  } else if (untimed > 0) {
    reason = std::to_string(untimed) + " kernel records have no times";
  } else {
    return true;
  }
  return false;
}

void Recorder::note_second_driver(const char* path) {
  char text[ProfileWriter::kMaxTextBytes];
  std::snprintf(text, sizeof(text),
                "%s what the program allocates through the further CUDA driver %s; let all of it load the "
                "system's libcuda.so.1",
                kNotCountedNote.data(), path);
  profile_.note(text);
  report_error(text);
}

void Recorder::finish_activity() {
  // A forked child has none of CUPTI's threads, and would wait for them for ever.
  if (!process_.is_here()) return;
  calls_->begin_process_exit();
  check_that_calls_are_seen();
  if (use_ == Use::work) finish_work();
  if (use_ != Use::check) return;
  use_ = Use::none;
  driver_->synchronise_context();
  activity_.flush();
  activity_.disable(CUPTI_ACTIVITY_KIND_MEMORY2);
  const char* const path = std::getenv("PEAKMARK_PROFILE");
  if (path == nullptr) return;
  char name[sizeof(ProfileHeader::recorder)];
  std::snprintf(name, sizeof(name), "cupti %u activity", version_);
  if (!activity_writer.open((std::string(path) + ".activity").c_str(), name)) return;
  ProfileSink sink(activity_writer);
  activity_.between_records([&] { memory_.write(sink, activity_.dropped()); });
  activity_writer.close();
}

void Recorder::finish() {
  if (process_.is_here()) profile_.close();
}

}  // namespace peakmark
