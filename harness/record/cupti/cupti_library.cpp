#include "record/cupti/cupti_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <iterator>
#include <set>
#include <type_traits>
#include <vector>

namespace peakmark {
namespace {

constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12"};

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

int collect_cuda_folder(dl_phdr_info* info, std::size_t /*size*/, void* folders) {
  const std::string path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name.starts_with("libcudart.so") || name.starts_with("libnvrtc.so") ||
      name.starts_with("libcublas.so")) {
    static_cast<std::vector<std::string>*>(folders)->push_back(folder_of(path));
  }
  return 0;
}

std::vector<std::string> folders() {
  std::vector<std::string> result;
  Dl_info self{};
  if (dladdr(reinterpret_cast<const void*>(&collect_cuda_folder), &self) != 0 && self.dli_fname != nullptr) {
    result.push_back(folder_of(self.dli_fname));
  }
  std::vector<std::string> loaded;
  dl_iterate_phdr(collect_cuda_folder, &loaded);
  for (const std::string& folder : loaded) {
    result.push_back(folder);
    result.push_back(folder + "/../extras/CUPTI/lib64");
    // Wheels of CUDA 12: nvidia/cuda_runtime/lib beside nvidia/cuda_cupti/lib.
    result.push_back(folder + "/../../cuda_cupti/lib");
  }
  std::vector<std::string> roots;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* root = std::getenv(variable); root != nullptr && *root != '\0') roots.emplace_back(root);
  }
  roots.emplace_back("/usr/local/cuda");  // where NVIDIA's installers put it
  for (const std::string& root : roots) {
    result.push_back(root + "/lib64");
    result.push_back(root + "/lib");
    result.push_back(root + "/extras/CUPTI/lib64");
  }
  return result;
}

/// Names for dlopen in the order in which they are tried. Not loaded yet: only when one is wanted.
std::vector<std::string> candidates() {
  std::vector<std::string> result(std::begin(kNames), std::end(kNames));
  for (const std::string& folder : folders()) {
    for (const char* name : kNames) result.push_back(folder + "/" + name);
  }
  return result;
}

/// Where the library of this function is.
std::string path_of(const void* function) {
  Dl_info info{};
  return dladdr(function, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

/// False where it lacks what every recording needs.
bool find_functions(CuptiLibrary& library, void* handle) {
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    return function != nullptr;
  };
  find(library.result_string, "cuptiGetResultString");
  find(library.subscribe_v2, "cuptiSubscribe_v2");
  find(library.unsubscribe, "cuptiUnsubscribe");
  find(library.register_buffers, "cuptiActivityRegisterCallbacks");
  find(library.register_clock, "cuptiActivityRegisterTimestampCallback");
  find(library.set_attribute, "cuptiActivitySetAttribute");
  find(library.enable_activity, "cuptiActivityEnable");
  find(library.disable_activity, "cuptiActivityDisable");
  find(library.flush_all, "cuptiActivityFlushAll");
  find(library.next_record, "cuptiActivityGetNextRecord");
  find(library.dropped_records, "cuptiActivityGetNumDroppedRecords");
  return find(library.get_version, "cuptiGetVersion") && find(library.subscribe, "cuptiSubscribe") &&
         find(library.enable_callback, "cuptiEnableCallback") &&
         find(library.device_id, "cuptiGetDeviceId") && find(library.context_id, "cuptiGetContextId");
}

}  // namespace

std::string CuptiLibrary::text(CUptiResult result) const {
  const char* string = nullptr;
  if (result_string != nullptr) result_string(result, &string);
  return std::string(string == nullptr ? "unknown error" : string) + " (" + std::to_string(result) + ")";
}

bool load_cupti(CuptiLibrary& library, const TryCupti& attempt, std::string& reason) {
  reason.clear();
  std::set<void*> tried;
  // Null: another name of a library that was tried, or none.
  const auto attempt_with = [&](void* handle) {
    if (handle == nullptr || !tried.insert(handle).second) return CuptiAttempt::refused;
    CuptiLibrary found;
    std::string why = "lacks functions that the recorder needs";
    CuptiAttempt result = CuptiAttempt::refused;
    const bool is_whole = find_functions(found, handle);
    const std::string path = path_of(reinterpret_cast<const void*>(found.get_version));
    if (is_whole) result = attempt(found, path, why);
    if (result == CuptiAttempt::taken) {
      library = found;
    } else if (result == CuptiAttempt::hopeless) {
      reason = why;
    } else {
      reason += (reason.empty() ? "" : "; ") + path + ": " + why;
    }
    return result;
  };
  CuptiAttempt last = CuptiAttempt::refused;
  for (const char* name : kNames) {
    if (last == CuptiAttempt::refused) last = attempt_with(dlopen(name, RTLD_NOLOAD | RTLD_LAZY));
  }
  for (const std::string& name : candidates()) {
    if (last == CuptiAttempt::refused) last = attempt_with(dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL));
  }
  if (last != CuptiAttempt::refused) return last == CuptiAttempt::taken;
  if (reason.empty()) {
    reason =
        "neither libcupti.so.13 nor libcupti.so.12 is found: put its folder (of the CUDA toolkit, or of the "
        "wheel nvidia-cuda-cupti) into LD_LIBRARY_PATH, or set CUDA_HOME";
  }
  return false;
}

}  // namespace peakmark
