#include "measure/supervise/worker_program.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "base/error.hpp"
#include "base/files_testing.hpp"

namespace peakmark {

namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Returns the error about a worker that is this shell script.
std::string said_of(const std::string& script, std::chrono::milliseconds limit = kAnswerLimit) {
  const TemporaryFolder folder;
  const std::filesystem::path program = folder.path() / "worker";
  std::ofstream(program) << "#!/bin/sh\n" << script << '\n';
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  try {
    describe_worker(program, -1, {}, limit);
  } catch (const ProtocolError& error) {
    return error.what();
  }
  return "";
}

// The words of the system's loader.
const std::string kMissing =
    "echo \"$0: error while loading shared libraries: LIBRARY: cannot open shared object file: No such file "
    "or directory\" >&2; exit 127";

TEST(DescribeWorker, NamesTheFolderOfAMissingWorkerLibrary) {
  std::string script = kMissing;
  script.replace(script.find("LIBRARY"), 7, "libpeakmark-worker.so.1");
  EXPECT_THAT(
      said_of(script),
      AllOf(
          HasSubstr("ended with exit code 127: "), HasSubstr("libpeakmark-worker.so.1: cannot open"),
          HasSubstr(
              "No such file or directory; was peakmark moved since the worker was built? Rebuild the worker, "
              "or set LD_LIBRARY_PATH to ")));
}

TEST(DescribeWorker, ReportsOtherMissingLibrariesWithoutAdvice) {
  EXPECT_THAT(said_of(kMissing), AllOf(HasSubstr("LIBRARY: cannot open"), Not(HasSubstr("LD_LIBRARY_PATH"))));
  EXPECT_THAT(said_of("echo libpeakmark-worker.so.1 >&2; exit 3"),
              AllOf(HasSubstr("exit code 3"), Not(HasSubstr("LD_LIBRARY_PATH"))));
}

// It waits for ever, so any limit works; a busy machine can start a shell within this one.
TEST(DescribeWorker, ReportsLimitAndAdviceForOneThatHangs) {
  const TemporaryFolder folder;
  const std::filesystem::path fifo = folder.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(said_of("echo opening the device >&2; exec cat " + fifo.string(), std::chrono::seconds(1)),
              AllOf(HasSubstr("worker --describe did not end within 1 s and was killed; its last message: "
                              "opening the device; "),
                    HasSubstr("before Worker::run, in main() and in its static objects")));
}

TEST(DescribeWorker, RecognisesProgramsThatAreNotWorkers) {
  EXPECT_THAT(said_of("exit 0"), HasSubstr("is it a worker?"));
  EXPECT_THAT(said_of("kill -SEGV $$"), HasSubstr("under a debugger"));
}

std::string not_found(const std::string& named, const std::string& typed = "") {
  try {
    find_worker(named, typed);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(FindWorker, WhatIsNoProgramIsNamedAsItWasTyped) {
  EXPECT_EQ(not_found("/no/such/file", "new=/no/such/file"), "--worker new=/no/such/file: no such program");
  const TemporaryFolder folder;
  const std::string source = (folder.path() / "scale.cpp").string();
  std::ofstream(source) << "#include <peakmark/opencl.hpp>\n";
  for (const auto permissions : {std::filesystem::perms::owner_read, std::filesystem::perms::owner_all}) {
    std::filesystem::permissions(source, permissions);
    EXPECT_THAT(not_found(source), AllOf(StartsWith("--worker " + source + ": is not a program: "),
                                         HasSubstr("build it, and name the program that was built")));
  }
}

TEST(DescribeWorker, AWorkerThatCannotBeStartedIsReportedWithTheReason) {
  const TemporaryFolder folder;
  const auto put = [&](const char* name, const char* text) {
    std::ofstream(folder.path() / name) << text;
    std::filesystem::permissions(folder.path() / name, std::filesystem::perms::owner_all);
    return folder.path() / name;
  };
  const auto why = [](const std::filesystem::path& program) -> std::string {
    try {
      describe_worker(program);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(why(put("elsewhere", "\177ELF of another machine")),
              HasSubstr("elsewhere: cannot be started: built for another machine"));
  EXPECT_THAT(why(put("script", "#!/no/such/interpreter\n")), HasSubstr("the interpreter after its #!"));
}

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string mistake_of(const std::vector<std::string>& deeds) {
  Description description;
  description.variants.emplace_back().name = "fake/case";
  std::vector<PlannedCase> cases;
  for (const std::string& deed : deeds) {
    cases.emplace_back();
    cases.back().name = "fake/case/dry/does:" + deed;
    cases.back().sweep_case.variant = deed == "program" ? "theirs/program" : "fake/case";
    cases.back().place = "s.toml:" + std::to_string(cases.size());
  }
  ::setenv("FAKE_WORKER_CHECKS", "1", 1);
  try {
    check_cases(PEAKMARK_FAKE_WORKER, description, cases);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(CaseCheck, SkipsProgramsOfTheSuite) {
  EXPECT_EQ(mistake_of({"program"}), "");
  EXPECT_THAT(mistake_of({"program", "overflow"}), HasSubstr("s.toml:2: sweep: gives the case"));
}

TEST(CaseCheck, ReportsThePlaceOfTheSweep) {
  EXPECT_EQ(mistake_of({"ok", "overflow", "ok"}),
            "s.toml:2: sweep: gives the case fake/case/dry/does:overflow: n * 4 does not fit 64 bits");
  EXPECT_THAT(mistake_of({"ok", "overflow", "overflow"}), HasSubstr("64 bits (and 1 more such cases)"));
  EXPECT_EQ(mistake_of({"ok", "hang"}), "");
  EXPECT_EQ(mistake_of({}), "");
}

TEST(CaseCheck, RejectsMalformedAnswers) {
  EXPECT_THAT(mistake_of({"garbage"}),
              AllOf(HasSubstr("--check answers 'no JSON at all', which is not an answer ("),
                    HasSubstr("must print nothing to standard output while a case is made")));
}

TEST(CaseCheck, NamesTheWorkerForErrorsOfTheWorker) {
  EXPECT_THAT(
      mistake_of({"ok", "mistaken", "mistaken"}),
      AllOf(
          StartsWith(PEAKMARK_FAKE_WORKER ": variant fake/case is wrong (and 1 more such cases); the "
                                          "error is in the worker's program, not in the suite"),
          HasSubstr("fix it there and rebuild it. It was found at fake/case/dry/does:mistaken (s.toml:2)")));
}

TEST(CaseCheck, NamesTheCaseThatCrashesTheWorker) {
  EXPECT_THAT(mistake_of({"ok", "abort", "ok"}),
              AllOf(HasSubstr("--check ended with signal SIGABRT (Aborted): giving up; it gave no answer for "
                              "fake/case/dry/does:abort (s.toml:2): check what"),
                    EndsWith("reproduce: echo fake/case/dry/does:abort | " PEAKMARK_FAKE_WORKER " --check")));
  EXPECT_THAT(mistake_of({"ok", "half_line"}),
              HasSubstr("ended with exit code 0; it gave no answer for fake/case/dry/does:half_line"));
}

TEST(CaseCheck, NamesNoCaseIfAllWereAnswered) {
  EXPECT_THAT(mistake_of({"exit_3", "ok"}),
              AllOf(HasSubstr("--check ended with exit code 3; it had answered for every case: check what "
                              "it does at its end"),
                    Not(HasSubstr("fake/case"))));
}

}  // namespace

}  // namespace peakmark
