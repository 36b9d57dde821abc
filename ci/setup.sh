# Functions of ci/nightly and ci/test: sourced, never run. Installs missing apt packages and virtual environments; on other
# systems than Debian 12 it prints what is needed.

say() { printf '\nci: %s\n' "$*"; }
die() { printf 'ci: %s\n' "$*" >&2; exit 2; }

# packages_missing NAME…: prints the packages that are not installed.
packages_missing() {
  local package
  for package in "$@"; do
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || printf '%s\n' "$package"
  done
}

# install_packages NAME…: installs as root or with sudo, else prints what to install.
install_packages() {
  command -v dpkg-query >/dev/null || die "this is not Debian. Install the equivalents of these Debian 12 packages, then
build with cmake as in docs/install.md: $*"
  local missing as_root=()
  missing=$(packages_missing "$@" | tr '\n' ' ')
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null && sudo -n true 2>/dev/null ||
      die "packages are missing, and neither root nor sudo is available. Install them:
  apt-get install $missing"
    as_root=(sudo)
  fi
  say "installing $missing"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq || die "apt-get update failed, see above"
  # shellcheck disable=SC2086 # one word a package
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null ||
    die "apt-get could not install $missing"
}

# packages_of FILE…: prints the package names in the files, without comments (#).
packages_of() { sed 's/#.*//' "$@" | xargs; }

# make_environment FOLDER REQUIREMENTS…: creates a virtual environment, again if the requirements change.
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
    die "pip could not install the requirements: $*"
  printf '%s\n' "$stamp" >"$folder/.stamp"
}

# configure FOLDER OPTIONS…, build FOLDER [TARGET…]: quiet if they succeed; the output is in FOLDER.log.
configure() {
  cmake -S . -B "$1" -G Ninja "${@:2}" >"$1.log" 2>&1 || { cat "$1.log"; return 1; }
}
build() {
  cmake --build "$1" -j "$(nproc)" ${2:+--target "${@:2}"} >"$1.log" 2>&1 ||
    { grep -E -A20 'FAILED|error:' "$1.log" | head -n 100; return 1; }
}

# has_toolkit: whether the nvcc of $CUDA_HOME, PATH or /usr/local/cuda is of CUDA 13 and has the headers of CUPTI and the static
# runtime next to it: the tests and the wheel need them. Else sets no_toolkit to the reason.
has_toolkit() {
  local nvcc version root
  no_toolkit="no nvcc"
  nvcc=${CUDA_HOME:+$CUDA_HOME/bin/nvcc}
  [ -x "$nvcc" ] || nvcc=$(command -v nvcc) || nvcc=/usr/local/cuda/bin/nvcc
  [ -x "$nvcc" ] || return 1
  version=$("$nvcc" --version 2>/dev/null | sed -n 's/.*, V\([0-9.]*\).*/\1/p' || true)
  no_toolkit="$nvcc is of CUDA ${version:-?}, and CUDA 13 is needed"
  [ "${version%%.*}" = 13 ] || return 1
  # A program that calls the nvcc of another folder names that one.
  root=$("$nvcc" --dryrun -c x.cu 2>&1 | sed -n 's/^#\$ TOP=//p')
  no_toolkit="$nvcc has no libcudart_static.a or cupti.h next to it"
  [ -n "$(find "$root/include" "$root"/targets/*/include "$root/extras/CUPTI/include" -maxdepth 1 -name cupti.h 2>/dev/null)" ] &&
    [ -n "$(find "$root"/lib* "$root"/targets/*/lib -maxdepth 1 -name libcudart_static.a 2>/dev/null)" ]
}

# find_cuda: uses an installed toolkit, else NVIDIA's wheels. Sets cuda_root (the option that names it) and cuda_options (all
# options of a build with CUDA).
find_cuda() {
  cuda_root=()
  if ! has_toolkit; then
    say "CUDA: $no_toolkit: NVIDIA's wheels are used (ci/cuda-wheels)"
    local root
    root=$(ci/cuda-wheels build/cuda-wheels)
    cuda_root=(-DCUDAToolkit_ROOT="$root")
    # Programs open CUPTI, cuFFT and NVRTC from there at run time. The variable of an unusable toolkit is replaced.
    export CUDA_HOME="$root"
  fi
  cuda_options=(-DPEAKMARK_CUDA=ON "${cuda_root[@]}")
}

# print_cuda LOG: prints which toolkit a configuration uses, or why it is without one and how to get one.
print_cuda() { sed -n 's/^-- CUDA: /ci: CUDA: /p' "$1"; }

# gpu_architectures: prints the compute capabilities of this machine's GPUs, 75;90 for example. Without a GPU: the oldest one
# supported, so that device code compiles once.
gpu_architectures() {
  local found
  found=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d . | sort -nu | paste -sd ';') || found=
  [[ $found =~ ^[0-9]+(;[0-9]+)*$ ]] && printf '%s\n' "$found" || printf '75\n'
}

# install_nightly: installs packages and the Python environment build/venv, and builds peakmark into build/prefix.
install_nightly() {
  # shellcheck disable=SC2046 # one word a package
  install_packages $(packages_of ci/packages-build.txt)
  mkdir -p build
  # At the same time as the build: pip waits for the network.
  make_environment build/venv reports/requirements.txt &
  local environment=$!

  say "building"
  # All sources of a module in one compilation: half of the time.
  configure build/nightly-build -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=0 -DPEAKMARK_TESTS=OFF -DPEAKMARK_WERROR=ON -DPEAKMARK_BENCHMARKS=OFF -DPEAKMARK_CUDA=AUTO \
    -DPEAKMARK_CUDA_ARCHITECTURES="$(gpu_architectures)" -DCMAKE_INSTALL_PREFIX="$PWD/build/prefix" || exit 2
  print_cuda build/nightly-build.log
  build build/nightly-build || exit 2
  cmake --install build/nightly-build >/dev/null || die "peakmark could not be installed into build/prefix"
  wait "$environment" || exit 2
}
