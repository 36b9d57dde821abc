#include "record/recorders/recorder_libraries.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/error.hpp"
#include "base/files_testing.hpp"
#include "base/program.hpp"
#include "record/profile/event.hpp"

namespace peakmark {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::StartsWith;

TEST(RecorderLibraries, TheVariableNamesTheOnlyFolder) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "libpeakmark-cupti.so") << "a library";
  setenv("PEAKMARK_LIBRARY_DIR", folder.path().c_str(), 1);
  const RecorderLibraries libraries = find_recorder_libraries();
  unsetenv("PEAKMARK_LIBRARY_DIR");
  EXPECT_EQ(libraries.cuda, folder.path() / "libpeakmark-cupti.so");
  EXPECT_FALSE(libraries.opencl);
  EXPECT_THAT(libraries.folders, ElementsAre(folder.path()));
}

TEST(RecorderLibraries, EnvironmentOfARecordedProgram) {
  RecorderLibraries libraries;
  libraries.opencl = "/p/libpeakmark-opencl.so";
  libraries.cuda = "/p/libpeakmark-cupti.so";
  std::vector<std::string> environment{"HOME=/root", "OPENCL_LAYERS=/a.so:/p/libpeakmark-opencl.so:/b.so",
                                       "PEAKMARK_PROFILE=/old", "PEAKMARK_PROFILES=mine",
                                       "OCL_ICD_FILENAMES=/d.so"};
  for (int again = 0; again < 2; ++again) add_recorders(environment, libraries, "/tmp/p", true);
  EXPECT_THAT(environment, testing::UnorderedElementsAre(
                               "HOME=/root", "OPENCL_LAYERS=/p/libpeakmark-opencl.so:/a.so:/b.so",
                               "OCL_ICD_FILENAMES=/p/libpeakmark-opencl.so:/d.so", "PEAKMARK_PROFILE=/tmp/p",
                               "PEAKMARK_PROFILES=mine", "PEAKMARK_SYNC=1", "PEAKMARK_STACKS=0",
                               "CUDA_INJECTION64_PATH=/p/libpeakmark-cupti.so"));
}

TEST(RecorderLibraries, TheUsersNvtxInjectionStays) {
  RecorderLibraries libraries;
  libraries.opencl = "/p/libpeakmark-opencl.so";
  std::vector<std::string> environment{"NVTX_INJECTION64_PATH="};
  add_ranges(environment, libraries);
  EXPECT_THAT(environment, ElementsAre("NVTX_INJECTION64_PATH=/p/libpeakmark-opencl.so"));
  libraries.cuda = "/p/libpeakmark-cupti.so";
  add_ranges(environment, libraries);
  EXPECT_THAT(environment, ElementsAre("NVTX_INJECTION64_PATH=/p/libpeakmark-opencl.so"));
  environment.clear();
  add_ranges(environment, libraries);
  EXPECT_THAT(environment, ElementsAre("NVTX_INJECTION64_PATH=/p/libpeakmark-cupti.so"));
  environment.clear();
  add_ranges(environment, {});
  EXPECT_TRUE(environment.empty());
}

TEST(RecorderLibraries, AReplacedInjectionIsReported) {
  RecorderLibraries libraries;
  libraries.cuda = "/p/libpeakmark-cupti.so";
  EXPECT_EQ(replaced_injection({"CUDA_INJECTION64_PATH=/tool.so"}, libraries), "/tool.so");
  EXPECT_EQ(replaced_injection({"CUDA_INJECTION64_PATH=/p/libpeakmark-cupti.so"}, libraries), "");
  EXPECT_EQ(replaced_injection({"HOME=/root"}, libraries), "");
  libraries.cuda.reset();
  EXPECT_EQ(replaced_injection({"CUDA_INJECTION64_PATH=/tool.so"}, libraries), "");
}

TEST(RecorderLibraries, MissingRecordersAreNotSet) {
  std::vector<std::string> environment{"OPENCL_LAYERS=/a.so"};
  add_recorders(environment, {}, "p", false);
  EXPECT_THAT(environment, Contains("OPENCL_LAYERS=/a.so"));
  EXPECT_THAT(environment, Not(Contains(StartsWith("CUDA_INJECTION64_PATH="))));
  EXPECT_THAT(environment, Contains("PEAKMARK_PROFILE=" + std::filesystem::absolute("p").string()));
}

}  // namespace
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string refusal(const std::filesystem::path& library) {
  try {
    attach_recorder(library);
  } catch (const RecorderError& error) {
    return error.what();
  }
  return "no error";
}

class AttachedRecorderTest : public testing::Test {
 protected:
  void SetUp() override { std::ofstream(library_) << "no library"; }
  void TearDown() override { unsetenv("OPENCL_LAYERS"); }

  const TemporaryFolder folder_;
  const std::filesystem::path library_ = folder_.path() / "libpeakmark-opencl.so";
};

TEST_F(AttachedRecorderTest, AMissingVariableIsReported) {
  unsetenv("OPENCL_LAYERS");
  EXPECT_THAT(refusal(library_), AllOf(HasSubstr(library_.string()), HasSubstr("set OPENCL_LAYERS")));
}

// `peakmark run` sets the variable: the message must not advise setting it.
TEST_F(AttachedRecorderTest, ABrokenLibraryIsReportedWithTheLoadersReason) {
  setenv("OPENCL_LAYERS", ("/other.so:" + library_.string()).c_str(), 1);
  EXPECT_THAT(refusal(library_), AllOf(HasSubstr("cannot be loaded"), HasSubstr("file too short"),
                                       Not(HasSubstr("OPENCL_LAYERS"))));
}

}  // namespace
}  // namespace peakmark
