// Tests of the help, of messages about a wrong command line, and of lost output.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/command_testing.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Usage : public CommandTest {
 protected:
  /// `arguments` are words for a shell; redirections of the output may follow them.
  static Answer in_shell(const std::string& arguments, const std::string& before = "") {
    return ask({"/bin/sh", {"-c", before + "'" PEAKMARK_PROGRAM "' " + arguments}, current_environment(), ""},
               kLimit);
  }
  static Answer on_a_full_disk(const std::string& arguments) { return in_shell(arguments + " > /dev/full"); }
  static void expect_loss(const Answer& answer) {
    EXPECT_EQ(answer.end.exit_code, 2);
    EXPECT_THAT(answer.errors,
                HasSubstr("standard output could not be written: No space left on device; free "
                          "space, or redirect it"));
  }
};

TEST_F(Usage, TheWorkerOfASuiteInTheFolderIsFound) {
  const std::filesystem::path folder = folder_.path() / "here";
  std::filesystem::create_directories(folder / "build");
  std::filesystem::create_symlink(PEAKMARK_FAKE_WORKER, folder / "build" / "mine");
  std::ofstream(folder / "pyproject.toml") << "[project]\nname = \"no-suite\"\n";
  std::ofstream(folder / "mine.toml") << "worker = \"build/mine\"\n[[sweep]]\nvariants = \"fake/case\"\n";
  const std::string here = "cd '" + folder.string() + "' && ";
  for (const char* const words :
       {"list fake/case n=3 --backend dry", "estimate fake/case n=3",
        "run 'fake/*' n=3 --backend dry -o run.json", "explain fake/case does=ok --backend dry --shapes 12",
        "fit fake/case n --budget 1MiB --backend dry", "oom fake/case --backend dry"}) {
    const Answer found = in_shell(words, here);
    EXPECT_THAT(found.errors, HasSubstr("worker: build/mine, of mine.toml\n")) << words;
    EXPECT_THAT(found.errors, Not(HasSubstr("no variant"))) << words;
  }
  EXPECT_THAT(in_shell("list fake/other", here).errors, Not(HasSubstr("worker: build/mine")));

  std::filesystem::create_symlink(PEAKMARK_FAKE_WORKER, folder / "second");
  std::ofstream(folder / "second.toml") << "worker = \"second\"\n[[sweep]]\nvariants = \"fake/case\"\n";
  const Answer two = in_shell("list fake/case", here);
  EXPECT_EQ(two.end.exit_code, 2);
  EXPECT_THAT(two.errors, HasSubstr("two workers have the variant 'fake/case': write --worker build/mine (of "
                                    "mine.toml) or --worker ./second (of second.toml)"));
  EXPECT_EQ(in_shell("list fake/case --worker ./second --backend dry", here).output, "fake/case/dry\n");

  std::filesystem::remove(folder / "build" / "mine");
  EXPECT_THAT(in_shell("list fake/case", here).errors, HasSubstr("worker: ./second, of second.toml\n"));
  std::filesystem::remove(folder / "second.toml");
  const Answer unbuilt = in_shell("list fake/case", here);
  EXPECT_EQ(unbuilt.end.exit_code, 2);
  EXPECT_THAT(unbuilt.errors, AllOf(HasSubstr("mine.toml:1"),
                                    HasSubstr("no variant 'fake/case' without this worker: "
                                              "build/mine: "),
                                    HasSubstr("build it, or name another with --worker")));
}

TEST_F(Usage, OutputThatIsLostIsNoSuccess) {
  expect_loss(on_a_full_disk("--version"));
  expect_loss(on_a_full_disk("estimate fake/case n=3 --worker '" PEAKMARK_FAKE_WORKER "'"));
}

TEST_F(Usage, OutputThatIsLostReportsWhy) {
  const Answer closed = in_shell("schema >&-");
  EXPECT_EQ(closed.end.exit_code, 2);
  EXPECT_THAT(closed.errors,
              HasSubstr("standard output could not be written: Bad file descriptor; it is closed"));

  // A pipe without a reader, with SIGPIPE ignored. Without ignoring it, the signal would just end this
  // program, as `head` expects.
  const std::string pipe = "'" + folder_.path().string() + "/pipe'";
  const std::string open = "trap '' PIPE; mkfifo " + pipe + " && exec 3<>" + pipe + " 4>" + pipe + " 3>&-; ";
  const Answer unread = in_shell("schema >&4", open);
  EXPECT_EQ(unread.end.exit_code, 2);
  EXPECT_THAT(unread.errors,
              HasSubstr("standard output could not be written: Broken pipe; the program that reads it "
                        "ended before all was written"));
}

TEST_F(Usage, FilesAreWrittenWhereTheOutputIsLost) {
  suite({"ok"});
  ASSERT_EQ(run().end.exit_code, 0);
  const std::filesystem::path junit = folder_.path() / "junit.xml";
  expect_loss(on_a_full_disk("check '" + run_file_.string() + "' --junit '" + junit.string() + "'"));
  EXPECT_THAT(read_text_file(junit), HasSubstr("<testsuite"));
}

// The log is on a full disk. A log line that cannot be written stops nothing that was asked for.
TEST_F(Usage, MessagesThatAreLostStopNothing) {
  const std::string path = suite({"ok"}).string();
  const std::string written = run_file_.string();
  const Answer measured =
      in_shell("run '" + path + "' -o '" + written + "' --worker '" PEAKMARK_FAKE_WORKER "' 2> /dev/full");
  EXPECT_EQ(measured.end.exit_code, 0);
  const std::string baseline = (folder_.path() / "baseline").string();
  EXPECT_EQ(
      in_shell("check '" + written + "' --update-baseline '" + baseline + "' 2> /dev/full").end.exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(baseline));
}

// The output is longer than one buffer, so the write that fails is not the last one.
TEST_F(Usage, LongOutputThatIsLostIsNoSuccess) {
  const std::string path = suite(std::vector<std::string>(400, "ok"));
  const std::string worker = " --worker '" PEAKMARK_FAKE_WORKER "'";
  expect_loss(on_a_full_disk("list '" + path + "'" + worker));
  ASSERT_EQ(run().end.exit_code, 0);
  expect_loss(on_a_full_disk("check --json '" + run_file_.string() + "'"));
  expect_loss(on_a_full_disk("check '" + run_file_.string() + "'"));
  expect_loss(on_a_full_disk("show '" + run_file_.string() + "'"));
}

TEST_F(Usage, AnEmptyFileNameIsNamed) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"run", "suite.toml", "-o", ""},
                                             {"merge", "run.json", "-o", ""},
                                             {"check", "run.json", "--junit", ""},
                                             {"plot", "run.json", "-o", ""}}) {
    const Answer answer = peakmark(words);
    EXPECT_EQ(answer.end.exit_code, 2);
    EXPECT_THAT(answer.errors,
                AllOf(StartsWith("peakmark " + words.front() + ": --"), HasSubstr("the file name is empty")));
  }
}

TEST_F(Usage, EveryHelpNamesTheExitCodes) {
  const auto subcommands = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "__complete");
    words.emplace_back();
    std::istringstream lines(peakmark(words).output);
    std::vector<std::string> names;
    for (std::string line; std::getline(lines, line);) {
      if (line.find('\t') != std::string::npos) names.push_back(line.substr(0, line.find('\t')));
    }
    return names;
  };
  const std::vector<std::string> commands = subcommands({});
  EXPECT_GE(commands.size(), 19U);
  for (const std::string& command : commands) {
    EXPECT_THAT(peakmark({command, "--help"}).output, HasSubstr("\nExit codes:\n")) << command;
  }
  const std::vector<std::string> of_history = subcommands({"history"});
  EXPECT_GE(of_history.size(), 6U);
  for (const std::string& command : of_history) {
    EXPECT_THAT(peakmark({"history", command, "--help"}).output, HasSubstr("\nExit codes:\n")) << command;
  }
}

// CLI11 lets an option of a list take all words that follow, also a suite.
TEST_F(Usage, ARepeatableOptionTakesOneValue) {
  const Answer listed =
      peakmark({"list", "--worker", PEAKMARK_FAKE_WORKER, "--axis", "n=3", "fake/case", "--backend", "dry"});
  EXPECT_EQ(listed.output, "fake/case/dry/n:3\n") << listed.errors;
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"list", "--worker", "w", "none.toml", "--full-names"},
        {"plot", "--metric", "peak", "none.json", "--png"},
        {"plot", "--axis", "nx", "none.json", "--png"},
        {"slurm", "--constraint", "a", "none.toml", "-o", "x.json"}}) {
    const Answer answer = peakmark(words);
    EXPECT_EQ(answer.end.exit_code, 2) << words[0] << ' ' << words[1];
    EXPECT_THAT(answer.errors, Not(HasSubstr("required"))) << words[0] << ' ' << words[1];
    EXPECT_THAT(answer.errors, Not(HasSubstr(" not in "))) << words[0] << ' ' << words[1];
  }
}

// Their form decides whether words are suites, variants or axes.
TEST_F(Usage, FoldersAndFilesDoNotChangeWhatWordsMean) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "fake/case");
  std::ofstream(folder.path() / "n=4") << "x";
  const std::string here = "cd " + folder.path().string() + "; ";
  EXPECT_EQ(in_shell("list --worker '" PEAKMARK_FAKE_WORKER "' fake/case n=4 --backend dry", here).output,
            "fake/case/dry/n:4\n");
  std::ofstream(folder.path() / "fake/nightly.toml") << "x";
  EXPECT_THAT(in_shell("list fake/nightly", here).errors,
              HasSubstr("'fake/nightly' is not a variant; did you mean the suite 'fake/nightly.toml'?"));
}

/// Expects that an option has one description, made of sentences, with its default and its conflicts.
TEST_F(Usage, AnOptionIsDescribedWithItsDefaultAndConflicts) {
  const std::string help = peakmark({"run", "--help"}).output;
  EXPECT_THAT(help, HasSubstr("\n  -o,--output RUN             Write this run file. Default: run.json.\n"));
  EXPECT_THAT(help,
              HasSubstr("\n  --require {cuda,gpu}        Exit with 4 if there is no such device. Default:"));
  EXPECT_THAT(help, HasSubstr("$PEAKMARK_REQUIRE."));
  EXPECT_THAT(help, HasSubstr("Needs --rounds.\n"));
  EXPECT_THAT(help, HasSubstr("\n  SUITE...                    Suite files; variants to measure instead"));
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 104U) << line;
}

// A mistake in a value is found before the earlier report is removed.
TEST_F(Usage, AWrongValueChangesNothing) {
  const std::filesystem::path page = folder_.path() / "summary.md";
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"check", "run.json", "--window-tolerance", "lots", "--markdown", page.string()},
           {"check", "run.json", "--window", "1:0", "--markdown", page.string()},
           {"trends", "--allow-growth", "lots", "--markdown", page.string()},
           {"compare", "a", "b", "--allow-growth", "lots", "--markdown", page.string()},
           {"compare", "a", "--build", "b", "--timeout", "-1", "--markdown", page.string()}}) {
    std::ofstream(page) << "earlier";
    const Answer answer = peakmark(words);
    EXPECT_EQ(answer.end.exit_code, 2);
    EXPECT_THAT(answer.errors, AllOf(StartsWith("peakmark " + words.front() + ": --"),
                                     HasSubstr("See: peakmark " + words.front() + " --help\n")));
    EXPECT_EQ(read_text_file(page), "earlier");
  }
}

TEST_F(Usage, NanIsNoNumber) {
  std::ofstream(run_file_) << "{}";
  const std::vector<std::pair<std::vector<std::string>, const char*>> cases{
      {{"plot", run_file_.string(), "--width", "nan"}, "--width: Value nan is not a width"},
      {{"estimate", "fake/case", "n=3", "--seconds", "nan"},
       "--seconds: 'nan' is not a time: write seconds"}};
  for (const auto& [arguments, message] : cases) {
    const Answer answer = peakmark(arguments);
    EXPECT_EQ(answer.end.exit_code, 2) << answer.errors;
    EXPECT_THAT(answer.errors, HasSubstr(message));
  }
}

TEST_F(Usage, AMisspeltCommandIsNamed) {
  const Answer answer = peakmark({"rnu"});
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors, AllOf(StartsWith("peakmark: no command 'rnu'; did you mean 'run'?"),
                                   HasSubstr("devices"), HasSubstr("peakmark --help")));
  EXPECT_THAT(peakmark({"history", "ad"}).errors,
              AllOf(StartsWith("peakmark history: no command 'ad'; did you mean 'add'?"),
                    HasSubstr("peakmark history --help")));
  EXPECT_THAT(peakmark({"history", "log", "--jsno"}).errors,
              StartsWith("peakmark history log: no option '--jsno'; did you mean '--json'?"));
  const Answer none = peakmark({});
  EXPECT_EQ(none.end.exit_code, 2);
  EXPECT_THAT(none.errors, AllOf(StartsWith("peakmark: "), HasSubstr("subcommand is required")));
}

TEST_F(Usage, AMisspeltOptionIsNamed) {
  const Answer run = peakmark({"run", "suite.toml", "--bakend", "dry"});
  EXPECT_EQ(run.end.exit_code, 2);
  EXPECT_THAT(run.errors, AllOf(StartsWith("peakmark run: no option '--bakend'; did you mean '--backend'?"),
                                HasSubstr("peakmark run --help")));
  // RUN is missing too, but the misspelt word is the cause.
  EXPECT_THAT(peakmark({"check", "--jsno=x"}).errors,
              StartsWith("peakmark check: no option '--jsno'; did you mean '--json'?"));
  EXPECT_THAT(peakmark({"check", "run.json", "--zebra"}).errors,
              AllOf(StartsWith("peakmark check: no option '--zebra'\n"), Not(HasSubstr("did you mean"))));
  EXPECT_THAT(peakmark({"--verison"}).errors,
              StartsWith("peakmark: no option '--verison'; did you mean '--version'?"));
  EXPECT_THAT(peakmark({"record", "--snyc"}).errors,
              StartsWith("peakmark: record: no option '--snyc'; did you mean '--sync'?"));
  EXPECT_THAT(peakmark({"check"}).errors, StartsWith("peakmark check: RUN"));
}

// Otherwise the program would get the option, and the recording would not be the one that was asked for.
TEST_F(Usage, AnOptionBeforeTheRecordedProgramIsOurs) {
  const std::string profile = folder_.path() / "p";
  const Answer answer = peakmark({"record", "-o", profile, "--snyc", "--", "/bin/true", "--jsno"});
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors, StartsWith("peakmark: record: no option '--snyc'; did you mean '--sync'?"));
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"record", "-o", profile, "--sync", "/bin/sh", "--snyc"},
                                             {"record", "-o" + profile, "--", "/bin/sh", "-c", "exit 7"},
                                             {"record", "--output=" + profile, "/bin/sh", "-c", "exit 7"}}) {
    EXPECT_NE(peakmark(words).end.exit_code, 0);
    EXPECT_THAT(peakmark(words).errors, Not(HasSubstr("no option '--"))) << words[2];
  }
  EXPECT_EQ(peakmark({"record", "-o" + profile, "/bin/sh", "-c", "exit 7"}).end.exit_code, 7);
}

}  // namespace
}  // namespace peakmark
