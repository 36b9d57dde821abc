// Blurs a stack of images in three variants, which need different memory: docs/tutorial.md.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <peakmark/worker.hpp>

#include "blur_source.hpp"

using namespace peakmark;
using Values = std::vector<double>;

class Blur final : public Computation {
 public:
  Blur(Device& device, const Case& c, const std::string& variant)
      : device_(device), case_(c), variant_(variant) {
    for (Size d = -radius_; d <= radius_; ++d)
      line_.push_back(std::exp(-0.5 * double(d * d) / (sigma_ * sigma_)));
    const double sum = std::accumulate(line_.begin(), line_.end(), 0.0);
    for (double& weight : line_) weight /= sum;
  }

  void set_up() override {
    kernel_ = device_.kernel(blur_source(), variant_, dtype_);
    write(weights_ = create("weights", {2 * radius_ + 1}), line_);
    if (variant_ == "separable") between_ = create("between", {n_, ny_, nx_});
    if (variant_ == "in_place") lines_ = create("lines", {n_, std::max(ny_, nx_), radius_ + 1});
  }
  void create_inputs() override {
    in_ = create("in", {n_, ny_, nx_});
    restore_inputs();
  }
  void restore_inputs() override { write(in_, pixels()); }
  void create_outputs() override {
    if (variant_ != "in_place") out_ = create("out", {n_, ny_, nx_});
  }
  void call() override {
    const Range images{.x = nx_, .y = ny_, .z = n_};
    if (variant_ == "whole") device_.launch(kernel_, images, {in_, out_, weights_, ny_, nx_, radius_});
    if (variant_ == "separable") {
      device_.launch(kernel_, images, {in_, between_, weights_, ny_, nx_, radius_, Size{0}});
      device_.launch(kernel_, images, {between_, out_, weights_, ny_, nx_, radius_, Size{1}});
    }
    if (variant_ == "in_place") {
      device_.launch(kernel_, {.x = ny_, .y = n_}, {in_, lines_, weights_, ny_, nx_, radius_, Size{0}});
      device_.launch(kernel_, {.x = nx_, .y = n_}, {in_, lines_, weights_, ny_, nx_, radius_, Size{1}});
    }
  }
  std::string verify() override {
    const Values blurred = read(out_ ? out_ : in_), expected = along(along(pixels(), 1, nx_), nx_, ny_);
    for (std::size_t i = 0; i < blurred.size(); ++i)
      if (!(std::abs(blurred[i] - expected[i]) < 1e-5))
        return "pixel " + std::to_string(i) + " is " + std::to_string(blurred[i]);
    return "";
  }
  std::optional<Size> bytes_moved() const override { return 2 * in_.bytes(); }

 private:
  DeviceArray create(const std::string& name, const std::vector<Size>& extents) const {
    return device_.create(name, extents, dtype_);
  }
  static void write(DeviceArray& to, const Values& from) {
    if (to.dtype() == "f64") return to.write(std::span(from));
    const std::vector<float> rounded(from.begin(), from.end());
    to.write(std::span(rounded));
  }
  static Values read(const DeviceArray& from) {
    if (from.dtype() == "f64") return from.read<double>();
    const std::vector<float> values = from.read<float>();
    return Values(values.begin(), values.end());
  }
  Values pixels() const {
    Values values(n_ * ny_ * nx_);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = double(i * i % 251) / 251;  // an irregular pattern
    return values;
  }
  Values along(const Values& from, Size step, Size length) const {  // a plain loop
    Values to(from.size());
    for (Size pixel = 0; pixel < Size(to.size()); ++pixel)
      for (Size d = -radius_, i = pixel / step % length; d <= radius_; ++d)
        to[pixel] += line_[d + radius_] * from[pixel + (std::clamp<Size>(i + d, 0, length - 1) - i) * step];
    return to;
  }

  Device& device_;
  const Case case_;
  const std::string variant_, dtype_ = case_.word("dtype");
  const Size n_ = case_["n"], ny_ = case_["ny"], nx_ = case_["nx"], radius_ = case_["radius"];
  const double sigma_ = case_.real("sigma");
  Values line_;  // the weights along one axis
  Kernel kernel_;
  DeviceArray in_, out_, weights_, between_, lines_;
};

std::vector<Part> parts(const Case& c, const std::string& variant) {
  const Size item = c.word("dtype") == "f64" ? 8 : 4;
  const Size image = item * c["ny"] * c["nx"];
  const Part weights{"weights", 0, item * (2 * c["radius"] + 1)};
  if (variant == "whole") return {weights, {"in", image}, {"out", image}};
  if (variant == "separable") return {weights, {"in", image}, {"between", image}, {"out", image}};
  return {weights, {"in", image}, {"lines", item * c["nx"] * (c["radius"] + 1)}};
}

int main(int argc, char** argv) {
  Worker worker("blur");
  for (const std::string name : {"whole", "separable", "in_place"})
    worker.add({.name = "blur/" + name,
                .backends = {"opencl", "cuda", "dry"},
                .axes = {{"n", 5},
                         {"ny", 64},
                         {"nx", 64},
                         {"sigma", 1.5},
                         {"radius", 3},
                         {"dtype", "f32", {"f32", "f64"}}},
                .slice_axis = "n",
                .destroys_input = name == "in_place",
                .estimators = {Estimator::of_parts([name](const Case& c) { return parts(c, name); })}},
               [name](Device& device, const Case& c) { return std::make_unique<Blur>(device, c, name); });
  return worker.run(argc, argv);
}
