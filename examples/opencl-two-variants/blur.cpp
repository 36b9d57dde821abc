// Blurs a stack of images: each pixel becomes the mean of 3 x 3 pixels. Two variants: rows first and then
// columns, with a stack between them, or at once.
#include <algorithm>
#include <cmath>
#include <limits>
#include <peakmark/opencl.hpp>
#include <string>
#include <vector>

namespace {

using namespace peakmark;

constexpr const char* kSource = R"(
int inside(int i, int n) { return clamp(i, 0, n - 1); }

float three(global const float* in, size_t first, size_t step, int i, int n) {
  return in[first + inside(i - 1, n) * step] + in[first + i * step] + in[first + inside(i + 1, n) * step];
}

kernel void rows(global const float* in, global float* out, int ny, int nx) {
  int x = get_global_id(0);
  size_t row = (get_global_id(2) * ny + get_global_id(1)) * nx;
  out[row + x] = three(in, row, 1, x, nx) / 3;
}

kernel void columns(global const float* in, global float* out, int ny, int nx) {
  int y = get_global_id(1);
  size_t column = get_global_id(2) * ny * nx + get_global_id(0);
  out[column + (size_t)y * nx] = three(in, column, nx, y, ny) / 3;
}

kernel void at_once(global const float* in, global float* out, int ny, int nx) {
  int x = get_global_id(0), y = get_global_id(1);
  size_t image = get_global_id(2) * ny * nx;
  float sum = 0;
  for (int dy = -1; dy <= 1; ++dy) sum += three(in, image + (size_t)inside(y + dy, ny) * nx, 1, x, nx);
  out[image + (size_t)y * nx + x] = sum / 9;
}
)";

/// Input, output and verification of both variants.
class Blur : public Computation {
 public:
  Blur(Device& device, const Case& c) : device_(device), n_(c["n"]), ny_(c["ny"]), nx_(c["nx"]) {}

  void create_inputs() override {
    host_.resize(static_cast<std::size_t>(n_ * ny_ * nx_));
    // An irregular pattern, so that an offset of one pixel is detected.
    std::uint32_t state = 1;
    for (float& pixel : host_) pixel = static_cast<float>((state = state * 1664525U + 1013904223U) >> 24);
    in_ = device_.create<float>("in", {n_, ny_, nx_});
    in_.write(host_);
  }
  void create_outputs() override { out_ = device_.create<float>("out", {n_, ny_, nx_}); }

  std::string verify() override {
    const std::vector<float> blurred = out_.read();
    for (Size i = 0; i < n_ * ny_ * nx_; ++i) {
      const double expected = mean_around(i);
      // Nine roundings of sums up to 9 * 255, and one of the quotient.
      if (std::abs(blurred[static_cast<std::size_t>(i)] - expected) <= 1e-3) continue;
      return "pixel " + std::to_string(i) + " is " + std::to_string(blurred[static_cast<std::size_t>(i)]) +
             " instead of " + std::to_string(expected);
    }
    return "";
  }
  [[nodiscard]] std::optional<Size> bytes_moved() const override { return in_.bytes() + out_.bytes(); }

 protected:
  void run(cl_kernel kernel, const Array<float>& in, const Array<float>& out) const {
    const std::vector<std::size_t> pixels{static_cast<std::size_t>(nx_), static_cast<std::size_t>(ny_),
                                          static_cast<std::size_t>(n_)};
    opencl::launch(device_, kernel, pixels, in, out, static_cast<cl_int>(ny_), static_cast<cl_int>(nx_));
  }

  Device& device_;
  Size n_, ny_, nx_;
  Array<float> in_, out_;

 private:
  [[nodiscard]] double mean_around(Size pixel) const {
    const Size image = pixel / (ny_ * nx_);
    const Size y = pixel / nx_ % ny_;
    const Size x = pixel % nx_;
    double sum = 0;
    for (const Size dy : {-1, 0, 1}) {
      for (const Size dx : {-1, 0, 1}) {
        const Size row = std::clamp<Size>(y + dy, 0, ny_ - 1);
        const Size column = std::clamp<Size>(x + dx, 0, nx_ - 1);
        sum += host_[static_cast<std::size_t>((image * ny_ + row) * nx_ + column)];
      }
    }
    return sum / 9;
  }

  std::vector<float> host_;
};

class TwoPasses final : public Blur {
 public:
  using Blur::Blur;
  void set_up() override {
    rows_ = opencl::compile(device_, kSource, "rows");
    columns_ = opencl::compile(device_, kSource, "columns");
    between_ = device_.create<float>("between", {n_, ny_, nx_});
  }
  void call() override {
    run(rows_, in_, between_);
    run(columns_, between_, out_);
  }

 private:
  opencl::Kernel rows_, columns_;
  Array<float> between_;
};

class AtOnce final : public Blur {
 public:
  using Blur::Blur;
  void set_up() override { kernel_ = opencl::compile(device_, kSource, "at_once"); }
  void call() override { run(kernel_, in_, out_); }

 private:
  opencl::Kernel kernel_;
};

Variant variant(const std::string& name, const std::string& help, const std::vector<std::string>& stacks) {
  return {.name = name,
          .backends = {"opencl"},
          .axes = {{"n", 20, "images"}, {"ny", 256, "rows"}, {"nx", 256, "columns"}},
          .help = help,
          .slice_axis = "n",
          .estimators = {Estimator::of_parts([stacks](const Case& c) {
            std::vector<Part> parts;
            for (const std::string& stack : stacks) parts.push_back({stack, 4 * c["ny"] * c["nx"]});
            return parts;
          })},
          .mistake = [](const Case& c) -> std::string {
            constexpr Size kMost = std::numeric_limits<cl_int>::max();
            return c["ny"] > kMost || c["nx"] > kMost ? "the kernels count rows and columns in 32 bits" : "";
          }};
}

}  // namespace

int main(int argc, char** argv) {
  return Worker("blur 1")
      .add<TwoPasses>(variant("blur/two_passes", "rows, then columns", {"in", "out", "between"}))
      .add<AtOnce>(variant("blur/at_once", "nine pixels at once", {"in", "out"}))
      .run(argc, argv);
}
