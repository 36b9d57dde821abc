// What must hold on every machine, with a driver or without one.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "device/backends.hpp"
#include "device/cuda/cuda_error.hpp"

namespace peakmark {
namespace {

TEST(CudaList, SaysWhyThereIsNoDevice) {
  DeviceList list;
  list_cuda(list);
  EXPECT_EQ(list.devices.empty(), !list.reasons.empty());
  for (const std::string& reason : list.reasons) EXPECT_TRUE(reason.starts_with("cuda: ")) << reason;
  for (const DeviceInfo& info : list.devices) {
    EXPECT_EQ(info.backend, Backend::cuda);
    EXPECT_GT(info.memory_bytes.value_or(0), 0);
  }
}

TEST(CudaList, TheReasonIsTheRealOne) {
  EXPECT_EQ(cuda_absence(cudaErrorInsufficientDriver, 0), "cuda: there is no NVIDIA driver here");
  EXPECT_NE(cuda_absence(cudaErrorInsufficientDriver, 12040).find("is for CUDA 12.4"), std::string::npos);
  EXPECT_NE(cuda_absence(cudaErrorStubLibrary, 0).find("stub"), std::string::npos);
  for (const cudaError_t none : {cudaSuccess, cudaErrorNoDevice}) {
    EXPECT_NE(cuda_absence(none, 13000).find("sees no device"), std::string::npos);
  }
  EXPECT_NE(cuda_absence(cudaErrorSystemNotReady, 13000).find("(802)"), std::string::npos);
}

TEST(CudaList, ADeviceThatIsNotThereIsADeviceError) {
  DeviceInfo info;
  info.backend = Backend::cuda;
  info.index = 4096;
  EXPECT_THROW(open_cuda(info), DeviceError);
}

TEST(CudaErrors, OnlyAFullMemoryIsOutOfMemory) {
  EXPECT_NO_THROW(check_cuda(cudaSuccess, "try"));
  EXPECT_THROW(check_cuda(cudaErrorMemoryAllocation, "try"), OutOfMemory);
  EXPECT_THROW(check_cuda(cudaErrorNoKernelImageForDevice, "try"), Unsupported);
}

// The codes of facts about CUDA: 700, 702, 710, 714 to 721 and 810 end the context.
TEST(CudaErrors, ALostContextSaysSo) {
  for (const int code : {700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 810}) {
    const auto result = static_cast<cudaError_t>(code);
    EXPECT_TRUE(is_context_lost(result)) << code;
    try {
      check_cuda(result, "try");
      FAIL() << code;
    } catch (const OutOfMemory&) {
      FAIL() << code;
    } catch (const MeasurementError& error) {
      EXPECT_NE(std::string(error.what()).find("context is lost"), std::string::npos) << error.what();
    }
  }
  for (const int code : {1, 2, 98, 209, 701})
    EXPECT_FALSE(is_context_lost(static_cast<cudaError_t>(code))) << code;
}

TEST(CudaErrors, NoDriverIsNoDevice) {
  for (const int code : {34, 35, 100}) EXPECT_TRUE(is_no_device(static_cast<cudaError_t>(code))) << code;
  for (const int code : {0, 2, 700}) EXPECT_FALSE(is_no_device(static_cast<cudaError_t>(code))) << code;
}

}  // namespace
}  // namespace peakmark
