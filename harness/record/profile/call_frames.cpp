#include "record/profile/call_frames.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <optional>

#include "base/text.hpp"

namespace peakmark {
namespace {

/// Libraries between the driver and the caller, by the beginning of their names, because wheels append a
/// number. Sanitizers are included: their frames are between a recorder and the unwinder.
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

/// Libraries and functions between Python and a library that it calls, by the beginning of their names.
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

/// The path of a Python file as reports show it, and its package (package_of()).
struct PythonPlace {
  std::string path;
  std::string package;
};

/// Returns the part of a path after the last `folder`; null if the path is not in such a folder.
std::optional<std::string_view> path_in(std::string_view path, std::string_view folder) {
  const std::size_t at = path.rfind(folder);
  if (at == std::string_view::npos) return std::nullopt;
  return path.substr(at + folder.size());
}

/// Returns the part from `python3.11` on of the path of a file in the standard library; null for other files.
std::optional<std::string_view> path_in_library(std::string_view path) {
  constexpr std::string_view kPython = "python3";
  for (const std::string_view folder : {"/lib/", "/lib64/"}) {
    const std::size_t at = path.rfind(std::string(folder) + std::string(kPython));
    if (at == std::string_view::npos) continue;
    const std::string_view rest = path.substr(at + folder.size());
    const std::size_t end = rest.find_first_not_of(".0123456789t", kPython.size());
    if (end != std::string_view::npos && rest[end] == '/') return rest;
  }
  return std::nullopt;
}

/// Typed code (`<stdin>`, `python -c`, a cell of a notebook) is the user's own code. Code that a package
/// generates (`f <string>:3`) and scripts in a `bin` folder, which pip writes for packages, are not.
PythonPlace python_place(const CallFrame& frame) {
  const std::string_view file = frame.file;
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    const auto path = path_in(file, folder);
    if (!path) continue;
    const std::size_t slash = path->find('/');
    if (slash != std::string_view::npos) return {std::string(*path), std::string(path->substr(0, slash))};
    return {fmt::format("site-packages/{}", *path), "site-packages"};
  }
  if (const auto path = path_in_library(file))
    return {std::string(*path), std::string(path->substr(0, path->find('/')))};
  if (file.starts_with("<frozen")) return {std::string(file), "<frozen"};
  if (const auto path = path_in(file, "/python/peakmark/"))
    return {fmt::format("peakmark/{}", *path), "peakmark"};
  const bool is_generated = file.starts_with("<") && frame.function != "<module>" &&
                            !file.starts_with("<stdin") && !file.starts_with("<ipython");
  if (is_generated) return {fmt::format("generated/{}", file), "generated"};
  const std::string name(base_name(file));
  const std::string_view folder = file.substr(0, file.size() - name.size());
  if (folder.ends_with("/bin/") && !name.ends_with(".py") && frame.function == "<module>")
    return {"bin/" + name, "bin"};
  return {name, ""};
}

/// Returns the file of a native frame if it belongs to the system, a package or the interpreter. Also for a
/// library whose function is unknown, because such a frame does not help even the author of the library.
std::string native_package(const CallFrame& frame) {
  const std::string_view file = frame.file;
  const std::string_view name = base_name(file);
  if (name.starts_with("python3") || name.starts_with("libpython3")) return std::string(name);
  if (name.find(".so") == std::string_view::npos) return "";
  constexpr std::array<std::string_view, 5> kSystem{"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/",
                                                    "/usr/local/"};
  const auto has = [&](std::string_view part) { return file.find(part) != std::string_view::npos; };
  const bool is_installed = begins_with_one(file, kSystem) || has("/site-packages/") ||
                            has("/dist-packages/") || path_in_library(file);
  return is_installed || frame.function.empty() ? std::string(name) : "";
}

bool runs_python(const CallFrame& frame) {
  return frame.function.starts_with("_PyEval_EvalFrame");
}

/// Returns whether the function is one of the C API of Python, and thus of the interpreter's file.
bool is_of_python_api(const CallFrame& frame) {
  constexpr std::string_view kModule = "PyInit_";  // of extension modules
  return (frame.function.starts_with("Py") || frame.function.starts_with("_Py")) &&
         !frame.function.starts_with(kModule);
}

bool has_python(const std::vector<CallFrame>& chain) {
  return std::ranges::find(chain, CallFrame::Kind::python, &CallFrame::kind) != chain.end();
}

std::string frame_in_chain(const CallFrame& frame) {
  if (frame.kind == CallFrame::Kind::python)
    return fmt::format("{}:{}", python_place(frame).path, frame.place);
  return frame.function.empty() || !package_of(frame).empty() ? text_of(frame) : frame.function;
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
  // On a thread of the driver there is no caller, and the stack is shown unchanged.
  if (caller != native.end()) native.erase(native.begin(), caller);
  if (!python.empty()) {
    // Python 3.14 does not export the function that runs Python's functions.
    auto interpreter = std::ranges::find_if(native, runs_python);
    if (interpreter == native.end()) interpreter = std::ranges::find_if(native, is_of_python_api);
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

std::string package_of(const CallFrame& frame) {
  switch (frame.kind) {
    case CallFrame::Kind::native:
      return native_package(frame);
    case CallFrame::Kind::python:
      return python_place(frame).package;
    case CallFrame::Kind::remark:
      break;
  }
  return "";
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

std::string call_chain(std::string_view stack, const Symbols& symbols) {
  constexpr std::size_t kMaxFrames = 8;
  constexpr std::size_t kMaxNativeFrames = 4;  // shown before the frames of Python
  const std::vector<CallFrame> chain = caller_frames(parse_stack(stack, symbols));
  std::vector<CallFrame> shown;
  const auto show = [&](const std::vector<CallFrame>& frames, CallFrame::Kind kind, std::size_t max) {
    std::size_t seen = 0;
    std::size_t own = 0;
    for (const CallFrame& frame : frames) {
      if (frame.kind != kind) continue;
      const bool is_own = package_of(frame).empty() && own++ < max;
      if (seen++ < max || is_own) shown.push_back(frame);
    }
  };
  show(native_frames(chain), CallFrame::Kind::native, has_python(chain) ? kMaxNativeFrames : kMaxFrames);
  show(chain, CallFrame::Kind::python, kMaxFrames);
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
      return fmt::format("{} {}:{}", frame.function, python_place(frame).path, frame.place);
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

namespace {

constexpr std::size_t kMaxCharacters = 80;

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text != nullptr ? text.get() : name;
}

bool is_in_name(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '_';
}

/// Reads the name of a demangled function.
class FunctionReader {
 public:
  explicit FunctionReader(std::string_view text) : text_(text) {}

  /// Returns the name; empty if the text has none.
  std::string name() {
    while (!text_.empty()) {
      if (take("(anonymous namespace)::")) continue;
      if (depth_ == 0 && begins_operator()) {
        take_operator();
        continue;
      }
      const char letter = text_.front();
      if (letter == ' ' && depth_ == 0 && has_parameters_ && is_qualifier(text_.substr(1))) break;
      text_.remove_prefix(1);
      add(letter);
    }
    return name_;
  }

 private:
  /// Returns whether the text after the parameters is a qualifier, such as `const` or `[clone .cold]`.
  static bool is_qualifier(std::string_view rest) {
    constexpr std::array<std::string_view, 7> kQualifiers{"const", "volatile", "&",       "[",
                                                          "(.",    "noexcept", "requires"};
    return std::ranges::any_of(kQualifiers, [&](std::string_view one) { return rest.starts_with(one); });
  }

  bool take(std::string_view part) {
    if (!text_.starts_with(part)) return false;
    text_.remove_prefix(part.size());
    return true;
  }

  [[nodiscard]] bool begins_operator() const {
    constexpr std::string_view kOperator = "operator";
    return text_.starts_with(kOperator) && (name_.empty() || !is_in_name(name_.back())) &&
           (text_.size() == kOperator.size() || !is_in_name(text_[kOperator.size()]));
  }

  /// Reads `operator` with its symbol, which may contain brackets, or with its type.
  void take_operator() {
    constexpr std::string_view kSymbols = "+-*/%^&|~!=<>,";
    take("operator");
    name_ += "operator";
    for (const std::string_view whole : {"()", "[]", " new[]", " new", " delete[]", " delete"}) {
      if (!take(whole)) continue;
      name_ += whole;
      return;
    }
    const bool is_symbol = !text_.empty() && kSymbols.find(text_.front()) != std::string_view::npos;
    const std::size_t end =
        std::min(is_symbol ? text_.find_first_not_of(kSymbols) : text_.find_first_of("(<"), text_.size());
    name_ += text_.substr(0, end);
    text_.remove_prefix(end);
    if (is_symbol && text_.starts_with(" <")) text_.remove_prefix(1);  // template arguments
  }

  void add(char letter) {
    if (letter == '<' || letter == '(' || letter == '[') {
      ++depth_;
    } else if (letter == '>' || letter == ')' || letter == ']') {
      depth_ = std::max(depth_ - 1, 0);
      has_parameters_ = has_parameters_ || (letter == ')' && depth_ == 0);
    } else if (letter == ' ' && depth_ == 0) {
      name_.clear();  // the text so far was the return type
    } else if (depth_ == 0) {
      name_ += letter;
    }
  }

  std::string_view text_;
  std::string name_;
  int depth_ = 0;  // of brackets
  bool has_parameters_ = false;
};

}  // namespace

std::string readable_function(const std::string& symbol) {
  const std::string whole = demangled(symbol);
  const std::string name = FunctionReader(whole).name();
  return cut_in_middle(name.empty() ? whole : name, kMaxCharacters);
}

}  // namespace peakmark
