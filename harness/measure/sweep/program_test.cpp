#include "measure/sweep/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "measure/sweep/sample_description.hpp"
#include "measure/sweep/suite_document.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kProgramSuite = R"([[program]]
variant = "padding/theirs"
help = "what they do"
command = ["{python}", "{suite_folder}/pad.py", "--mode={mode}", "{ny}x{nx}", "{{{backend}}}"]
environment = { THEIR_MODE = "{mode}", PLAIN = "1" }
python = "theirs-1.0"
slice_axis = "n"
axes.n = 20
axes.ny = { default = 512, min = 1, help = "rows" }
axes.nx = { default = 512, min = 1 }
axes.mode = { default = "edge", choices = ["edge", "constant"] }

[[sweep]]
variants = "padding/*"
axes.mode = ["edge", "constant"]
axes.ny = 100
)";

Suite program_suite(const std::string& text) {
  return expand_suites({parse_suite_document(text, "/suites/s.toml")}, example_description(), {});
}

TEST(Program, IsAVariantBesideTheWorkersOwn) {
  const Suite suite = program_suite(kProgramSuite);
  ASSERT_EQ(8U, suite.cases.size());  // three of the worker's, then the program: two modes each
  EXPECT_EQ("padding/theirs/auto/ny:100", suite.cases[6].name);
  EXPECT_EQ("padding/theirs/auto/ny:100/mode:constant", suite.cases[7].name);
  EXPECT_NE(nullptr, suite.vocabulary.program("padding/theirs"));
  EXPECT_EQ(nullptr, suite.vocabulary.program("padding/coords1d"));
  EXPECT_THAT(suite.vocabulary.program("padding/theirs")->variant.backends, ElementsAre("opencl", "cuda"));
}

TEST(Program, CommandOfACaseHasItsValues) {
  const Suite suite = program_suite(kProgramSuite);
  const ProgramDescription& program = *suite.vocabulary.program("padding/theirs");
  EXPECT_EQ("/suites", program.suite_folder);
  const ProgramPlaces places{"/suites", "/usr/bin/python3", "opencl", "0", "/tmp/x"};
  EXPECT_THAT(make_command(program, suite.cases[7].sweep_case.parameters, places),
              ElementsAre("/usr/bin/python3", "/suites/pad.py", "--mode=constant", "100x512", "{opencl}"));
}

TEST(Program, ResumeSeesThatTheCommandHasChanged) {
  std::string other = kProgramSuite;
  other.replace(other.find("pad.py"), 6, "new.py");
  EXPECT_NE(program_suite(kProgramSuite).fingerprint, program_suite(other).fingerprint);
  EXPECT_EQ(program_suite(kProgramSuite).fingerprint, program_suite(kProgramSuite).fingerprint);
}

std::string program_mistake(const std::string& program) {
  try {
    (void)expand_suites(
        {parse_suite_document("[[program]]\n" + program + "\n[[sweep]]\nvariants = 'a/b'\n", "s.toml")},
        example_description(), {});
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Program, MistakesNameFileLineAndKey) {
  const std::string good = "variant = 'a/b'\n";
  const std::string whole = good + "command = ['x']\n";
  const std::pair<std::string, std::string> mistakes[] = {
      {"command = ['x']", "s.toml:1: program: no variant: add"},
      {good, "s.toml:1: program: no command: add"},
      {"variant = 'padding'\ncommand = ['x']", "s.toml:2: variant: malformed variant name 'padding'"},
      {"variant = 'a/b c'\ncommand = ['x']", "s.toml:2: variant: malformed variant name 'a/b c'"},
      {"variant = 'padding/coords1d'\ncommand = ['x']",
       "s.toml:1: program: duplicate variant 'padding/coords1d': it is already in the worker"},
      {whole + "[[program]]\n" + whole,
       "s.toml:4: program: duplicate variant 'a/b': it is already in s.toml:1"},
      {whole + "comand = 'x'", "s.toml:4: comand: unknown key; did you mean 'command'?"},
      {good + "command = 'x'",
       "s.toml:3: command: must be a list of words: [\"./run\", \"{n}\"], or for a shell [\"sh\", \"-c\", "
       "\"make "
       "&& ./run \\\"$1\\\"\", \"sh\", \"{n}\"]"},
      {whole + "shell = true", "s.toml:4: shell: unknown key"},
      {good + "command = ['{nx}']\naxes.ny = 3",
       "s.toml:3: command: unknown placeholder '{nx}' in '{nx}'; did you mean 'ny'?"},
      {good + "command = ['{']", "s.toml:3: command: unbalanced '{' in '{': write"},
      {good + "command = ['a}']", "s.toml:3: command: unbalanced '}' in 'a}'"},
      {whole + "environment = { A = '{b}' }", "s.toml:4: environment.A: unknown placeholder '{b}' in '{b}'"},
      {whole + "environment = 3", "s.toml:4: environment: must be a table"},
      {whole + "environment = { A = 3 }", "s.toml:4: environment.A: must be a quoted string"},
      {whole + "backends = ['dry']", "s.toml:4: backends: unsupported backend of a program: 'dry'"},
      {whole + "axes.backend = 3", "s.toml:4: axes.backend: reserved name 'backend'"},
      {whole + "axes.'a b' = 3", "s.toml:4: axes.a b: malformed axis name"},
      {whole + "axes.n = { min = 1 }", "s.toml:4: axes.n: no default"},
      {whole + "axes.n = { default = 0, min = 1 }", "s.toml:4: axes.n: axis 'n' must be at least 1, not 0"},
      {whole + "axes.n = { default = 1, choices = ['a'] }",
       "s.toml:4: axes.n: an integer axis has min, not choices"},
      {whole + "axes.m = { default = 'a', choices = ['a', 'b/c'] }",
       "s.toml:4: axes.m: axis 'm': 'b/c' contains '/'"},
      {good + "command = ['']", "s.toml:3: command: empty program name: write"},
      {good + "command = [' ']", "s.toml:3: command: empty program name"},
      {whole + "axes.n = { default = 1, most = 2 }", "s.toml:4: axes.n.most: unknown key"},
      {whole + "axes.m = { default = 'c', choices = ['a', 'b'] }",
       "s.toml:4: axes.m: unknown word of axis 'm': 'c'"},
      {whole + "slice_axis = 'm'\naxes.n = 3",
       "s.toml:4: slice_axis: a/b has no axis 'm'; did you mean 'n'?"},
      {whole + "slice_axis = 'm'\naxes.m = 'x'", "s.toml:4: slice_axis: axis 'm' is not an integer axis"},
      {whole + "slice_dimension = 2",
       "s.toml:4: slice_dimension: must be 0 (projection) or 1 (sinogram), not 2"},
      {whole + "time = 'gpu'", "s.toml:4: time: must be 'host' or 'device', not 'gpu'"},
      {whole + "sync = 1", "s.toml:4: sync: must be true or false"},
      {whole + "estimator = 'fft'", "s.toml:1: program.estimator: unknown estimator 'fft'"},
      {whole + "estimator = 'python:m:f'", "s.toml:1: program.estimator: a/b has no slice axis"},
      {whole + "estimator = 'python:m'", "s.toml:1: program.estimator: malformed call 'python:m'"},
  };
  for (const auto& [text, message] : mistakes) {
    EXPECT_THAT(program_mistake(text), testing::StartsWith(message)) << text;
  }
}

}  // namespace
}  // namespace peakmark
