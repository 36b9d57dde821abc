// Private texts of this machine are planted, and no file that may be published may contain them.
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

  /// A run file of another machine, to which somebody added more of that machine's environment.
  std::string edited_run() const {
    peakmark::Run run = read_run(run_file_);
    run.context.id = "edited";
    run.context.host_name = "planted-host";
    run.context.environment["NVIDIA_API_KEY"] = "nvapi-planted-key";
    run.context.environment["CUDA_HOME"] = "/home/planted-person/cuda";
    run.context.warnings = {"planted-host: /home/planted-person/x is slow"};
    run.observations[0].message = "401 for nvapi-planted-key";
    run.observations[0].other_estimates.at(0).error = "exception: File \"/home/planted-person/a b/c.py\"";
    const std::string file = folder_.path() / "edited.json";
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
  EXPECT_EQ(peakmark({"history", "add", edited_run(), "--history", history}).end.exit_code, 0);
  for (const char* const format : {"csv", "jsonl", "series"}) {
    const std::string exported =
        peakmark({"history", "export", "--format", format, "--history", history}).output;
    EXPECT_THAT(exported, HasSubstr("fake/case"));
    // Of the run of another machine its host and messages are left.
    if (std::string(format) != "series") expect_clean(exported, format);
    EXPECT_THAT(exported, AllOf(Not(HasSubstr("nvapi-planted")), Not(HasSubstr("planted-person"))));
  }
  const std::string trends_file = folder_.path() / "trends.md";
  const std::string trends =
      peakmark({"trends", "--json", "--markdown", trends_file, "--history", history}).output;
  EXPECT_THAT(trends,
              AllOf(HasSubstr("environment_changes"), Not(HasSubstr("nvapi-")), Not(HasSubstr("CUDA_HOME"))));
  EXPECT_THAT(read_text_file(trends_file), AllOf(Not(HasSubstr("nvapi-")), Not(HasSubstr("CUDA_HOME"))));

  // A run that is added again is recognised as the same run.
  for (const std::string& file : {run_file_.string(), edited_run()}) {
    const Answer again = peakmark({"history", "add", file, "--json", "--history", history});
    EXPECT_THAT(again.output, HasSubstr("\"was_there\": true")) << again.errors;
  }
#endif
}

TEST_F(PrivateFiles, TheHostsNameIsWrittenWhereItIsAskedFor) {
  run({"--host-name"});
  EXPECT_EQ(read_run(run_file_).context.host_name, this_host());
}

#ifdef PEAKMARK_HAS_HISTORY
TEST_F(PrivateFiles, APasswordIsNotInTheCommandLineThatEverybodyReads) {
  // The server accepts the connection and sends nothing, so the command waits for it.
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
