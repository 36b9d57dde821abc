#include "base/error.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "base/text.hpp"

namespace peakmark {
namespace {

struct KindAndCode {
  std::string kind;
  std::shared_ptr<std::exception> error;
  ExitCode code;
};

// docs/formats.md, "Exit codes", shows the same table.
std::vector<KindAndCode> kinds_and_codes() {
  const auto error_code = std::make_error_code(std::errc::permission_denied);
  return {
      {"UsageError", std::make_shared<UsageError>("u"), ExitCode::usage},
      {"OverflowError", std::make_shared<OverflowError>("o"), ExitCode::usage},
      {"EnvironmentError", std::make_shared<EnvironmentError>("e"), ExitCode::usage},
      {"IoError", std::make_shared<IoError>("i"), ExitCode::usage},
      {"ProtocolError", std::make_shared<ProtocolError>("p"), ExitCode::usage},
      {"filesystem_error", std::make_shared<std::filesystem::filesystem_error>("f", error_code),
       ExitCode::usage},
      {"DeviceError", std::make_shared<DeviceError>("d"), ExitCode::nothing},
      {"DeadlineError", std::make_shared<DeadlineError>("d"), ExitCode::nothing},
      {"RecorderError", std::make_shared<RecorderError>("r"), ExitCode::recorder},
      {"MeasurementError", std::make_shared<MeasurementError>("m"), ExitCode::measurement},
      {"OutOfMemory", std::make_shared<OutOfMemoryError>("o"), ExitCode::measurement},
      {"Unsupported", std::make_shared<UnsupportedError>("u"), ExitCode::measurement},
      {"Interrupted", std::make_shared<Interrupted>("i"), ExitCode::interrupted},
      {"logic_error", std::make_shared<std::logic_error>("l"), ExitCode::measurement},
      {"bad_alloc", std::make_shared<std::bad_alloc>(), ExitCode::measurement},
  };
}

TEST(ErrorTest, EachKindHasItsExitCode) {
  for (const KindAndCode& row : kinds_and_codes()) EXPECT_EQ(exit_code_of(*row.error), row.code) << row.kind;
}

TEST(ErrorTest, AnIoErrorReportsWhereWhatWhyAndWhatToDo) {
  const IoError error = io_error("/out/run.json", "cannot be written", ENOSPC);
  EXPECT_STREQ(error.what(),
               "/out/run.json: cannot be written: No space left on device; free space there, or name another "
               "place");
  EXPECT_EQ(error.error(), ENOSPC);
  EXPECT_STREQ(io_error("/out", "cannot be written", EFBIG, "name it with -o").what(),
               "/out: cannot be written: File too large; name it with -o");
  EXPECT_STREQ(io_error("", "a pipe cannot be made", EFBIG).what(), "a pipe cannot be made: File too large");
}

TEST(ErrorTest, AQuotaAndLostLocksHaveAdvice) {
  EXPECT_STREQ(
      io_error("/out/run.json", "cannot be written", EDQUOT).what(),
      "/out/run.json: cannot be written: Disk quota exceeded; free space there, or name another place");
  EXPECT_STREQ(
      io_error("/tmp/peakmark-0/cpu.lock", "cannot lock the device", ENOLCK).what(),
      "/tmp/peakmark-0/cpu.lock: cannot lock the device: No locks available; its file system may not "
      "lock files (a shared one): name a place on a local disk");
}

TEST(ErrorTest, WhatNobodyExpectedIsPrintedAsSuch) {
  EXPECT_EQ(final_message(UsageError("--shard 9/4")), "--shard 9/4");
  EXPECT_EQ(final_message(std::logic_error("no such step")), "unexpected error: no such step");
  const std::filesystem::filesystem_error denied("exists", "/root/x",
                                                 std::make_error_code(std::errc::permission_denied));
  EXPECT_EQ(final_message(denied), "/root/x: Permission denied; name another path");
}

TEST(ErrorTest, ALongPathIsShortenedBetweenCharacters) {
  std::string path = "/";
  for (int i = 0; i < 100; ++i) path += "€";  // three bytes: byte 100 and byte 200 are inside a character
  const std::filesystem::filesystem_error error("exists", path,
                                                std::make_error_code(std::errc::filename_too_long));
  const std::string message = final_message(error);
  EXPECT_EQ(plain_text(message), message) << "it is UTF-8";
  EXPECT_TRUE(message.starts_with("/€")) << message;
  EXPECT_TRUE(message.ends_with("€: File name too long; name another path")) << message;
  EXPECT_LT(message.size(), path.size());
}

TEST(ErrorTest, AnExitCodeOfAnotherProgramGivesTheErrorBack) {
  EXPECT_THROW(throw_error_of_exit_code(2, "w"), UsageError);
  EXPECT_THROW(throw_error_of_exit_code(4, "w"), DeviceError);
  EXPECT_THROW(throw_error_of_exit_code(5, "w"), RecorderError);
  for (const int code : {0, 1, 3, 77, 127, 130}) EXPECT_NO_THROW(throw_error_of_exit_code(code, "w"));
}

}  // namespace
}  // namespace peakmark
