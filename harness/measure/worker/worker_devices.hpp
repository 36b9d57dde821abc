#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "measure/device/device.hpp"
#include "measure/worker/timing.hpp"
#include "measure/worker/worker_options.hpp"
#include "record/profile/event.hpp"
#include "record/show/recorded_sequence.hpp"

namespace peakmark {

/// A device for cases, and the recorder of its allocations.
struct DeviceInUse {
  std::unique_ptr<backend::Device> device;  ///< null: there is no such device
  std::string missing;                      ///< why there is no device
  EventSource* events = nullptr;            ///< null: memory is not recorded
  std::unique_ptr<EventSource> recorder;
  std::unique_ptr<CallChains> call_chains;  ///< of the recorder; null unless sequences are requested
  std::unique_ptr<KernelTracer> tracer;     ///< null: single kernels are not timed
  std::unique_ptr<ClockSource> clocks;      ///< null: the clocks are unknown
};

/// The devices of a worker: one for each backend of its cases, opened once.
class WorkerDevices {
 public:
  explicit WorkerDevices(const WorkerOptions& options) : options_(options) {}

  /// Returns the backend of cases that name none: the backend of the options, or that of the best device.
  /// Throws DeviceError, with a list of devices, if the requested device is missing.
  Backend automatic();
  /// Opens the device of a backend on first use. Throws DeviceError if there is no such device and the
  /// options name that backend or a device, RecorderError if a recorder is required and does not work.
  DeviceInUse& on(Backend backend);

 private:
  void open(DeviceInUse& use, Backend backend);
  const DeviceList& list();

  const WorkerOptions& options_;
  std::optional<DeviceList> list_;
  std::map<Backend, DeviceInUse> devices_;
};

/// Returns the kernel tracer of the recorder in this process (record/recorders/marks.h). Null if the recorder
/// has none, as the OpenCL recorder.
std::unique_ptr<KernelTracer> find_kernel_tracer(const std::filesystem::path& library);

}  // namespace peakmark
