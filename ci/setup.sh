# What ci/nightly and ci/test share: sourced, never run. Installs what is missing (apt packages, a virtual environment
# from PyPI) and says what it does. On another system than Debian 12 it says what is needed.

say() { printf '\nci: %s\n' "$*"; }
die() { printf 'ci: %s\n' "$*" >&2; exit 2; }

# packages_missing NAME…: those of the packages that are not installed.
packages_missing() {
  local package
  for package in "$@"; do
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || printf '%s\n' "$package"
  done
}

# install_packages NAME…: as root, with sudo, or else names what to install.
install_packages() {
  command -v dpkg-query >/dev/null || die "this is no Debian. Install the equivalents of these Debian 12 packages, then
build with cmake as docs/install.md says: $*"
  local missing as_root=()
  missing=$(packages_missing "$@" | tr '\n' ' ')
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null && sudo -n true 2>/dev/null ||
      die "packages are missing, and neither root nor sudo is to be had. Have them installed:
  apt-get install $missing"
    as_root=(sudo)
  fi
  say "installing $missing"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq || die "apt-get update failed, see above"
  # shellcheck disable=SC2086 # one word a package
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null ||
    die "apt-get could not install $missing"
}

# packages_of FILE…: the names in them; what follows a # is a comment.
packages_of() { sed 's/#.*//' "$@" | xargs; }

# make_environment FOLDER REQUIREMENTS…: a virtual environment with these requirements, made anew when they change.
make_environment() {
  local folder=$1 stamp arguments=() file
  shift
  stamp=$(cat "$@" | sha256sum)
  [ "$(cat "$folder/.stamp" 2>/dev/null)" != "$stamp" ] || return 0
  say "making the Python environment $folder"
  rm -rf "$folder"
  python3 -m venv "$folder" || die "python3 -m venv failed, see above"
  for file in "$@"; do arguments+=(-r "$file"); done
  "$folder/bin/pip" install -q --disable-pip-version-check "${arguments[@]}" ||
    die "pip could not install what $* names"
  printf '%s\n' "$stamp" >"$folder/.stamp"
}

# configure FOLDER OPTIONS…, build FOLDER [TARGET…]: quiet when they succeed; FOLDER.log tells the rest.
configure() {
  cmake -S . -B "$1" -G Ninja "${@:2}" >"$1.log" 2>&1 || { cat "$1.log"; return 1; }
}
build() {
  cmake --build "$1" -j "$(nproc)" ${2:+--target "${@:2}"} >"$1.log" 2>&1 ||
    { grep -E -A20 'FAILED|error:' "$1.log" | head -n 100; return 1; }
}

has_toolkit() { command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; }

# find_cuda: an installed toolkit, or else NVIDIA's wheels. cuda_root has the option that names it, cuda_options all options
# of a build with CUDA.
find_cuda() {
  cuda_root=()
  if ! has_toolkit; then
    local root
    root=$(ci/cuda-wheels build/cuda-wheels)
    cuda_root=(-DPEAKMARK_CUDA_ROOT="$root")
    # There programs look for what they open when they need it: CUPTI, cuFFT, the run-time compiler.
    export CUDA_HOME="${CUDA_HOME:-$root}"
  fi
  cuda_options=(-DPEAKMARK_CUDA=ON "${cuda_root[@]}")
}

# install_nightly: packages, the Python environment build/venv, and peakmark in build/prefix, built as ci/nightly has it.
install_nightly() {
  # shellcheck disable=SC2046 # one word a package
  install_packages $(packages_of ci/packages-build.txt)
  mkdir -p build
  make_environment build/venv reports/requirements.txt

  say "building"
  configure build/nightly-build -DCMAKE_BUILD_TYPE=Release -DPEAKMARK_TESTS=OFF -DPEAKMARK_WERROR=ON -DPEAKMARK_BENCHMARKS=OFF -DPEAKMARK_CUDA=AUTO \
    -DCMAKE_INSTALL_PREFIX="$PWD/build/prefix" || exit 2
  build build/nightly-build || exit 2
  cmake --install build/nightly-build >/dev/null || die "peakmark could not be installed into build/prefix"
}
