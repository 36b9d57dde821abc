// This test needs a device: `ci/gpu-check` runs it.
#include <cuda_runtime_api.h>

#include "measure/device/backend.hpp"
#include "measure/device/device_testing.hpp"

namespace peakmark {

using backend::Array;
using backend::Device;
namespace {

std::unique_ptr<Device> open_first_cuda() {
  return open_device(choose_device({.backend = Backend::cuda, .device = "0"}, list_devices()));
}

INSTANTIATE_TEST_SUITE_P(Cuda, DeviceSuite, ::testing::Values(&open_first_cuda));
INSTANTIATE_TEST_SUITE_P(Cuda, DeviceDataSuite, ::testing::Values(&open_first_cuda));

class CudaTest : public ::testing::Test {
 protected:
  std::unique_ptr<Device> device_ = open_first_cuda();
};

TEST_F(CudaTest, TheGrainIsTheCallersChoice) {
  DeviceInfo info = device_->info();
  info.is_cpu = true;
  EXPECT_TRUE(open_device(info)->info().is_cpu);
}

TEST_F(CudaTest, OutOfMemoryLeavesTheDeviceUsable) {
  const Size total = device_->info().memory_bytes.value();
  EXPECT_THROW(device_->create_uninitialised("too large", {total * 2}, DType::u8), OutOfMemoryError);
  const Array array = device_->create("small", {4}, DType::f32);
  EXPECT_EQ(device_->pull<float>(array), std::vector<float>(4, 0.0F));
}

TEST_F(CudaTest, WhatIsAllocatedIsMissingFromTheFreeMemory) {
  const Size before = device_->memory().free_bytes.value();
  const Size bytes = Size{256} << 20;
  Array array = device_->create_uninitialised("a", {bytes}, DType::u8);
  // Other processes may allocate memory in the meantime, and the card allocates in steps larger than a byte.
  EXPECT_LE(device_->memory().free_bytes.value(), before - bytes + (Size{4} << 20));
  array.reset();
}

TEST_F(CudaTest, EveryElementBeyond32BitsIsReached) {
  const Size count = (Size{1} << 32) + 5;
  Array array = device_->create("a", {count}, DType::u8);
  device_->fill_part(array, count - 3, 2, 7);
  std::vector<std::uint8_t> end(6);
  device_->pull_part<std::uint8_t>(array, count - 6, end);
  EXPECT_EQ(end, (std::vector<std::uint8_t>{0, 0, 0, 7, 7, 0}));
}

TEST_F(CudaTest, ASourceWithoutAnImageIsUnsupported) {
  const KernelSource source{"text only", "", {}};
  EXPECT_THROW(device_->kernel(source, "a", DType::f32), UnsupportedError);
}

TEST_F(CudaTest, TheStreamIsThere) {
  EXPECT_NE(device_->native().queue, nullptr);
}

}  // namespace
}  // namespace peakmark
