#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "device/device.hpp"
#include "estimate/estimator.hpp"
#include "sweep/description.hpp"

namespace peakmark {

/// An error in the program of the variant, which cannot be fixed in the suite.
class WorkerMistake : public UsageError {
 public:
  using UsageError::UsageError;
};

/// The result of a comparison with the reference.
struct Verification {
  bool ok = false;
  std::string message;  ///< where and by how much the result is wrong; empty if it is right
};

/// One case of a variant on one device, in the order in which a trial calls it:
/// set_up, create_inputs, create_outputs, then call (and restore_inputs before each further call), verify.
/// The object owns all device memory that its steps allocate.
class Computation {
 public:
  Computation() = default;
  Computation(const Computation&) = delete;
  Computation& operator=(const Computation&) = delete;
  virtual ~Computation() = default;

  /// Allocates memory that stays between calls: plans, coordinates, templates.
  virtual void set_up() {}
  virtual void create_inputs() = 0;
  virtual void create_outputs() {}
  /// Enqueues the work. Does not wait for it, unless the method requires that.
  virtual void call() = 0;
  /// Enqueues the restoration of inputs that `call` destroyed. Not timed and not counted in the peak.
  virtual void restore_inputs() {}
  /// Compares the result of one call with new inputs with the reference. Not counted in the peak.
  virtual Verification verify() = 0;
  /// Returns the min bytes that one call must read and write; nullopt if unknown.
  [[nodiscard]] virtual std::optional<Size> bytes_moved() const = 0;
  /// Returns the floating-point operations of one call; a multiply-add counts as two. nullopt if unknown.
  [[nodiscard]] virtual std::optional<double> flops() const { return std::nullopt; }
  /// Returns the dtype of the output, which estimators must predict.
  [[nodiscard]] virtual DType output_dtype() const = 0;
};

/// One implementation of an operation: its description, its estimators, and a function that makes a case.
struct Variant {
  /// The registry sets `estimators`, and limits `backends` to those that the worker was built with.
  VariantDescription description;
  std::vector<std::shared_ptr<const Estimator>> estimators;  ///< the first is the variant's own
  /// httomo's request for a case: other dimensions, dtype, parameters.
  std::function<EstimateRequest(const Parameters&)> request;
  /// Checks the parameters (UsageError; WorkerMistake where not they are wrong but the variant is) and makes
  /// the case. Allocates nothing yet.
  std::function<std::unique_ptr<Computation>(Device&, const Parameters&)> make;
  /// Its code is that of a program on the public API. An estimator of it may crash, or never come back, and
  /// is asked within its case only.
  bool is_of_a_program = false;
};

/// The variants of one worker program. Wiring is explicit: main() asks each operation for its variants.
class Registry {
 public:
  /// Throws UsageError for a second variant of one name, and for one that cannot be run or asked.
  void add(Variant variant);
  [[nodiscard]] const std::vector<Variant>& variants() const { return variants_; }
  [[nodiscard]] const Variant* find(std::string_view name) const;
  /// The same variants under names that end with a label, `padding/coords1d.old`.
  [[nodiscard]] Registry labelled(const std::string& label) const;
  /// The variants' side of `--describe`; program, build and commit are the program's to say.
  [[nodiscard]] Description describe() const;

 private:
  std::vector<Variant> variants_;
};

}  // namespace peakmark
