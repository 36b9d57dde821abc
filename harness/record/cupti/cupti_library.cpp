#include "record/cupti/cupti_library.hpp"

#include <dlfcn.h>

#include "record/cuda_folders.hpp"

namespace peakmark {
namespace {

/// The folder of this recorder, which may have brought its own CUPTI.
std::string own_folder() {
  Dl_info self{};
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &self) == 0 || self.dli_fname == nullptr) return "";
  const std::string path = self.dli_fname;
  return path.substr(0, path.find_last_of('/') + 1);
}

}  // namespace

std::string CuptiLibrary::text(CUptiResult result) const {
  const char* string = nullptr;
  if (result_string != nullptr) result_string(result, &string);
  return std::string(string == nullptr ? "unknown error" : string) + " (" + std::to_string(result) + ")";
}

bool load_cupti(CuptiLibrary& library, std::string& reason) {
  void* const handle =
      load_cuda_library({"libcupti.so.13", "libcupti.so.12"}, RTLD_LAZY | RTLD_LOCAL, {own_folder()});
  if (handle == nullptr) {
    reason =
        "neither libcupti.so.13 nor libcupti.so.12 is found: put its folder (of the CUDA toolkit, or of the "
        "wheel nvidia-cuda-cupti) into LD_LIBRARY_PATH, or set CUDA_HOME or VIRTUAL_ENV";
    return false;
  }
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    return function != nullptr;
  };
  find(library.result_string, "cuptiGetResultString");
  find(library.subscribe_v2, "cuptiSubscribe_v2");
  find(library.register_buffers, "cuptiActivityRegisterCallbacks");
  find(library.register_clock, "cuptiActivityRegisterTimestampCallback");
  find(library.set_attribute, "cuptiActivitySetAttribute");
  find(library.enable_activity, "cuptiActivityEnable");
  find(library.disable_activity, "cuptiActivityDisable");
  find(library.flush_all, "cuptiActivityFlushAll");
  find(library.next_record, "cuptiActivityGetNextRecord");
  find(library.dropped_records, "cuptiActivityGetNumDroppedRecords");
  const bool whole =
      find(library.get_version, "cuptiGetVersion") && find(library.subscribe, "cuptiSubscribe") &&
      find(library.enable_callback, "cuptiEnableCallback") && find(library.device_id, "cuptiGetDeviceId") &&
      find(library.context_id, "cuptiGetContextId");
  if (!whole) reason = "the libcupti of this process lacks functions that the recorder needs";
  return whole;
}

}  // namespace peakmark
