#include "record/launch/missing_recorder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/files_testing.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;
using testing::Not;

class MissingRecorderTest : public testing::Test {
 protected:
  /// A program that loaded `loader`, and that should have loaded the OpenCL recorder.
  MissingRecorder loaded(const std::string& loader, bool has_variables = true) const {
    MissingRecorder evidence;
    evidence.libraries.opencl = PEAKMARK_FAKE_LAYER;
    evidence.seen[7] = {"/usr/bin/python", false, has_variables, false, {loader}};
    return evidence;
  }
  std::string loader_file(const char* name, const char* text) const {
    const std::filesystem::path path = folder_.path() / name;
    std::ofstream(path) << text;
    return path;
  }
  static std::string why(const MissingRecorder& evidence) {
    const std::string text = why_no_recorder(evidence);
    EXPECT_EQ(text.find('\n'), std::string::npos);
    return text;
  }

  const TemporaryFolder folder_;
};

TEST_F(MissingRecorderTest, NoRecorderIsInstalled) {
  MissingRecorder evidence;
  evidence.libraries.folders = {"/a", "/b"};
  EXPECT_THAT(why(evidence), HasSubstr("are missing from /a, /b: reinstall peakmark"));
}

TEST_F(MissingRecorderTest, TheRecorderIsNoLibrary) {
  MissingRecorder evidence;
  evidence.libraries.opencl = loader_file("libpeakmark-opencl.so", "no library");
  EXPECT_THAT(why(evidence), HasSubstr("libpeakmark-opencl.so cannot be loaded ("));
}

TEST_F(MissingRecorderTest, TheRecorderIsAnotherLibrary) {
  MissingRecorder evidence;
  evidence.libraries.opencl = "libm.so.6";
  EXPECT_THAT(why(evidence), HasSubstr("libm.so.6 is not a recorder: it does not export clInitLayer"));
}

TEST_F(MissingRecorderTest, StaticPrograms) {
  MissingRecorder evidence = loaded("/lib/libOpenCL.so.1");
  evidence.static_program = "/opt/tool";
  EXPECT_THAT(why(evidence), HasSubstr("/opt/tool is linked statically"));
  evidence = loaded("");
  evidence.seen = {{3, {"/bin/sh", false, true, false, {}}}, {4, {"/opt/go-tool", true, true, false, {}}}};
  EXPECT_THAT(why(evidence), HasSubstr("/opt/go-tool (process 4) is linked statically"));
}

TEST_F(MissingRecorderTest, AnEnvironmentThatWasCleared) {
  const std::string loader = loader_file("libOpenCL.so.1", "OPENCL_LAYERS");
  EXPECT_THAT(
      why(loaded(loader, false)),
      testing::AllOf(HasSubstr("/usr/bin/python (process 7) loaded " + loader), HasSubstr("sudo or env -i")));
  MissingRecorder short_lived = loaded(loader, false);
  short_lived.seen[7].loaders.clear();
  EXPECT_THAT(why(short_lived), HasSubstr("/usr/bin/python (process 7) was started without the variables"));
}

TEST_F(MissingRecorderTest, AnotherRecordingWithinTheProgram) {
  MissingRecorder evidence = loaded(loader_file("libOpenCL.so.1", "OPENCL_LAYERS"), false);
  evidence.seen[7].other_profile = "/home/inner.profile";
  EXPECT_THAT(why(evidence),
              testing::AllOf(HasSubstr("a `peakmark record` within the program"),
                             HasSubstr("see the profile /home/inner.profile"), Not(HasSubstr("sudo"))));
}

TEST_F(MissingRecorderTest, AColonInThePathOfTheRecorder) {
  std::filesystem::create_directory(folder_.path() / "a:b");
  const auto layer = folder_.path() / "a:b" / "libpeakmark-opencl.so";
  std::filesystem::copy_file(PEAKMARK_FAKE_LAYER, layer);
  MissingRecorder evidence = loaded("");
  evidence.libraries.opencl = layer;
  EXPECT_THAT(why(evidence), testing::AllOf(HasSubstr(layer.string() + " contains a colon"),
                                            HasSubstr("PEAKMARK_LIBRARY_DIR")));
}

TEST_F(MissingRecorderTest, ALoaderWithoutLayers) {
  EXPECT_THAT(why(loaded(loader_file("libOpenCL-old.so.1", "OCL_ICD_VENDORS"))),
              testing::AllOf(HasSubstr("libOpenCL-old.so.1, which does not support layers"),
                             HasSubstr("LD_PRELOAD")));
  EXPECT_THAT(why(loaded(loader_file("libOpenCL-new.so.1", "..OPENCL_LAYERS.."))),
              Not(HasSubstr("does not support layers")));
}

TEST_F(MissingRecorderTest, ALoaderThatIsLinkedIn) {
  EXPECT_THAT(
      why(loaded(loader_file("lib_lightgbm.so", "OCL_ICD_VENDORS"))),
      testing::AllOf(HasSubstr("lib_lightgbm.so, into which an OpenCL loader without layers is linked: "),
                     HasSubstr("set LD_PRELOAD=libOpenCL.so.1")));
}

TEST_F(MissingRecorderTest, ADriverWithoutALoader) {
  MissingRecorder evidence = loaded("");
  const std::string driver = loader_file("libdriver.so", "clIcdGetPlatformIDsKHR");
  const std::string program = loader_file("tool", "..clIcdGetPlatformIDsKHR..");
  evidence.seen[7].loaders.clear();
  evidence.seen[7].drivers = {driver};
  evidence.seen[7].files = {driver, program, loader_file("libm.so.6", "sin")};
  EXPECT_THAT(why(evidence),
              HasSubstr("uses the OpenCL driver " + driver + " without a loader that supports layers, from " +
                        program + ": link it to libOpenCL.so.1"));
}

TEST_F(MissingRecorderTest, ARecorderThatWasNotBuilt) {
  EXPECT_THAT(why(loaded("/usr/lib/libcuda.so.550.1")), HasSubstr("the CUDA recorder is not built"));
  MissingRecorder evidence = loaded(loader_file("libOpenCL-new.so.1", "..OPENCL_LAYERS.."));
  evidence.libraries.cuda = evidence.libraries.opencl;
  evidence.libraries.opencl.reset();
  EXPECT_THAT(why(evidence), HasSubstr("libpeakmark-opencl.so is missing: reinstall peakmark"));
}

TEST_F(MissingRecorderTest, AProgramThatWentToTheBackground) {
  MissingRecorder evidence = loaded("");
  evidence.seen.clear();
  evidence.still_running = {12, 13};
  EXPECT_THAT(why(evidence), HasSubstr("its process 12, 13 is still running"));
}

TEST_F(MissingRecorderTest, NoLoaderAtAll) {
  MissingRecorder evidence = loaded("");
  evidence.seen[7].loaders.clear();
  EXPECT_THAT(why(evidence), HasSubstr("did not load OpenCL or CUDA"));
}

TEST_F(MissingRecorderTest, AScriptWithMarksThatDidNotFindTheModule) {
  MissingRecorder evidence = loaded(loader_file("libOpenCL.so.1", "OPENCL_LAYERS"));
  const std::string script = loader_file("mean.py", "import os\n  from peakmark import phase\n");
  evidence.script_with_marks = script_that_imports_peakmark({"python3", "-I", script, "--n", "3"});
  ASSERT_TRUE(evidence.script_with_marks);
  EXPECT_THAT(why(evidence), Not(HasSubstr("pip install"))) << "it ended well";
  evidence.program_code = 1;
  EXPECT_THAT(why(evidence), HasSubstr("the program ended with exit code 1 before it used OpenCL or CUDA"));
  EXPECT_THAT(why(evidence),
              HasSubstr(script + " imports the Python module peakmark: if Python did not find it"));
  EXPECT_THAT(why(evidence), HasSubstr("python -m pip install "));
  const std::string other = loader_file("other.py", "import peakmarkets  # and import peakmark\n");
  EXPECT_FALSE(script_that_imports_peakmark({"python3", other, "missing.py"}));
}

}  // namespace
}  // namespace peakmark
