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

/// A mistake in the program that the variant stands in: whoever wrote the suite can do nothing about it.
class WorkerMistake : public UsageError {
 public:
  using UsageError::UsageError;
};

/// What a comparison with the reference gave.
struct Verification {
  bool ok = false;
  std::string message;  ///< where and by how much it is wrong; empty when it is right
};

/// One case of a variant on one device, in the order in which a trial calls it:
/// set_up, create_inputs, create_outputs, then call (and restore_inputs before each further call), verify.
/// Everything a step allocates on the device belongs to this object and dies with it.
class Computation {
 public:
  Computation() = default;
  Computation(const Computation&) = delete;
  Computation& operator=(const Computation&) = delete;
  virtual ~Computation() = default;

  /// The variant's own lasting memory: plans, coordinates, templates.
  virtual void set_up() {}
  virtual void create_inputs() = 0;
  virtual void create_outputs() {}
  /// Enqueues the work; does not wait unless the variant's method must.
  virtual void call() = 0;
  /// Enqueues what puts back the inputs that `call` destroyed: outside timer and peak.
  virtual void restore_inputs() {}
  /// Compares the result of one call on fresh inputs with the reference. Runs outside the peak.
  virtual Verification verify() = 0;
  /// Bytes read and written by one call at the least: what a perfect kernel would move; nothing where nobody
  /// knows.
  [[nodiscard]] virtual std::optional<Size> bytes_moved() const = 0;
  /// Floating-point operations of one call, a multiply-add as two; nothing where the variant does not declare
  /// them.
  [[nodiscard]] virtual std::optional<double> flops() const { return std::nullopt; }
  /// dtype of the real output: what an estimator must answer.
  [[nodiscard]] virtual DType output_dtype() const = 0;
};

/// A way to compute something: what it tells of itself, its estimators, and how to make one case of it.
struct Variant {
  /// The registry fills in `estimators`, and `backends` with those the worker was built with; a variant that
  /// names backends itself keeps those of them.
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
