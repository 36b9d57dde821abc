// Tests of `record --stacks` and `show --by site` on unchanged programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "base/files_testing.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;
using testing::Not;

class StacksCommand : public testing::Test {
 protected:
  std::string file(const char* name) const { return folder_.path() / name; }

  static std::string text(const std::string& path) {
    std::ifstream stream(path);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  /// Runs `peakmark ARGUMENTS` and returns its output.
  std::string peakmark(const std::string& arguments) const {
    const std::string line = PEAKMARK_COMMAND " " + arguments + " >" + file("out") + " 2>" + file("err");
    const int status = std::system(line.c_str());
    EXPECT_EQ(WEXITSTATUS(status), 0) << line << "\n" << text(file("err"));
    return text(file("out"));
  }
  std::string record(const std::string& command) const {
    return peakmark("record --stacks -o " + file("p") + " -- " + command);
  }
  nlohmann::json sites(const std::string& options = "") const {
    return nlohmann::json::parse(peakmark("show --json " + options + " " + file("p"))).at("sites");
  }

#ifdef PEAKMARK_PYTHON
  /// Writes a Python program in which a function makes a buffer of 4000 bytes through the C interface. The
  /// library is loaded by the ctypes class `load`.
  std::string python_program(const std::string& load) const {
    const std::string path = file("program.py");
    std::ofstream(path)
        << "import ctypes\n"
           "cl = ctypes."
        << load
        << "('libOpenCL.so.1')\n"
           "cl.clCreateContext.restype = ctypes.c_void_p\n"
           "cl.clCreateBuffer.restype = ctypes.c_void_p\n"
           "platform, device = ctypes.c_void_p(), ctypes.c_void_p()\n"
           "cl.clGetPlatformIDs(1, ctypes.byref(platform), None)\n"
           "cl.clGetDeviceIDs(platform, ctypes.c_uint64(0xffffffff), 1, ctypes.byref(device), None)\n"
           "context = cl.clCreateContext(None, 1, ctypes.byref(device), None, None, None)\n"
           "def make_plan(size):\n"
           "    try:\n"
           "        raise KeyError('pending')\n"
           "    except KeyError:\n"
           "        return cl.clCreateBuffer(ctypes.c_void_p(context), ctypes.c_uint64(1),\n"
           "                                 ctypes.c_size_t(size), None, None)\n"
           "made = [make_plan(n) for n in (1000, 3000)]\n"
           "assert all(made)\n"
           "print('done')\n";
    return PEAKMARK_PYTHON " " + path;
  }
#endif

  TemporaryFolder folder_;
};

TEST_F(StacksCommand, SitesOfANativeProgram) {
  record(PEAKMARK_ALLOCATING_PROGRAM " leak");
  const auto all = sites();
  ASSERT_EQ(all.at("at_peak").size(), 1U);
  EXPECT_EQ(all.at("at_peak").at(0).at("bytes"), 1000);
  EXPECT_EQ(all.at("at_peak").at(0).at("count"), 1);
  // The caller is a function in an unnamed namespace, which the program does not export.
  EXPECT_THAT(all.at("at_peak").at(0).at("frames").at(0), HasSubstr("buffer (allocating_program)"));
  EXPECT_EQ(all.at("leaked").at(0).at("bytes"), 500);
  const auto deeper = sites("--frames 2");
  EXPECT_THAT(deeper.at("at_peak").at(0).at("frames").at(1), HasSubstr("main (allocating_program)"));
  const std::string table = peakmark("show --by site " + file("p"));
  EXPECT_THAT(table, HasSubstr("buffer (allocating_program)"));
  EXPECT_THAT(table, Not(HasSubstr("clCreateBuffer")));
}

TEST_F(StacksCommand, WithoutThemShowReportsHowToHaveThem) {
  peakmark("record -o " + file("p") + " -- " PEAKMARK_ALLOCATING_PROGRAM " leak");
  EXPECT_TRUE(sites().is_null());
  EXPECT_THAT(peakmark("show --by site " + file("p")), HasSubstr("record it with --stacks"));
}

TEST_F(StacksCommand, AForkedChildHasItsOwn) {
  record(PEAKMARK_ALLOCATING_PROGRAM " fork");
  const auto json = nlohmann::json::parse(peakmark("show --json " + file("p")));
  EXPECT_THAT(json.at("sites").at("at_peak").at(0).at("frames").at(0), HasSubstr("buffer ("));
  const auto& child = json.at("processes").at(0).at("sites").at("at_peak").at(0);
  EXPECT_EQ(child.at("bytes"), 400);
  EXPECT_THAT(child.at("frames").at(0), HasSubstr("buffer ("));
}

#ifdef PEAKMARK_NVTX_PROGRAM
TEST_F(StacksCommand, RangesOfNvtxArePhases) {
  record(PEAKMARK_NVTX_PROGRAM);
  const auto phases = nlohmann::json::parse(peakmark("show --json " + file("p"))).at("phases");
  std::string text;
  for (const auto& phase : phases) {
    text +=
        phase.at("name").get<std::string>() + " " + std::to_string(phase.at("peak_bytes").get<int>()) + "|";
  }
  EXPECT_EQ(text, " 0|setup 100| 100|step 1100|part 1110|step 1110|part 1120|step 1120| 120|");
  EXPECT_THAT(peakmark("show " + file("p")), testing::ContainsRegex("part +2 +1.094 KiB"));
}
#endif

#ifdef PEAKMARK_PYTHON
/// ctypes.PyDLL keeps the interpreter's lock during the call, as extensions written in C do.
TEST_F(StacksCommand, SitesOfAPythonProgramThatHoldsTheLock) {
  EXPECT_EQ(record(python_program("PyDLL")), "done\n");
  const auto all = sites().at("at_peak");
  ASSERT_EQ(all.size(), 1U) << all;
  EXPECT_EQ(all.at(0).at("bytes"), 4000);
  EXPECT_EQ(all.at(0).at("count"), 2);
  EXPECT_EQ(all.at(0).at("frames"), nlohmann::json::parse(R"(["make_plan program.py:13"])")) << all;
  const auto innermost = sites("--frames 1").at("at_peak").at(0).at("frames");
  ASSERT_EQ(innermost.size(), 2U) << innermost;
  EXPECT_EQ(innermost.at(0), "make_plan program.py:13");
  EXPECT_THAT(innermost.at(1), HasSubstr("ffi"));
  const auto chain = sites("--frames 3").at("at_peak").at(0).at("frames");
  EXPECT_EQ(chain.at(chain.size() - 2), "<module> program.py:15") << chain;
}

/// ctypes.CDLL releases the lock during the call, as most bindings do. The frames are then read without the
/// lock, and are the same.
TEST_F(StacksCommand, SitesOfAPythonProgramThatGaveTheLockAway) {
  record(python_program("PyDLL"));
  const auto held = sites("--frames 3").at("at_peak");
  EXPECT_EQ(record(python_program("CDLL")), "done\n");
  const auto all = sites("--frames 3").at("at_peak");
  EXPECT_EQ(all, held);
  EXPECT_EQ(all.at(0).at("frames").at(0), "make_plan program.py:13");
}
#endif

}  // namespace
}  // namespace peakmark
