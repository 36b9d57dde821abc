// Profiles that find no room.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <fstream>
#include <iterator>

#include "record/profile_test.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;

TEST_F(Profile, LimitOnFileSizesEndsTheRecordingNotTheProgram) {
  const std::string messages = folder_.path() / "messages";
  pid_t child = fork();
  if (child == 0) {
    const rlimit limit{3 << 20, 3 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    const int log = open(messages.c_str(), O_CREAT | O_WRONLY, 0600);
    dup2(log, STDERR_FILENO);
    if (!writer_.open(base().c_str(), "test 1")) _exit(1);
    for (std::uint64_t i = 0; i < 60'000; ++i) writer_.release(i);
    writer_.close();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  const std::string path = base() + "." + std::to_string(child);
  ProfileReader reader(path);
  constexpr std::uint64_t kRoom = 3 * 16384 - 64;
  EXPECT_EQ(reader.events().size(), kRoom);
  EXPECT_EQ(reader.header().lost, 60'000 - kRoom);
  EXPECT_FALSE(reader.complete());
  std::ifstream file(messages);
  const std::string said(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
  EXPECT_THAT(said, HasSubstr(path));
  EXPECT_THAT(said, HasSubstr("ulimit -f"));
}

TEST_F(Profile, NoRoomForTheHeaderMeansNoRecording) {
  const std::string at = base();
  EXPECT_EQ(in_child([&] {
              const rlimit limit{4096, 4096};
              setrlimit(RLIMIT_FSIZE, &limit);
              close(STDERR_FILENO);
              const bool opened = writer_.open(at.c_str(), "test 1");
              writer_.release(1);
              writer_.close();
              _exit(opened || writer_.path() != nullptr || writer_.count() != 1 ? 1 : 0);
            }),
            0);
}

TEST_F(Profile, FileTakenAwayEndsTheRecording) {
  EXPECT_EQ(in_child([&] {
              close(STDERR_FILENO);
              if (!writer_.open(base().c_str(), "test 1")) _exit(1);
              std::filesystem::rename(own(), base());
              std::ofstream(own()) << "another file";
              for (std::uint64_t i = 0; i < 20'000; ++i) writer_.release(i);
              writer_.close();
              if (std::filesystem::file_size(own()) != 12) _exit(2);
            }),
            0);
  ProfileReader reader(base());
  EXPECT_EQ(reader.events().size(), 16384U - 64);
  EXPECT_EQ(reader.header().lost, 20'000U - (16384 - 64));
}

TEST_F(Profile, UnwritableFolderSaysSo) {
  const std::string messages = folder_.path() / "messages";
  EXPECT_EQ(in_child([&] {
              dup2(open(messages.c_str(), O_CREAT | O_WRONLY, 0600), STDERR_FILENO);
              const std::string path = folder_.path() / "none" / "p";
              if (writer_.open(path.c_str(), "test 1")) _exit(1);
            }),
            0);
  std::ifstream file(messages);
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(file), {}), HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace peakmark
