#pragma once

// The test suite that every backend must pass (tests/device_suite.cpp). A test program of a backend links
// peakmark_device_suite and instantiates DeviceSuite (sizes, names, errors) and, if arrays hold data,
// DeviceDataSuite, with a function that opens its device.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "measure/device/device.hpp"
#include "record/profile/event.hpp"
#include "test_kernels_source.hpp"

namespace peakmark {

using OpenDevice = std::unique_ptr<backend::Device> (*)();
// Without this function the names of the tests would contain an address, which differs in every process.
inline void PrintTo(OpenDevice /*open*/, std::ostream* out) {
  *out << "device";
}

/// Collects the names of allocations.
class NameCollector final : public EventSource {
 public:
  void phase(std::string_view /*name*/) override {}
  void name(std::uint64_t address, std::string_view name) override { names[address] = name; }
  void guards(Size bytes) override { guard_bytes.push_back(bytes); }
  [[nodiscard]] std::uint64_t count() const override { return 0; }
  [[nodiscard]] std::vector<Event> events(std::uint64_t /*first*/) override { return {}; }
  std::map<std::uint64_t, std::string> names;
  std::vector<Size> guard_bytes;
};

class DeviceSuite : public ::testing::TestWithParam<OpenDevice> {
 protected:
  std::unique_ptr<backend::Device> device_ = GetParam()();
  backend::Device& device() { return *device_; }
};
class DeviceDataSuite : public DeviceSuite {};

}  // namespace peakmark
