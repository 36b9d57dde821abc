// The doors of libpeakmark-memory: exceptions end here.
#include <dlfcn.h>

#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "peakmark/memory_abi.h"
#include "process/process_recorders.hpp"

namespace {

namespace fs = std::filesystem;
using peakmark::ProcessRecorders;

std::mutex lock;

/// Null until they are loaded. Destroyed with the process, which takes the profile along.
std::unique_ptr<ProcessRecorders>& recorders() {
  static std::unique_ptr<ProcessRecorders> the_recorders;
  return the_recorders;
}

/// Texts that were handed out stay.
const char* kept(const std::string& text) {
  static auto* const texts = new std::set<std::string>;
  return texts->insert(text).first->c_str();
}

/// The installed recorders stand in lib/peakmark, and this library in lib.
fs::path folder_of_recorders() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&peakmark_memory_load), &info) == 0) return "peakmark";
  std::error_code error;
  const fs::path library = fs::canonical(info.dli_fname, error);
  return (error ? fs::path(info.dli_fname) : library).parent_path() / "peakmark";
}

template <typename Body>
const char* guarded(const Body& body) {
  try {
    const std::lock_guard held(lock);
    return body();
  } catch (const std::exception& error) {
    return kept(error.what());
  } catch (...) {
    return "something was thrown that is no exception";
  }
}

}  // namespace

extern "C" {

const char* peakmark_memory_load() {
  return guarded([]() -> const char* {
    if (!recorders()) recorders() = std::make_unique<ProcessRecorders>(folder_of_recorders());
    return nullptr;
  });
}

const char* peakmark_memory_begin(std::uint64_t* stretch) {
  return guarded([&]() -> const char* {
    if (!recorders()) return "no recorder was loaded";
    *stretch = recorders()->begin();
    return nullptr;
  });
}

const char* peakmark_memory_end(std::uint64_t stretch, peakmark_memory_use* use) {
  return guarded([&]() -> const char* {
    if (!recorders()) return "no recorder was loaded";
    const peakmark::MemoryUse seen = recorders()->end(stretch);
    *use = {seen.peak_bytes,  seen.live_before_bytes, seen.live_after_bytes,
            seen.total_bytes, seen.allocations,       seen.failed_allocations};
    return nullptr;
  });
}

}  // extern "C"
