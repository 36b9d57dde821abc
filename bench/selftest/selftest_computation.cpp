#include "selftest_computation.hpp"

#include <fmt/format.h>

#include "estimate/estimator.hpp"

namespace peakmark::selftest {

namespace {

constexpr double kInputValue = 3;
constexpr float kOutputValue = 4;

}  // namespace

SelftestComputation::SelftestComputation(Device& device, const Parameters& parameters)
    : device_(device), parameters_(parameters) {}

void SelftestComputation::set_up() {
  plan_ = device_.create("plan", {500}, DType::f32);
}

void SelftestComputation::create_inputs() {
  input_ = device_.create_uninitialised("input", {slices(), 100}, DType::f32);
  device_.fill(input_, kInputValue);
}

void SelftestComputation::create_outputs() {
  output_ = device_.create("output", {slices(), 300}, DType::f32);
}

void SelftestComputation::call() {
  Array temporary = device_.create_uninitialised("temporary", {slices(), 100}, DType::f32);
  device_.copy(input_, 0, temporary, 0, input_.bytes());
  device_.fill(output_, kOutputValue);
  device_.copy(temporary, 0, output_, 0, temporary.bytes());
  device_.release(temporary);  // not by its destructor: the next call's would now and then overlap with it
}

Verification SelftestComputation::verify() {
  const std::vector<float> output = device_.pull<float>(output_);
  const auto copied = static_cast<std::size_t>(input_.shape().elements());
  for (std::size_t i = 0; i < output.size(); ++i) {
    const float expected = i < copied ? static_cast<float>(kInputValue) : kOutputValue;
    if (output[i] != expected) {
      return {false, fmt::format("element {} is {} instead of {}", i, output[i], expected)};
    }
  }
  return {true, {}};
}

std::optional<Size> SelftestComputation::bytes_moved() const {
  return 2 * input_.bytes() + output_.bytes();
}

Variant selftest_variant(std::string name, std::string help, Size percent, Size extra_slice_bytes) {
  Variant variant;
  variant.description.name = std::move(name);
  variant.description.help = std::move(help);
  variant.description.axes = {{"n", Size{20}, {}, 1, "slices"}};
  variant.description.slice_axis = std::string("n");  // a literal trips GCC 12 (-Wrestrict)
  const auto terms = [=](const EstimateRequest&) {
    const Size slice_bytes = kSliceBytes + extra_slice_bytes;
    return std::vector<Term>{{"everything", slice_bytes * percent / 100, kFixedBytes * percent / 100}};
  };
  variant.estimators = {make_module_estimator({"own", 0, {}}, terms)};
  variant.request = [](const Parameters& parameters) {
    EstimateRequest request;
    request.other_dimensions = {1, 100};
    request.parameters = parameters;
    return request;
  };
  variant.make = maker<SelftestComputation>();
  return variant;
}

}  // namespace peakmark::selftest
