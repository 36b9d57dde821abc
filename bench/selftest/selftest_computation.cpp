#include "selftest_computation.hpp"

#include <fmt/format.h>

namespace peakmark::selftest {

namespace {

constexpr double kInputValue = 3;
constexpr float kOutputValue = 4;

}  // namespace

void SelftestComputation::set_up() {
  plan_ = device_.create<float>("plan", {500});
}

void SelftestComputation::create_inputs() {
  input_ = device_.create_uninitialised<float>("input", {slices(), 100});
  input_.fill(kInputValue);
}

void SelftestComputation::create_outputs() {
  output_ = device_.create<float>("output", {slices(), 300});
}

void SelftestComputation::call() {
  Array<float> temporary = device_.create_uninitialised<float>("temporary", {slices(), 100});
  device_.copy(input_, 0, temporary, 0, input_.bytes());
  output_.fill(kOutputValue);
  device_.copy(temporary, 0, output_, 0, temporary.bytes());
}

std::string SelftestComputation::verify() {
  const std::vector<float> output = output_.read();
  const auto copied = static_cast<std::size_t>(input_.elements());
  for (std::size_t i = 0; i < output.size(); ++i) {
    const float expected = i < copied ? static_cast<float>(kInputValue) : kOutputValue;
    if (output[i] != expected) return fmt::format("element {} is {} instead of {}", i, output[i], expected);
  }
  return "";
}

std::optional<Size> SelftestComputation::bytes_moved() const {
  return 2 * input_.bytes() + output_.bytes();
}

Variant selftest_variant(std::string name, std::string help, Size percent, Size extra_slice_bytes) {
  const auto parts = [=](const Case&) {
    const Size slice_bytes = kSliceBytes + extra_slice_bytes;
    return std::vector<Part>{{"everything", slice_bytes * percent / 100, kFixedBytes * percent / 100}};
  };
  return {.name = std::move(name),
          .backends = {"opencl", "cuda", "dry"},
          .axes = {{"n", 20, "slices"}},
          .help = std::move(help),
          .slice_axis = "n",
          .estimators = {Estimator::of_parts(parts)}};
}

void add_known_bytes(Worker& worker) {
  worker.add<SelftestComputation>(selftest_variant("selftest/known_bytes", "42,000 bytes at n = 20"));
}

}  // namespace peakmark::selftest
