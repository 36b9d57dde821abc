#include "device/opencl/pocl_cache.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>

#include "base/files_testing.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(PoclCache, AFolderThatIsNotThereYetCanBeMade) {
  const TemporaryFolder folder;
  setenv("POCL_CACHE_DIR", (folder.path() / "a" / "b").c_str(), 1);
  EXPECT_EQ(pocl_cache_error(), "");
}

// A file in the way stops root, too, whom no mode of a folder stops.
TEST(PoclCache, AHomeThatIsNoFolderIsNamedWithTheWayOut) {
  const TemporaryFolder folder;
  const std::filesystem::path home = folder.path() / "home";
  std::ofstream(home) << "a file";
  unsetenv("POCL_CACHE_DIR");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", home.c_str(), 1);
  EXPECT_THAT(pocl_cache_error(),
              AllOf(HasSubstr((home / ".cache/pocl/kcache").string()), HasSubstr("set POCL_CACHE_DIR")));
  setenv("XDG_CACHE_HOME", folder.path().c_str(), 1);
  EXPECT_EQ(pocl_cache_error(), "");
  setenv("POCL_CACHE_DIR", home.c_str(), 1);
  EXPECT_THAT(pocl_cache_error(), HasSubstr(home.string() + ":"));
}

}  // namespace
}  // namespace peakmark
