#include "record/process/process_recorders.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string_view>
#include <utility>

#include "base/program.hpp"
#include "record/launch/missing_recorder.hpp"
#include "record/recorders/elf_file.hpp"
#include "record/subprocess/processes.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOpenclLoader = "libOpenCL.so.1";
constexpr const char* kCudaLoader = "libcuda.so.1";

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Returns the recorder that a loader's variable names as the first of several layers.
std::optional<fs::path> named_in(const char* name, std::string_view file) {
  const std::string value = variable(name);
  const fs::path path = value.substr(0, value.find(':'));
  return path.filename() == file ? std::optional(path) : std::nullopt;
}

template <typename Function>
Function function(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

/// Returns a library of this process. It stays loaded as long as the returned object.
using Library = std::shared_ptr<void>;

Library library_in_process(const char* name) {
  void* const handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  return handle == nullptr ? nullptr : Library(handle, [](void* opened) { dlclose(opened); });
}

/// Returns the paths of mapped libraries.
std::set<std::string> mapped_libraries() {
  std::set<std::string> paths;
  const std::string maps = read_proc_file("/proc/self/maps").value_or("");
  for (std::size_t at = 0; (at = maps.find('/', at)) != std::string::npos;) {
    const std::size_t end = std::min(maps.find('\n', at), maps.size());
    paths.insert(maps.substr(at, end - at));
    at = end;
  }
  return paths;
}

/// Returns the loaders of one API in this process: under their usual name, and those of Python wheels, whose
/// file names only begin with it (`libOpenCL-2be30f8e.so.1.0.0`).
std::vector<Library> loaders(const char* name, std::string_view beginning) {
  std::vector<Library> found;
  const auto add = [&](const char* path) {
    Library library = library_in_process(path);
    if (library != nullptr && std::ranges::find(found, library) == found.end())
      found.push_back(std::move(library));
  };
  add(name);
  for (const std::string& path : mapped_libraries()) {
    if (fs::path(path).filename().string().starts_with(beginning)) add(path.c_str());
  }
  return found;
}

std::vector<Library> opencl_loaders() {
  return loaders(kOpenclLoader, "libOpenCL");
}

std::vector<Library> cuda_loaders() {
  return loaders(kCudaLoader, "libcuda.so");
}

using clGetPlatformIDs_t = std::int32_t (*)(std::uint32_t, void*, std::uint32_t*);

/// Calls an OpenCL loader, which loads its layers at the first call. Returns true if it has a driver.
bool call_opencl(const Library& loader) {
  const auto get_platforms = function<clGetPlatformIDs_t>(loader.get(), "clGetPlatformIDs");
  std::uint32_t count = 0;
  return get_platforms != nullptr && get_platforms(0, nullptr, &count) == 0 && count > 0;
}

/// Initialises CUDA, which then loads its recorder.
void initialise_cuda(const Library& loader) {
  const auto initialise = function<int (*)(unsigned)>(loader.get(), "cuInit");
  if (initialise != nullptr) initialise(0);
}

/// Returns true if CUDA was initialised; does not initialise it.
bool is_initialised(const Library& cuda) {
  const auto count_devices = function<int (*)(int*)>(cuda.get(), "cuDeviceGetCount");
  int count = 0;
  return count_devices != nullptr && count_devices(&count) == 0;
}

fs::path file_of(const Library& opencl_loader) {
  Dl_info info{};
  void* const symbol = dlsym(opencl_loader.get(), "clGetPlatformIDs");
  return symbol == nullptr || dladdr(symbol, &info) == 0 ? "" : info.dli_fname;
}

fs::path new_folder() {
  std::string pattern = fs::temp_directory_path() / "peakmark-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) {
    throw RecorderError(
        fmt::format("cannot create a folder for the profile in {}: set TMPDIR to another folder",
                    fs::temp_directory_path().string()));
  }
  return pattern;
}

/// Returns the recorder if it has started: marks may have loaded a recorder that no loader has started yet.
std::unique_ptr<LoadedRecorder> started_recorder(const fs::path& path) {
  void* const handle = dlopen(path.c_str(), RTLD_NOLOAD | RTLD_LAZY);  // kept: a recorder is never unloaded
  if (handle == nullptr) return nullptr;
  const auto version = function<peakmark_marks_version_t>(handle, PEAKMARK_MARKS_VERSION_SYMBOL);
  if (version == nullptr || version() == 0) {
    dlclose(handle);
    return nullptr;
  }
  attach_recorder(path);  // throws if it cannot be used
  auto recorder = std::make_unique<LoadedRecorder>(
      LoadedRecorder{path, function<peakmark_event_count_t>(handle, PEAKMARK_EVENT_COUNT_SYMBOL),
                     function<peakmark_synchronise_t>(handle, PEAKMARK_SYNCHRONISE_SYMBOL),
                     function<peakmark_profile_path_t>(handle, PEAKMARK_PROFILE_PATH_SYMBOL)});
  if (recorder->synchronise == nullptr) {
    throw RecorderError(fmt::format(
        "{} is older than libpeakmark-memory: build and install both from the same sources", path.string()));
  }
  return recorder;
}

}  // namespace

ProcessRecorders::ProcessRecorders() : process_(getpid()) {}

ProcessRecorders::~ProcessRecorders() {
  std::error_code ignored;
  if (has_own_profile()) fs::remove_all(folder_, ignored);
}

bool ProcessRecorders::has_own_profile() const {
  return !folder_.empty() && getpid() == process_;
}

void ProcessRecorders::request(const fs::path& folder, bool sync, bool stacks) {
  if (!folder_.empty()) return;
  if (!variable("PEAKMARK_PROFILE").empty() &&
      (is_installed(kOpenclRecorder) || is_installed(kCudaRecorder))) {
    libraries_.opencl = named_in("OPENCL_LAYERS", kOpenclRecorder);
    libraries_.cuda = named_in("CUDA_INJECTION64_PATH", kCudaRecorder);
    return;
  }
  connect();
  if (!loaded_.empty()) return;  // the program has cleared its environment since
  libraries_ = find_recorder_libraries({folder});
  if (!libraries_.opencl && !libraries_.cuda) throw NoRecorderError(why_none());
  folder_ = new_folder();
  std::vector<std::string> environment = current_environment();
  add_recorders(environment, libraries_, folder_ / "profile", sync, stacks);
  set_own_environment(environment);
}

void ProcessRecorders::load() {
  const std::vector<Library> opencl = opencl_loaders();
  for (const Library& loader : opencl) call_opencl(loader);
  if (libraries_.cuda) {
    for (const Library& loader : cuda_loaders()) initialise_cuda(loader);
  }
  connect();
  require_cuda_recorded();
  // A loader that is loaded here stays loaded.
  if (loaded_.empty() && libraries_.cuda && dlopen(kCudaLoader, RTLD_LAZY | RTLD_LOCAL) != nullptr) {
    for (const Library& loader : cuda_loaders()) initialise_cuda(loader);
    connect();
  }
  if (loaded_.empty() && libraries_.opencl && opencl.empty() &&
      dlopen(kOpenclLoader, RTLD_LAZY | RTLD_LOCAL) != nullptr) {
    for (const Library& loader : opencl_loaders()) call_opencl(loader);
    connect();
  }
  require_recorded(UnrecordedOpencl::refused);
  if (loaded_.empty()) throw NoRecorderError(why_none());
}

void ProcessRecorders::require_recorded(UnrecordedOpencl opencl) {
  connect();
  const std::vector<Library> found = opencl_loaders();
  bool has_driver = false;
  if (!is_loaded(kOpenclRecorder)) {
    for (const Library& loader : found) has_driver = call_opencl(loader) || has_driver;
    connect();
  }
  require_cuda_recorded();
  if (found.empty() || is_loaded(kOpenclRecorder)) return;

  const std::string also = loaded_.empty() ? "" : "CUDA is recorded and OpenCL is not: ";
  const bool is_refused = opencl == UnrecordedOpencl::refused ? has_driver : loaded_.empty();
  const bool has_layers = std::ranges::any_of(
      found, [](const Library& loader) { return supports_layers(ElfFile(file_of(loader).c_str())); });
  // A loader that has a driver may have been called by the program before: nothing shows whether it was.
  if (is_installed(kOpenclRecorder) && has_driver && has_layers)
    throw RecorderTooLateError(also + "OpenCL was called before peakmark could load its recorder");
  if (!is_refused) return;
  if (!is_installed(kOpenclRecorder)) {
    throw NoRecorderError(fmt::format(
        "{}{} is in this process, and its recorder {} is not installed: install peakmark with its "
        "OpenCL recorder",
        also, file_of(found.front()).string(), kOpenclRecorder));
  }
  if (!has_driver) throw NoRecorderError(also + "no OpenCL driver was found (`clinfo -l` lists them)");
  throw NoRecorderError(
      fmt::format("{}the OpenCL loader {} knows no layers, and the recorder is one: put another loader first "
                  "with LD_PRELOAD, such as that of ocl-icd 2.3 or Khronos",
                  also, file_of(found.front()).string()));
}

void ProcessRecorders::connect() {
  if (is_loaded(kOpenclRecorder) && is_loaded(kCudaRecorder)) return;
  for (const std::string& path : mapped_libraries()) {
    const std::string file = fs::path(path).filename();
    if ((file != kOpenclRecorder && file != kCudaRecorder) || is_loaded(file)) continue;
    if (auto recorder = started_recorder(path)) loaded_.push_back(std::move(recorder));
  }
}

bool ProcessRecorders::is_loaded(std::string_view file) const {
  return std::ranges::any_of(loaded_,
                             [&](const auto& recorder) { return recorder->library.filename() == file; });
}

bool ProcessRecorders::is_installed(const char* file) const {
  const std::string_view name = file;
  if (name == kOpenclRecorder)
    return libraries_.opencl || variable("OPENCL_LAYERS").find(name) != std::string::npos;
  return libraries_.cuda || variable("CUDA_INJECTION64_PATH").find(name) != std::string::npos;
}

void ProcessRecorders::require_cuda_recorded() const {
  if (is_loaded(kCudaRecorder) || !std::ranges::any_of(cuda_loaders(), is_initialised)) return;
  if (!is_installed(kCudaRecorder)) {
    throw RecorderError(fmt::format(
        "CUDA is in use, and its recorder {} is not installed: build peakmark where there is a CUDA toolkit",
        kCudaRecorder));
  }
  throw RecorderTooLateError(
      "CUDA was called before peakmark could load its recorder, or the recorder could not start (then "
      "standard error has the reason)");
}

std::string ProcessRecorders::why_none() const {
  MissingRecorder evidence{.libraries = libraries_, .static_program = {}, .seen = {}, .still_running = {}};
  if (const std::vector<Library> found = opencl_loaders(); !found.empty()) {
    std::error_code ignored;
    evidence.seen[process_] = {.program = fs::read_symlink("/proc/self/exe", ignored),
                               .loaders = {file_of(found.front()).string()}};
  }
  return why_no_recorder(evidence);
}

}  // namespace peakmark
