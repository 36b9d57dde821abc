#include "record/launch/profile_folding.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <string>

#include "base/error.hpp"
#include "base/files_testing.hpp"
#include "record/profile/profile_files.hpp"
#include "record/recorders/profile_writer.hpp"
#include "record/show/profile_reports.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;
using Step = ProfileFolding::Step;

ProfileWriter folding_writer;  // in static storage, as in a recorder

void write_random_events(std::mt19937_64& random, int count) {
  const auto pick = [&](std::uint64_t below) { return random() % below; };
  for (int i = 0; i < count; ++i) {
    const std::uint64_t address = 0x1000 + 16 * pick(20);
    const MemoryKind kind = pick(5) == 0 ? MemoryKind::host_pointer : MemoryKind::buffer;
    const std::string text(pick(70), static_cast<char>('a' + pick(3)));
    const std::uint64_t what = pick(40);
    if (what == 0 && pick(10) == 0) {
      folding_writer.phase(text.c_str());
    } else if (what == 1) {
      folding_writer.failed_allocation(static_cast<std::int64_t>(pick(3)), kind, -61);
    } else if (what == 2) {
      folding_writer.name(address, text.c_str());
    } else if (what == 3) {
      folding_writer.release(pick(3) + 1);  // never allocated
    } else if (what == 4) {
      folding_writer.allocation(address, 10, kind, {.result = 700});
    } else if (what < 22) {
      folding_writer.allocation(address, static_cast<std::int64_t>(pick(1000)), kind);
    } else {
      folding_writer.release(address);
    }
  }
}

/// A program that writes on request.
class WritingProcess {
 public:
  WritingProcess(const fs::path& name, unsigned seed, int events, bool closes) {
    EXPECT_EQ(::pipe(go_.data()), 0);
    EXPECT_EQ(::pipe(done_.data()), 0);
    process_ = ::fork();
    if (process_ != 0) {
      ::close(go_[0]);
      ::close(done_[1]);
      wait();
      return;
    }
    ::close(go_[1]);
    ::close(done_[0]);
    std::mt19937_64 random(seed);
    folding_writer.open(name.c_str(), "test 1");
    char byte = 0;
    do {
      if (::write(done_[1], &byte, 1) != 1) ::_exit(1);
      if (::read(go_[0], &byte, 1) != 1 || byte == kEnd) break;
      write_random_events(random, events);
    } while (true);
    if (closes) folding_writer.close();
    ::_exit(0);
  }
  WritingProcess(const WritingProcess&) = delete;
  WritingProcess& operator=(const WritingProcess&) = delete;
  ~WritingProcess() { end(); }

  void go_on() {
    const char byte = 0;
    EXPECT_EQ(::write(go_[1], &byte, 1), 1);
    wait();
  }
  void end() {
    if (process_ < 0) return;
    EXPECT_EQ(::write(go_[1], &kEnd, 1), 1);  // closing it is not enough: later processes have inherited it
    ::close(go_[1]);
    EXPECT_EQ(::waitpid(process_, nullptr, 0), process_);
    ::close(done_[0]);
    process_ = -1;
  }

 private:
  static constexpr char kEnd = 1;

  void wait() const {
    char byte = 0;
    EXPECT_EQ(::read(done_[0], &byte, 1), 1);
  }

  std::array<int, 2> go_{};
  std::array<int, 2> done_{};
  pid_t process_ = -1;
};

/// Returns the output of `show --json` without the key that marks a compact profile, and without repetitions:
/// those are found in events, which a compact profile does not keep.
std::string shown(const fs::path& name) {
  nlohmann::json json = nlohmann::json(profile_json(read_tree(name)));
  const auto erase = [](nlohmann::json& process) {
    EXPECT_TRUE(process["compact"] == false || process["repetitions"].is_null());
    process.erase("compact");
    process.erase("repetitions");
  };
  erase(json);
  for (nlohmann::json& process : json["processes"]) erase(process);
  return json.dump(1);
}

class FoldProfiles : public testing::Test {
 protected:
  fs::path name() const { return folder_.path() / "p"; }
  fs::path folded() const { return folder_.path() / "p.folded"; }

  /// Copies the profiles without the folded part. Short profiles are not truncated before their end.
  fs::path copy_of_all() const {
    const fs::path copies = folder_.path() / "full";
    fs::remove_all(copies);
    fs::create_directory(copies);
    for (const fs::path& file : profiles_beside(name())) fs::copy_file(file, copies / file.filename());
    return copies / "p";
  }

  static ProfileFolding::Options at_once() { return {.min_bytes = 1, .margin_ns = 0}; }

  const TemporaryFolder folder_;
};

/// The peak of all processes together, and the sizes that are live at that moment, largest first.
using Contents = std::pair<Size, std::vector<Size>>;

Contents peak_and_contents(const fs::path& name) {
  const LedgerSummary together = summarise_together(read_tree(name));
  Contents contents{together.peak_bytes, {}};
  for (const Allocation& one : together.at_peak) contents.second.push_back(one.bytes);
  return contents;
}

/// Computes the same with a map of live allocations for each process. All values are added up again after
/// each event.
Contents contents_by_hand(const fs::path& name) {
  struct Process {
    std::vector<Event> events;
    std::size_t next = 0;
    std::map<std::uint64_t, Size> live = {};
  };
  std::vector<std::pair<std::int64_t, fs::path>> files;
  for (const fs::path& file : profiles_beside(name))
    files.emplace_back(ProfileReader(file).header().start_monotonic_ns, file);
  std::ranges::sort(files);
  std::vector<Process> processes;
  for (const auto& [start, file] : files) processes.push_back({ProfileReader(file).events()});
  Contents contents;
  for (;;) {
    Process* first = nullptr;
    for (Process& one : processes) {
      if (one.next < one.events.size() &&
          (first == nullptr || one.events[one.next].time_ns < first->events[first->next].time_ns))
        first = &one;
    }
    if (first == nullptr) return contents;
    const Event& event = first->events[first->next++];
    if (event.type == EventType::release) first->live.erase(event.address);
    if (event.type != EventType::allocation) continue;
    first->live.erase(event.address);
    if (event.kind != MemoryKind::buffer) continue;
    first->live[event.address] = event.amounts.bytes;
    std::vector<Size> all;
    for (const Process& one : processes) {
      for (const auto& [address, bytes] : one.live) all.push_back(bytes);
    }
    const Size sum = std::accumulate(all.begin(), all.end(), Size{0});
    if (sum <= contents.first) continue;
    std::ranges::sort(all, std::greater<>());
    contents = {sum, all};
  }
}

class FoldRandomProfiles : public FoldProfiles, public testing::WithParamInterface<unsigned> {};

TEST_P(FoldRandomProfiles, ShowTheSame) {
  std::mt19937_64 random(GetParam());
  std::deque<WritingProcess> processes;
  ProfileFolding folding(at_once());
  for (int step = 0; step < 30; ++step) {
    if (processes.size() < 1 + random() % 4 && processes.size() < 4) {
      processes.emplace_back(name(), static_cast<unsigned>(random()), 1 + static_cast<int>(random() % 300),
                             random() % 2 == 0);
    }
    WritingProcess& one = processes[random() % processes.size()];
    one.go_on();
    if (random() % 3 == 0) folding.fold(name(), false);
    if (step % 10 == 5) {
      EXPECT_EQ(shown(name()), shown(copy_of_all())) << "while they write";
    }
  }
  processes.clear();
  const fs::path full = copy_of_all();
  folding.fold(name(), true);
  EXPECT_EQ(folding.error(), "");
  EXPECT_TRUE(fs::exists(folded()));
  EXPECT_EQ(shown(name()), shown(full));
  folding.write_profiles(name());
  EXPECT_EQ(folding.error(), "");
  EXPECT_FALSE(fs::exists(folded())) << "each profile has its events";
  EXPECT_EQ(shown(name()), shown(full));
  EXPECT_EQ(peak_and_contents(name()), contents_by_hand(full));
  EXPECT_EQ(profile_table(read_tree(full)).find("compact:"), std::string::npos);
  EXPECT_NE(profile_table(read_tree(name())).find("compact:"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Seeds, FoldRandomProfiles, testing::Range(0U, 12U));

/// The process is killed after each step of a pass, while the program runs and at the last pass.
TEST_F(FoldProfiles, KilledAtAnyStepEveryEventCountsOnce) {
  for (int kill_at = 1; kill_at <= 10; ++kill_at) {
    fs::remove(folded());
    for (const fs::path& file : profiles_beside(name())) fs::remove(file);
    fs::path full;
    {
      WritingProcess one(name(), 1, 2000, true);
      WritingProcess other(name(), 2, 1000, false);
      one.go_on();
      other.go_on();
      int steps = 0;
      const auto is_killed = [&](bool is_over) {
        const pid_t folding = ::fork();
        if (folding == 0) {
          ProfileFolding::Options options = at_once();
          options.after = [&](Step) {
            if (++steps == kill_at - (is_over ? 3 : 0)) ::_exit(9);
          };
          ProfileFolding one(options);
          one.fold(name(), is_over);
          if (is_over) one.write_profiles(name());
          ::_exit(0);
        }
        int status = 0;
        EXPECT_EQ(::waitpid(folding, &status, 0), folding);
        return WEXITSTATUS(status) == 9;
      };
      if (kill_at <= 3) {
        EXPECT_TRUE(is_killed(false)) << kill_at;
        EXPECT_EQ(shown(name()), shown(copy_of_all())) << kill_at;
      }
      one.go_on();
      other.go_on();
      one.end();
      other.end();
      full = copy_of_all();
      if (kill_at > 3) {
        EXPECT_TRUE(is_killed(true)) << kill_at;
      }
    }
    EXPECT_EQ(shown(name()), shown(full)) << kill_at;
  }
}

std::uint64_t disk_bytes(const fs::path& file) {
  struct stat status {};
  EXPECT_EQ(::stat(file.c_str(), &status), 0);
  return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

TEST_F(FoldProfiles, ALongOneTakesLittleSpaceWhileItIsWritten) {
  constexpr int kSteps = 40;
  constexpr int kEventsAStep = 10'000;  // at least 0.6 MiB
  ProfileFolding folding({.min_bytes = 1 << 20, .margin_ns = 0});
  WritingProcess process(name(), 3, kEventsAStep, true);
  std::uint64_t most = 0;
  for (int step = 0; step < kSteps; ++step) {
    process.go_on();
    folding.fold(name(), false);
    most = std::max(most, disk_bytes(profiles_beside(name()).at(0)));
  }
  process.end();
  const fs::path file = profiles_beside(name()).at(0);
  const std::uint64_t bytes = fs::file_size(file);
  EXPECT_GT(bytes, 24U << 20U);
  folding.fold(name(), true);
  if (folding.error().find("cannot give back") != std::string::npos) GTEST_SKIP() << folding.error();
  EXPECT_EQ(folding.error(), "");
  EXPECT_LT(most, bytes / 2);
  EXPECT_LE(fs::file_size(file), ProfileHeader::kBytes);
  folding.write_profiles(name());
  EXPECT_EQ(folding.error(), "");
  EXPECT_FALSE(fs::exists(folded()));
  EXPECT_LT(fs::file_size(file), bytes / 2);
  const RecordedTree tree = read_tree(name());
  EXPECT_TRUE(tree.processes.at(0).complete);
  EXPECT_EQ(tree.processes.at(0).lost_events, 0U);

  // The same events, but never folded.
  const fs::path other = folder_.path() / "other";
  {
    WritingProcess again(other, 3, kEventsAStep, true);
    for (int step = 0; step < kSteps; ++step) again.go_on();
  }
  nlohmann::json compact = nlohmann::json::parse(shown(name()));
  nlohmann::json full = nlohmann::json::parse(shown(other));
  for (nlohmann::json* const json : {&compact, &full}) json->erase("pid");
  EXPECT_EQ(compact.dump(1), full.dump(1));
}

TEST_F(FoldProfiles, AShortRecordingStaysAsItIs) {
  ProfileFolding folding;
  {
    WritingProcess process(name(), 4, 100, true);
    process.go_on();
  }
  folding.fold(name(), true);
  EXPECT_FALSE(fs::exists(folded()));
}

TEST_F(FoldProfiles, MissingFoldedEventsAreReported) {
  {
    ProfileFolding folding(at_once());
    WritingProcess process(name(), 5, 100, true);
    process.go_on();
    process.end();
    folding.fold(name(), true);
  }
  fs::remove(folded());
  const RecordedTree tree = read_tree(name());
  EXPECT_FALSE(tree.processes.at(0).complete);
  EXPECT_GT(tree.processes.at(0).lost_events, 99U);
}

TEST_F(FoldProfiles, AFileOfFoldedEventsThatIsCutShortIsRefused) {
  {
    ProfileFolding folding(at_once());
    WritingProcess process(name(), 6, 100, true);
    process.go_on();
    process.end();
    folding.fold(name(), true);
  }
  fs::resize_file(folded(), fs::file_size(folded()) - 1);
  EXPECT_THROW(read_tree(name()), UsageError);
}

}  // namespace
}  // namespace peakmark
