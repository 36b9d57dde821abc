#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "recorders/cupti/activity.hpp"
#include "recorders/cupti/call_recorder.hpp"
#include "recorders/cupti/cupti_library.hpp"
#include "recorders/cupti/kernel_times.hpp"
#include "recorders/cupti/loaded_driver.hpp"
#include "recorders/cupti/memory_records.hpp"
#include "recorders/cupti/own_process.hpp"
#include "recorders/profile_writer.hpp"

namespace peakmark {

/// The recorder of this process: subscribes to the driver's calls and writes the profile. Made once and never
/// destroyed, for calls may come until the process has ended.
class Recorder {
 public:
  /// Null, with one line on stderr that says why and how to mend it, when the recorder cannot come up: then
  /// there is no profile either, so that nobody takes silence for zero bytes.
  static Recorder* start();

  [[nodiscard]] ProfileWriter& profile() const { return profile_; }

  /// Waits for everything in the current context. Null, or why not.
  const char* synchronise();

  /// Records of kernels, copies and fills, between `start_kernels` and `stop_kernels`. False, with `reason`,
  /// where there are none.
  bool start_kernels(std::string& reason);
  /// Waits for the device, then gives what ran. False when records were dropped: then the sums are wrong.
  bool stop_kernels(std::vector<KernelTotal>& totals, std::string& reason);

  /// Activity records go while CUDA still stands, the profile is closed at the very end.
  void finish_activity();
  void finish();

 private:
  explicit Recorder(ProfileWriter& profile);

  CuptiAttempt use_library(const CuptiLibrary& library, std::string& reason);
  /// False after cuptiFinalize of another tool: the driver's calls come here no more.
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
  std::unique_ptr<CallRecorder> calls_;
  std::atomic<bool> is_recording_{false};  // what is above is there
  std::atomic<bool> has_lost_cupti_{false};
  std::atomic<bool> has_doubt_{false};  // whether CUPTI is still there was asked once, and is not asked again
  std::atomic<Use> use_{Use::none};     // read by the thread that consumes records
  std::string no_activity_;             // why there are no activity records, where they were asked for
  Activity activity_;
  // Of the consumer: read them between records only.
  std::uint64_t untimed_work_ = 0;
  KernelTimes kernels_;
  MemoryRecords memory_;
};

}  // namespace peakmark
