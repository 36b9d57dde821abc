#include "record/cupti/recorder.hpp"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "record/cupti/profile_sink.hpp"
#include "record/trouble.hpp"

namespace peakmark {
namespace {

// In static storage, for it is large, and needs no destructor.
ProfileWriter profile_writer;
ProfileWriter activity_writer;

// Copies and fills too: whoever compares kernels with the time of a call must know what else was in it.
constexpr std::array kTimedKinds{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                 CUPTI_ACTIVITY_KIND_MEMSET};

bool is_set(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

void say(const std::string& text) {
  dprintf(STDERR_FILENO, "peakmark: %s\n", text.c_str());
}

}  // namespace

Recorder::Recorder(ProfileWriter& profile) : profile_(profile) {}

Recorder* Recorder::start() {
  auto* const recorder = new Recorder(profile_writer);
  std::string reason;
  const auto fail = [&]() -> Recorder* {
    tell_trouble(("CUDA is not recorded: " + reason).c_str());
    return nullptr;
  };
  if (!load_cupti(recorder->cupti_, reason)) return fail();
  recorder->cupti_.get_version(&recorder->version_);
  if (!recorder->subscribe(reason)) return fail();
  char name[sizeof(ProfileHeader::recorder)];
  std::snprintf(name, sizeof(name), "cupti %u", recorder->version_);
  if (!profile_writer.open_from_environment(name)) return nullptr;

  recorder->sink_ = std::make_unique<ProfileSink>(profile_writer);
  recorder->driver_ = std::make_unique<LoadedDriver>(recorder->cupti_);
  recorder->calls_ =
      std::make_unique<CallRecorder>(*recorder->sink_, *recorder->driver_, is_set("PEAKMARK_SYNC"));
  recorder->open_activity();
  if (!recorder->enable_calls(reason)) {
    // What would be missing cannot be known later.
    profile_writer.note(("invalid: " + reason).c_str());
    profile_writer.close();
    return fail();
  }
  return recorder;
}

bool Recorder::subscribe(std::string& reason) {
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
  if (result == CUPTI_SUCCESS) return true;
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    reason =
        std::string("CUPTI has a subscriber already, ") +
        (*other != '\0' ? other : "such as Nsight, cuda-gdb, compute-sanitizer or a framework's profiler") +
        ", and takes only one: run without it";
  } else {
    reason = "cuptiSubscribe: " + cupti_.text(result);
  }
  return false;
}

bool Recorder::enable_calls(std::string& reason) {
  const auto enable = [&](CUpti_CallbackDomain domain, CUpti_CallbackId id) {
    const CUptiResult result = cupti_.enable_callback(1, subscriber_, domain, id);
    if (result != CUPTI_SUCCESS) {
      reason = "CUPTI does not show driver call " + std::to_string(id) + ": " + cupti_.text(result);
    }
    return result == CUPTI_SUCCESS;
  };
  for (const CUpti_CallbackId id : memory_calls()) {
    // A call that this libcupti does not know yet is one that its driver does not have.
    if (!enable(CUPTI_CB_DOMAIN_DRIVER_API, id) && version_ >= CUPTI_API_VERSION) return false;
  }
  if (is_set("PEAKMARK_SYNC")) {
    for (const CUpti_CallbackId id : enqueueing_calls()) {
      if (!enable(CUPTI_CB_DOMAIN_DRIVER_API, id) && version_ >= CUPTI_API_VERSION) return false;
    }
  }
  enable(CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR);
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
    say(no_activity_);
    profile_.note(no_activity_.c_str());
    return;
  }
  use_ = check ? Use::check : work ? Use::work : Use::kernels;
  if (work) no_activity_ = "PEAKMARK_WORK is set: kernels go into the profile one by one";
  if (check) no_activity_ = "PEAKMARK_ACTIVITY_CHECK is set: kernels are not recorded beside memory";
}

/// CUPTI tells when the device began, not when it was asked.
void Recorder::note_work(const CUpti_Activity& record) {
  const std::optional<DeviceWork> work = work_of(record);
  if (!work || work->end < work->start) return;
  profile_.work(static_cast<std::int64_t>(work->end - work->start), static_cast<std::int64_t>(work->start));
}

/// While CUDA still stands.
void Recorder::finish_work() {
  driver_->synchronise_context();
  activity_.flush();
  disable_timed_kinds();
  if (activity_.dropped() == 0) return;
  tell_trouble(("the device's times are not whole: CUPTI dropped " + std::to_string(activity_.dropped()) +
                " records of kernels")
                   .c_str());
}

void Recorder::on_callback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  auto& recorder = *static_cast<Recorder*>(self);
  // A forked child has none of the parent's memory, and may have inherited a lock that nobody opens any more.
  if (!recorder.process_.is_here()) return;
  if (domain == CUPTI_CB_DOMAIN_STATE) {
    constexpr const char* kText =
        "invalid: CUPTI met a fatal error and has ended: what follows is not recorded";
    say(kText);
    recorder.profile_.note(kText);
    return;
  }
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API || recorder.calls_ == nullptr) return;
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

const char* Recorder::synchronise() {
  if (!process_.is_here()) return "a forked child has no CUDA";
  driver_->synchronise_context();
  return nullptr;
}

bool Recorder::start_kernels(std::string& reason) {
  if (use_ != Use::kernels) {
    reason = no_activity_;
    return false;
  }
  kernels_.clear();
  activity_.forget_dropped();
  for (const CUpti_ActivityKind kind : kTimedKinds) {
    if (!activity_.enable(kind, reason)) {
      disable_timed_kinds();
      return false;
    }
  }
  // Whoever reads bytes from this part of the profile should know that CUPTI holds memory of its own.
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
  totals = kernels_.totals();
  if (activity_.dropped() > 0) {
    reason = "CUPTI dropped " + std::to_string(activity_.dropped()) + " kernel records";
    return false;
  }
  return true;
}

void Recorder::finish_activity() {
  // A forked child has none of CUPTI's threads: it would wait for them for ever.
  if (!process_.is_here()) return;
  calls_->process_ends();
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
  memory_.tell(sink, activity_.dropped());
  activity_writer.close();
}

void Recorder::finish() {
  if (process_.is_here()) profile_.close();
}

}  // namespace peakmark
