/// The `main` function of a worker: adds its variants and runs them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "peakmark/worker/device.hpp"
#include "peakmark/worker/held_variant.hpp"
#include "peakmark/worker/variant.hpp"
#include "peakmark/worker_abi.h"

// The build type and commit of the program. peakmark_add_worker defines them; null without it.
extern "C" __attribute__((weak)) const char* peakmark_worker_build();
extern "C" __attribute__((weak)) const char* peakmark_worker_commit();

namespace peakmark {
inline namespace api_1 {

/// The variants of a program. `main` makes a Worker, adds each variant and returns what `run` returns.
class Worker {
 public:
  /// `name`: the name of the program in run files; empty: its file name.
  explicit Worker(std::string name = {}) : name_(std::move(name)) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Adds a variant whose cases are objects of class T, a Computation with a constructor T(Device&, const
  /// Case&). The constructor must not allocate on the device. For an invalid variant (no backend, a duplicate
  /// axis, a duplicate name), `run` prints an error and returns exit code 2.
  template <typename T>
  Worker& add(Variant variant) {
    static_assert(std::is_base_of_v<Computation, T>, "T must be derived from peakmark::Computation");
    return hold(std::move(variant), [](Device& device, const Case& asked) -> std::unique_ptr<Computation> {
      return std::make_unique<T>(device, asked);
    });
  }
  /// Adds a variant whose cases `make` makes, for example objects of a class whose constructor takes more
  /// than a case. `make` is called once for each case, and must not allocate on the device.
  Worker& add(Variant variant, std::function<std::unique_ptr<Computation>(Device&, const Case&)> make) {
    return hold(std::move(variant), std::move(make));
  }
  /// Adds a variant made of lambdas. `make` is called once for each case, and must not allocate on the
  /// device.
  Worker& add(Variant variant, std::function<Steps(Device&, const Case&)> make) {
    if (!make) return hold(std::move(variant), nullptr);  // `run` reports it
    return hold(std::move(variant),
                [make = std::move(make)](Device& device, const Case& asked) -> std::unique_ptr<Computation> {
                  return std::make_unique<detail::StepsComputation>(make(device, asked));
                });
  }

  /// Does what the arguments ask for: describes the variants, evaluates their estimators, or measures cases.
  /// Returns the exit code of the program. Never throws.
  int run(int argc, char** argv) {
    const std::vector<const peakmark_variant*> variants = abi_variants();
    peakmark_worker worker{};
    worker.api_major = PEAKMARK_API_MAJOR;
    worker.api_minor = PEAKMARK_API_MINOR;
    worker.name = name_.empty() ? nullptr : name_.c_str();
    worker.build = peakmark_worker_build != nullptr ? peakmark_worker_build() : nullptr;
    worker.commit = peakmark_worker_commit != nullptr ? peakmark_worker_commit() : nullptr;
    worker.variants = variants.data();
    worker.variant_count = variants.size();
    return peakmark_worker_run(&worker, argc, argv);
  }
  // For the library. The pointers are valid as long as this object.
  [[nodiscard]] std::vector<const peakmark_variant*> abi_variants() const {
    std::vector<const peakmark_variant*> variants;
    for (const auto& held : held_) variants.push_back(held->abi());
    return variants;
  }

 private:
  Worker& hold(Variant variant, detail::MakeComputation make) {
    held_.push_back(std::make_unique<detail::HeldVariant>(std::move(variant), std::move(make)));
    return *this;
  }

  std::string name_;
  std::vector<std::unique_ptr<detail::HeldVariant>> held_;
};

}  // namespace api_1
}  // namespace peakmark
