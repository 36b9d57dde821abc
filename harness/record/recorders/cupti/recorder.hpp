#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <string>

#include "record/recorders/cupti/activity_records.hpp"
#include "record/recorders/cupti/call_recorder.hpp"
#include "record/recorders/cupti/cuda_driver.hpp"
#include "record/recorders/cupti/cupti_library.hpp"
#include "record/recorders/profile_writer.hpp"

namespace peakmark {

/// Distinguishes the process that created this object from its forked children, even if they were forked
/// without fork handlers (_Fork, clone). Costs a memory read if the kernel can wipe a page on fork, and a
/// system call otherwise. Keep it in static storage or leak it: threads may use it until the process ends.
class OwnProcess {
 public:
  OwnProcess();
  OwnProcess(const OwnProcess&) = delete;
  OwnProcess& operator=(const OwnProcess&) = delete;
  ~OwnProcess();

  /// Returns true in the process that created this object.
  [[nodiscard]] bool is_here() const;

 private:
  pid_t pid_;
  volatile int* mark_;  // 1 here, 0 in a child; null: the kernel cannot wipe pages on fork
};

/// The CUDA recorder of this process: subscribes to the driver's calls and writes the profile. Created once
/// and never destroyed, because calls may come until the process has ended.
class Recorder {
 public:
  /// Returns null, after reporting the reason and what to do, if the recorder cannot start. Then there is no
  /// profile that could be misread as zero bytes.
  static Recorder* start();

  [[nodiscard]] ProfileWriter& profile() const { return profile_; }

  /// Waits for all work in the current context. Returns null, or the reason why it did not wait.
  const char* synchronise();

  /// Starts recording kernels, copies and fills, until `stop_kernels`. Returns false, with `reason`, if that
  /// is not possible.
  bool start_kernels(std::string& reason);
  /// Waits for the device, then returns the kernels, copies and fills that ran. Returns false if records were
  /// dropped: the sums are then wrong.
  bool stop_kernels(std::vector<KernelTotal>& totals, std::string& reason);

  /// Reports another driver in this process, by its path: its calls are not recorded.
  void note_second_driver(const char* path);

  /// Call the first while CUDA still runs, to end activity records, and the second at the very end, to close
  /// the profile.
  void finish_activity();
  void finish();

 private:
  explicit Recorder(ProfileWriter& profile);

  CuptiAttempt use_library(const CuptiLibrary& library, std::string& reason);
  /// Returns false after another tool has called cuptiFinalize: calls are then no longer reported.
  bool sees_calls();
  bool is_subscribed();
  void check_that_calls_are_seen();
  static void on_callback(void* recorder, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);
  CuptiAttempt subscribe(std::string& reason);
  bool enable_calls(std::string& reason);
  void open_activity();
  void note_work(const CUpti_Activity& record);
  void finish_work();
  void disable_timed_kinds();

  enum class Use : std::uint8_t { none, kernels, check, work };

  CuptiLibrary cupti_;
  std::uint32_t version_ = 0;
  OwnProcess process_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  ProfileWriter& profile_;
  std::unique_ptr<EventSink> sink_;
  std::unique_ptr<LoadedDriver> driver_;
  std::unique_ptr<DeviceBudget> budget_;
  std::unique_ptr<DriverRefusal> refused_;
  std::unique_ptr<CallRecorder> calls_;
  std::atomic<bool> is_recording_{false};  // everything above is initialised
  std::atomic<bool> has_lost_cupti_{false};
  std::atomic<bool> has_doubt_{false};  // CUPTI was checked and seemed to have ended; it is not checked again
  std::atomic<Use> use_{Use::none};     // read by the thread that consumes records
  std::string no_activity_;             // why there are no activity records
  Activity activity_;
  // Written by the consumer: read them only between records.
  std::uint64_t untimed_work_ = 0;
  KernelTimes kernels_;
  MemoryRecords memory_;
};

}  // namespace peakmark
