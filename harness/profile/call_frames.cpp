#include "profile/call_frames.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <memory>

namespace peakmark {
namespace {

/// The beginnings of the names of libraries between the driver and the caller: wheels append a number to the
/// names of the libraries in them. Frames of sanitizers are between a recorder and the unwinder.
constexpr std::array<std::string_view, 15> kDriverLibraries{
    "libpeakmark-",  "libOpenCL",        "libpocl",   "libcuda.",  "libcudart",
    "libcupti",      "libnvidia-",       "libamdocl", "libigdrcl", "libintelocl",
    "libMesaOpenCL", "libRusticlOpenCL", "libasan.",  "libtsan.",  "libclang_rt."};

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool is_of_driver(const CallFrame& frame) {
  const std::string_view name = base_name(frame.file);
  return std::ranges::any_of(kDriverLibraries, [&](std::string_view one) { return name.starts_with(one); });
}

bool runs_python(const CallFrame& frame) {
  return frame.function.starts_with("_PyEval_EvalFrame");
}

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text != nullptr ? text.get() : name;
}

/// Removes the text up to the separator, and returns it.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

std::uint64_t number(std::string_view text, int base) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

}  // namespace

std::vector<CallFrame> parse_stack(std::string_view text, const Symbols& symbols) {
  std::vector<CallFrame> frames;
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    const std::string_view kind = take(line, '\t');
    CallFrame frame;
    if (kind == "N") {
      frame.function = demangled(std::string(take(line, '\t')));
      take(line, '\t');  // the offset in the function
      frame.file = take(line, '\t');
      frame.place = number(take(line, '\t'), 16);
      if (frame.function.empty() && symbols != nullptr) {
        frame.function = demangled(symbols(frame.file, frame.place));
      }
    } else if (kind == "P") {
      frame.kind = CallFrame::Kind::python;
      frame.function = take(line, '\t');
      frame.place = number(take(line, '\t'), 10);
      frame.file = take(line, '\t');
    } else if (kind == "R") {
      frame.kind = CallFrame::Kind::remark;
      frame.function = line;
    } else {
      continue;
    }
    frames.push_back(std::move(frame));
  }
  return frames;
}

std::vector<CallFrame> caller_frames(const std::vector<CallFrame>& frames) {
  std::vector<CallFrame> native;
  std::vector<CallFrame> python;
  std::vector<CallFrame> remarks;
  for (const CallFrame& frame : frames) {
    switch (frame.kind) {
      case CallFrame::Kind::native:
        native.push_back(frame);
        break;
      case CallFrame::Kind::python:
        python.push_back(frame);
        break;
      case CallFrame::Kind::remark:
        remarks.push_back(frame);
        break;
    }
  }
  const auto caller = std::ranges::find_if_not(native, is_of_driver);
  // The stack of a thread of the driver has no caller: it is shown as it is.
  if (caller != native.end()) native.erase(native.begin(), caller);
  if (!python.empty()) {
    const auto interpreter = std::ranges::find_if(native, runs_python);
    if (interpreter != native.end()) {
      const std::string file = interpreter->file;
      native.erase(interpreter, native.end());
      std::erase_if(native, [&](const CallFrame& frame) { return frame.file == file; });
    }
  }
  native.insert(native.end(), python.begin(), python.end());
  native.insert(native.end(), remarks.begin(), remarks.end());
  return native;
}

std::string call_site(std::string_view stack) {
  const std::vector<CallFrame> frames = parse_stack(stack, nullptr);
  auto site = std::ranges::find(frames, CallFrame::Kind::python, &CallFrame::kind);
  if (site == frames.end()) {
    site = std::ranges::find_if(frames, [](const CallFrame& frame) {
      return frame.kind == CallFrame::Kind::native && !is_of_driver(frame);
    });
  }
  return site == frames.end() ? "" : text_of(*site);
}

namespace {

/// Returns the name of a function without return type, parameters and template arguments:
/// `plan::Filter::make` of `void plan::Filter<float>::make(int) const`.
std::string short_name(std::string_view function) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  constexpr std::string_view kCallOperator = "operator()";
  function = function.substr(0, function.find(" [clone"));
  if (function.ends_with(" const")) function.remove_suffix(6);
  std::string name;
  int depth = 0;
  while (!function.empty()) {
    if (function.starts_with(kAnonymous)) {
      function.remove_prefix(kAnonymous.size());
      continue;
    }
    if (depth == 0 && function.starts_with(kCallOperator)) {
      name += kCallOperator;
      function.remove_prefix(kCallOperator.size());
      continue;
    }
    const char letter = function.front();
    function.remove_prefix(1);
    if (letter == '<' || letter == '(' || letter == '[') {
      ++depth;
    } else if (letter == '>' || letter == ')' || letter == ']') {
      --depth;
    } else if (letter == ' ' && depth == 0) {
      name.clear();  // it was the return type
    } else if (depth == 0) {
      name += letter;
    }
  }
  return name;
}

std::string frame_in_chain(const CallFrame& frame) {
  if (frame.kind == CallFrame::Kind::python) return fmt::format("{}:{}", base_name(frame.file), frame.place);
  const std::string name = short_name(frame.function);
  return name.empty() ? text_of(frame) : name;
}

}  // namespace

std::string call_chain(std::string_view stack, const Symbols& symbols) {
  constexpr int kMaxFrames = 8;
  const std::vector<CallFrame> frames = caller_frames(parse_stack(stack, symbols));
  const bool has_python =
      std::ranges::find(frames, CallFrame::Kind::python, &CallFrame::kind) != frames.end();
  const CallFrame::Kind kind = has_python ? CallFrame::Kind::python : CallFrame::Kind::native;
  std::string chain;
  int count = 0;
  for (const CallFrame& frame : frames) {
    if (frame.kind != kind || count == kMaxFrames) continue;
    if (count++ > 0) chain += kCallerSign;
    chain += frame_in_chain(frame);
  }
  return chain;
}

std::string text_of(const CallFrame& frame) {
  const std::string_view name = base_name(frame.file);
  switch (frame.kind) {
    case CallFrame::Kind::python:
      return fmt::format("{} {}:{}", frame.function, name, frame.place);
    case CallFrame::Kind::remark:
      return fmt::format("[{}]", frame.function);
    case CallFrame::Kind::native:
      break;
  }
  if (frame.function.empty()) {
    return name.empty() ? fmt::format("{:#x}", frame.place) : fmt::format("{}+{:#x}", name, frame.place);
  }
  return name.empty() ? frame.function : fmt::format("{} ({})", frame.function, name);
}

}  // namespace peakmark
