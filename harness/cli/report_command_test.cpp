// Tests of the arguments that `plot` and `report` pass to Python, and of their messages if there is no
// Python. Plots and pages have tests in Python.
#include <sstream>

#include "base/program.hpp"
#include "cli/command_testing.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

class Report : public CommandTest {
 protected:
  /// Writes a fake Python, which prints its PYTHONPATH, its history and its words, and ends with 3.
  void write_python() {
    std::ofstream(python_)
        << "#!/bin/sh\nprintf '%s\\n' \"$PYTHONPATH\" \"$PEAKMARK_HISTORY\" \"$@\"\nexit 3\n";
    std::filesystem::permissions(python_, std::filesystem::perms::owner_all);
    environment_.push_back("PEAKMARK_PYTHON=" + python_.string());
  }

  /// Returns the lines of the output.
  static std::vector<std::string> lines(const Answer& answer) {
    std::vector<std::string> lines;
    std::istringstream text(answer.output);
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }

  const std::filesystem::path python_ = folder_.path() / "a python";
};

TEST_F(Report, BecomesPython) {
  write_python();
  environment_.emplace_back("PYTHONPATH=/other");
  const Answer answer = peakmark({"report", "-o", "out", "--history", "postgresql://me:secret@h/d",
                                  "--gitlab-metrics", "m.txt", "--branch", "pull/*", "--branch", "-x"});
  EXPECT_EQ(answer.end.exit_code, 3);
  EXPECT_THAT(
      lines(answer),
      ElementsAre(EndsWith("/share/peakmark/reports:/other"), "postgresql://me:secret@h/d", "-c",
                  "import sys", HasSubstr("sys.path[:] ="), "from peakmark_reports.__main__ import main",
                  HasSubstr("main(sys.argv[1:], 'peakmark')"), "report",
                  "--peakmark=" + std::filesystem::canonical(PEAKMARK_PROGRAM).string(), "--output=out",
                  "--gitlab-metrics=m.txt", "--branch=pull/*", "--branch=-x"));
}

TEST_F(Report, PassesARunToPython) {
  write_python();
  std::vector<std::string> words = lines(peakmark({"report", "-o", "out", "--against", "base.json", "--force",
                                                   "--allow-growth", "1%", "--", "-run.json"}));
  ASSERT_GT(words.size(), 9U);
  // PYTHONPATH, the history, -c, the script's four lines, report and --peakmark
  words.erase(words.begin(), words.begin() + 9);
  EXPECT_THAT(words, ElementsAre("--against=base.json", "--force", "--output=out", "--allow-growth=1%", "--",
                                 "-run.json"));
}

TEST_F(Report, PlotPassesItsOptionsAndRunsToPython) {
  write_python();
  const Answer answer = peakmark({"plot", "a.json", "m.txt", "--metric", "peak", "--metric", "at-peak",
                                  "--pdf", "--filter=-x", "--axis", "ny", "-o", "out"});
  EXPECT_EQ(answer.end.exit_code, 3);
  std::vector<std::string> words = lines(answer);
  ASSERT_GT(words.size(), 7U);
  words.erase(words.begin(), words.begin() + 7);  // PYTHONPATH, the history, -c and the script's four lines
  EXPECT_THAT(words, ElementsAre("plot", "--output=out", "--pdf", "--filter=-x", "--metric=peak",
                                 "--metric=at-peak", "--axis=ny", "--", "a.json", "m.txt"));
}

TEST_F(Report, PlotRefusesAnUnknownMetric) {
  write_python();
  const Answer answer = peakmark({"plot", "a.json", "--metric", "at-peek"});
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors, HasSubstr("at-peek"));
}

TEST_F(Report, WithoutPythonReportsWhatToDo) {
  for (const std::string& name : {std::string("no-such-python"), (folder_.path() / "none").string()}) {
    environment_ = {"PEAKMARK_PYTHON=" + name};
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"report"}, {"plot", "run.json"}}) {
      const Answer answer = peakmark(words);
      EXPECT_EQ(answer.end.exit_code, 2);
      EXPECT_THAT(answer.errors, AllOf(HasSubstr(name), HasSubstr("set PEAKMARK_PYTHON")));
    }
  }
}

TEST_F(Report, WithoutLibrariesReportsWhatToInstall) {
  const std::filesystem::path modules = folder_.path() / "modules";
  std::filesystem::create_directories(modules);
  // A module that makes numpy look as if it were missing.
  std::ofstream(modules / "numpy.py")
      << "raise ModuleNotFoundError(\"No module named 'numpy'\", name='numpy')\n";
  environment_.push_back("PYTHONPATH=" + modules.string());
  if (!find_program(current_environment(), "python3")) GTEST_SKIP() << "there is no python3 here";
  std::ofstream(run_file_) << "{}";
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"report", "--gitlab-metrics", "m.txt"}, {"plot", run_file_.string()}}) {
    const Answer answer = peakmark(words);
    EXPECT_EQ(answer.end.exit_code, 2);
    EXPECT_THAT(answer.errors,
                AllOf(HasSubstr("Python module "), HasSubstr(" is missing in "), HasSubstr("python3"),
                      HasSubstr("-m pip install -r "), HasSubstr("/requirements.txt")));
  }
}

TEST_F(Report, FilesOfTheWorkingFolderAreNotTakenForPythonsModules) {
  if (!find_program(current_environment(), "python3")) GTEST_SKIP() << "there is no python3 here";
  const std::filesystem::path here = folder_.path() / "work";
  std::filesystem::create_directories(here);
  for (const char* const module : {"json.py", "argparse.py", "pathlib.py", "peakmark_reports.py"}) {
    std::ofstream(here / module) << "raise SystemExit('taken over')\n";
  }
  // An empty entry means the working folder too.
  environment_.emplace_back("PYTHONPATH=:/other:");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(here);
  const Answer answer = peakmark({"report", "--history", "none.db", "--gitlab-metrics", "m.txt"});
  std::filesystem::current_path(before);
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors, AllOf(testing::AnyOf(HasSubstr("no history here"), HasSubstr("-m pip install")),
                                   testing::Not(HasSubstr("taken over"))));
}

}  // namespace
}  // namespace peakmark
