#pragma once

// For tests of variants: makes, calls and verifies a case as a trial does, and compares its estimate with the
// allocations on `dry`.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "api/user_variant_adapter.hpp"
#include "base/error.hpp"
#include "device/device.hpp"
#include "device/dry/dry_device.hpp"
#include "kernels/common/tested_device.hpp"
#include "kernels/common/worker_variants.hpp"
#include "ledger/ledger.hpp"
#include "worker/variant.hpp"

namespace peakmark::testing_variants {

using Overrides = std::initializer_list<std::pair<const char*, AxisValue>>;

/// Returns the default values of a variant's axes, with some overrides.
inline Parameters parameters_of(const Variant& variant, Overrides overrides) {
  Parameters parameters;
  for (const AxisDescription& axis : variant.description.axes) parameters.set(axis.name, axis.default_value);
  for (const auto& [name, value] : overrides) {
    if (variant.description.axis(name) == nullptr)
      throw UsageError(variant.description.name + " has no axis " + name);
    parameters.set(name, value);
  }
  return parameters;
}

inline std::string text_of(const Parameters& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters.values()) text += name + ":" + to_text(value) + " ";
  return text;
}

/// Returns the variants that `add` adds.
inline Registry registry_of(void (*add)(Worker&)) {
  Registry registry;
  add_own_variants(registry, variants_of(add));
  return registry;
}

inline std::unique_ptr<Device> open_tested(Grain grain) {
  DeviceInfo info =
      choose_device({.backend = parse_backend(kTestedBackendName), .device = {}}, list_devices());
  info.is_cpu = grain == Grain::cpu;
  return open_device(info);
}

/// Calls twice, the second time on restored inputs, as a trial does; then compares with the reference.
inline Verification verify(Device& device, const Variant& variant, const Parameters& parameters) {
  const auto computation = variant.make(device, parameters);
  computation->set_up();
  computation->create_inputs();
  computation->create_outputs();
  computation->call();
  computation->restore_inputs();
  computation->call();
  device.finish();
  return computation->verify();
}

inline void expect_right(Device& device, const Variant& variant, Overrides overrides) {
  const Parameters parameters = parameters_of(variant, overrides);
  const Verification verification = verify(device, variant, parameters);
  EXPECT_TRUE(verification.ok) << variant.description.name << " " << text_of(parameters) << ": "
                               << verification.message;
}

/// Returns what is allocated on `dry` from setup to the end of the second call.
inline LedgerSummary dry_summary(const Variant& variant, const Parameters& parameters, bool is_cpu) {
  const auto device = open_dry({.is_cpu = is_cpu});
  device->tell(&device->allocation_log());
  const auto computation = variant.make(*device, parameters);
  computation->set_up();
  computation->create_inputs();
  computation->create_outputs();
  computation->call();
  computation->restore_inputs();
  computation->call();
  return summarise(device->allocation_log().events(0));
}

/// Expects that the variant's own estimator predicts the peak on `dry` to the byte, for CPUs and GPUs. With
/// that much memory it must answer the slices used, and one less with a byte less.
inline void expect_exact(const Variant& variant, Overrides overrides) {
  const Parameters parameters = parameters_of(variant, overrides);
  const Estimator& estimator = *variant.estimators.at(0);
  const Size slices = parameters.integer(variant.description.slice_axis);
  EstimateRequest request = variant.request(parameters);
  const std::string sweep_case = variant.description.name + " " + text_of(parameters);
  for (const bool is_cpu : {true, false}) {
    const LedgerSummary summary = dry_summary(variant, parameters, is_cpu);
    EXPECT_EQ(estimator.bytes(request, slices), summary.peak_bytes) << sweep_case;
    request.available_bytes = summary.peak_bytes;
  }
  EXPECT_EQ(estimator.max_slices(request).slices, slices) << sweep_case;
  EXPECT_EQ(estimator.max_slices(request).dtype, request.dtype) << sweep_case;
  --request.available_bytes;
  EXPECT_EQ(estimator.max_slices(request).slices, slices - 1) << sweep_case;
}

}  // namespace peakmark::testing_variants
