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
  /// What comes in. What it adds to the peak is told as `input_bytes`.
  virtual void create_inputs() {}
  /// What goes out: `output_bytes`.
  virtual void create_outputs() {}
  /// The work. It is called twice while memory is recorded, and many times while it is timed. It need not
  /// wait for the device's own queue, and must wait for any other.
  virtual void call() = 0;
  /// Puts back what `call` has overwritten: outside timer and peak. Called where the variant destroys its
  /// input.
  virtual void restore_inputs() {}
  /// What is wrong with the result of one call on fresh inputs; empty where it is right. A wrong answer is
  /// the outcome `wrong_answer`, and is not timed. Not called on `dry`.
  virtual std::string verify() = 0;
  /// Bytes read and written by one call at the least: what a perfect kernel would move. Nothing: nobody
  /// knows.
  [[nodiscard]] virtual std::optional<Size> bytes_moved() const { return std::nullopt; }
  /// Floating-point operations of one call, a multiply-add as two. Nothing: not declared.
  [[nodiscard]] virtual std::optional<double> flops() const { return std::nullopt; }
};

/// A Computation of lambdas, with the same steps. A step left out does nothing; `call` and `verify` must be
/// there, or the case is refused. What the lambdas share they hold by a std::shared_ptr.
struct Steps {
  std::function<void()> set_up = nullptr;          ///< lasting memory, compiling
  std::function<void()> create_inputs = nullptr;   ///< what comes in
  std::function<void()> create_outputs = nullptr;  ///< what goes out
  std::function<void()> call = nullptr;            ///< the work
  std::function<void()> restore_inputs = nullptr;  ///< puts back what `call` has overwritten
  std::function<std::string()> verify = nullptr;   ///< what is wrong; empty where it is right
  std::optional<Size> bytes_moved = std::nullopt;  ///< of one call, at the least
  std::optional<double> flops = std::nullopt;      ///< of one call, a multiply-add as two
};

/// A part of what a variant needs: so many bytes for each slice, and so many whatever their number.
struct Part {
  std::string name;        ///< as reports call the allocation, so that the two can be held against each other
  Size bytes_a_slice = 0;  ///< times the slices
  Size fixed_bytes = 0;    ///< whatever the number of slices
};

/// A formula under test: what a case needs, said without running it. Make it with one of the three functions.
/// What the formula throws is the estimator's failure, not the case's; a formula that does not come back ends
/// with its case, by the limit of `run --timeout`. `name`: as suites and verdicts call it.
struct Estimator {
  /// By named parts (the form `module`): a case needs their sum, each with its bytes a slice times the
  /// slices.
  static Estimator of_parts(std::function<std::vector<Part>(const Case&)> formula, std::string name = "own") {
    return {std::move(name), std::move(formula), nullptr, nullptr};
  }
  /// By the bytes of a case (the form `iterative`), which do not fall as the slices grow.
  static Estimator of_bytes(std::function<Size(const Case&)> formula, std::string name = "own") {
    return {std::move(name), nullptr, std::move(formula), nullptr};
  }
  /// By the most slices that fit `available_bytes` (the form `documented`): 0 or more. The case's slice axis
  /// says nothing.
  static Estimator of_slices(std::function<Size(const Case&, Size available_bytes)> formula,
                             std::string name = "own") {
    return {std::move(name), nullptr, nullptr, std::move(formula)};
  }

  // One of the three is set.
  std::string name;
  std::function<std::vector<Part>(const Case&)> parts;
  std::function<Size(const Case&)> bytes;
  std::function<Size(const Case&, Size)> slices;
};

/// What a variant says of itself. `name`, `backends` and `axes` must be there.
struct Variant {
  /// OPERATION/WAY, of letters, digits and - _ . +; plots put the ways of one operation together.
  std::string name;
  /// What its code is for: `opencl`, `cuda`; `dry` too where it uses peakmark's arrays only.
  std::vector<std::string> backends;
  /// What a case may vary, each with its default.
  std::vector<Axis> axes;
  /// A line of help.
  std::string help = {};
  /// The axis of numbers along which work is cut into slices. A variant with an estimator needs one.
  std::string slice_axis = {};
  /// httomo's number of that dimension: 0 projection, 1 sinogram.
  int slice_dimension = 0;
  /// `call` overwrites its input: restore_inputs puts it back before each further call.
  bool destroys_input = false;
  /// The first is the variant's own; suites may name the others.
  std::vector<Estimator> estimators = {};
  /// numpy's short name of the element type that comes out, f32; empty: what the axis `dtype` says, else f32.
  std::string output_dtype = {};
  /// What is wrong with a case whatever the device, such as an odd extent; empty where nothing is. Told
  /// before anything is measured.
  std::function<std::string(const Case&)> mistake = nullptr;
};

}  // namespace api_1
}  // namespace peakmark
