#pragma once

#include <cuda.h>
#include <cupti.h>

#include <string>

namespace peakmark {

/// The functions of libcupti that the recorder uses, taken from the library that the process has or can load:
/// version 12 or 13. Those of activity records are null where the library lacks them.
struct CuptiLibrary {
  decltype(&cuptiGetVersion) get_version = nullptr;
  decltype(&cuptiGetResultString) result_string = nullptr;
  decltype(&cuptiSubscribe) subscribe = nullptr;
  decltype(&cuptiSubscribe_v2) subscribe_v2 = nullptr;
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

/// Looks for a libcupti that is loaded, then by its versioned names on the loader's path, next to this
/// recorder, and in cuda_library_folders(). False, with `reason`, when there is none.
bool load_cupti(CuptiLibrary& library, std::string& reason);

}  // namespace peakmark
