#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "measure/device/device.hpp"
#include "measure/sweep/description.hpp"
#include "measure/worker/estimator.hpp"
#include "peakmark/worker_abi.h"

namespace peakmark {

/// An error in the program that has the variant; the suite cannot fix it.
class WorkerMistake : public UsageError {
 public:
  using UsageError::UsageError;
};

/// One case of a variant on one device, made by the program. Its steps run in this order: set_up,
/// create_inputs, create_outputs, call, and restore_inputs before each further call. They throw what the
/// program reports (abi.hpp). The destructor releases what they allocated.
class CaseInstance {
 public:
  CaseInstance(const peakmark_variant& variant, backend::Device& device, const Parameters& parameters);
  CaseInstance(const CaseInstance&) = delete;
  CaseInstance& operator=(const CaseInstance&) = delete;
  ~CaseInstance() { made_.destroy(made_.self); }

  void set_up() { step(PEAKMARK_SET_UP); }
  void create_inputs() { step(PEAKMARK_CREATE_INPUTS); }
  void create_outputs() { step(PEAKMARK_CREATE_OUTPUTS); }
  void call() { step(PEAKMARK_CALL); }
  void restore_inputs() { step(PEAKMARK_RESTORE_INPUTS); }
  /// Returns what is wrong with the result of one call with new inputs; nullopt if it is right.
  std::optional<std::string> verify();
  /// Returns the bytes that one call of an ideal kernel reads and writes; nullopt if unknown.
  [[nodiscard]] std::optional<Size> bytes_moved() const;
  /// Returns the floating-point operations of one call; nullopt if unknown.
  [[nodiscard]] std::optional<double> flops() const;
  struct Metric {
    std::string name;
    double value = 0;
    std::int32_t better = 0;  ///< PEAKMARK_HIGHER, PEAKMARK_LOWER or PEAKMARK_NEITHER
  };
  /// Returns what the program reports beside bytes and times, unchecked. Call it after verify().
  [[nodiscard]] std::vector<Metric> metrics() const;
  /// Returns the dtype of the output, which estimators must predict.
  [[nodiscard]] DType output_dtype() const { return output_dtype_; }

 private:
  void step(std::int32_t which);

  DType output_dtype_;
  peakmark_device device_;
  peakmark_computation made_{};
};

/// A variant of the program, `peakmark_variant` of the C ABI, as the worker uses it.
class RegisteredVariant {
 public:
  /// `abi` must outlive this object and its estimators. Throws UsageError, with the name of the variant, if
  /// it cannot be measured: no backend, two estimators of the same name, no function that makes a case.
  explicit RegisteredVariant(const peakmark_variant& abi);

  /// Throws UsageError or OverflowError for parameters that are wrong on any device, WorkerMistake if the
  /// program's check fails with another error.
  void check(const Parameters& parameters) const;
  /// Returns the dtype of the output: the variant's own, else that of the axis dtype, else f32.
  [[nodiscard]] DType output_dtype(const Parameters& parameters) const;
  /// Makes a case, which allocates nothing yet. Throws as `check` does, and WorkerMistake if the program
  /// refuses a case that its check accepted.
  [[nodiscard]] std::unique_ptr<CaseInstance> make(backend::Device& device,
                                                   const Parameters& parameters) const;
  [[nodiscard]] bool runs_on(Backend backend) const;

  VariantDescription description;
  std::vector<RegisteredEstimator> estimators;  ///< the first is the default
  /// An estimator of a user's program may crash or not return, so it is evaluated only within its case.
  /// Estimators of peakmark's operations are also evaluated while a suite is checked.
  bool is_own_operation = false;

 private:
  const peakmark_variant* abi_;
};

/// The variants of one worker program. `main()` adds the variants of each operation explicitly.
class Registry {
 public:
  /// Limits the backends of the variant to those that the worker was built with. Throws UsageError for a
  /// second variant of the same name, and for a variant with estimators but no slice axis.
  void add(RegisteredVariant variant);
  /// Adds variants of peakmark's own operations.
  void add_own(std::span<const peakmark_variant* const> variants);
  [[nodiscard]] const std::vector<RegisteredVariant>& variants() const { return variants_; }
  [[nodiscard]] const RegisteredVariant* find(std::string_view name) const;
  /// Returns the same variants with a label at the end of their names: `padding/coords1d.old`.
  [[nodiscard]] Registry labelled(const std::string& label) const;
  /// Returns the variants for `--describe`, without program, build and commit.
  [[nodiscard]] Description describe() const;

 private:
  std::vector<RegisteredVariant> variants_;
};

}  // namespace peakmark
