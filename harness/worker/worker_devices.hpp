#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "device/device.hpp"
#include "profile/event_source.hpp"
#include "show/recorded_sequence.hpp"
#include "worker/timing.hpp"
#include "worker/worker_options.hpp"

namespace peakmark {

/// A device that cases run on, and what records its allocations.
struct DeviceInUse {
  std::unique_ptr<Device> device;  ///< null: there is none
  std::string missing;             ///< why there is no device
  EventSource* events = nullptr;   ///< null: memory is not recorded
  std::unique_ptr<EventSource> recorder;
  std::unique_ptr<CallChains> call_chains;  ///< of the recorder, where sequences are asked for; else null
  std::unique_ptr<KernelTracer> tracer;     ///< null: single kernels are not timed
  std::unique_ptr<ClockSource> clocks;      ///< null: nothing is known of its clocks
};

/// The devices of one worker, opened once: one a backend that its cases name.
class WorkerDevices {
 public:
  explicit WorkerDevices(const WorkerOptions& options) : options_(options) {}

  /// The backend of cases that leave it open: the one asked for, or that of the best device.
  /// Throws DeviceError, listing what there is, when the device asked for is not here.
  Backend automatic();
  /// Opens the device of a backend on first use. A backend whose device is missing is no error here, unless
  /// the options name that backend or a device (DeviceError). Throws RecorderError where a recorder is
  /// required and does not work.
  DeviceInUse& on(Backend backend);

 private:
  void open(DeviceInUse& use, Backend backend);
  const DeviceList& list();

  const WorkerOptions& options_;
  std::optional<DeviceList> list_;
  std::map<Backend, DeviceInUse> devices_;
};

/// The kernel records of the recorder loaded into this process (recorders/marks.h). Null when it takes none,
/// as the OpenCL layer.
std::unique_ptr<KernelTracer> find_kernel_tracer(const std::filesystem::path& library);

}  // namespace peakmark
