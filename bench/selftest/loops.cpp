#include <cmath>

#include "arithmetic_source.hpp"
#include "selftest_computation.hpp"

namespace peakmark::selftest {

namespace {

// One work-group runs on one core of a CPU device, where other processes disturb it least.
constexpr Size kItems = 64;

/// Work whose time is known up to a factor: `rounds` iterations of a loop, and `Percent` more.
template <int Percent, Size ExtraBytes>
class Loops final : public Computation {
 public:
  Loops(Device& device, const Case& asked)
      : device_(device), rounds_(asked["rounds"] * (100 + Percent) / 100) {}

  void set_up() override {
    kernel_ = device_.kernel(arithmetic_source(), "fixed_arithmetic", "f32");
    if (ExtraBytes > 0) cache_ = device_.create<std::uint8_t>("cache", {ExtraBytes});
  }
  void create_outputs() override { output_ = device_.create<float>("output", {kItems}); }
  void call() override {
    device_.launch(kernel_, {.x = kItems}, {output_, kItems, static_cast<std::int32_t>(rounds_)});
  }
  std::string verify() override {
    // Four geometric series near their limits: 1/2, 1/4, 1, 1/2.
    for (const float value : output_.read()) {
      if (std::abs(value - 2.25F) > 1e-3F) return "the loops did not reach their limit";
    }
    return "";
  }
  [[nodiscard]] std::optional<Size> bytes_moved() const override {
    return kItems * static_cast<Size>(sizeof(float));
  }

 private:
  Device& device_;
  Size rounds_;
  Kernel kernel_;
  Array<std::uint8_t> cache_;
  Array<float> output_;
};

template <int Percent, Size ExtraBytes>
void add(Worker& worker, std::string name, std::string help) {
  Variant variant = selftest_variant(std::move(name), std::move(help));
  variant.axes.emplace_back("rounds", 20000, "of the loop", 100);
  worker.add<Loops<Percent, ExtraBytes>>(std::move(variant));
}

}  // namespace

void add_loops(Worker& worker) {
  add<0, 0>(worker, "selftest/loops", "a loop, for comparisons of times");
  add<0, 0>(worker, "selftest/loops_again", "the same loop");
  add<10, 0>(worker, "selftest/loops_slower", "the same loop with 10 % more rounds");
  add<0, 256>(worker, "selftest/loops_cached", "the same loop, and a cache of 256 bytes");
}

}  // namespace peakmark::selftest
