#include "measure/builds/commit_worktree.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/fingerprint.hpp"
#include "base/text.hpp"
#include "base/text_file.hpp"
#include "measure/supervise/case_listeners.hpp"
#include "measure/supervise/worker_program.hpp"
#include "record/subprocess/spawn.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLock = "lock";
constexpr const char* kBuilt = "built";  // contains the build command
constexpr int kLockPollMs = 200;
constexpr std::size_t kMaxLinesShown = 20;

/// Returns a lock of the folder; nullopt while another process has it, or if another process has just removed
/// the folder.
std::optional<Descriptor> try_lock(const fs::path& folder) {
  const fs::path path = folder / kLock;
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (file.get() < 0) {
    if (errno == ENOENT) return std::nullopt;
    throw io_error(path.string(), "cannot be opened", errno);
  }
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0)
    return is_still_at(path, file.get()) ? std::optional(std::move(file)) : std::nullopt;
  if (errno == EWOULDBLOCK || errno == EINTR) return std::nullopt;
  throw io_error(path.string(), "cannot be locked", errno);
}

void remove_worktree(const GitRepository& repository, const fs::path& top) {
  std::error_code error;
  fs::remove_all(top, error);
  // Twice, to remove also a worktree that is locked because git was killed while it made it.
  repository.git({"worktree", "remove", "--force", "--force", top.string()});
}

/// The files and folders in the cache of a repository, and when each was last used.
struct CacheEntry {
  fs::path path;
  fs::file_time_type used;
};

void remove_oldest(std::vector<CacheEntry>& entries, std::size_t kept,
                   const std::function<void(const fs::path&)>& remove) {
  std::ranges::sort(entries, std::ranges::greater(), &CacheEntry::used);
  for (std::size_t i = kept; i < entries.size(); ++i) remove(entries[i].path);
}

/// Returns the path relative to the root of the repository; nullopt if it is outside.
std::optional<fs::path> place_in(const GitRepository& repository, const fs::path& path) {
  fs::path place = fs::weakly_canonical(path).lexically_relative(repository.top());
  if (place.empty() || *place.begin() == "..") return std::nullopt;
  return place;
}

/// Returns `place` if it has the same text as the suite; else a copy of the suite next to it.
fs::path copy_of_suite(const fs::path& suite, const fs::path& place) {
  const std::string text = read_text_file(suite);
  if (fs::is_regular_file(place) && read_text_file(place) == text) return place;
  fs::path copy = place.parent_path() / (".peakmark-" + place.filename().string());
  fs::create_directories(place.parent_path());
  replace_text_file(copy, text);
  return copy;
}

}  // namespace

CommitWorktree::CommitWorktree(const GitRepository& repository, fs::path folder, int interrupt)
    : repository_(repository),
      folder_(std::move(folder)),
      top_(folder_ / "worktree" / repository.top().filename()),
      interrupt_(interrupt) {
  lock();
}

CommitWorktree::~CommitWorktree() {
  if (is_kept_) return;
  try {
    remove();
  } catch (const std::exception& error) {
    say(fmt::format("{}: cannot be removed: {}; remove it, then `git worktree prune`", folder_.string(),
                    error.what()));
  }
}

void CommitWorktree::lock() {
  bool is_waiting = false;
  for (;;) {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) throw io_error(folder_.string(), "cannot be created", error.value());
    if (auto taken = try_lock(folder_)) {
      lock_ = std::move(*taken);
      return;
    }
    if (!std::exchange(is_waiting, true))
      say(fmt::format("  waiting for another process that builds in {}", folder_.string()));
    pollfd watched{interrupt_, POLLIN, 0};
    if (::poll(&watched, 1, kLockPollMs) == 1) throw Interrupted("interrupted while waiting for a build");
  }
}

void CommitWorktree::remove() {
  remove_worktree(repository_, top_);
  std::error_code error;
  fs::remove_all(folder_, error);
  if (error) throw io_error(folder_.string(), "cannot be removed", error.value());
  fs::remove(folder_.parent_path(), error);  // if it is empty now
}

void CommitWorktree::check_out(const std::string& commit) {
  const auto run = [&](const std::vector<std::string>& arguments, const fs::path& folder) {
    const Answer answer = repository_.git(arguments, folder, interrupt_);
    if (answer.end.exit_code == 0) return;
    throw MeasurementError(fmt::format("{}: cannot be checked out: git {}: {}", short_commit(commit),
                                       fmt::join(arguments, " "), git_message(answer)));
  };
  // In two steps: an interrupt affects the second one, which leaves nothing locked.
  if (std::exchange(commit_, commit).empty()) {
    remove_worktree(repository_, top_);  // left by a killed process
    const Answer added =
        repository_.git({"worktree", "add", "--detach", "--no-checkout", top_.string(), commit});
    if (added.end.exit_code != 0)
      throw IoError(fmt::format("git worktree add {}: {}", top_.string(), git_message(added)));
  }
  run({"checkout", "--quiet", "--force", "--detach", commit}, top_);
  if (fs::exists(top_ / ".gitmodules")) run({"submodule", "update", "--init", "--recursive"}, top_);
}

void CommitWorktree::build(const std::string& command) {
  const fs::path log_file = folder_.parent_path() / (short_commit(commit_) + ".log");
  WorkerProcess process(
      {"/bin/sh",
       {"-c", R"(cd -- "$1" && exec /bin/sh -c "$2" 2>&1)", "build", top_.string(), command},
       environment_without_git(),
       ""});
  std::ofstream log(log_file);
  LastLines lines(kMaxLinesShown);
  for (;;) {
    const WorkerEvent event = process.next(std::nullopt, interrupt_);
    if (event.kind == WorkerEvent::Kind::interrupted) {
      fs::remove(log_file);
      throw Interrupted("interrupted while building");
    }
    if (event.kind == WorkerEvent::Kind::ended) break;
    log << event.text << '\n';
    lines.add(event.text);
  }
  log.close();
  if (process.end().exit_code == 0) {
    std::error_code ignored;
    fs::remove(log_file, ignored);
    return;
  }
  for (const std::string& line : lines.all()) say("    " + one_line(line));
  Answer end;
  end.end = process.end();
  if (!lines.all().empty()) end.errors = lines.all().back();
  throw MeasurementError(fmt::format("{}: does not build: {}; its output is in {}", short_commit(commit_),
                                     end.how_it_ended(), log_file.string()));
}

bool CommitWorktree::has_build(const std::string& commit, const std::string& command) {
  const fs::path built = folder_ / kBuilt;
  if (!fs::exists(built) || read_text_file(built) != command) return false;
  const Answer head = repository_.git({"rev-parse", "HEAD"}, top_);
  if (head.end.exit_code != 0 || head.output != commit + "\n") return false;
  commit_ = commit;
  is_kept_ = true;
  return true;
}

void CommitWorktree::keep(const std::string& command) {
  replace_text_file(folder_ / kBuilt, command);
  is_kept_ = true;
}

fs::path commit_cache(const GitRepository& repository) {
  const auto absolute = [](const char* name) -> std::optional<fs::path> {
    const char* const value = std::getenv(name);
    if (value == nullptr || value[0] != '/') return std::nullopt;
    return fs::path(value);
  };
  std::optional<fs::path> cache = absolute("XDG_CACHE_HOME");
  if (const auto home = absolute("HOME"); !cache && home) cache = *home / ".cache";
  if (!cache)
    throw EnvironmentError(
        "no folder for builds of commits: neither XDG_CACHE_HOME nor HOME is set; set one");
  Fingerprint fingerprint;
  fingerprint.add(repository.common_folder().string());
  return *cache / "peakmark" / "commits" /
         fmt::format("{}-{}", repository.top().filename().string(), fingerprint.text());
}

std::unique_ptr<CommitWorktree> build_commit(const GitRepository& repository, const std::string& commit,
                                             const std::string& command, int interrupt) {
  Fingerprint fingerprint;
  fingerprint.add(command);
  const std::string name = fmt::format("{}-{}", short_commit(commit), fingerprint.text());
  const auto open = [&] {
    return std::make_unique<CommitWorktree>(repository, commit_cache(repository) / name, interrupt);
  };
  const std::string label = fmt::format("{} {}", short_commit(commit), repository.info(commit).subject);
  auto worktree = open();
  if (worktree->has_build(commit, command)) {
    say(fmt::format("{}: built before, in {}", label, worktree->top().string()));
  } else {
    say(fmt::format("{}: building in {}", label, worktree->top().string()));
    worktree->check_out(commit);
    worktree->build(command);
  }
  return worktree;
}

void remove_builds(const GitRepository& repository, std::size_t kept) {
  const fs::path cache = commit_cache(repository);
  std::vector<CacheEntry> builds;
  std::vector<CacheEntry> logs;
  std::error_code error;
  const auto remove = [&](const fs::path& folder) {
    if (fs::exists(folder / kLock) && try_lock(folder)) {
      CommitWorktree(repository, folder, -1);
    }
  };
  for (const fs::directory_entry& entry : fs::directory_iterator(cache, error)) {
    if (!entry.is_directory(error)) {
      logs.push_back({entry.path(), entry.last_write_time(error)});
    } else if (const fs::path built = entry.path() / kBuilt; fs::exists(built)) {
      builds.push_back({entry.path(), fs::last_write_time(built, error)});
    } else {
      remove(entry.path());  // left by a killed process
    }
  }
  remove_oldest(builds, kept, remove);
  remove_oldest(logs, kept, [&](const fs::path& path) { fs::remove(path, error); });
  fs::remove(cache, error);  // if it is empty
}

CommitSide side_of_commit(const CommitWorktree& worktree, const GitRepository& repository,
                          const SweepOptions& sweep) {
  CommitSide side;
  std::optional<fs::path> named = sweep.worker;
  if (!named) {
    if (const auto of_suite = find_suite_worker(sweep.selection.suites)) named = of_suite->program;
  }
  const std::string place =
      fmt::format("commit {} in {}", short_commit(worktree.commit()), worktree.top().string());
  if (named) {
    const auto inside = place_in(repository, *named);
    side.worker = find_worker_of(worktree.top(), inside ? *inside : named->filename(), false, place);
  } else {
    try {
      side.worker = find_worker_of(worktree.top(), {}, true, place);
    } catch (const UsageError&) {
      side.worker = find_worker(std::nullopt);
      side.has_own_worker = false;
    }
  }
  for (const fs::path& suite : sweep.selection.suites) {
    const auto inside = place_in(repository, suite);
    if (!inside) return {side.worker, side.has_own_worker, {}};
    const fs::path own = worktree.top() / *inside;
    if (fs::is_regular_file(own)) side.own_suites.push_back(own);
    side.suites.push_back(copy_of_suite(suite, own));
  }
  if (side.own_suites.size() < side.suites.size()) side.own_suites.clear();
  return side;
}

void set_sides(BuildComparisonOptions& comparison, const CommitSide& base, const CommitSide& next) {
  comparison.other = base.worker;
  comparison.sweep.worker = next.worker.string();
  comparison.programs_only = !base.has_own_worker || !next.has_own_worker;
  if (base.suites.empty() || next.suites.empty()) return;
  comparison.base_suites = base.suites;
  comparison.sweep.selection.suites = next.suites;
  comparison.base_own_suites = base.own_suites;
  comparison.own_suites = next.own_suites;
}

}  // namespace peakmark
