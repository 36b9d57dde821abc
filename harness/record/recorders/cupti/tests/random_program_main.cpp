// random_program SEED TRIGGERS [STEPS]: runs the program of this seed, and prints what it knows about its
// memory. TRIGGERS: names with commas; `all`; `-name` removes one. random_program --list prints the names.
#include <cstring>
#include <sstream>

#include "record/recorders/cupti/tests/random_program.hpp"

int main(int argc, char** argv) {
  const std::vector<std::string> known = RandomProgram::triggers();
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
    for (const std::string& name : known) std::printf("%s\n", name.c_str());
    return 0;
  }
  if (argc < 3) return 2;
  std::set<std::string> chosen;
  std::istringstream names(argv[2]);
  for (std::string name; std::getline(names, name, ',');) {
    if (name == "all") {
      chosen.insert(known.begin(), known.end());
    } else if (name.starts_with('-')) {
      chosen.erase(name.substr(1));
    } else {
      chosen.insert(name);
    }
  }
  for (const std::string& name : chosen) {
    if (std::ranges::find(known, name) != known.end()) continue;
    std::fprintf(stderr, "random_program: there is no trigger \"%s\"\n", name.c_str());
    return 2;
  }
  RandomProgram program(std::strtoull(argv[1], nullptr, 10), chosen);
  program.run(argc > 3 ? std::atoi(argv[3]) : 300);
  const OwnAccount& account = program.account();
  std::printf("%lld %lld %lld", static_cast<long long>(account.peak), static_cast<long long>(account.live),
              static_cast<long long>(account.failed));
  if (chosen.contains("devices")) {
    std::printf(" %lld %lld", static_cast<long long>(account.live_on[0]),
                static_cast<long long>(account.live_on[1]));
  }
  std::printf("\n");
  return 0;
}
