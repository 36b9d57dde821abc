#include "record/cupti/cupti_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
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

void* open_library() {
  for (const char* name : kNames) {
    if (void* handle = dlopen(name, RTLD_NOLOAD | RTLD_LAZY)) return handle;
  }
  for (const char* name : kNames) {
    if (void* handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL)) return handle;
  }
  for (const std::string& folder : folders()) {
    for (const char* name : kNames) {
      if (void* handle = dlopen((folder + "/" + name).c_str(), RTLD_LAZY | RTLD_LOCAL)) return handle;
    }
  }
  return nullptr;
}

}  // namespace

std::string CuptiLibrary::text(CUptiResult result) const {
  const char* string = nullptr;
  if (result_string != nullptr) result_string(result, &string);
  return std::string(string == nullptr ? "unknown error" : string) + " (" + std::to_string(result) + ")";
}

bool load_cupti(CuptiLibrary& library, std::string& reason) {
  void* const handle = open_library();
  if (handle == nullptr) {
    reason =
        "neither libcupti.so.13 nor libcupti.so.12 is found: put its folder (of the CUDA toolkit, or of the "
        "wheel nvidia-cuda-cupti) into LD_LIBRARY_PATH, or set CUDA_HOME";
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
