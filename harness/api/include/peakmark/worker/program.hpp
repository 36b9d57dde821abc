/// A program's `main`: the variants that it has, and the call that does the rest.
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

// Of the program's build, written by peakmark_add_worker; null where another rule built it.
extern "C" __attribute__((weak)) const char* peakmark_worker_build();
extern "C" __attribute__((weak)) const char* peakmark_worker_commit();

namespace peakmark {
inline namespace api_1 {

/// The variants of a program. `int main(int argc, char** argv)` makes one, adds each variant and returns what
/// `run` returns.
class Worker {
 public:
  /// `name`: how run files call the program; empty: its file name.
  explicit Worker(std::string name = {}) : name_(std::move(name)) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// A variant whose cases are objects of class T, a Computation that is constructed from (Device&, const
  /// Case&). The constructor allocates nothing on the device yet. A variant that is no good (no backend, an
  /// axis twice, a name that another has) is a message of `run`, with exit code 2.
  template <typename T>
  Worker& add(Variant variant) {
    static_assert(std::is_base_of_v<Computation, T>, "T is no Computation");
    return hold(std::move(variant), [](Device& device, const Case& asked) -> std::unique_ptr<Computation> {
      return std::make_unique<T>(device, asked);
    });
  }
  /// A variant of lambdas: `make` is called once a case, and allocates nothing on the device yet.
  Worker& add(Variant variant, std::function<Steps(Device&, const Case&)> make) {
    if (!make) return hold(std::move(variant), nullptr);  // `run` says so
    return hold(std::move(variant),
                [make = std::move(make)](Device& device, const Case& asked) -> std::unique_ptr<Computation> {
                  return std::make_unique<detail::OfSteps>(make(device, asked));
                });
  }

  /// The whole of main(): describes the variants, answers for their estimators, or measures, as the arguments
  /// ask. Returns the exit code of the program; throws nothing.
  int run(int argc, char** argv) {
    std::vector<const peakmark_variant*> variants;
    for (const auto& held : held_) variants.push_back(held->seam());
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
