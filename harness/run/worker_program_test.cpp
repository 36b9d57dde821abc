#include "run/worker_program.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "base/error.hpp"
#include "base/temporary_folder.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// What is said of a worker that is this shell script.
std::string said_of(const std::string& script) {
  const TemporaryFolder folder;
  const std::filesystem::path program = folder.path() / "worker";
  std::ofstream(program) << "#!/bin/sh\n" << script << '\n';
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  try {
    describe_worker(program);
  } catch (const UsageError& error) {
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

TEST(DescribeWorker, WhatIsNoWorkerIsToldSo) {
  EXPECT_THAT(said_of("exit 0"), HasSubstr("is it a worker?"));
  EXPECT_THAT(said_of("kill -SEGV $$"), HasSubstr("under a debugger"));
}

}  // namespace
}  // namespace peakmark
