/// Variants: their descriptions, how one case of each runs, and the estimators under test.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "peakmark/worker/case.hpp"

namespace peakmark {
inline namespace api_1 {

/// Which values of a metric are better.
enum class Better { neither, higher, lower };

/// A number that a case reports beside its bytes and its time: iterations, the error of the result, cache
/// hits.
struct Metric {
  std::string name;                 ///< letters, digits and _; a column of reports
  double value = 0;                 ///< finite; otherwise the case is a `wrong_answer`
  Better better = Better::neither;  ///< `Better::higher` or `Better::lower`: which values are better
};

/// One case on one device. The steps are called in this order: set_up, create_inputs, create_outputs, call,
/// verify. If the variant destroys its input, restore_inputs comes before each further call. This object owns
/// what its steps allocate: memory that the destructor does not release is reported as a leak.
class Computation {
 public:
  Computation() = default;
  Computation(const Computation&) = delete;
  Computation& operator=(const Computation&) = delete;
  virtual ~Computation() = default;

  /// Allocates memory that lasts for all calls, such as plans and coordinates, and compiles kernels.
  virtual void set_up() {}
  /// Creates the inputs. Reports show their bytes as `input_bytes`.
  virtual void create_inputs() {}
  /// Creates the outputs. Reports show their bytes as `output_bytes`.
  virtual void create_outputs() {}
  /// Does the work: twice while memory is recorded, and many times while it is timed. It need not wait for
  /// the queue of the device; it must wait for any other queue.
  virtual void call() = 0;
  /// Restores the inputs that `call` has overwritten. Not timed, and not part of the peak. Called if the
  /// variant destroys its input.
  virtual void restore_inputs() {}
  /// Returns what is wrong with the result of one call on fresh inputs; empty if it is right. A wrong result
  /// is the outcome `wrong_answer`, and is not timed. Not called on `dry`.
  virtual std::string verify() = 0;
  /// Returns the bytes that one call of an ideal kernel reads and writes. No value: unknown.
  [[nodiscard]] virtual std::optional<Size> bytes_moved() const { return std::nullopt; }
  /// Returns the floating-point operations of one call; a multiply-add counts as two. No value: unknown.
  [[nodiscard]] virtual std::optional<double> flops() const { return std::nullopt; }
  /// Returns at most 64 numbers that reports show beside bytes and time. Called once, after `verify`. Not
  /// called on `dry`.
  [[nodiscard]] virtual std::vector<Metric> metrics() { return {}; }
};

/// A Computation made of lambdas. `call` and `verify` are required; the others may be omitted. Lambdas share
/// data through a std::shared_ptr.
struct Steps {
  std::function<void()> set_up = nullptr;          ///< allocates lasting memory, compiles
  std::function<void()> create_inputs = nullptr;   ///< creates the inputs
  std::function<void()> create_outputs = nullptr;  ///< creates the outputs
  std::function<void()> call = nullptr;            ///< does the work
  std::function<void()> restore_inputs = nullptr;  ///< restores what `call` has overwritten
  std::function<std::string()> verify = nullptr;   ///< returns what is wrong; empty if right
  std::optional<Size> bytes_moved = std::nullopt;  ///< by one call of an ideal kernel
  std::optional<double> flops = std::nullopt;      ///< of one call; a multiply-add counts as two
  std::function<std::vector<Metric>()> metrics =
      nullptr;  ///< returns numbers that reports show; after `verify`
};

/// A named part of the memory of a variant: bytes for each slice, and bytes for any number of slices.
struct Part {
  std::string name;          ///< the name of the allocation in reports, so that the two can be compared
  Size per_slice_bytes = 0;  ///< multiplied by the number of slices
  Size fixed_bytes = 0;      ///< independent of the number of slices
};

/// An estimator: a formula that predicts the memory of a case without running it. Make one with one of the
/// three functions. An exception of the formula is reported as an error of the estimator, not of the case. If
/// a formula does not return, its case is ended after `run --timeout`. `name`: its name in suites and
/// verdicts.
struct Estimator {
  /// An estimator of named parts (form `module`). The bytes of a case are the sum over the parts of
  /// fixed_bytes + per_slice_bytes × slices.
  static Estimator of_parts(std::function<std::vector<Part>(const Case&)> formula, std::string name = "own") {
    return {std::move(name), std::move(formula), nullptr, nullptr};
  }
  /// An estimator of the bytes of a case (form `iterative`). The bytes must not decrease when the number of
  /// slices grows. `listed_parts`: the parts that reports show for a case; optional.
  static Estimator of_bytes(std::function<Size(const Case&)> formula, std::string name = "own",
                            std::function<std::vector<Part>(const Case&)> listed_parts = nullptr) {
    return {std::move(name), std::move(listed_parts), std::move(formula), nullptr};
  }
  /// An estimator of the maximum number of slices that fit into `available_bytes` (form `documented`): 0 or
  /// more. It must not depend on the value of the slice axis.
  static Estimator of_slices(std::function<Size(const Case&, Size available_bytes)> formula,
                             std::string name = "own") {
    return {std::move(name), nullptr, nullptr, std::move(formula)};
  }

  // One of the three functions is set; `parts` may be set together with `bytes`.
  std::string name;
  std::function<std::vector<Part>(const Case&)> parts;
  std::function<Size(const Case&)> bytes;
  std::function<Size(const Case&, Size)> slices;
};

/// The description of a variant. `name`, `backends` and `axes` are required.
struct Variant {
  /// OPERATION/NAME, of letters, digits and - _ . +. Plots show the variants of one operation together.
  std::string name;
  /// The backends that it runs on: `opencl`, `cuda`; `dry` too if it allocates with Device::create only.
  std::vector<std::string> backends;
  /// The axes of its cases, in the order of case names.
  std::vector<Axis> axes;
  /// One line that `list` shows.
  std::string help = {};
  /// The axis of integers along which the work is cut into slices. Required with an estimator.
  std::string slice_axis = {};
  /// The number that httomo gives that dimension: 0 projection, 1 sinogram.
  int slice_dimension = 0;
  /// Whether `call` overwrites its input. If so, restore_inputs is called before each further call.
  bool destroys_input = false;
  /// The first is the default; suites may choose another by its name.
  std::vector<Estimator> estimators = {};
  /// numpy's short name of the output's element type; empty: the value of the axis `dtype`, or f32 without
  /// one.
  std::string output_dtype = {};
  /// Returns what is wrong with a case on any device, such as an odd extent; empty if the case is valid.
  /// Called before anything is measured. Throw std::overflow_error for a size that does not fit 64 bits: the
  /// message then names the largest axis.
  std::function<std::string(const Case&)> mistake = nullptr;
};

}  // namespace api_1
}  // namespace peakmark
