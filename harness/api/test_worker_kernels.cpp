// A kernel in the dialect for OpenCL and CUDA, on arrays whose element type is an axis.
#include <numeric>

#include "test_kernels_source.hpp"
#include "test_worker.hpp"

namespace {

using namespace peakmark;

template <typename Exception, typename Call>
void expect_throws(const char* what, const Call& call) {
  try {
    call();
  } catch (const Exception&) {
    return;
  }
  throw std::logic_error(std::string("no exception for ") + what);
}

/// out = 3 * in + 2 for all elements but the last two, which are copied from `in` and filled with 7.
class Scale final : public Computation {
 public:
  Scale(Device& device, const Case& asked) : device_(device), n_(asked["n"]), dtype_(asked.word("dtype")) {}

  void set_up() override {
    kernel_ = device_.kernel(test_kernels_source(), "scale", dtype_);
    const auto make = [this] {
      ++made_;
      return std::make_shared<std::string>(dtype_);
    };
    const auto first = device_.cached<std::string>("scale for " + dtype_, make);
    const auto second = device_.cached<std::string>("scale for " + dtype_, make);
    if (*first != dtype_ || first != second || made_ > 1) throw std::logic_error("cached() made two objects");
  }
  void create_inputs() override {
    in_ = device_.create_uninitialised("in", {n_}, dtype_);
    dtype_ == "f32" ? write<float>() : write<std::int32_t>();
  }
  void create_outputs() override { out_ = device_.create("out", {n_}, dtype_); }
  void call() override {
    const Argument factor = dtype_ == "f32" ? Argument(3.0F) : Argument(3);
    device_.launch(kernel_, {.x = n_ - 2}, {out_, in_, n_ - 2, factor, 2});
    device_.copy(in_, 0, out_, (n_ - 2) * 4, 4);
    out_.fill_part(n_ - 1, 1, 7);
  }
  std::string verify() override { return dtype_ == "f32" ? verify_as<float>() : verify_as<std::int32_t>(); }

 private:
  template <typename T>
  void write() {
    in_.write<T>(Generator<T>([](std::span<T> piece, Size first) {
      std::iota(piece.begin(), piece.end(), static_cast<T>(first));
    }));
  }
  template <typename T>
  [[nodiscard]] std::string verify_as() const {
    const std::vector<T> out = out_.read<T>();
    for (Size i = 0; i < n_; ++i) {
      const Size expected = i == n_ - 1 ? 7 : i == n_ - 2 ? 0 : 3 * i + 2;
      const T got = out[static_cast<std::size_t>(i)];
      if (got != static_cast<T>(expected))
        return "element " + std::to_string(i) + " is " + std::to_string(got) + " instead of " +
               std::to_string(expected);
    }
    std::vector<T> part(2);
    out_.read_part<T>(n_ - 2, std::span(part));
    return part == std::vector<T>{0, 7} ? "" : "read_part returns other elements than read";
  }

  Device& device_;
  Size n_;
  std::string dtype_;
  int made_ = 0;
  Kernel kernel_;
  DeviceArray in_;
  DeviceArray out_;
};

/// Each mistake of the program causes the exception that the header documents.
void check_errors(Device& device) {
  DeviceArray array = device.create("array", {4, 5}, "f32");
  Array<float> floats = device.create<float>("floats", {20});
  DeviceArray none;
  if (array.extents() != std::vector<Size>{4, 5} || array.dtype() != "f32" || array.elements() != 20)
    throw std::logic_error("an array does not know its extents and element type");
  if (array.bytes() != 80 || !array || none || none.elements() != 0)
    throw std::logic_error("an array does not know whether it was created");
  using Invalid = std::invalid_argument;
  expect_throws<Invalid>("an unknown element type", [&] { array = device.create("array", {4}, "f33"); });
  expect_throws<Invalid>("too many bytes", [&] {
    array = device.create("array", {Size{1} << 40, Size{1} << 40}, "f32");
  });
  expect_throws<Invalid>("doubles from an array of floats", [&] { static_cast<void>(array.read<double>()); });
  expect_throws<Invalid>("elements beyond the end", [&] { array.fill_part(15, 6, 1); });
  expect_throws<Invalid>("a value that f32 does not hold", [&] { array.fill(0.1); });
  expect_throws<Invalid>("a copy beyond the end", [&] { device.copy(array, 8, floats, 0, 80); });
  expect_throws<Invalid>("a copy to the same array", [&] { device.copy(array, 0, array, 0, 8); });
  expect_throws<Invalid>("a copy from an array that was not created",
                         [&] { device.copy(none, 0, floats, 0, 8); });
  expect_throws<Invalid>("a write to an array that was not created", [&] { none.fill(0); });
  const Kernel kernel = device.kernel(test_kernels_source(), "scale", "f32");
  expect_throws<Invalid>("a kernel's argument that was not created", [&] {
    device.launch(kernel, {.x = 1}, {none, array, Size{1}, 1.0F, 1});
  });
  expect_throws<std::out_of_range>("what make_object throws", [&] {
    try {
      static_cast<void>(device.cached<int>(
          "thrown", []() -> std::shared_ptr<int> { throw std::runtime_error("out of luck"); }));
    } catch (const std::runtime_error& error) {
      if (std::string(error.what()) == "out of luck") throw std::out_of_range(error.what());
    }
  });
  if (device.is_dry()) {
    expect_throws<Unsupported>("data of dry", [&] { static_cast<void>(floats.read()); });
    return;
  }
  expect_throws<Invalid>("too few arguments", [&] { device.launch(kernel, {.x = 1}, {array}); });
  expect_throws<std::runtime_error>("a source that does not compile", [&] {
    static_cast<void>(device.kernel({"broken", "PM_KERNEL(broken)(int", {}}, "broken", "f32"));
  });
}

/// The properties of a device that peakmark reports to a program.
void check_facts(const Device& device) {
  if (device.is_dry() != (device.backend() == "dry")) throw std::logic_error("is_dry");
  if (device.index() < 0) throw std::logic_error("index");
  if (device.is_dry()) return;
  if (device.compute_units() < 1) throw std::logic_error("compute_units");
  if (device.memory_bytes().value_or(0) < (Size{1} << 20)) throw std::logic_error("memory_bytes");
  if (device.max_allocation_bytes().value_or(Size{1} << 20) < (Size{1} << 20))
    throw std::logic_error("max_allocation_bytes");
}

void check_handles(Device& device) {
  const Array<float> one = device.create<float>("one", {2});
  const Array<float> other = device.create<float>("other", {2});
  if (one.handle() == 0 || one.handle() == other.handle()) throw std::logic_error("handles are not distinct");
  if (device.create<float>("empty", {0}).handle() != 0 || Array<float>().handle() != 0)
    throw std::logic_error("an array without memory has a handle");
}

Variant variant(const char* name) {
  return {.name = name,
          .backends = {"opencl", "cuda", "dry"},
          .axes = {{"n", 1000}, {"dtype", "f32", {"f32", "i32"}}},
          .slice_axis = "n",
          .estimators = {Estimator::of_bytes(
              [](const Case& asked) {
                const Size n = asked["n"];
                if (n > std::numeric_limits<Size>::max() / 8)
                  throw std::overflow_error("8 n is no 64-bit number");
                return 8 * n;
              },
              "own",
              [](const Case&) {
                return std::vector<Part>{{"numbers", 4, 0}, {"scaled", 4, 0}};
              })},
          .mistake = [](const Case& asked) -> std::string {
            if (asked["n"] > std::numeric_limits<Size>::max() / 8)
              throw std::overflow_error("8 n is no 64-bit number");
            return asked["n"] < 3 ? "n must be 3 or more" : "";
          }};
}

}  // namespace

void add_kernels(Worker& worker) {
  worker.add(variant("kernels/scale"), [](Device& device, const Case& asked) -> std::unique_ptr<Computation> {
    return std::make_unique<Scale>(device, asked);
  });
  worker.add(variant("kernels/errors"), [](Device& device, const Case&) {
    return Steps{.call =
                     [&device] {
                       check_errors(device);
                       check_facts(device);
                       check_handles(device);
                     },
                 .verify = [] { return std::string(); }};
  });
}
