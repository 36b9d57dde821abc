#include "kernels/common/harness_testing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "kernels/common/variants.hpp"
#include "measure/device/dry/dry_device.hpp"
#include "measure/worker/abi.hpp"
#include "measure/worker/variant.hpp"

namespace peakmark::testing_variants {

using backend::Array;
using backend::Device;

namespace {

class HostBuffer final : public Buffer {
 public:
  explicit HostBuffer(Size bytes) : memory_(static_cast<std::size_t>(bytes)) {}
  [[nodiscard]] Size bytes() const override { return std::ssize(memory_); }
  [[nodiscard]] std::uint64_t handle() const override {
    return reinterpret_cast<std::uint64_t>(memory_.data());
  }

 private:
  std::vector<std::byte> memory_;
};

/// A device that reports the backend CUDA, with arrays in host memory. Its kernels do nothing.
class HostMemoryDevice final : public IdleDevice {
 public:
  HostMemoryDevice() { info_.backend = Backend::cuda; }
  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] DeviceMemory memory() const override { return {}; }
  void fill_part(Array& array, Size first, Size count, double value) override {
    if (count > 0)
      std::fill_n(reinterpret_cast<float*>(array.buffer().handle()) + first, count,
                  static_cast<float>(value));
  }
  void copy(const Array& /*from*/, Size /*from_offset_bytes*/, Array& /*to*/, Size /*to_offset_bytes*/,
            Size /*bytes*/) override {}

 protected:
  std::unique_ptr<Buffer> allocate(Size bytes) override { return std::make_unique<HostBuffer>(bytes); }
  void write_bytes(Array& array, Size offset_bytes, std::span<const std::byte> data) override {
    std::memcpy(reinterpret_cast<std::byte*>(array.buffer().handle()) + offset_bytes, data.data(),
                data.size());
  }
  void read_bytes(const Array& array, Size offset_bytes, std::span<std::byte> data) override {
    std::memcpy(data.data(), reinterpret_cast<std::byte*>(array.buffer().handle()) + offset_bytes,
                data.size());
  }

 private:
  DeviceInfo info_;
};

HarnessDevice opened(std::shared_ptr<Device> device) {
  const peakmark_device abi = abi_device(*device);
  return {std::move(device), abi};
}

Device& harness_device(const HarnessDevice& device) {
  return *static_cast<Device*>(device.abi.self);
}

DryDevice& dry_device(const HarnessDevice& device) {
  return dynamic_cast<DryDevice&>(harness_device(device));
}

class HarnessCase final : public TestCase {
 public:
  explicit HarnessCase(std::unique_ptr<CaseInstance> instance) : instance_(std::move(instance)) {}
  void set_up() override { instance_->set_up(); }
  void create_inputs() override { instance_->create_inputs(); }
  void create_outputs() override { instance_->create_outputs(); }
  void call() override { instance_->call(); }
  void restore_inputs() override { instance_->restore_inputs(); }
  [[nodiscard]] std::string verify() override {
    try {
      const std::optional<std::string> error = instance_->verify();
      EXPECT_NE(error, "");
      return error.value_or("");
    } catch (const UnsupportedError& error) {
      throw UnsupportedCase(error.what());
    }
  }
  [[nodiscard]] std::optional<Size> bytes_moved() const override { return instance_->bytes_moved(); }

 private:
  std::unique_ptr<CaseInstance> instance_;
};

}  // namespace

Size HarnessDevice::used_bytes() const {
  return harness_device(*this).memory().used_bytes.value();
}

std::uint64_t HarnessDevice::logged_events() const {
  return dry_device(*this).allocation_log().count();
}

std::size_t HarnessDevice::cached_objects_made() const {
  return harness_device(*this).library_programs().compilations();
}

HarnessDevice open_harness_device(std::string_view backend, Grain grain, std::optional<Size> compute_units) {
  DeviceInfo info = choose_device({.backend = parse_backend(backend), .device = {}}, list_devices());
  info.is_cpu = grain == Grain::cpu;
  if (compute_units) info.compute_units = *compute_units;
  return opened(open_device(info));
}

HarnessDevice open_harness_dry(Grain grain, std::optional<Size> budget_bytes) {
  return opened(open_dry({.is_cpu = grain == Grain::cpu, .budget_bytes = budget_bytes}));
}

HarnessDevice open_harness_host_memory() {
  return opened(std::make_shared<HostMemoryDevice>());
}

const std::string& TestVariant::name() const {
  return variant_->description.name;
}

const std::vector<std::string>& TestVariant::backends() const {
  return variant_->description.backends;
}

bool TestVariant::destroys_input() const {
  return variant_->description.destroys_input;
}

Parameters TestVariant::parameters(Overrides overrides) const {
  const VariantDescription& description = variant_->description;
  Parameters parameters = description.defaults();
  for (const auto& [name, value] : overrides) {
    if (description.axis(name) == nullptr) throw UsageError(description.name + " has no axis " + name);
    parameters.set(name, value);
  }
  return parameters;
}

std::unique_ptr<TestCase> TestVariant::make(const HarnessDevice& device, const Parameters& parameters) const {
  try {
    return std::make_unique<HarnessCase>(variant_->make(harness_device(device), parameters));
  } catch (const UnsupportedError& error) {
    throw UnsupportedCase(error.what());
  }
}

std::size_t TestVariant::estimators() const {
  return variant_->estimators.size();
}

std::string TestVariant::estimator_name(std::size_t estimator) const {
  return std::string(variant_->estimators.at(estimator).name());
}

Size TestVariant::bytes(const Parameters& parameters, Size slices, std::size_t estimator) const {
  variant_->check(parameters);
  return variant_->estimators.at(estimator).bytes(parameters, slices);
}

std::vector<EstimatedPart> TestVariant::parts(const Parameters& parameters, std::size_t estimator) const {
  variant_->check(parameters);
  std::vector<EstimatedPart> parts;
  for (const EstimateTerm& term : variant_->estimators.at(estimator).terms(parameters))
    parts.push_back({term.name, term.per_slice_bytes, term.fixed_bytes});
  return parts;
}

SlicesAnswer TestVariant::max_slices(const Parameters& parameters, Size available_bytes,
                                     std::size_t estimator) const {
  variant_->check(parameters);
  return {variant_->estimators.at(estimator).max_slices(parameters, available_bytes),
          variant_->output_dtype(parameters)};
}

Size TestVariant::slices(const Parameters& parameters) const {
  return parameters.integer(variant_->description.slice_axis);
}

LedgerSummary TestVariant::dry_summary(const Parameters& parameters, Grain grain) const {
  const HarnessDevice device = open_harness_dry(grain, std::nullopt);
  EventSource& log = dry_device(device).allocation_log();
  harness_device(device).set_event_source(&log);
  const auto test_case = make(device, parameters);
  log.phase("set_up");
  test_case->set_up();
  log.phase("inputs");
  test_case->create_inputs();
  log.phase("outputs");
  test_case->create_outputs();
  log.phase("call");
  test_case->call();
  test_case->restore_inputs();
  test_case->call();
  return summarise(log.events(0));
}

TestVariants::TestVariants(void (*add)(Worker&)) {
  Registry registry;
  registry.add_own(variants_of(add));
  for (const RegisteredVariant& variant : registry.variants())
    variants_.emplace_back(std::make_shared<const RegisteredVariant>(variant));
}

const TestVariant& TestVariants::find(const std::string& name) const {
  const auto found = std::ranges::find(variants_, name, &TestVariant::name);
  if (found == variants_.end()) throw UsageError("no variant " + name);
  return *found;
}

}  // namespace peakmark::testing_variants
