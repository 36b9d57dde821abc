#include <cmath>

#include "arithmetic_source.hpp"
#include "selftest_computation.hpp"

namespace peakmark::selftest {

namespace {

// One work-group, on one core of a CPU device: other processes then disturb it least.
constexpr Size kItems = 64;

/// Work whose time is known up to a factor: `rounds` of a loop, and `Percent` of them more.
template <int Percent, Size ExtraBytes>
class Loops final : public Computation {
 public:
  Loops(Device& device, const Parameters& parameters)
      : device_(device), rounds_(parameters.integer("rounds") * (100 + Percent) / 100) {}

  void set_up() override {
    kernel_ = device_.kernel(arithmetic_source(), "fixed_arithmetic", DType::f32);
    if (ExtraBytes > 0) cache_ = device_.create("cache", {ExtraBytes}, DType::u8);
  }
  void create_inputs() override {}
  void create_outputs() override { output_ = device_.create("output", {kItems}, DType::f32); }
  void call() override {
    device_.launch(kernel_, {.x = kItems}, {&output_, kItems, static_cast<std::int32_t>(rounds_)});
  }
  Verification verify() override {
    // Four geometric series near their limits: 1/2, 1/4, 1, 1/2.
    for (const float value : device_.pull<float>(output_)) {
      if (std::abs(value - 2.25F) > 1e-3F) return {false, "the loops did not come to their limit"};
    }
    return {true, {}};
  }
  [[nodiscard]] std::optional<Size> bytes_moved() const override { return kItems * size_of(DType::f32); }
  [[nodiscard]] DType output_dtype() const override { return DType::f32; }

 private:
  Device& device_;
  Size rounds_;
  Kernel kernel_;
  Array cache_;
  Array output_;
};

template <int Percent, Size ExtraBytes>
void add(Registry& registry, std::string name, std::string help) {
  Variant variant = selftest_variant(std::move(name), std::move(help));
  variant.description.axes.push_back({"rounds", Size{20000}, {}, 100, "of the loop"});
  variant.make = maker<Loops<Percent, ExtraBytes>>();
  registry.add(std::move(variant));
}

}  // namespace

void add_loops(Registry& registry) {
  add<0, 0>(registry, "selftest/loops", "a loop, for comparisons of times");
  add<0, 0>(registry, "selftest/loops_again", "the same loop");
  add<10, 0>(registry, "selftest/loops_slower", "the same loop with 10 % more rounds");
  add<0, 256>(registry, "selftest/loops_cached", "the same loop, and a cache of 256 bytes");
}

}  // namespace peakmark::selftest
