
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/error.hpp"
#include "base/files_testing.hpp"
#include "base/program.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(PythonEnvironment, IsWhereEnvironmentsAre) {
  const TemporaryFolder folder;
  put_program(folder.path() / "nabu" / "bin" / "python");
  ::setenv("PEAKMARK_ENVIRONMENTS", folder.path().c_str(), 1);
  const PythonEnvironment python = find_python("nabu", "/suites", "");
  EXPECT_EQ(folder.path() / "nabu" / "bin" / "python", python.interpreter);
  EXPECT_EQ(python.interpreter, find_python("../nabu", folder.path() / "suites", "").interpreter);
  std::vector<std::string> environment{"PATH=/bin"};
  add_python(environment, python);
  EXPECT_EQ((folder.path() / "nabu" / "bin").string() + ":/bin", find_variable(environment, "PATH"));
  EXPECT_EQ(python.folder->string(), find_variable(environment, "VIRTUAL_ENV"));
  ::unsetenv("PEAKMARK_ENVIRONMENTS");
}

TEST(PythonEnvironment, MayBeAnInterpreter) {
  const TemporaryFolder folder;
  const auto interpreter = folder.path() / "env" / "bin" / "python3";
  put_program(interpreter);
  const PythonEnvironment bare = find_python("env/bin/python3", folder.path(), "");
  EXPECT_EQ(bare.interpreter, interpreter);
  EXPECT_FALSE(bare.folder);
  std::ofstream(folder.path() / "env" / "pyvenv.cfg") << "home = /usr/bin\n";
  EXPECT_EQ(find_python("env/bin/python3", folder.path(), "").folder, folder.path() / "env");
  EXPECT_EQ(find_python(interpreter.string(), "/suites", "").interpreter, interpreter);
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", (folder.path() / "env" / "bin").c_str(), 1);
  EXPECT_EQ(find_python("python3", "/suites", "").interpreter, interpreter);
  ::setenv("PATH", path.c_str(), 1);
}

std::string python_mistake(const std::string& name, const std::string& made_by) {
  try {
    find_python(name, "/suites", made_by);
  } catch (const EnvironmentError& error) {
    return error.what();
  }
  return "";
}

TEST(PythonEnvironment, AMissingOneIsReportedWithTheCommandThatMakesIt) {
  ::setenv("PEAKMARK_ENVIRONMENTS", "/no/such/folder", 1);
  EXPECT_EQ("the Python environment /no/such/folder/nabu is missing; create it with: make nabu",
            python_mistake("nabu", "make nabu"));
  EXPECT_THAT(python_mistake("nabu", ""),
              HasSubstr("create it with: python3 -m venv /no/such/folder/nabu && "));
  EXPECT_THAT(python_mistake("./mine", ""), StartsWith("the Python environment /suites/mine is missing"));
  ::unsetenv("PEAKMARK_ENVIRONMENTS");
}

}  // namespace
}  // namespace peakmark
