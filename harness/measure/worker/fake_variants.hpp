#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "measure/worker/abi.hpp"
#include "measure/worker/variant.hpp"

namespace peakmark::testing_support {

/// The arrays of a fake case, kept by name until a step drops them.
class FakeCase {
 public:
  explicit FakeCase(backend::Device& device) : device_(device) {}

  void hold(const std::string& name, Size bytes) {
    arrays[name] = device_.create_uninitialised(name, {bytes}, DType::u8);
  }
  void drop(const std::string& name) { arrays.erase(name); }

  std::map<std::string, backend::Array> arrays;

 private:
  backend::Device& device_;
};

/// What a fake does at each step; null: nothing. Steps may throw errors of the harness.
using Step = std::function<void(FakeCase&)>;
struct Steps {
  Step set_up = nullptr;
  Step inputs = nullptr;
  Step outputs = nullptr;
  Step call = nullptr;
  Step restore = nullptr;
  std::vector<CaseInstance::Metric> metrics = {};
};

/// Estimates fixed + n · per_slice bytes as named parts, or what `bytes` or `slices` returns if it is set.
struct FakeEstimator {
  std::string name;
  Size fixed = 0;
  Size per_slice = 0;
  std::function<Size(Size n)> bytes = nullptr;
  std::function<std::vector<EstimateTerm>(Size n)> parts = nullptr;  ///< null: one part, `everything`
  std::function<Size(Size available)> slices = nullptr;
};

/// Functions of the axis n that throw the error of a case; null accepts every case.
struct FakeErrors {
  std::function<void(Size n)> check = nullptr;
  std::function<void(Size n)> make = nullptr;
};

/// A variant as in a user's program: structs of the C ABI and the functions in them. It has the axes n (20)
/// and dtype (f32), and runs on all backends.
class FakeVariant {
 public:
  FakeVariant(std::string name, Steps steps, std::vector<FakeEstimator> estimators, FakeErrors errors)
      : name_(std::move(name)),
        steps_(std::move(steps)),
        estimators_(std::move(estimators)),
        errors_(std::move(errors)) {
    for (FakeEstimator& estimator : estimators_) {
      abi_estimators_.push_back(
          {estimator.name.c_str(), &estimator, estimator.bytes ? estimate_bytes : nullptr,
           estimator.parts || (!estimator.bytes && !estimator.slices) ? estimate_parts : nullptr,
           estimator.slices ? estimate_slices : nullptr});
    }
    abi_.name = name_.c_str();
    abi_.backends = kBackends.data();
    abi_.backend_count = kBackends.size();
    abi_.axes = kAxes.data();
    abi_.axis_count = kAxes.size();
    abi_.slice_axis = "n";
    abi_.estimators = abi_estimators_.data();
    abi_.estimator_count = abi_estimators_.size();
    abi_.self = this;
    abi_.check = check;
    abi_.make = make;
  }
  FakeVariant(const FakeVariant&) = delete;
  FakeVariant& operator=(const FakeVariant&) = delete;

  [[nodiscard]] const peakmark_variant& abi() const { return abi_; }

 private:
  struct Instance {
    Instance(const Steps& all, backend::Device& device) : steps(all), fake(device) {}
    const Steps& steps;
    FakeCase fake;
  };

  static constexpr std::array<const char*, 3> kBackends{"opencl", "cuda", "dry"};
  static constexpr std::array<const char*, 2> kDtypes{"f32", "f64"};
  static constexpr std::array<peakmark_axis, 2> kAxes{
      {{"n", PEAKMARK_INTEGER, {.integer = 20}, 0, nullptr, 0, "slices"},
       {"dtype", PEAKMARK_WORD, {.word = "f32"}, 0, kDtypes.data(), kDtypes.size(), nullptr}}};

  static Size n_of(const peakmark_case& asked) {
    for (const peakmark_value& value : std::span(asked.values, asked.count))
      if (value.axis == std::string_view("n")) return value.value.integer;
    throw std::logic_error("a case of a fake has no axis n");
  }
  /// Reports what `function` throws, as the public headers do.
  template <typename Function>
  static void guard(peakmark_failure* failure, const Function& function) noexcept {
    try {
      function();
    } catch (const OverflowError&) {
      note_failure(failure);
      failure->kind = PEAKMARK_OVERFLOW;
    } catch (...) {
      note_failure(failure);
    }
  }

  static void check(void* self, const peakmark_case* asked, peakmark_failure* failure) {
    const auto& errors = static_cast<FakeVariant*>(self)->errors_;
    guard(failure, [&] {
      if (errors.check) errors.check(n_of(*asked));
    });
  }
  static void make(void* self, const peakmark_device* device, const peakmark_case* asked,
                   peakmark_computation* made, peakmark_failure* failure) {
    const auto& fake = *static_cast<FakeVariant*>(self);
    guard(failure, [&] {
      if (fake.errors_.make) fake.errors_.make(n_of(*asked));
      auto instance = std::make_unique<Instance>(fake.steps_, *static_cast<backend::Device*>(device->self));
      *made = {instance.release(), step, bytes_moved, destroy, nullptr, metrics};
    });
  }
  static void step(void* self, std::int32_t which, peakmark_failure* failure) {
    auto& [steps, fake] = *static_cast<Instance*>(self);
    const std::array<const Step*, 5> all{&steps.set_up, &steps.inputs, &steps.outputs, &steps.call,
                                         &steps.restore};
    if (which == PEAKMARK_VERIFY) return;
    const Step& chosen = *all.at(static_cast<std::size_t>(which));
    guard(failure, [&chosen, &fake = fake] {
      if (chosen) chosen(fake);
    });
  }
  static std::int64_t bytes_moved(void*, peakmark_failure*) { return 12; }
  static void metrics(void* self,
                      void (*metric)(void* sink, const char* name, double value, std::int32_t better),
                      void* sink, peakmark_failure*) {
    for (const CaseInstance::Metric& one : static_cast<Instance*>(self)->steps.metrics)
      metric(sink, one.name.c_str(), one.value, one.better);
  }
  static void destroy(void* self) { delete static_cast<Instance*>(self); }

  static std::int64_t estimate_bytes(void* self, const peakmark_case* asked, peakmark_failure* failure) {
    Size bytes = -1;
    guard(failure, [&] { bytes = static_cast<FakeEstimator*>(self)->bytes(n_of(*asked)); });
    return bytes;
  }
  static std::int64_t estimate_slices(void* self, const peakmark_case*, std::int64_t available,
                                      peakmark_failure* failure) {
    Size slices = 0;
    guard(failure, [&] { slices = static_cast<FakeEstimator*>(self)->slices(available); });
    return slices;
  }
  static void estimate_parts(void* self, const peakmark_case* asked,
                             void (*part)(void* sink, const char* name, std::int64_t per_slice_bytes,
                                          std::int64_t fixed_bytes),
                             void* sink, peakmark_failure* failure) {
    const auto& estimator = *static_cast<FakeEstimator*>(self);
    guard(failure, [&] {
      if (!estimator.parts) return part(sink, "everything", estimator.per_slice, estimator.fixed);
      for (const EstimateTerm& term : estimator.parts(n_of(*asked)))
        part(sink, term.name.c_str(), term.per_slice_bytes, term.fixed_bytes);
    });
  }

  std::string name_;
  Steps steps_;
  std::vector<FakeEstimator> estimators_;
  FakeErrors errors_;
  std::vector<peakmark_estimator> abi_estimators_;
  peakmark_variant abi_{};
};

/// Returns a variant whose cases run `steps`, as one of peakmark's own operations. It is kept until the
/// program ends, as a program's variants are.
inline RegisteredVariant fake_variant(std::string name, const Steps& steps,
                                      std::vector<FakeEstimator> estimators = {}, FakeErrors errors = {}) {
  static std::deque<FakeVariant> kept;
  RegisteredVariant variant(
      kept.emplace_back(std::move(name), steps, std::move(estimators), std::move(errors)).abi());
  variant.is_own_operation = true;
  return variant;
}

}  // namespace peakmark::testing_support
