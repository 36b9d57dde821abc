#include "measure/device/cuda/cuda_backend.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "measure/device/backend.hpp"

namespace peakmark {
namespace {

TEST(CudaList, ReportsWhyThereIsNoDevice) {
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
  EXPECT_EQ(cuda_absence(cudaErrorInsufficientDriver, 0), "cuda: no NVIDIA driver found");
  EXPECT_EQ(cuda_absence(cudaErrorInsufficientDriver, 11080).find(", or build"), std::string::npos);
#if CUDART_VERSION >= 13000
  EXPECT_EQ(cuda_absence(cudaErrorInsufficientDriver, 12040),
            "cuda: the NVIDIA driver supports CUDA 12.4, and this peakmark needs 13.0; update the driver to "
            "580 or later, or "
            "build peakmark with a toolkit of CUDA 12");
#else
  EXPECT_EQ(cuda_absence(cudaErrorInsufficientDriver, 11080),
            "cuda: the NVIDIA driver supports CUDA 11.8, and this peakmark needs 12.0; update the driver to "
            "525 or later");
#endif
  EXPECT_NE(cuda_absence(cudaErrorStubLibrary, 0).find("stub"), std::string::npos);
  for (const cudaError_t none : {cudaSuccess, cudaErrorNoDevice}) {
    EXPECT_NE(cuda_absence(none, 13000).find("no CUDA device found"), std::string::npos);
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
  EXPECT_THROW(check_cuda(cudaErrorMemoryAllocation, "try"), OutOfMemoryError);
  EXPECT_THROW(check_cuda(cudaErrorNoKernelImageForDevice, "try"), UnsupportedError);
}

// After an error with one of these codes of CUDA, the context cannot be used: 700, 702, 710, 714 to 721 and
// 810.
TEST(CudaErrors, ALostContextIsReported) {
  for (const int code : {700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 810}) {
    const auto result = static_cast<cudaError_t>(code);
    EXPECT_TRUE(is_context_lost(result)) << code;
    try {
      check_cuda(result, "try");
      FAIL() << code;
    } catch (const OutOfMemoryError&) {
      FAIL() << code;
    } catch (const MeasurementError& error) {
      EXPECT_NE(std::string(error.what()).find("context is lost"), std::string::npos) << error.what();
    }
  }
  for (const int code : {1, 2, 98, 209, 701})
    EXPECT_FALSE(is_context_lost(static_cast<cudaError_t>(code))) << code;
}

TEST(LaunchShape, RoundsUpToWholeBlocks) {
  const LaunchShape shape = launch_shape({.x = 257, .y = 3, .z = 2}, {}).value();
  EXPECT_EQ(shape.block_x, 256U);
  EXPECT_EQ(shape.grid_x, 2U);
  EXPECT_EQ(shape.block_y * shape.grid_y, 3U);
  EXPECT_EQ(shape.block_z * shape.grid_z, 2U);
}

TEST(LaunchShape, TakesTheLocalSizeAskedFor) {
  const LaunchShape shape =
      launch_shape({.x = 100, .y = 100, .z = 1, .local_x = 32, .local_y = 8}, {}).value();
  EXPECT_EQ(shape.block_x, 32U);
  EXPECT_EQ(shape.block_y, 8U);
  EXPECT_EQ(shape.block_z, 1U);
  EXPECT_EQ(shape.grid_x, 4U);
  EXPECT_EQ(shape.grid_y, 13U);
}

TEST(LaunchShape, CoversMoreThan32BitsOfWorkItems) {
  EXPECT_EQ(launch_shape({.x = (Size{1} << 33) + 1}, {}).value().grid_x, (1U << 25) + 1);
}

TEST(LaunchShape, NothingToDoIsNoLaunch) {
  EXPECT_FALSE(launch_shape({.x = 4, .y = 0}, {}));
}

TEST(LaunchShape, RefusesWhatCudaCannotLaunch) {
  EXPECT_NO_THROW(launch_shape({.x = Size{0x7fffffff} * 256}, {}));
  EXPECT_THROW(launch_shape({.x = Size{0x7fffffff} * 256 + 1}, {}), UsageError);
  EXPECT_NO_THROW(launch_shape({.x = 256, .y = 65535}, {}));
  EXPECT_THROW(launch_shape({.x = 256, .y = 65536}, {}), UsageError);
  EXPECT_THROW(launch_shape({.x = 1, .y = 1, .z = 65536}, {}), UsageError);
  EXPECT_THROW(launch_shape({.x = 1, .local_x = 1025}, {}), UsageError);
  EXPECT_THROW(launch_shape({.x = 1, .local_x = 64, .local_y = 64}, {}), UsageError);
  EXPECT_THROW(launch_shape({.x = 1, .local_z = 65}, {}), UsageError);
  EXPECT_THROW(launch_shape({.x = 1, .local_x = -1}, {}), UsageError);
}

}  // namespace
}  // namespace peakmark
