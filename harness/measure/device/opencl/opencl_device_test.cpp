#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "measure/device/backend.hpp"
#include "measure/device/device_testing.hpp"

namespace peakmark {

using backend::Array;
using backend::Device;
using backend::Kernel;
namespace {

std::unique_ptr<Device> open_first_opencl() {
  return open_device(choose_device({.backend = Backend::opencl, .device = ""}, list_devices()));
}

INSTANTIATE_TEST_SUITE_P(OpenCl, DeviceSuite, ::testing::Values(&open_first_opencl));
INSTANTIATE_TEST_SUITE_P(OpenCl, DeviceDataSuite, ::testing::Values(&open_first_opencl));

class OpenClTest : public ::testing::Test {
 protected:
  std::unique_ptr<Device> device_ = open_first_opencl();
};

std::string error_message(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

/// Returns the masks of blocked signals of all threads but the calling one.
std::vector<std::uint64_t> masks_of_other_threads() {
  std::vector<std::uint64_t> masks;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    if (thread.path().filename() == std::to_string(::gettid())) continue;
    std::ifstream status(thread.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("SigBlk:")) masks.push_back(std::stoull(line.substr(7), nullptr, 16));
    }
  }
  return masks;
}

TEST_F(OpenClTest, ThreadsOfTheDriverTakeNoSignalOfThisProcess) {
  const std::vector<std::uint64_t> masks = masks_of_other_threads();
  ASSERT_FALSE(masks.empty()) << "PoCL has threads";
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGUSR1}) {
    for (const std::uint64_t mask : masks) EXPECT_TRUE(((mask >> (signal - 1)) & 1U) != 0) << signal;
  }
  sigset_t own{};
  pthread_sigmask(SIG_SETMASK, nullptr, &own);
  EXPECT_EQ(sigismember(&own, SIGINT), 0) << "this thread gets them as before";
}

TEST_F(OpenClTest, ASourceThatDoesNotCompileShowsTheLogWithItsOwnLine) {
  const KernelSource source{
      "broken", "PM_KERNEL(a)(PM_GLOBAL pm_element* data) {\n  data[0] = nowhere;\n}\n", {}};
  EXPECT_THAT(error_message([&] { device_->kernel(source, "a", DType::f32); }),
              ::testing::AllOf(::testing::HasSubstr("broken for f32 does not compile"),
                               ::testing::HasSubstr("broken:2:"), ::testing::HasSubstr("nowhere")));
}

TEST_F(OpenClTest, ProgramsAreCompiledOnce) {
  const Kernel first = device_->kernel(test_kernels_source(), "add_index", DType::f32);
  EXPECT_EQ(device_->kernel(test_kernels_source(), "add_index", DType::f32).implementation(),
            first.implementation());
  EXPECT_NE(device_->kernel(test_kernels_source(), "add_index", DType::f64).implementation(),
            first.implementation());
}

TEST_F(OpenClTest, AnArgumentOfTheWrongWidthIsRefused) {
  const Array array = device_->create("a", {4}, DType::f32);
  const Kernel kernel = device_->kernel(test_kernels_source(), "add_index", DType::f32);
  EXPECT_THAT(
      error_message([&] {
        device_->launch(kernel, {.x = 4}, {&array, std::int32_t{4}, 1.0F});
      }),
      ::testing::HasSubstr("argument 1 of add_index: a 32-bit integer; the kernel expects a 64-bit integer"));
  EXPECT_THAT(error_message([&] {
                device_->launch(kernel, {.x = 4}, {&array, Size{4}, 1.0});
              }),
              ::testing::HasSubstr("argument 2 of add_index: a double; the kernel expects a float"));
  EXPECT_THAT(error_message([&] {
                device_->launch(kernel, {.x = 4}, {Size{4}, Size{4}, 1.0F});
              }),
              ::testing::HasSubstr("argument 0 of add_index: a 64-bit integer; the kernel expects memory"));
  EXPECT_THAT(error_message([&] {
                device_->launch(kernel, {.x = 4}, {&array, Size{4}});
              }),
              ::testing::HasSubstr("add_index takes 3, not 2"));
}

TEST_F(OpenClTest, ARequestAboveTheLimitNamesTheLimit) {
  ASSERT_TRUE(device_->info().max_allocation_bytes);
  const Size limit = *device_->info().max_allocation_bytes;
  EXPECT_THAT(error_message([&] { device_->create_uninitialised("a", {limit + 1}, DType::u8); }),
              ::testing::AllOf(::testing::HasSubstr("CL_INVALID_BUFFER_SIZE (-61)"),
                               ::testing::HasSubstr(std::to_string(limit))));
}

TEST_F(OpenClTest, ComplexIsNoElementTypeOfKernels) {
  EXPECT_THROW(device_->kernel(test_kernels_source(), "add_index", DType::c64), UsageError);
}

TEST_F(OpenClTest, TheVendorsObjectsAreThere) {
  EXPECT_NE(device_->native().context, nullptr);
  EXPECT_NE(device_->native().queue, nullptr);
  EXPECT_NE(device_->native().device, nullptr);
}

TEST(OpenClOpen, ADeviceThatHasGoneIsAnError) {
  DeviceInfo info = choose_device({.backend = Backend::opencl, .device = ""}, list_devices());
  info.index = 1000;
  EXPECT_THROW(open_device(info), DeviceError);
}

}  // namespace
}  // namespace peakmark
