#include "recorders/attached_recorder.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>

#include "base/error.hpp"
#include "base/files_testing.hpp"
#include "profile/event_source.hpp"

namespace peakmark {
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

TEST_F(AttachedRecorderTest, WhoDidNotAskForItIsToldHow) {
  unsetenv("OPENCL_LAYERS");
  EXPECT_THAT(refusal(library_), AllOf(HasSubstr(library_.string()), HasSubstr("is OPENCL_LAYERS")));
}

// `peakmark run` sets the variable: to set it is no advice to whoever runs it.
TEST_F(AttachedRecorderTest, ABrokenLibraryIsToldWithTheLoadersReason) {
  setenv("OPENCL_LAYERS", ("/other.so:" + library_.string()).c_str(), 1);
  EXPECT_THAT(refusal(library_), AllOf(HasSubstr("cannot be loaded"), HasSubstr("file too short"),
                                       Not(HasSubstr("OPENCL_LAYERS"))));
}

}  // namespace
}  // namespace peakmark
