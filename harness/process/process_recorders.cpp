#include "process/process_recorders.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "base/error.hpp"
#include "base/program.hpp"
#include "launch/missing_recorder.hpp"
#include "profile/profile.hpp"
#include "recorders/marks.h"
#include "recorders/recorder_libraries.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kOpenclLoader = "libOpenCL.so.1";
constexpr const char* kCudaLoader = "libcuda.so.1";
constexpr const char* kCudaTooLate =
    "CUDA was called before its recorder could come in: register before the first call into CUDA, or run "
    "the whole program by `peakmark record -- PROGRAM`";
constexpr const char* kOpenclTooLate =
    "OpenCL was called before its recorder could come in: register before the first call into OpenCL, or run "
    "the whole program by `peakmark record -- PROGRAM`";
/// Drivers may destroy what was released a little later than they say that they are done.
constexpr std::chrono::milliseconds kForReleases{100};

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The recorder that a variable of a loader names; the first of several layers.
std::optional<fs::path> named_in(const char* name, std::string_view file) {
  const std::string value = variable(name);
  const fs::path path = value.substr(0, value.find(':'));
  return path.filename() == file ? std::optional(path) : std::nullopt;
}

/// A loader that is in this process; `load`: or is to come into it. Null where there is none.
void* loader(const char* name, bool load) {
  return dlopen(name, RTLD_LAZY | RTLD_LOCAL | (load ? 0 : RTLD_NOLOAD));
}

template <typename Function>
Function function(void* library, const char* name) {
  return library == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library, name));
}

using clGetPlatformIDs_t = std::int32_t (*)(std::uint32_t, void*, std::uint32_t*);

/// Calls OpenCL's loader, which at its first call loads the layers it is told of. False where there is none.
bool ask_opencl(bool load) {
  const auto ask = function<clGetPlatformIDs_t>(loader(kOpenclLoader, load), "clGetPlatformIDs");
  std::uint32_t count = 0;
  if (ask != nullptr) ask(0, nullptr, &count);
  return ask != nullptr;
}

/// Initialises CUDA, which then loads what it is told to; whatever it answers.
void ask_cuda(bool load) {
  const auto initialise = function<int (*)(unsigned)>(loader(kCudaLoader, load), "cuInit");
  if (initialise != nullptr) initialise(0);
}

/// Whether CUDA was initialised; asking does not initialise it.
bool cuda_is_up() {
  const auto ask = function<int (*)(int*)>(loader(kCudaLoader, false), "cuDeviceGetCount");
  int count = 0;
  return ask != nullptr && ask(&count) == 0;
}

/// OpenCL's loader in this process; empty where there is none.
struct OpenclLoader {
  fs::path file;
  bool has_drivers = false;
};
OpenclLoader opencl_loader() {
  const auto ask = function<clGetPlatformIDs_t>(loader(kOpenclLoader, false), "clGetPlatformIDs");
  std::uint32_t count = 0;
  Dl_info info{};
  if (ask == nullptr || dladdr(reinterpret_cast<void*>(ask), &info) == 0) return {};
  return {info.dli_fname, ask(0, nullptr, &count) == 0 && count > 0};
}

fs::path new_folder() {
  std::string pattern = fs::temp_directory_path() / "peakmark-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) {
    throw RecorderError(
        fmt::format("no folder can be made in {} for what is recorded: let TMPDIR name another",
                    fs::temp_directory_path().string()));
  }
  return pattern;
}

}  // namespace

struct ProcessRecorders::Recorder {
  /// `library` is in this process. Throws RecorderError where it records nothing.
  explicit Recorder(const fs::path& library)
      : path(library),
        handle(dlopen(library.c_str(), RTLD_NOLOAD | RTLD_LAZY)),
        count(function<peakmark_event_count_t>(handle, PEAKMARK_EVENT_COUNT_SYMBOL)),
        synchronise(function<peakmark_synchronise_t>(handle, PEAKMARK_SYNCHRONISE_SYMBOL)),
        reader((require_it_records(library),
                function<peakmark_profile_path_t>(handle, PEAKMARK_PROFILE_PATH_SYMBOL)())) {
    if (synchronise == nullptr) {
      throw RecorderError(fmt::format(
          "{} is older than this library: build and install both from the same sources", library.string()));
    }
  }

  static void require_it_records(const fs::path& library) {
    const auto version = function<peakmark_marks_version_t>(dlopen(library.c_str(), RTLD_NOLOAD | RTLD_LAZY),
                                                            PEAKMARK_MARKS_VERSION_SYMBOL);
    if (library.filename() == kCudaRecorder && version != nullptr && version() == 0)
      throw RecorderError("the recorder of CUDA could not come up: it says why on standard error");
    attach_recorder(library);
  }

  /// The events since the last call, at most `most`.
  std::vector<Event> read(std::uint64_t most) {
    const std::uint64_t end = std::min(count(), next + most);
    std::vector<Event> events = reader.events_given_out(next, end);
    next = end;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (events[i].type != EventType::note) continue;
      const std::string note = text_of(events, i);
      if (note.starts_with(kInvalidNote) || note.starts_with(kNotCountedNote)) throw RecorderError(note);
    }
    return events;
  }

  /// Gives the disk's room of what was read back: benchmarks that do nothing but allocate write hundreds of
  /// MB a second. Nobody reads it again, and a file system that cannot do it keeps it to the end.
  void forget_read() {
    constexpr std::uint64_t kBlock = 4096;
    const std::uint64_t read_to = (ProfileHeader::kBytes + next * sizeof(Event)) / kBlock * kBlock;
    if (read_to <= forgotten_to) return;
    const int profile =
        open(function<peakmark_profile_path_t>(handle, PEAKMARK_PROFILE_PATH_SYMBOL)(), O_WRONLY | O_CLOEXEC);
    if (profile < 0) return;
    if (fallocate(profile, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(forgotten_to),
                  static_cast<off_t>(read_to - forgotten_to)) == 0)
      forgotten_to = read_to;
    close(profile);
  }

  fs::path path;
  void* handle;
  peakmark_event_count_t count;
  peakmark_synchronise_t synchronise;
  ProfileReader reader;
  std::uint64_t next = 0;
  std::uint64_t forgotten_to = ProfileHeader::kBytes;
};

ProcessRecorders::ProcessRecorders(const fs::path& beside) : process_(getpid()) {
  try {
    if (variable("PEAKMARK_PROFILE").empty()) {
      tell_loaders(beside);
    } else {
      libraries_.opencl = named_in("OPENCL_LAYERS", kOpenclRecorder);
      libraries_.cuda = named_in("CUDA_INJECTION64_PATH", kCudaRecorder);
    }
    bring_in();
  } catch (...) {
    remove_folder();
    throw;
  }
}

void ProcessRecorders::bring_in() {
  // Asked at once: nothing that the program does to its environment afterwards keeps the recorder out.
  const bool asked_opencl = ask_opencl(false);
  if (libraries_.cuda) ask_cuda(false);
  connect();
  require_cuda_recorded();
  if (recorders_.empty() && libraries_.cuda) {
    ask_cuda(true);
    connect();
  }
  if (recorders_.empty() && libraries_.opencl && !asked_opencl) {
    ask_opencl(true);
    connect();
  }
  if (recorders_.empty()) throw RecorderError(why_none());
  require_opencl_recorded();
}

ProcessRecorders::~ProcessRecorders() {
  remove_folder();
}

void ProcessRecorders::remove_folder() const {
  std::error_code ignored;
  if (!folder_.empty() && getpid() == process_) fs::remove_all(folder_, ignored);
}

void ProcessRecorders::tell_loaders(const fs::path& beside) {
  libraries_ = find_recorder_libraries({beside});
  if (!libraries_.opencl && !libraries_.cuda) return;
  folder_ = new_folder();
  std::vector<std::string> environment = current_environment();
  add_recorders(environment, libraries_, folder_ / "profile", false);
  set_own_environment(environment);
}

void ProcessRecorders::connect() {
  for (const std::optional<fs::path>& library : {libraries_.opencl, libraries_.cuda}) {
    if (!library || dlopen(library->c_str(), RTLD_NOLOAD | RTLD_LAZY) == nullptr) continue;
    if (!is_connected(library)) recorders_.push_back(std::make_unique<Recorder>(*library));
  }
}

bool ProcessRecorders::is_connected(const std::optional<fs::path>& library) const {
  return library && std::any_of(recorders_.begin(), recorders_.end(),
                                [&](const auto& recorder) { return recorder->path == *library; });
}

std::string ProcessRecorders::why_none() const {
  const OpenclLoader opencl = opencl_loader();
  if (libraries_.opencl && opencl.has_drivers && supports_layers(opencl.file)) {
    void* const recorder = dlopen(libraries_.opencl->c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (recorder != nullptr) {
      dlclose(recorder);  // one that records nothing is not to be found here
      return kOpenclTooLate;
    }
  }
  MissingRecorder evidence{.libraries = libraries_, .static_program = {}, .seen = {}, .still_running = {}};
  if (!opencl.file.empty()) {
    std::error_code ignored;
    evidence.seen[process_] = {.program = fs::read_symlink("/proc/self/exe", ignored),
                               .loaders = {opencl.file.string()}};
  }
  return why_no_recorder(evidence);
}

void ProcessRecorders::require_own_process() const {
  if (getpid() != process_) throw RecorderError("this process was forked from the one that is recorded");
}

void ProcessRecorders::require_cuda_recorded() const {
  if (is_connected(libraries_.cuda) || !cuda_is_up()) return;
  if (libraries_.cuda) throw RecorderError(kCudaTooLate);
  throw RecorderError(fmt::format(
      "CUDA is in use, and its recorder {} is not installed: build peakmark where there is a CUDA toolkit",
      kCudaRecorder));
}

void ProcessRecorders::require_opencl_recorded() const {
  if (is_connected(libraries_.opencl)) return;
  // Nobody can be asked whether the program has called this loader: where it has a driver, it may have.
  const OpenclLoader opencl = opencl_loader();
  if (!opencl.has_drivers) return;
  if (!libraries_.opencl) {
    throw RecorderError(
        fmt::format("{} is in this process, and its recorder {} is not installed: build peakmark with OpenCL",
                    opencl.file.string(), kOpenclRecorder));
  }
  throw RecorderError("CUDA is recorded and OpenCL is not: " + why_none());
}

std::size_t ProcessRecorders::begin() {
  settle(settled_);
  const std::size_t stretch = memory_.begin();
  live_at_begin_.resize(std::max(live_at_begin_.size(), stretch + 1));
  live_at_begin_[stretch] = memory_.live_bytes();
  return stretch;
}

MemoryUse ProcessRecorders::end(std::size_t stretch) {
  settle(live_at_begin_.at(stretch));
  return memory_.end(stretch);
}

void ProcessRecorders::settle(Size least) {
  require_own_process();
  // A loader that has come since is asked, so that it brings its recorder.
  if (libraries_.opencl && !is_connected(libraries_.opencl)) ask_opencl(false);
  connect();
  require_cuda_recorded();
  require_opencl_recorded();
  // Why a device was not waited for is no news here: what it does with memory was recorded when it was asked
  // for, and releases that come late are waited for below.
  for (const auto& recorder : recorders_) recorder->synchronise();
  const Clock::time_point patience = Clock::now() + kForReleases;
  advance();
  while (memory_.live_bytes() > least && Clock::now() < patience) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    advance();
  }
  settled_ = memory_.live_bytes();
  // A profile that `peakmark record` has asked for is not ours to cut.
  if (folder_.empty()) return;
  for (const auto& recorder : recorders_) recorder->forget_read();
}

void ProcessRecorders::advance() {
  if (recorders_.size() == 1) {
    constexpr std::uint64_t kMost = 1U << 16;
    for (std::vector<Event> events; !(events = recorders_.front()->read(kMost)).empty();)
      for (const Event& event : events) memory_.replay(0, event);
    return;
  }
  // Slots are the order of each recorder; times only tell which of two was first.
  struct Placed {
    std::int64_t time_ns;
    std::size_t recorder;
    Event event;
  };
  std::vector<Placed> placed;
  for (std::size_t recorder = 0; recorder < recorders_.size(); ++recorder) {
    std::int64_t latest = 0;
    for (const Event& event : recorders_[recorder]->read(UINT64_MAX / 2)) {
      latest = std::max(latest, event.time_ns);
      placed.push_back({latest, recorder, event});
    }
  }
  std::stable_sort(placed.begin(), placed.end(),
                   [](const Placed& a, const Placed& b) { return a.time_ns < b.time_ns; });
  for (const Placed& one : placed) memory_.replay(one.recorder, one.event);
}

}  // namespace peakmark
