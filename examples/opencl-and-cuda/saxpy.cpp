// y += a·x, written once for OpenCL and CUDA, in f32 and f64.
#include <peakmark/worker.hpp>
#include <string>
#include <vector>

#include "saxpy_source.hpp"

namespace {

using peakmark::Case;
using peakmark::Device;
using peakmark::Size;

template <typename T>
class Saxpy final : public peakmark::Computation {
 public:
  Saxpy(Device& device, Size n, const std::string& dtype) : device_(device), n_(n), dtype_(dtype) {}

  void set_up() override { kernel_ = device_.kernel(peakmark::saxpy_source(), "saxpy", dtype_); }
  void create_inputs() override {
    x_ = device_.create<T>("x", {n_});
    y_ = device_.create<T>("y", {n_});
    x_.fill(2);
    restore_inputs();
  }
  void call() override { device_.launch(kernel_, {.x = n_}, {y_, x_, n_, T{3}}); }
  void restore_inputs() override { y_.fill(1); }
  std::string verify() override {
    for (const T value : y_.read())
      if (value != 7) return "an element is " + std::to_string(value) + " instead of 7";
    return "";
  }
  [[nodiscard]] std::optional<Size> bytes_moved() const override { return 3 * x_.bytes(); }

 private:
  Device& device_;
  Size n_;
  std::string dtype_;
  peakmark::Kernel kernel_;
  peakmark::Array<T> x_, y_;
};

}  // namespace

int main(int argc, char** argv) {
  peakmark::Worker worker("saxpy");
  worker.add({.name = "saxpy/one_source",
              .backends = {"opencl", "cuda", "dry"},
              .axes = {{"n", 1'000'000, "elements"}, {"dtype", "f32", {"f32", "f64"}, "element type"}},
              .help = "y += a·x",
              .slice_axis = "n",
              .destroys_input = true,
              .estimators = {peakmark::Estimator::of_parts([](const Case& asked) {
                const Size bytes = asked.word("dtype") == "f64" ? 8 : 4;
                return std::vector<peakmark::Part>{{"x", bytes, 0}, {"y", bytes, 0}};
              })}},
             [](Device& device, const Case& asked) -> std::unique_ptr<peakmark::Computation> {
               const std::string& dtype = asked.word("dtype");
               if (dtype == "f64") return std::make_unique<Saxpy<double>>(device, asked["n"], dtype);
               return std::make_unique<Saxpy<float>>(device, asked["n"], dtype);
             });
  return worker.run(argc, argv);
}
