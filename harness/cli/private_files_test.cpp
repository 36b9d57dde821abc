// Private texts of this machine are planted, and must be in no file that may be published.
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <sstream>

#include "base/private_text.hpp"
#include "cli/command_testing.hpp"
#include "profile/profile.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::vector<std::string> kPlanted{"planted-person", "nvapi-planted", "planted-token", "planted-host",
                                        "secret-argument"};

class PrivateFiles : public CommandTest {
 protected:
  void SetUp() override {
    environment_ = {"HOME=/home/planted-person",
                    "USER=planted-person",
                    "LOGNAME=planted-person",
                    "NVIDIA_API_KEY=nvapi-planted-key",
                    "OPENCL_TOKEN=planted-token-1",
                    "CUDA_HOME=/home/planted-person/cuda",
                    "POCL_CACHE_DIR=/home/planted-person/.cache",
                    "CUDA_VISIBLE_DEVICES=0"};
    const auto estimator = folder_.path() / "estimate";
    std::ofstream(estimator)
        << "#!/bin/sh\n"
        << "echo \"401 for $NVIDIA_API_KEY of $USER in $HOME/x/theirs.py, $0\" >&2; exit 3\n";
    std::filesystem::permissions(estimator, std::filesystem::perms::owner_all);
    const auto path = suite({"ok", "abort"}, "estimators = [\"mine\"]\n");
    std::ofstream(path, std::ios::app) << "[[estimator]]\nname = \"mine\"\ncall = \"command:./estimate\"\n"
                                          "other_dimensions = [10, 20]\n";
  }

  static void expect_clean(const std::string& text, const std::string& what) {
    std::vector<std::string> planted = kPlanted;
    if (const std::string host = this_host(); host.size() > 4 && host != "localhost") planted.push_back(host);
    for (const std::string& one : planted) {
      EXPECT_EQ(text.find(one), std::string::npos) << one << " is in " << what;
    }
  }

  /// What the run file of an earlier version, of another machine, holds.
  std::string earlier_run() const {
    peakmark::Run run = read_run(run_file_);
    run.context.id = "earlier";
    run.context.host_name = "planted-host";
    run.context.environment["NVIDIA_API_KEY"] = "nvapi-planted-key";
    run.context.environment["CUDA_HOME"] = "/home/planted-person/cuda";
    run.context.warnings = {"planted-host: /home/planted-person/x is slow"};
    run.observations[0].message = "401 for nvapi-planted-key";
    run.observations[0].other_estimates.at(0).error = "exception: File \"/home/planted-person/a b/c.py\"";
    const std::string file = folder_.path() / "earlier.json";
    write_run(run, file);
    return file;
  }
};

TEST_F(PrivateFiles, NothingPrivateIsInWhatIsWritten) {
  run();
  const std::string text = read_text_file(run_file_);
  expect_clean(text, "the run file");
  EXPECT_THAT(text, AllOf(HasSubstr("CUDA_VISIBLE_DEVICES"),
                          HasSubstr("401 for $NVIDIA_API_KEY of USER in ~/x/theirs.py")));
  EXPECT_THAT(text, Not(HasSubstr(folder_.path().string())));

  const std::string junit = folder_.path() / "junit.xml";
  const std::string markdown = folder_.path() / "check.md";
  const Answer check = peakmark({"check", run_file_, "--json", "--junit", junit, "--markdown", markdown});
  expect_clean(check.output, "verdicts");
  expect_clean(read_text_file(junit), "JUnit");
  expect_clean(read_text_file(markdown), "markdown");
#ifdef PEAKMARK_HAS_HISTORY
  const std::string history = folder_.path() / "history.db";
  EXPECT_EQ(peakmark({"history", "add", run_file_, "--history", history}).end.exit_code, 0);
  EXPECT_EQ(peakmark({"history", "add", earlier_run(), "--history", history}).end.exit_code, 0);
  for (const char* const format : {"csv", "jsonl", "series"}) {
    const std::string exported =
        peakmark({"history", "export", "--format", format, "--history", history}).output;
    EXPECT_THAT(exported, HasSubstr("fake/case"));
    // Of the earlier run, which was not redacted, its host and messages are left.
    if (std::string(format) != "series") expect_clean(exported, format);
    EXPECT_THAT(exported, AllOf(Not(HasSubstr("nvapi-planted")), Not(HasSubstr("planted-person"))));
  }
  const std::string trends_file = folder_.path() / "trends.md";
  const std::string trends =
      peakmark({"trends", "--json", "--markdown", trends_file, "--history", history}).output;
  EXPECT_THAT(trends,
              AllOf(HasSubstr("environment_changes"), Not(HasSubstr("nvapi-")), Not(HasSubstr("CUDA_HOME"))));
  EXPECT_THAT(read_text_file(trends_file), AllOf(Not(HasSubstr("nvapi-")), Not(HasSubstr("CUDA_HOME"))));

  EXPECT_EQ(peakmark({"redact", history}).end.exit_code, 0);
  expect_clean(read_text_file(history), "the redacted history");
  EXPECT_EQ(peakmark({"check", run_file_}).end.exit_code, check.end.exit_code);
  // The same run again is the same run.
  for (const std::string& file : {run_file_.string(), earlier_run()}) {
    const Answer again = peakmark({"history", "add", file, "--json", "--history", history});
    EXPECT_THAT(again.output, HasSubstr("\"was_there\": true")) << again.errors;
  }
#endif
}

TEST_F(PrivateFiles, TheHostsNameIsWrittenWhereItIsAskedFor) {
  run({"--host-name"});
  EXPECT_EQ(read_run(run_file_).context.host_name, this_host());
}

TEST_F(PrivateFiles, RedactCleansARunFileOfAnEarlierVersion) {
  run();
  const std::string file = earlier_run();
  const peakmark::Run before = read_run(file);
  const std::string copy = folder_.path() / "copy.json";
  EXPECT_EQ(peakmark({"redact", file, "-o", copy}).end.exit_code, 0);
  EXPECT_THAT(read_text_file(file), HasSubstr("planted-host")) << "-o leaves FILE as it is";
  EXPECT_EQ(peakmark({"redact", file}).end.exit_code, 0);
  EXPECT_EQ(read_text_file(file), read_text_file(copy));
  expect_clean(read_text_file(file), "the redacted run");
  const peakmark::Run after = read_run(file);
  EXPECT_EQ(after.context.warnings.at(0), "HOST: ~/x is slow");
  EXPECT_EQ(after.context.host_name, "");
  EXPECT_EQ(after.observations.size(), before.observations.size());
  EXPECT_EQ(after.observations[0].requested_peak_bytes, before.observations[0].requested_peak_bytes);
  EXPECT_EQ(after.observations[0].message, "401 for $NVIDIA_API_KEY");
  const Answer again = peakmark({"redact", file});
  EXPECT_THAT(again.errors, HasSubstr("nothing to redact"));
}

TEST_F(PrivateFiles, RedactCleansLinesOfJson) {
  const std::string file = folder_.path() / "lines";
  std::ofstream(file)
      << "{\"host_name\":\"planted-host\",\"environment\":{\"NVIDIA_API_KEY\":\"nvapi-planted-key\"}}\n"
         "{\"case\":\"a/b\",\"message\":\"planted-host: nvapi-planted-key\"}\n";
  EXPECT_EQ(peakmark({"redact", file}).end.exit_code, 0);
  EXPECT_EQ(
      read_text_file(file),
      "{\"host_name\":\"\",\"environment\":{}}\n{\"case\":\"a/b\",\"message\":\"HOST: $NVIDIA_API_KEY\"}\n");
}

TEST_F(PrivateFiles, RedactKeepsTheNameOfAProgramOnly) {
  const std::string file = folder_.path() / "shown.json";
  std::ofstream(file) << "{\"program\":[\"/opt/x/python\",\"--key=secret-argument\"],"
                         "\"base\":{\"program\":\"/opt/x/python --key=secret-argument\"}}\n";
  EXPECT_EQ(peakmark({"redact", file}).end.exit_code, 0);
  EXPECT_EQ(read_text_file(file), "{\"program\":[\"python\"],\"base\":{\"program\":\"python\"}}\n");
}

TEST_F(PrivateFiles, RedactKeepsTheEventsOfAProfile) {
  ProfileHeader header{};
  std::memcpy(header.magic, ProfileHeader::kMagic, sizeof header.magic);
  header.version = ProfileHeader::kVersion;
  header.header_bytes = ProfileHeader::kBytes;
  header.closed = 1;
  header.end = 4;
  constexpr char kCommand[] = "/home/planted-person/bin/python\0train.py\0--key=secret-argument";
  std::memcpy(header.command_line, kCommand, sizeof kCommand);
  const std::string stack = "P\tmain\t3\t/home/planted-person/work/train.py\n";
  std::vector<Event> events(4);
  for (std::size_t i = 0; i < events.size(); ++i) events[i].commit = i + 1;
  events[0].type = EventType::stack;
  events[0].address = 7;
  events[0].text_bytes = static_cast<std::uint16_t>(stack.size());
  std::memset(events[0].text, 0, sizeof events[0].text);
  std::memcpy(events[0].text, stack.data(), 32);
  events[1].type = EventType::text;
  std::memset(events[1].text, 0, sizeof events[1].text);
  std::memcpy(events[1].text, stack.data() + 32, stack.size() - 32);
  events[2].type = EventType::allocation;
  events[2].kind = MemoryKind::buffer;
  events[2].address = 64;
  events[2].amounts = Event::Amounts{4096, 0, 0, 0, 7};
  events[3].type = EventType::release;
  events[3].address = 64;
  const std::string file = folder_.path() / "one.profile";
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&header), sizeof header);
  out.write(reinterpret_cast<const char*>(events.data()), static_cast<std::streamsize>(4 * sizeof(Event)));
  out.close();
  EXPECT_THAT(peakmark({"show", file, "--json"}).output, HasSubstr("secret-argument"));
  const Answer redacted = peakmark({"redact", file});
  EXPECT_EQ(redacted.end.exit_code, 0) << redacted.errors;
  expect_clean(read_text_file(file), "the redacted profile");
  const Answer shown = peakmark({"show", file, "--json"});
  EXPECT_EQ(shown.end.exit_code, 0) << shown.errors;
  EXPECT_THAT(shown.output, AllOf(HasSubstr("\"python\""), HasSubstr("train.py"), HasSubstr("4096"),
                                  HasSubstr("\"complete\": true")));
  const std::string page = folder_.path() / "page.html";
  EXPECT_EQ(peakmark({"show", file, "--html", page}).end.exit_code, 0);
  expect_clean(read_text_file(page), "the page");
}

TEST_F(PrivateFiles, WhatIsNoFileOfPeakmarkIsLeftAlone) {
  const std::string file = folder_.path() / "notes.txt";
  std::ofstream(file) << "planted-host\n";
  const Answer answer = peakmark({"redact", file});
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors, HasSubstr("neither JSON nor lines of JSON"));
  EXPECT_EQ(read_text_file(file), "planted-host\n");
}

#ifdef PEAKMARK_HAS_HISTORY
TEST_F(PrivateFiles, APasswordIsNotInTheCommandLineThatEverybodyReads) {
  // A server that takes the connection and says nothing: the command waits for it.
  const Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const place = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(listener.get(), place, length), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  ASSERT_EQ(::getsockname(listener.get(), place, &length), 0);
  const std::string url =
      "postgresql://me:planted-token-2@127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/db";
  const pid_t command = ::fork();
  if (command == 0) {
    ::execl(PEAKMARK_PROGRAM, "peakmark", "history", "log", "--history", url.c_str(), nullptr);
    ::_exit(127);
  }
  const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, command, 0)));
  pollfd watched[2] = {{listener.get(), POLLIN, 0}, {process.get(), POLLIN, 0}};
  ::poll(watched, 2, -1);
  const bool has_connected = watched[0].revents != 0;
  std::stringstream words;
  words << std::ifstream("/proc/" + std::to_string(command) + "/cmdline").rdbuf();
  ::kill(command, SIGKILL);
  ::waitpid(command, nullptr, 0);
  if (!has_connected)
    GTEST_SKIP() << "SOCI has no backend for PostgreSQL here (Debian 12: libsoci-postgresql4.0)";
  EXPECT_THAT(words.str(),
              AllOf(HasSubstr("history"), HasSubstr("postgresql://***"), Not(HasSubstr("planted"))));
}
#endif

}  // namespace
}  // namespace peakmark
