#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "measure/runfile/run_file.hpp"
#include "measure/supervise/larger_shapes.hpp"
#include "measure/supervise/measurement.hpp"
#include "measure/sweep/choose_shapes.hpp"

namespace peakmark {

/// The recorded shapes of one variant with one set of words.
struct RecordedShapes {
  std::string variant;
  Parameters words;
  /// Each is `ok` and has an allocation sequence. Every fourth is held out, in the order that explain()
  /// expects.
  std::vector<Observation> observations;
  /// Shapes that the variant refused or failed on, with the reason. Other shapes were recorded instead.
  std::vector<Observation> refused;
};

/// A variant, and bounds for the shapes to record. `words`: see word_sets(). `bounds`: of integer axes.
struct ShapeRequest {
  std::string variant;
  Parameters words;
  std::map<std::string, AxisBounds> bounds;
  /// The largest requested shape: it is recorded if device and time allow it, else the largest part of it
  /// that they allow.
  std::optional<Parameters> largest = {};
};

/// How many shapes are recorded, and how large.
struct ShapeEffort {
  /// A variant whose shapes take longer than this gets as few as a program: a library that compiles kernels
  /// for each length (VkFFT on PoCL) takes several seconds.
  double slow_seconds = 1;
  /// Number of shapes of each request; null: shape_counts().
  std::optional<std::size_t> shapes = {};
  /// Time for all requests. Fewer shapes are recorded if the first ones show that more do not fit.
  std::optional<std::chrono::milliseconds> time = {};
  bool with_larger = false;  ///< LargerShapes are among the held-out shapes
};

/// Records allocation sequences of shapes of variants of a worker, or of programs of suites, into a temporary
/// run file. It runs memory passes only, unless times are requested. Each call starts the worker once for all
/// its shapes.
class ShapeRecorder {
 public:
  /// `options`: the suites (none: the variants of the worker only), backend, device, worker and time limits.
  /// Finds worker and device. Throws as run_sweep() does. `times`: measures times of verified results instead
  /// of allocation sequences.
  explicit ShapeRecorder(SweepOptions options, bool times = false);

  /// Returns the variants and programs that can be recorded.
  [[nodiscard]] const Vocabulary& vocabulary() const { return selection_.suite.vocabulary; }
  [[nodiscard]] const DeviceInfo& device() const { return selection_.device; }
  /// Returns the maximum bytes of one allocation; null: unlimited or unknown.
  [[nodiscard]] std::optional<Size> max_allocation() const {
    const std::optional<Size>& of_device = selection_.device.max_allocation_bytes;
    if (!options_.max_allocation || !of_device)
      return options_.max_allocation ? options_.max_allocation : of_device;
    return std::min(*options_.max_allocation, *of_device);
  }
  /// Returns the cases of the suites, after the filter; empty without suites.
  [[nodiscard]] const std::vector<PlannedCase>& planned() const { return planned_; }
  /// Returns the context of the run of the last record(): device, driver, worker and versions.
  [[nodiscard]] const RunContext& context() const { return context_; }

  /// Sets whether workers verify the results of later recordings. Default: no, since only memory is measured.
  void set_verification(bool verifies) { verifies_ = verifies; }
  /// Sets how much device memory later recordings may use; null: all of it.
  void set_budget(std::optional<Size> bytes) { options_.budget = bytes; }
  /// Sets the allocation, by its number in each process, that is refused in later recordings as a full device
  /// refuses it; 0: none.
  /// `once`: only this allocation is refused; otherwise all later ones are, too.
  void set_refused_allocation(Size index, bool once) {
    options_.refused_allocation = index;
    options_.refuses_once = once;
  }

  /// Records cases of shapes; axes that a shape omits have their defaults. Returns an observation for each
  /// shape, in order. For a shape that the worker refuses, the outcome is `unsupported`, with the reason.
  /// Throws Interrupted, and UsageError for an unknown variant or axis.
  std::vector<Observation> record(const std::string& variant, const std::vector<Parameters>& shapes);
  /// Records shapes of several variants at once.
  std::vector<Observation> record(const std::vector<std::pair<std::string, Parameters>>& shapes);

  /// Chooses shapes (ShapeChooser, LargerShapes) and records them. Replaces those that fail. May return fewer
  /// shapes than requested if a variant refuses most, or the time is over.
  std::vector<RecordedShapes> record_chosen(const std::vector<ShapeRequest>& requests,
                                            const ShapeEffort& effort = {});

 private:
  [[nodiscard]] PlannedCase planned_case(const VariantDescription& variant, const Parameters& shape) const;
  /// Returns for each shape whether it passes the worker's `--check`.
  [[nodiscard]] std::vector<bool> accepts(const VariantDescription& variant,
                                          const std::vector<Parameters>& shapes) const;
  void measure(std::vector<PlannedCase> cases, std::map<std::string, Observation>& found);
  [[nodiscard]] LargerShapes::Limits larger_limits(std::size_t shapes, bool is_slow) const;

  ScratchFolder folder_;
  SweepOptions options_;
  bool verifies_ = false;
  std::unique_ptr<RunWorkers> workers_;
  Selection selection_;
  std::vector<PlannedCase> planned_;
  RunContext context_;
  std::optional<std::chrono::steady_clock::time_point> deadline_;  ///< of record_chosen()
  bool is_over_ = false;                                           ///< the deadline has passed
};

}  // namespace peakmark
