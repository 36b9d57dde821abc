#include "profile/call_frames.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <map>
#include <set>

#include "profile/function_name.hpp"

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

/// Namespaces of headers that are compiled into the caller, between it and the driver.
constexpr std::array<std::string_view, 5> kDriverHeaders{
    "cl::", "boost::compute::", "thrust::", "std::", "__gnu_cxx::"};

/// The beginnings of the names of libraries and functions between Python and a library that it calls.
constexpr std::array<std::string_view, 3> kBindingLibraries{"libffi", "_ctypes.", "_cffi_backend."};
constexpr std::array<std::string_view, 5> kBindings{"nanobind::", "pybind11::", "boost::python::", "_wrap_",
                                                    "__pyx_"};

template <std::size_t N>
bool begins_with_one(std::string_view text, const std::array<std::string_view, N>& beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view one) { return text.starts_with(one); });
}

bool is_of_driver(const CallFrame& frame) {
  return begins_with_one(base_name(frame.file), kDriverLibraries) ||
         begins_with_one(frame.function, kDriverHeaders);
}

bool is_binding(const CallFrame& frame) {
  return begins_with_one(base_name(frame.file), kBindingLibraries) ||
         begins_with_one(frame.function, kBindings);
}

/// Returns whether a line of Python is of an installed package, the standard library, the interpreter, the
/// marks of peakmark, or code that a package generates (`f <string>:3`). What is typed is not.
bool is_installed(const CallFrame& frame) {
  const std::string_view file = frame.file;
  const auto has = [&](std::string_view part) { return file.find(part) != std::string_view::npos; };
  const bool is_generated = file.starts_with("<") && frame.function != "<module>" &&
                            !file.starts_with("<stdin") && !file.starts_with("<ipython");
  return has("/site-packages/") || has("/dist-packages/") || has("/lib/python3") ||
         file.starts_with("<frozen") || is_generated || file.ends_with("/peakmark/marks.py");
}

bool runs_python(const CallFrame& frame) {
  return frame.function.starts_with("_PyEval_EvalFrame");
}

bool has_python(const std::vector<CallFrame>& chain) {
  return std::ranges::find(chain, CallFrame::Kind::python, &CallFrame::kind) != chain.end();
}

std::string frame_in_chain(const CallFrame& frame) {
  if (frame.kind == CallFrame::Kind::python) return fmt::format("{}:{}", base_name(frame.file), frame.place);
  return frame.function.empty() ? text_of(frame) : frame.function;
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
      frame.function = readable_function(std::string(take(line, '\t')));
      take(line, '\t');  // the offset in the function
      frame.file = take(line, '\t');
      frame.place = number(take(line, '\t'), 16);
      if (frame.function.empty() && symbols != nullptr) {
        frame.function = readable_function(symbols(frame.file, frame.place));
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

std::vector<CallFrame> native_frames(const std::vector<CallFrame>& chain) {
  const bool python = has_python(chain);
  std::vector<CallFrame> native;
  std::ranges::copy_if(chain, std::back_inserter(native), [&](const CallFrame& frame) {
    return frame.kind == CallFrame::Kind::native &&
           (!python || (!frame.function.empty() && !is_binding(frame)));
  });
  return native;
}

const CallFrame* own_frame(const std::vector<CallFrame>& chain) {
  const CallFrame* outermost = nullptr;
  for (const CallFrame& frame : chain) {
    if (frame.kind != CallFrame::Kind::python) continue;
    if (!is_installed(frame)) return &frame;
    outermost = &frame;
  }
  return outermost;
}

std::vector<std::size_t> count_wrappers(const std::vector<WeighedChain>& chains) {
  constexpr std::size_t kMaxWrappers = 16;  // deeper than that a program is not made of wrappers
  struct Through {
    std::set<std::vector<std::string>> chains;
    double bytes = 0;
  };
  std::vector<std::size_t> counts(chains.size(), 0);
  double all_bytes = 0;
  for (const WeighedChain& one : chains) all_bytes += one.bytes;
  for (std::size_t skipped = 0; skipped < kMaxWrappers; ++skipped) {
    std::map<std::string, Through> innermost;
    for (std::size_t i = 0; i < chains.size(); ++i) {
      const std::vector<std::string>& frames = chains[i].frames;
      if (frames.empty()) continue;
      const auto first = frames.begin() + static_cast<std::ptrdiff_t>(counts[i]);
      Through& through = innermost[*first];
      through.chains.emplace(first, frames.end());
      through.bytes += chains[i].bytes;
    }
    std::size_t all = 0;
    for (const auto& [frame, through] : innermost) all += through.chains.size();
    const auto wrapper = std::ranges::find_if(innermost, [&](const auto& one) {
      const Through& through = one.second;
      return through.chains.size() > 1 && (through.chains.size() > all - through.chains.size() ||
                                           through.bytes > all_bytes - through.bytes);
    });
    if (wrapper == innermost.end()) break;
    for (std::size_t i = 0; i < chains.size(); ++i) {
      const std::vector<std::string>& frames = chains[i].frames;
      if (counts[i] + 1 < frames.size() && frames[counts[i]] == wrapper->first) ++counts[i];
    }
  }
  return counts;
}

std::string call_chain(std::string_view stack, const Symbols& symbols) {
  constexpr std::size_t kMaxFrames = 8;
  constexpr std::size_t kMaxNativeFrames = 4;  // before those of Python
  const std::vector<CallFrame> chain = caller_frames(parse_stack(stack, symbols));
  const bool python = has_python(chain);
  std::vector<CallFrame> shown = native_frames(chain);
  shown.resize(std::min(shown.size(), python ? kMaxNativeFrames : kMaxFrames));
  if (python) {
    std::vector<CallFrame> lines;
    std::ranges::copy_if(chain, std::back_inserter(lines),
                         [](const CallFrame& frame) { return frame.kind == CallFrame::Kind::python; });
    lines.resize(std::min(lines.size(), kMaxFrames));
    const CallFrame& own = *own_frame(chain);
    if (std::ranges::find(lines, own) == lines.end()) lines.back() = own;
    shown.insert(shown.end(), lines.begin(), lines.end());
  }
  std::string text;
  for (const CallFrame& frame : shown) {
    if (!text.empty()) text += kCallerSign;
    text += frame_in_chain(frame);
  }
  return text;
}

bool is_python_line(std::string_view frame) {
  const std::size_t colon = frame.rfind(':');
  return colon != std::string_view::npos && colon + 1 < frame.size() &&
         frame.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
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
