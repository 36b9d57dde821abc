#pragma once

#include <cuda.h>
#include <cupti.h>

#include <functional>
#include <string>

#include "record/recorders/cupti/newer_cuda.hpp"

namespace peakmark {

/// The functions of libcupti, version 12 or 13, that the recorder uses, from a library that the process has
/// loaded or can load. Functions of activity records are null if the library lacks them.
struct CuptiLibrary {
  decltype(&cuptiGetVersion) get_version = nullptr;
  decltype(&cuptiGetResultString) result_string = nullptr;
  decltype(&cuptiSubscribe) subscribe = nullptr;
  decltype(&cuptiSubscribe_v2) subscribe_v2 = nullptr;
  decltype(&cuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&cuptiEnableCallback) enable_callback = nullptr;
  decltype(&cuptiGetDeviceId) device_id = nullptr;
  decltype(&cuptiGetContextId) context_id = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) register_buffers = nullptr;
  decltype(&cuptiActivityRegisterTimestampCallback) register_clock = nullptr;
  decltype(&cuptiActivitySetAttribute) set_attribute = nullptr;
  decltype(&cuptiActivityEnable) enable_activity = nullptr;
  decltype(&cuptiActivityDisable) disable_activity = nullptr;
  decltype(&cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) dropped_records = nullptr;

  [[nodiscard]] std::string text(CUptiResult result) const;
};

/// The result of trying a library.
enum class CuptiAttempt {
  taken,
  refused,   ///< another library may work
  hopeless,  ///< no library can work: there is a subscriber already
};

/// Tries the libcupti libraries one after the other: first the loaded ones, then versions 13 and 12 on the
/// loader's path, next to this recorder, and in cuda_library_folders(). `attempt` gets each library and its
/// path, and writes the reason for a refusal to its last argument. Returns false, with `reason`, if none is
/// accepted.
using TryCupti = std::function<CuptiAttempt(const CuptiLibrary&, const std::string&, std::string&)>;
bool load_cupti(CuptiLibrary& library, const TryCupti& attempt, std::string& reason);

}  // namespace peakmark
