// The library as CUDA loads it, on a machine that may have no driver. Without a driver it must not start,
// must report why, and must leave no profile that could be read as zero bytes.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/files_testing.hpp"
#include "record/recorders/marks.h"

namespace peakmark {
namespace {

TEST(Injection, StartsCompletelyOrNotAtAll) {
  const TemporaryFolder folder;
  setenv("PEAKMARK_PROFILE", (folder.path() / "profile").c_str(), 1);
  void* const library = dlopen(PEAKMARK_CUPTI_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto find = [&]<typename Function>(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    ASSERT_NE(function, nullptr) << name;
  };
  int (*initialise)() = nullptr;
  peakmark_marks_version_t version = nullptr;
  peakmark_profile_path_t path = nullptr;
  peakmark_event_count_t count = nullptr;
  peakmark_phase_t phase = nullptr;
  peakmark_name_t name = nullptr;
  peakmark_synchronise_t synchronise = nullptr;
  peakmark_kernel_records_start_t start = nullptr;
  peakmark_kernel_records_stop_t stop = nullptr;
  find(initialise, "InitializeInjection");
  find(version, PEAKMARK_MARKS_VERSION_SYMBOL);
  find(path, PEAKMARK_PROFILE_PATH_SYMBOL);
  find(count, PEAKMARK_EVENT_COUNT_SYMBOL);
  find(phase, PEAKMARK_PHASE_SYMBOL);
  find(name, PEAKMARK_NAME_SYMBOL);
  find(synchronise, PEAKMARK_SYNCHRONISE_SYMBOL);
  find(start, PEAKMARK_KERNEL_RECORDS_START_SYMBOL);
  find(stop, PEAKMARK_KERNEL_RECORDS_STOP_SYMBOL);

  EXPECT_EQ(version(), 0);
  EXPECT_STREQ(synchronise(), "the CUDA recorder has not started");
  phase("before it comes up");
  name(1, "nothing");

  testing::internal::CaptureStderr();
  EXPECT_EQ(initialise(), 1);  // anything else would make CUDA fail in the program
  EXPECT_EQ(initialise(), 1);
  const std::string said = testing::internal::GetCapturedStderr();

  const bool is_up = version() == PEAKMARK_MARKS_VERSION;
  EXPECT_EQ(path() != nullptr, is_up);
  EXPECT_EQ(std::filesystem::is_empty(folder.path()), !is_up);
  EXPECT_EQ(said.find("CUDA is not recorded: ") != std::string::npos, !is_up) << said;
  if (!is_up) {
    EXPECT_EQ(count(), 0U);
  }
  std::uint64_t kernels = 9;
  EXPECT_NE(start(PEAKMARK_KERNEL_RECORDS_VERSION + 1), nullptr);
  EXPECT_NE(start(PEAKMARK_KERNEL_RECORDS_VERSION), nullptr);  // not enabled by the environment
  EXPECT_NE(stop(nullptr, 0, &kernels), nullptr);
  EXPECT_EQ(kernels, 0U);
}

}  // namespace
}  // namespace peakmark
