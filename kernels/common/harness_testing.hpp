#pragma once

// Gives tests of operations the parts of the harness that they need, without its classes: these have the same
// names as classes of the public API, which the tests use. Only harness_testing.cpp includes them.

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.hpp"
#include "base/size.hpp"
#include "measure/sweep/parameters.hpp"
#include "peakmark/worker_abi.h"
#include "record/ledger/ledger.hpp"

namespace peakmark {
class RegisteredVariant;
inline namespace api_1 {
class Worker;
}
}  // namespace peakmark

namespace peakmark::testing_variants {

/// Selects the kernels for CPUs or those for GPUs, independently of the device.
enum class Grain { cpu, gpu };

/// A device of the harness.
struct HarnessDevice {
  std::shared_ptr<void> device;
  peakmark_device abi;  ///< valid as long as `device`

  /// Returns the bytes that are allocated on a dry device.
  [[nodiscard]] Size used_bytes() const;
  /// Returns the number of events in the allocation log of a dry device.
  [[nodiscard]] std::uint64_t logged_events() const;
  /// Returns how many objects Device::cached has made.
  [[nodiscard]] std::size_t cached_objects_made() const;
};

// Open a device of a backend; a dry device; a device that reports the backend CUDA, has its arrays in host
// memory, and runs no kernels.
HarnessDevice open_harness_device(std::string_view backend, Grain grain, std::optional<Size> compute_units);
HarnessDevice open_harness_dry(Grain grain, std::optional<Size> budget_bytes);
HarnessDevice open_harness_host_memory();

using Overrides = std::initializer_list<std::pair<const char*, AxisValue>>;

/// The outcome `unsupported` of a case.
class UnsupportedCase : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One case of a variant, as the harness runs it.
class TestCase {
 public:
  TestCase() = default;
  TestCase(const TestCase&) = delete;
  TestCase& operator=(const TestCase&) = delete;
  virtual ~TestCase() = default;

  virtual void set_up() = 0;
  virtual void create_inputs() = 0;
  virtual void create_outputs() = 0;
  virtual void call() = 0;
  virtual void restore_inputs() = 0;
  /// Returns what is wrong; empty if the result is right.
  [[nodiscard]] virtual std::string verify() = 0;
  [[nodiscard]] virtual std::optional<Size> bytes_moved() const = 0;
};

/// The answer of an estimator that was asked for slices.
struct SlicesAnswer {
  Size slices = 0;
  DType dtype = DType::f32;
};

/// A term of the bytes of a case by an estimator.
struct EstimatedPart {
  std::string name;
  Size per_slice_bytes = 0;
  Size fixed_bytes = 0;
};

/// A variant as the worker has it, after it passed through the C ABI.
class TestVariant {
 public:
  explicit TestVariant(std::shared_ptr<const RegisteredVariant> variant) : variant_(std::move(variant)) {}

  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] const std::vector<std::string>& backends() const;
  [[nodiscard]] bool destroys_input() const;
  /// Returns the default values of the axes, with some overrides.
  [[nodiscard]] Parameters parameters(Overrides overrides = {}) const;

  /// Makes a case. Throws UsageError if it is invalid, UnsupportedCase if this device cannot run it.
  std::unique_ptr<TestCase> make(const HarnessDevice& device, const Parameters& parameters) const;

  // The estimators, by their number; 0 is the variant's own.
  [[nodiscard]] std::size_t estimators() const;
  [[nodiscard]] std::string estimator_name(std::size_t estimator = 0) const;
  [[nodiscard]] Size bytes(const Parameters& parameters, Size slices, std::size_t estimator = 0) const;
  [[nodiscard]] std::vector<EstimatedPart> parts(const Parameters& parameters,
                                                 std::size_t estimator = 0) const;
  [[nodiscard]] SlicesAnswer max_slices(const Parameters& parameters, Size available_bytes,
                                        std::size_t estimator = 0) const;
  /// Returns the value of the slice axis.
  [[nodiscard]] Size slices(const Parameters& parameters) const;

  /// Returns the allocations on `dry` up to the end of the second call, in the phases set_up, inputs,
  /// outputs, call.
  [[nodiscard]] LedgerSummary dry_summary(const Parameters& parameters, Grain grain) const;

 private:
  std::shared_ptr<const RegisteredVariant> variant_;
};

/// The variants of an operation.
class TestVariants {
 public:
  explicit TestVariants(void (*add)(Worker&));
  [[nodiscard]] const TestVariant& find(const std::string& name) const;
  [[nodiscard]] auto begin() const { return variants_.begin(); }
  [[nodiscard]] auto end() const { return variants_.end(); }

 private:
  std::vector<TestVariant> variants_;
};

}  // namespace peakmark::testing_variants
