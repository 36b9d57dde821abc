#include "supervise/worker_program.hpp"

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

/// What is said of a worker that is this shell script.
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

// As the system's loader says it.
const std::string kMissing =
    "echo \"$0: error while loading shared libraries: LIBRARY: cannot open shared object file: No such file "
    "or "
    "directory\" >&2; exit 127";

TEST(DescribeWorker, WhoseLibraryIsNotFoundIsToldWhereOneIs) {
  std::string script = kMissing;
  script.replace(script.find("LIBRARY"), 7, "libpeakmark-worker.so.1");
  EXPECT_THAT(
      said_of(script),
      AllOf(HasSubstr("ended with exit code 127: "), HasSubstr("libpeakmark-worker.so.1: cannot open"),
            HasSubstr(
                "No such file or directory; was peakmark moved since the worker was built? Build that anew, "
                "or let LD_LIBRARY_PATH name ")));
}

TEST(DescribeWorker, WhatElseItLacksIsItsOwnAffair) {
  EXPECT_THAT(said_of(kMissing), AllOf(HasSubstr("LIBRARY: cannot open"), Not(HasSubstr("LD_LIBRARY_PATH"))));
  EXPECT_THAT(said_of("echo libpeakmark-worker.so.1 >&2; exit 3"),
              AllOf(HasSubstr("exit code 3"), Not(HasSubstr("LD_LIBRARY_PATH"))));
}

// It waits for what never comes, so any limit is too short for it; in this one a busy machine starts a shell.
TEST(DescribeWorker, OneThatHangsIsToldTheLimitAndWhatToLookFor) {
  const TemporaryFolder folder;
  const std::filesystem::path fifo = folder.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(said_of("echo opening the device >&2; exec cat " + fifo.string(), std::chrono::seconds(1)),
              AllOf(HasSubstr("worker --describe has not ended within 1 s and was killed; the last it said: "
                              "opening the device; "),
                    HasSubstr("before Worker::run, in main() and in its static objects")));
}

TEST(DescribeWorker, WhatIsNoWorkerIsToldSo) {
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
                                         HasSubstr("build it, and name the program that comes of it")));
  }
}

TEST(DescribeWorker, WhatCannotBeStartedIsToldWhy) {
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

}  // namespace
}  // namespace peakmark
