#include "base/private_text.hpp"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>

#include "base/fingerprint.hpp"
#include "base/pattern.hpp"
#include "base/program.hpp"
#include "base/text.hpp"

namespace peakmark {
namespace {

constexpr std::size_t kMinNameBytes = 3;
constexpr std::size_t kMaxValueBytes = 100;

// Sorted. Variables that affect measurements, and never name a person, an account or a place.
constexpr auto kVariables = std::to_array<std::string_view>({
    "CUDA_AUTO_BOOST",
    "CUDA_CACHE_DISABLE",
    "CUDA_CACHE_MAXSIZE",
    "CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DEVICE_MAX_COPY_CONNECTIONS",
    "CUDA_DEVICE_ORDER",
    "CUDA_DISABLE_PTX_JIT",
    "CUDA_FORCE_PTX_JIT",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MANAGED_FORCE_DEVICE_ALLOC",
    "CUDA_MODULE_DATA_LOADING",
    "CUDA_MODULE_LOADING",
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
    "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
    "CUDA_SCALE_LAUNCH_QUEUES",
    "CUDA_VERSION",
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_CUDA_VERSION",
    "NVIDIA_DRIVER_CAPABILITIES",
    "NVIDIA_TF32_OVERRIDE",
    "NVIDIA_VISIBLE_DEVICES",
    "OCL_ICD_ASSUME_ICD_EXTENSION",
    "OCL_ICD_PLATFORM_SORT",
    "POCL_AFFINITY",
    "POCL_BINARY_SPECIALIZE_WG",
    "POCL_BITCODE_FINALIZER",
    "POCL_CPU_LOCAL_MEM_SIZE",
    "POCL_CPU_MAX_CU_COUNT",
    "POCL_DEBUG",
    "POCL_DEVICES",
    "POCL_DRIVER_VERSION_OVERRIDE",
    "POCL_KERNEL_CACHE",
    "POCL_LEAVE_KERNEL_COMPILER_TEMP_FILES",
    "POCL_LLVM_VERIFY",
    "POCL_MAX_PTHREAD_COUNT",
    "POCL_MAX_WORK_GROUP_SIZE",
    "POCL_MEMORY_LIMIT",
    "POCL_SIGFPE_HANDLER",
    "POCL_SIGUSR2_HANDLER",
    "POCL_STARTUP_DELAY",
    "POCL_VECTORIZER_REMARKS",
    "POCL_WORK_GROUP_METHOD",
    "POCL_WORK_GROUP_SPECIALIZATION",
});
static_assert(std::ranges::is_sorted(kVariables));

bool is_word_letter(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '-' ||
         static_cast<unsigned char>(letter) >= 0x80;
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
}

void replace_word(std::string& text, const std::string& word, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos;) {
    const std::size_t end = at + word.size();
    const bool is_whole =
        (at == 0 || !is_word_letter(text[at - 1])) && (end == text.size() || !is_word_letter(text[end]));
    if (is_whole) text.replace(at, word.size(), by);
    at += is_whole ? by.size() : word.size();
  }
}

/// Returns whether a path begins here: not within a word, a relative path or `https://host`.
bool begins_path(std::string_view text, std::size_t at) {
  if (text[at] != '/' || at + 1 >= text.size() || text[at + 1] == '/') return false;
  if (at == 0 || text.substr(0, at).ends_with("://")) return true;
  const char before = text[at - 1];
  return !is_word_letter(before) && std::string_view("/.~%*>)]}").find(before) == std::string_view::npos;
}

/// Returns the position after the path. A quoted path may contain blanks.
std::size_t end_of_path(std::string_view text, std::size_t at) {
  if (at > 0 && (text[at - 1] == '"' || text[at - 1] == '\'' || text[at - 1] == '`')) {
    const std::size_t quote = text.find_first_of(std::string{text[at - 1], '\n'}, at);
    if (quote != std::string_view::npos && text[quote] != '\n') return quote;
  }
  return std::min(text.find_first_of(" \t\r\n\"'`:;,|<>()[]{}", at), text.size());
}

/// Replaces a folder that is a whole path or the beginning of one.
void replace_folder(std::string& text, const std::string& folder, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(folder, at)) != std::string::npos;) {
    std::size_t end = at + folder.size();
    const bool is_whole = end == text.size() || !(is_word_letter(text[end]) || text[end] == '.') ||
                          (text[end] == '.' && (end + 1 == text.size() || text[end + 1] == ' '));
    if (!begins_path(text, at) || !is_whole) {
      ++at;
      continue;
    }
    std::string shown = by;
    // Not end_of_path() of the whole path, because the folder itself may contain blanks.
    const bool goes_on = end + 1 < text.size() && text[end] == '/' && end_of_path(text, end + 1) > end + 1;
    if (goes_on) {
      ++end;
      if (!shown.empty()) shown += '/';
    } else if (shown.empty()) {
      shown = ".";
    }
    text.replace(at, end - at, shown);
    at += shown.size();
  }
}

bool is_of_system(std::string_view path) {
  for (const std::string_view folder :
       {"/usr/", "/lib/", "/lib64/", "/bin/", "/sbin/", "/etc/", "/dev/", "/proc/", "/sys/"}) {
    if (path.starts_with(folder) && !path.starts_with("/usr/home/")) return true;
  }
  return false;
}

/// Replaces each remaining path with its last part. Paths of the system are public.
std::string without_paths(std::string_view text) {
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    if (!begins_path(text, at)) {
      shown += text[at++];
      continue;
    }
    const std::size_t end = end_of_path(text, at);
    std::string_view path = text.substr(at, end - at);
    at = end;
    if (is_of_system(path)) {
      shown += path;
      continue;
    }
    while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
    const std::size_t slash = path.rfind('/');
    shown += slash == 0 ? path : path.substr(slash + 1);
  }
  return shown;
}

/// Removes the part before `@` in `https://token@host/x` and `postgresql://me:secret@host/x`.
void hide_accounts_of_urls(std::string& text) {
  for (std::size_t at = 0; (at = text.find("://", at)) != std::string::npos;) {
    at += 3;
    const std::size_t end = std::min(text.find_first_of(" \t\r\n\"'`<>", at), text.size());
    const std::string_view rest = std::string_view(text).substr(at, end - at);
    const std::string_view authority = rest.substr(0, rest.find('/'));
    // A password may contain an unescaped `/`.
    const bool may_go_on = authority.find(':') != std::string_view::npos;
    const std::size_t sign = (may_go_on ? rest : authority).rfind('@');
    if (sign != std::string_view::npos) text.replace(at, sign, "…");
  }
}

bool names_a_secret(const std::string& name) {
  static const Pattern secret(".*(KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|_PAT$|PGPASS|AUTH).*");
  return secret.matches(name);
}

std::string first_line_of(const char* file) {
  std::string line;
  std::getline(std::ifstream(file) >> std::ws, line);
  return line;
}

void add_folder(PrivateTexts& texts, std::string folder, const char* by) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  if (folder.size() > 1 && folder.starts_with('/') && !is_of_system(folder + "/")) {
    texts.folders.emplace_back(std::move(folder), by);
  }
}

}  // namespace

PrivateTexts private_texts(const std::vector<std::string>& environment) {
  PrivateTexts texts;
  std::error_code error;
  add_folder(texts, std::filesystem::current_path(error).string(), "");
  add_folder(texts, find_variable(environment, "PWD").value_or(""), "");
  add_folder(texts, find_variable(environment, "HOME").value_or(""), "~");
  const passwd* const user = ::getpwuid(::geteuid());
  if (user != nullptr) add_folder(texts, user->pw_dir, "~");
  std::ranges::stable_sort(texts.folders, std::greater{}, [](const auto& one) { return one.first.size(); });

  for (const std::string& entry : environment) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || entry.size() - equals - 1 < kMinSecretBytes) continue;
    const std::string name = entry.substr(0, equals);
    if (names_a_secret(name)) texts.secrets.emplace_back(entry.substr(equals + 1), "$" + name);
  }
  std::ranges::stable_sort(texts.secrets, std::greater{}, [](const auto& one) { return one.first.size(); });

  const auto add_word = [&](const std::string& word, const char* by) {
    // Names that every container has identify nothing, and may be ordinary words in messages.
    if (word.size() >= kMinNameBytes && word != "root" && word != "localhost")
      texts.words.emplace_back(word, by);
  };
  add_word(this_host(), "HOST");
  if (user != nullptr) add_word(user->pw_name, "USER");
  for (const char* const name : {"USER", "LOGNAME"}) {
    add_word(find_variable(environment, name).value_or(""), "USER");
  }
  return texts;
}

std::string public_text(std::string_view text, const PrivateTexts& texts) {
  // First, because a terminal code may adjoin a path or a secret.
  std::string shown = without_terminal_codes(text);
  if (shown.empty()) return shown;
  for (const auto& [value, name] : texts.secrets) replace_all(shown, value, name);
  hide_accounts_of_urls(shown);
  for (const auto& [folder, by] : texts.folders) replace_folder(shown, folder, by);
  shown = without_paths(shown);
  for (const auto& [word, by] : texts.words) replace_word(shown, word, by);
  return shown;
}

bool is_public_variable(std::string_view name, std::string_view value) {
  if (!std::ranges::binary_search(kVariables, name)) return false;
  return value.size() <= kMaxValueBytes && std::ranges::all_of(value, [](char letter) {
           return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
                  std::string_view(" _.,:+-=").find(letter) != std::string_view::npos;
         });
}

bool is_public_fact(std::string_view key, std::string_view value) {
  const bool is_our_own =
      std::ranges::any_of(key, [](char letter) { return letter >= 'a' && letter <= 'z'; });
  return is_our_own || is_public_variable(key, value);
}

std::string this_host() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string host_mark() {
  const std::string machine = first_line_of("/etc/machine-id");
  if (machine.size() < 32) return "";
  Fingerprint fingerprint;
  fingerprint.add(machine);
  fingerprint.add(this_host());
  return fmt::format("host-{:08x}", fingerprint.number() & 0xFFFFFFFF);
}

}  // namespace peakmark
