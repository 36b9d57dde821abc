// A process can contain several OpenCL loaders: a Python wheel brings one, and a library next to it is linked
// to the system's loader. A loader initialises its layers only when its platforms are queried. If a loader
// only gets handles made by another one, it is never queried, and its calls would not be recorded. Therefore
// the recorder queries it. A loader may have any file name, and be part of a library or program with other
// tasks.

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "record/recorders/elf_file.hpp"
#include "record/recorders/opencl/layer.hpp"
#include "record/recorders/report_error.hpp"

namespace peakmark::opencl_layer {
namespace {

constexpr int kMaxLoaders = 32;  // loaders in a process, many more than seen in practice

/// A loader, identified by the address at which it is mapped.
struct Loader {
  const void* base = nullptr;
  bool is_examined = false;
  bool is_loader = false;  ///< otherwise a driver, or a library that forwards calls to a loader
  bool met = false;        ///< meet_loader() was called for it
  bool reached = false;    ///< it has passed its table to the layer
  bool asked = false;      ///< its platforms were queried
  bool answered = false;
  bool reported = false;  ///< it was reported as not reached
};

std::atomic<pid_t> recorded_process{0};
pthread_mutex_t guarding = PTHREAD_MUTEX_INITIALIZER;
Loader known[kMaxLoaders];

/// The caller must hold `guarding`. Returns null if there is no free entry.
Loader* known_at(const void* base) {
  for (Loader& loader : known) {
    if (loader.base == nullptr) loader.base = base;
    if (loader.base == base) return &loader;
  }
  return nullptr;
}

const void* base_address(const void* code) {
  Dl_info info{};
  return dladdr(code, &info) != 0 ? info.dli_fbase : nullptr;
}

/// Returns true for the program itself, for which the dynamic linker has an empty path.
bool is_program(const void* base) {
  return base == base_address(reinterpret_cast<const void*>(getauxval(AT_ENTRY)));
}
constexpr const char* kFileOfProgram = "/proc/self/exe";

/// A limited number of this process's objects, because nothing may be loaded or looked up while objects are
/// iterated.
struct Objects {
  char path[kMaxLoaders][512];
  int count = 0;
  int skipped = 0;
};

int collect(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  auto& objects = *static_cast<Objects*>(data);
  if (objects.skipped > 0) {
    --objects.skipped;
    return 0;
  }
  if (objects.count == kMaxLoaders) return 1;
  snprintf(objects.path[objects.count++], sizeof(objects.path[0]), "%s",
           info->dlpi_name == nullptr ? "" : info->dlpi_name);
  return 0;
}

using GetPlatforms = cl_int(CL_API_CALL*)(cl_uint, cl_platform_id*, cl_uint*);

/// Returns the function of this object itself, not of a library that it links. The program's path is empty.
void* function_of(const char* path, const char* name) {
  void* const handle = dlopen(*path == '\0' ? nullptr : path, RTLD_NOLOAD | RTLD_LAZY);
  if (handle == nullptr) return nullptr;
  void* const function = dlsym(handle, name);
  dlclose(handle);
  Dl_info info{};
  if (function == nullptr || dladdr(function, &info) == 0) return nullptr;
  const bool is_its_own = *path == '\0' ? is_program(info.dli_fbase) : std::strcmp(info.dli_fname, path) == 0;
  return is_its_own ? function : nullptr;
}

bool is_named_as_loader(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  return std::strncmp(slash == nullptr ? path : slash + 1, "libOpenCL", 9) == 0;
}

/// Returns true if the object at this address is a loader. Reads its file only once.
bool is_loader(const char* path, const void* base) {
  {
    const MutexLock lock(guarding);
    const Loader* const loader = known_at(base);
    if (loader == nullptr) return false;
    if (loader->is_examined) return loader->is_loader;
  }
  const bool found = is_named_as_loader(path) || has_opencl_loader(ElfFile(path));
  const MutexLock lock(guarding);
  if (Loader* const loader = known_at(base)) {
    loader->is_examined = true;
    loader->is_loader = found;
  }
  return found;
}

/// Calls `use(path, base, get_platforms)` for each mapped loader.
template <typename Use>
void for_each_loader(Use use) {
  for (int first = 0;; first += kMaxLoaders) {
    Objects objects;
    objects.skipped = first;
    dl_iterate_phdr(collect, &objects);
    for (int i = 0; i < objects.count; ++i) {
      void* const function = function_of(objects.path[i], "clGetPlatformIDs");
      const void* const base = function == nullptr ? nullptr : base_address(function);
      const char* const path = objects.path[i][0] == '\0' ? kFileOfProgram : objects.path[i];
      if (base != nullptr && is_loader(path, base)) use(path, base, reinterpret_cast<GetPlatforms>(function));
    }
    if (objects.count < kMaxLoaders) return;
  }
}

/// Without this variable no loader loads layers.
bool has_layers_variable() {
  const char* const layers = std::getenv("OPENCL_LAYERS");
  return layers != nullptr && *layers != '\0';
}

/// Returns how many libraries this process has loaded so far. If the number has not changed, there is no new
/// loader.
unsigned long long libraries_loaded() {
  unsigned long long loaded = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t /*size*/, void* result) {
        *static_cast<unsigned long long*>(result) = info->dlpi_adds;
        return 1;
      },
      &loaded);
  return loaded;
}

void reach_new_loaders() {
  static std::atomic<unsigned long long> seen{0};
  const unsigned long long loaded = libraries_loaded();
  if (seen.exchange(loaded, std::memory_order_relaxed) == loaded) return;
  reach_loaders();
  report_unreached(Moment::running);
}

template <auto Slot, typename Function>
struct Arriving;

template <auto Slot, typename Result, typename... Arguments>
struct Arriving<Slot, Result(CL_API_CALL*)(Arguments...)> {
  static Result CL_API_CALL call(Arguments... arguments) {
    reach_new_loaders();
    return (layer.next().*Slot)(arguments...);
  }
};

template <auto Slot>
void check_loaders_before() {
  hook(Slot, Arriving<Slot, std::remove_cvref_t<decltype(layer.next().*Slot)>>::call);
}

/// Queries the platforms of the loaders that are not reached.
void ask_loaders() {
  for_each_loader([](const char* /*path*/, const void* base, GetPlatforms get_platforms) {
    Loader* loader = nullptr;
    {
      const MutexLock lock(guarding);
      loader = known_at(base);
      if (loader == nullptr || loader->reached || loader->asked) return;
      loader->asked = true;  // before the call, which initialises the layer on this thread
    }
    cl_uint count = 0;
    get_platforms(0, nullptr, &count);
    const MutexLock lock(guarding);
    loader->answered = true;
  });
}

/// The loader that libraries linked to libOpenCL.so.1 use. It stays loaded if it initialises the layer. It
/// may not do so because it does not support layers. If in that case the program had not loaded it, it is
/// unloaded again; otherwise it would be reported as a loader that the program uses.
class SystemLoader {
 public:
  SystemLoader()
      : was_here_(dlopen(kName, RTLD_NOLOAD | RTLD_LAZY) != nullptr),
        library_(dlopen(kName, RTLD_LAZY | RTLD_LOCAL)) {}

  void unload_if_unreached() const {
    if (was_here_ || library_ == nullptr) return;
    const void* const function = dlsym(library_, "clGetPlatformIDs");
    const void* const base = function == nullptr ? nullptr : base_address(function);
    {
      const MutexLock lock(guarding);
      Loader* const loader = base == nullptr ? nullptr : known_at(base);
      if (loader != nullptr && loader->reached) return;
      if (loader != nullptr) *loader = {base};  // another library may get its address
    }
    dlclose(library_);
  }

 private:
  static constexpr const char* kName = "libOpenCL.so.1";
  bool was_here_;
  void* library_;
};

}  // namespace

void note_reached(const void* caller) {
  const void* const base = base_address(caller);
  if (base == nullptr) return;
  const MutexLock lock(guarding);
  if (Loader* const loader = known_at(base)) loader->reached = true;
}

void reach_loaders() {
  if (!has_layers_variable()) return;
  static std::atomic<bool> first{true};
  if (first.exchange(false)) {
    recorded_process = getpid();
    hold_over_forks<guarding>();
    SystemLoader system;
    ask_loaders();
    system.unload_if_unreached();
  } else {
    ask_loaders();
  }
}

void meet_loader(const void* code) {
  Dl_info info{};
  if (!has_layers_variable() || dladdr(code, &info) == 0 || is_named_as_loader(info.dli_fname)) return;
  if (supports_layers(ElfFile(is_program(info.dli_fbase) ? kFileOfProgram : info.dli_fname)))
    return;  // it initialises the layer once it has loaded its drivers
  {
    const MutexLock lock(guarding);
    Loader* const loader = known_at(info.dli_fbase);
    if (loader == nullptr || loader->reached || loader->met) return;
    loader->met = true;
    loader->asked = true;  // it is being queried at this moment
  }
  // Stays loaded, because the library calls it from now on.
  void* const system = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_LOCAL);
  void* const get_platforms = system == nullptr ? nullptr : dlsym(system, "clGetPlatformIDs");
  if (get_platforms == nullptr) return;
  cl_uint count = 0;
  reinterpret_cast<GetPlatforms>(get_platforms)(0, nullptr, &count);
  if (layer.hooks().clCreateBuffer == nullptr || !use_other_loader(code, system)) return;
  const MutexLock lock(guarding);
  if (Loader* const loader = known_at(info.dli_fbase)) loader->reached = true;
}

namespace {

void report_not_counted(const char* format, const char* path, const char* remedy) {
  char text[ProfileWriter::kMaxTextBytes];
  snprintf(text, sizeof(text), format, kNotCountedNote.data(), path, remedy);
  layer.writer.note(text);
  report_error(text);
}

/// Reports a loader that is part of a library or program which calls it without the dynamic linker.
void report_met() {
  for (Loader& loader : known) {
    Dl_info info{};
    {
      const MutexLock lock(guarding);
      if (!loader.met || loader.reached || loader.reported || dladdr(loader.base, &info) == 0) continue;
      loader.reported = true;
    }
    report_not_counted(
        "%s what the program allocates through the OpenCL loader that is linked into %s; link it to %s",
        info.dli_fname, "libOpenCL.so.1 instead");
  }
}

}  // namespace

void report_unreached(Moment moment) {
  // A forked child has no profile until its first event, and must not get one for this report.
  if (!has_layers_variable() || (getpid() != recorded_process && layer.writer.count() == 0)) return;
  report_met();
  const void* const foremost = base_address(dlsym(RTLD_DEFAULT, "clCreateBuffer"));
  char reached[512] = "libOpenCL.so.1";
  for_each_loader([&](const char* path, const void* base, GetPlatforms /*get_platforms*/) {
    const MutexLock lock(guarding);
    const Loader* const loader = known_at(base);
    if (loader != nullptr && loader->reached) snprintf(reached, sizeof(reached), "%s", path);
  });
  for_each_loader([&](const char* path, const void* base, GetPlatforms /*get_platforms*/) {
    {
      const MutexLock lock(guarding);
      Loader* const loader = known_at(base);
      const Loader* const first = foremost == nullptr ? nullptr : known_at(foremost);
      const bool is_hidden = base != foremost && first != nullptr && first->reached;
      if (loader == nullptr || loader->reached || loader->reported || is_hidden) return;
      if (!loader->answered && moment != Moment::end) return;
      loader->reported = true;
    }
    report_not_counted(
        "%s what the program allocates through the OpenCL loader %s; set LD_PRELOAD=%s to make it use that "
        "one",
        path, reached);
  });
}

bool has_unreached() {
  const MutexLock lock(guarding);
  return std::any_of(std::begin(known), std::end(known),
                     [](const Loader& loader) { return loader.reported; });
}

void hook_arrivals() {
  check_loaders_before<&cl_icd_dispatch::clCreateContext>();
  check_loaders_before<&cl_icd_dispatch::clCreateContextFromType>();
  check_loaders_before<&cl_icd_dispatch::clCreateCommandQueue>();
  check_loaders_before<&cl_icd_dispatch::clCreateCommandQueueWithProperties>();
  check_loaders_before<&cl_icd_dispatch::clCreateProgramWithSource>();
  check_loaders_before<&cl_icd_dispatch::clCreateProgramWithBinary>();
  check_loaders_before<&cl_icd_dispatch::clCreateKernel>();
}

}  // namespace peakmark::opencl_layer
