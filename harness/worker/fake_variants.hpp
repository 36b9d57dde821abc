#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "worker/variant.hpp"

namespace peakmark::testing_support {

/// What a fake does at each step; a step left out does nothing.
class FakeComputation;
using Step = std::function<void(FakeComputation&)>;
struct Steps {
  Step set_up = nullptr;
  Step inputs = nullptr;
  Step outputs = nullptr;
  Step call = nullptr;
  Step restore = nullptr;
};

/// A computation of known bytes: arrays are held by name until a step drops them.
class FakeComputation final : public Computation {
 public:
  FakeComputation(Device& device, Steps steps) : device_(device), steps_(std::move(steps)) {}

  void set_up() override { do_step(steps_.set_up); }
  void create_inputs() override { do_step(steps_.inputs); }
  void create_outputs() override { do_step(steps_.outputs); }
  void call() override { do_step(steps_.call); }
  void restore_inputs() override { do_step(steps_.restore); }
  Verification verify() override { return {true, {}}; }
  [[nodiscard]] std::optional<Size> bytes_moved() const override { return 12; }
  [[nodiscard]] DType output_dtype() const override { return DType::f32; }

  void hold(const std::string& name, Size bytes) {
    arrays[name] = device_.create_uninitialised(name, {bytes}, DType::u8);
  }
  void drop(const std::string& name) { arrays.erase(name); }

  std::map<std::string, Array> arrays;

 private:
  void do_step(const Step& step) {
    if (step) step(*this);
  }

  Device& device_;
  Steps steps_;
};

/// Estimates bytes(n) = fixed + n · per_slice.
class FakeEstimator final : public Estimator {
 public:
  FakeEstimator(std::string name, Size fixed, Size per_slice)
      : name_(std::move(name)), fixed_(fixed), per_slice_(per_slice) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view form() const override { return "module"; }
  [[nodiscard]] EstimateAnswer max_slices(const EstimateRequest& request) const override {
    if (per_slice_ <= 0) throw UsageError("no bytes a slice");
    return {(request.available_bytes - fixed_) / per_slice_, request.dtype};
  }
  [[nodiscard]] Size bytes(const EstimateRequest&, Size slices) const override {
    return fixed_ + slices * per_slice_;
  }
  [[nodiscard]] std::vector<Term> terms(const EstimateRequest&) const override {
    return {{"everything", per_slice_, fixed_}};
  }

 private:
  std::string name_;
  Size fixed_;
  Size per_slice_;
};

/// A variant with the axes n (20) and dtype (f32) whose every case does `steps`.
inline Variant fake_variant(std::string name, const Steps& steps,
                            std::vector<std::shared_ptr<const Estimator>> estimators = {}) {
  Variant variant;
  variant.description.name = std::move(name);
  variant.description.slice_axis = "n";
  variant.description.axes = {{"n", Size{20}, {}, 0, "slices"},
                              {"dtype", std::string("f32"), {"f32", "f64"}, 0, ""}};
  variant.estimators = std::move(estimators);
  variant.request = [](const Parameters& parameters) {
    EstimateRequest request;
    request.dtype = parse_dtype(parameters.word("dtype"));
    request.parameters = parameters;
    return request;
  };
  variant.make = [steps](Device& device, const Parameters&) {
    return std::make_unique<FakeComputation>(device, steps);
  };
  return variant;
}

}  // namespace peakmark::testing_support
