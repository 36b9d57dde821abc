#include "base/opencl_drivers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <vector>

#include "base/files_testing.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class OpenclDrivers : public testing::Test {
 protected:
  OpenclDrivers() {
    for (const char* const name : {"OCL_ICD_FILENAMES", "OPENCL_VENDOR_PATH", "OCL_ICD_VENDORS"})
      unsetenv(name);
  }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() / name) << text;
    return folder_.path() / name;
  }
  static std::vector<std::string> libraries() {
    std::vector<std::string> names;
    for (const OpenclDriver& driver : opencl_drivers()) names.push_back(driver.library);
    return names;
  }

  TemporaryFolder folder_;
};

TEST_F(OpenclDrivers, AreNamedByTheIcdFilesOfAFolder) {
  const std::string second = file("b.icd", "  libsecond.so.1 \r\nignored\n");
  file("a.icd", "/opt/first.so");
  file("c.icd", "\n");
  file("d.txt", "libnone.so");
  setenv("OCL_ICD_VENDORS", folder_.path().c_str(), 1);
  EXPECT_THAT(libraries(), ElementsAre("/opt/first.so", "libsecond.so.1"));
  EXPECT_EQ(opencl_drivers().at(1).named_in, second);
}

TEST_F(OpenclDrivers, AreNamedByVariables) {
  setenv("OCL_ICD_VENDORS", file("a.icd", "liba.so").c_str(), 1);
  EXPECT_THAT(libraries(), ElementsAre("liba.so"));
  setenv("OCL_ICD_VENDORS", "libb.so.1", 1);
  setenv("OCL_ICD_FILENAMES", "/x/libc.so::libd.so", 1);
  EXPECT_THAT(libraries(), ElementsAre("/x/libc.so", "libd.so", "libb.so.1"));
  EXPECT_EQ(opencl_drivers().front().named_in, "");
}

TEST_F(OpenclDrivers, AFolderWithoutDriversHasNone) {
  setenv("OCL_ICD_VENDORS", folder_.path().c_str(), 1);
  EXPECT_THAT(libraries(), IsEmpty());
  setenv("OCL_ICD_VENDORS", (folder_.path() / "missing").c_str(), 1);
  EXPECT_THAT(libraries(), IsEmpty());
}

}  // namespace
}  // namespace peakmark
