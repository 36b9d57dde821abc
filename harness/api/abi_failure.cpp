#include "api/abi_failure.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>

#include "base/error.hpp"

namespace peakmark {
namespace {

void note(peakmark_failure* failure, int kind, std::string_view message) {
  failure->kind = kind;
  const std::size_t length = std::min(message.size(), sizeof(failure->message) - 1);
  std::memcpy(failure->message, message.data(), length);
  failure->message[length] = '\0';
}

}  // namespace

void raise_failure(const peakmark_failure& failure) {
  switch (failure.kind) {
    case PEAKMARK_FINE:
      return;
    case PEAKMARK_OUT_OF_MEMORY:
      throw OutOfMemory(failure.message);
    case PEAKMARK_UNSUPPORTED:
      throw Unsupported(failure.message);
    case PEAKMARK_USAGE:
      throw UsageError(failure.message);
    case PEAKMARK_OVERFLOW:
      throw OverflowError(failure.message);
    case PEAKMARK_HOST_OUT_OF_MEMORY:
      throw std::bad_alloc();
    default:
      throw std::runtime_error(failure.message);
  }
}

void note_failure(peakmark_failure* failure) noexcept {
  try {
    throw;
  } catch (const OutOfMemory& error) {
    note(failure, PEAKMARK_OUT_OF_MEMORY, error.what());
  } catch (const Unsupported& error) {
    note(failure, PEAKMARK_UNSUPPORTED, error.what());
  } catch (const UsageError& error) {
    note(failure, PEAKMARK_USAGE, error.what());
  } catch (const std::bad_alloc&) {
    note(failure, PEAKMARK_HOST_OUT_OF_MEMORY, "the host has too little memory for this case");
  } catch (const std::exception& error) {
    note(failure, PEAKMARK_BROKEN, error.what());
  } catch (...) {
    note(failure, PEAKMARK_BROKEN, "an error that is not a std::exception");
  }
}

}  // namespace peakmark
