#include "interleaved.hpp"

#include <memory>

#include "api/user_variant_adapter.hpp"
#include "base/quantile.hpp"
#include "copy_baseline.hpp"
#include "kernels/common/variants.hpp"

namespace peakmark {

double Turns::median_ns(std::size_t variant) const {
  return quantile(ns_[variant], 0.5);
}

double Turns::over_first(std::size_t variant, double q) const {
  std::vector<double> ratios;
  for (std::size_t block = 0; block < ns_[0].size(); ++block) {
    ratios.push_back(ns_[variant][block] / ns_[0][block]);
  }
  return quantile(ratios, q);
}

std::optional<Turns> time_interleaved(benchmark::State& state, void (*add)(Worker&),
                                      const std::vector<std::string>& variants,
                                      const std::function<void(Parameters&)>& set) {
  Registry registry;
  add_own_variants(registry, variants_of(add));
  std::vector<std::unique_ptr<Computation>> computations;
  for (const std::string& name : variants) {
    const Variant& variant = *registry.find(name);
    Parameters parameters = variant.description.defaults();
    set(parameters);
    std::unique_ptr<Computation>& computation =
        computations.emplace_back(variant.make(bench_device(), parameters));
    computation->set_up();
    computation->create_inputs();
    computation->create_outputs();
    computation->call();
    if (const Verification verification = computation->verify(); !verification.ok) {
      state.SkipWithError((name + ": " + verification.message).c_str());
      return std::nullopt;
    }
  }
  Turns turns(variants.size());
  for (auto _ : state) {
    for (std::size_t variant = 0; variant < variants.size(); ++variant) {
      computations[variant]->restore_inputs();
      const auto ns =
          static_cast<double>(device_time_ns(bench_device(), [&] { computations[variant]->call(); }));
      turns.add(variant, ns);
      if (variant == 1) state.SetIterationTime(ns * 1e-9);
    }
  }
  state.counters["ratio"] = turns.over_first(1);
  state.counters["spread"] = (turns.over_first(1, 0.75) - turns.over_first(1, 0.25)) / turns.over_first(1);
  return turns;
}

}  // namespace peakmark
