#include "record/recorders/cupti/cupti_library.hpp"

#include <dlfcn.h>

#include <set>
#include <type_traits>
#include <vector>

#include "base/cuda_folders.hpp"

namespace peakmark {
namespace {

/// Returns the path of the library that contains this function.
std::string library_path(const void* function) {
  Dl_info info{};
  return dladdr(function, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

/// Returns the folder of this recorder, which may contain its own CUPTI.
std::string own_folder() {
  const std::string path = library_path(reinterpret_cast<const void*>(&own_folder));
  return path.substr(0, path.rfind('/'));
}

/// Finds the functions. Returns false if one is missing that every recording needs.
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
  const std::vector<std::string> names{"libcupti.so.13", "libcupti.so.12"};
  reason.clear();
  std::set<void*> tried;
  // A null handle: the library was not found. A handle in `tried`: another name of a library that was tried.
  const auto attempt_with = [&](void* handle) {
    if (handle == nullptr || !tried.insert(handle).second) return CuptiAttempt::refused;
    CuptiLibrary found;
    std::string why = "lacks functions that the recorder needs";
    CuptiAttempt result = CuptiAttempt::refused;
    const bool is_whole = find_functions(found, handle);
    const std::string path = library_path(reinterpret_cast<const void*>(found.get_version));
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
  for (const std::string& name : names) {
    if (last == CuptiAttempt::refused) last = attempt_with(dlopen(name.c_str(), RTLD_NOLOAD | RTLD_LAZY));
  }
  for (const std::string& name : cuda_library_files(names, {own_folder()})) {
    if (last == CuptiAttempt::refused) last = attempt_with(dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL));
  }
  if (last != CuptiAttempt::refused) return last == CuptiAttempt::taken;
  if (reason.empty()) {
    reason =
        "neither libcupti.so.13 nor libcupti.so.12 is found: put its folder (of the CUDA toolkit, or of the "
        "wheel nvidia-cuda-cupti) into LD_LIBRARY_PATH, or set CUDA_HOME or VIRTUAL_ENV";
  }
  return false;
}

}  // namespace peakmark
