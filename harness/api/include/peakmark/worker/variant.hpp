/// What a program says of its kernels: the variants, how one case of each is run, and the formulas under
/// test.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "peakmark/worker/case.hpp"

namespace peakmark {
inline namespace api_1 {

/// One case on one device. The steps are called in this order: set_up, create_inputs, create_outputs, then
/// call (with restore_inputs before each further call of a variant that destroys its input), verify. What a
/// step allocates belongs to this object: release it in the destructor, or it is a leak.
class Computation {
 public:
  Computation() = default;
  Computation(const Computation&) = delete;
  Computation& operator=(const Computation&) = delete;
  virtual ~Computation() = default;

  /// The variant's own lasting memory: plans, coordinates, templates; and compiled kernels.
  virtual void set_up() {}
  virtual void create_inputs() {}
  virtual void create_outputs() {}
  /// The work. It need not wait for the device's own queue.
  virtual void call() = 0;
  virtual void restore_inputs() {}
  /// What is wrong with the result of one call on fresh inputs; empty where it is right. An answer that is
  /// wrong is not timed.
  virtual std::string verify() = 0;
  /// Bytes read and written by one call at the least.
  [[nodiscard]] virtual std::optional<Size> bytes_moved() const { return std::nullopt; }
};

/// A Computation of lambdas; a step left out does nothing, `call` and `verify` must be there. What the
/// lambdas share they hold by a std::shared_ptr.
struct Steps {
  std::function<void()> set_up = nullptr;
  std::function<void()> create_inputs = nullptr;
  std::function<void()> create_outputs = nullptr;
  std::function<void()> call = nullptr;
  std::function<void()> restore_inputs = nullptr;
  std::function<std::string()> verify = nullptr;
  std::optional<Size> bytes_moved = std::nullopt;
};

/// A part of what a variant needs, as its allocation is called.
struct Part {
  std::string name;
  Size bytes_a_slice = 0;
  Size fixed_bytes = 0;
};

/// A formula under test: what a case needs, said without running it. What it throws is the estimator's
/// failure, not the case's.
struct Estimator {
  /// Named parts: so much a slice, so much whatever the number of slices.
  static Estimator of_parts(std::function<std::vector<Part>(const Case&)> formula, std::string name = "own") {
    return {std::move(name), std::move(formula), nullptr, nullptr};
  }
  /// Bytes of a case, which do not fall as the slices grow.
  static Estimator of_bytes(std::function<Size(const Case&)> formula, std::string name = "own") {
    return {std::move(name), nullptr, std::move(formula), nullptr};
  }
  /// The most slices that fit so many bytes; the slice axis of the case says nothing.
  static Estimator of_slices(std::function<Size(const Case&, Size available_bytes)> formula,
                             std::string name = "own") {
    return {std::move(name), nullptr, nullptr, std::move(formula)};
  }

  std::string name;
  std::function<std::vector<Part>(const Case&)> parts;
  std::function<Size(const Case&)> bytes;
  std::function<Size(const Case&, Size)> slices;
};

/// What a variant says of itself.
struct Variant {
  std::string name;  ///< OPERATION/WAY, of letters, digits and - _ . +
  std::vector<std::string>
      backends;  ///< those that its code is for: opencl, cuda; dry where it uses our arrays only
  std::vector<Axis> axes;
  std::string help = {};
  std::string slice_axis = {};  ///< along which work is cut: an axis of numbers; an estimator needs one
  int slice_dimension = 0;      ///< httomo's number for it: 0 projection, 1 sinogram
  bool destroys_input = false;  ///< then restore_inputs puts it back
  std::vector<Estimator> estimators = {};
  std::string output_dtype = {};  ///< empty: what the axis dtype says, else f32
  /// What is wrong with a case whatever the device, empty where nothing is: told before anything is measured.
  std::function<std::string(const Case&)> mistake = nullptr;
};

}  // namespace api_1
}  // namespace peakmark
