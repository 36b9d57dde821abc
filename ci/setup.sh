# Functions of the programs in ci: sourced, never run. Installs missing apt packages and virtual environments.

say() { printf '\nci: %s\n' "$*"; }
die() { printf 'ci: %s\n' "$*" >&2; exit 2; }

wheel_advice="install the wheel instead; it is built by ci/wheel on Debian 12, also in a container, and runs on every Linux with its
glibc or a newer one: docs/install.md"

# read_system: sets system, its name, and support: complete (has all packages), tested, untested (its packages are
# tried), old (cannot build peakmark) or unknown. Debian testing has no version.
read_system() {
  local id version
  IFS='|' read -r id version system < <(
    ID='' VERSION_ID='' PRETTY_NAME=''
    # shellcheck disable=SC1090,SC1091
    . "${PEAKMARK_OS_RELEASE:-/etc/os-release}" 2>/dev/null || true
    printf '%s|%s|%s\n' "$ID" "$VERSION_ID" "${PRETTY_NAME:-this system}"
  )
  case $id-$version in
    debian-12) support=complete ;;
    debian-13 | debian-) support=tested ;;
    debian-[0-9] | debian-1[01] | ubuntu-1* | ubuntu-2[0-2].*) support=old ;;
    debian-* | ubuntu-*) support=untested ;;
    *) support=unknown ;;
  esac
}

# packages_missing NAME…: prints the packages that are not installed.
packages_missing() {
  local package
  for package in "$@"; do
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || printf '%s\n' "$package"
  done
}

# packages_unavailable NAME…: prints the packages that apt does not offer.
packages_unavailable() {
  local package
  for package in "$@"; do
    # No pipe, since apt-cache would fail if grep ends early.
    [[ $(LC_ALL=C apt-cache policy "$package" 2>/dev/null) =~ Candidate:\ [^\(] ]] || printf '%s\n' "$package"
  done
}

# last_error FILE PATTERN: prints the last line of a log that matches, or else its last line.
last_error() { grep -E "$2" "$1" | tail -n 1 | grep . || tail -n 1 "$1"; }

# install_packages NAME…: installs as root or with sudo, else prints what to install. If the system does not have a package,
# that is an error if the build needs it, and on Debian 12; else the stages that need it are skipped.
install_packages() {
  local missing unavailable required log=build/apt.log as_root=()
  read_system
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
    die "$system is not Debian: install the equivalents of these packages of Debian 12 and build with cmake as in
docs/install.md, or $wheel_advice
  $*"
  missing=$(packages_missing "$@" | xargs)
  [ -n "$missing" ] || return 0
  case $support in
    old) die "$system cannot build peakmark, which needs CMake 3.25 and toml++: $wheel_advice" ;;
    unknown) die "$system is unknown here, so nothing is installed. Install these packages or their equivalents, or
$wheel_advice
  $missing" ;;
    untested) say "$system was not tried: the names of Debian's packages are used" ;;
  esac
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null && sudo -n true 2>/dev/null ||
      die "packages are missing, and neither root nor sudo is available. Install them:
  apt-get install $missing"
    as_root=(sudo)
  fi
  mkdir -p build
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq >"$log" 2>&1 ||
    die "apt-get update failed: $(last_error "$log" '^[EW]: '); check the network and /etc/apt/sources.list.d"
  # shellcheck disable=SC2086 # one word per package
  unavailable=$(packages_unavailable $missing | xargs)
  if [ -n "$unavailable" ]; then
    required=$unavailable
    # shellcheck disable=SC2046,SC2086 # one word per package
    [ $support = complete ] ||
      required=$(comm -12 <(printf '%s\n' $unavailable | sort) <(printf '%s\n' $(packages_of ci/packages-build.txt) | sort) | xargs)
    # apt-get update succeeds without a network, and keeps the old lists.
    [ -z "$required" ] || ! grep -q '^[EW]: ' "$log" ||
      die "apt offers no $required: $(last_error "$log" '^[EW]: '); check the network and /etc/apt/sources.list.d"
    [ -z "$required" ] || die "$system has no package $required: $wheel_advice"
    say "skipped: $system has no package $unavailable; the stages that need it are skipped"
    # shellcheck disable=SC2046,SC2086 # one word per package
    missing=$(comm -23 <(printf '%s\n' $missing | sort) <(printf '%s\n' $unavailable | sort) | xargs)
    [ -n "$missing" ] || return 0
  fi
  say "installing $missing"
  # shellcheck disable=SC2086 # one word per package
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >"$log" 2>&1 ||
    die "apt-get could not install $missing: $(last_error "$log" '^E: '); correct that, then run it again"
}

# has_program NAME: true if a program is installed. False, with a line for the log, if this system has no package of that name;
# ends if it has one.
has_program() {
  command -v "$1" >/dev/null && return
  read_system
  [ $support != complete ] && [ -n "$(packages_unavailable "$1")" ] || die "$1 is missing: ci/test setup installs it"
  say "skipped: $1 is not installed, and $system has no package of it"
  return 1
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
  mkdir -p "$(dirname "$folder")"
  python3 -m venv "$folder" >"$folder.log" 2>&1 || die "python3 -m venv $folder failed: $(last_error "$folder.log" 'Error'); install python3-venv"
  for file in "$@"; do arguments+=(-r "$file"); done
  "$folder/bin/pip" install -q --disable-pip-version-check "${arguments[@]}" >"$folder.log" 2>&1 ||
    die "pip could not install $*: $(last_error "$folder.log" '^ERROR: '); check the network and pip's configuration; $folder.log has all of it"
  printf '%s\n' "$stamp" >"$folder/.stamp"
}

# configure FOLDER OPTIONS…, build FOLDER [TARGET…]: quiet if they succeed, else print the errors; the output is in FOLDER.log.
configure() {
  cmake -S . -B "$1" -G Ninja "${@:2}" >"$1.log" 2>&1 ||
    { sed -n '/^CMake Error/,/^-- Configuring incomplete/p' "$1.log" | grep . >&2 || cat "$1.log" >&2; return 1; }
}
build() {
  cmake --build "$1" -j "$(nproc)" ${2:+--target "${@:2}"} >"$1.log" 2>&1 ||
    { grep -E -A20 'FAILED|error:' "$1.log" | head -n 100; return 1; }
}

# has_toolkit: whether the nvcc of $CUDA_HOME, PATH or /usr/local/cuda is of CUDA 13 and has the headers of CUPTI and the static
# runtime next to it, which the tests and the wheel need. If not, sets no_toolkit to the reason.
has_toolkit() {
  local nvcc version root
  no_toolkit="no nvcc"
  nvcc=${CUDA_HOME:+$CUDA_HOME/bin/nvcc}
  [ -x "$nvcc" ] || nvcc=$(command -v nvcc) || nvcc=/usr/local/cuda/bin/nvcc
  [ -x "$nvcc" ] || return 1
  version=$("$nvcc" --version 2>/dev/null | sed -n 's/.*, V\([0-9.]*\).*/\1/p' || true)
  no_toolkit="$nvcc is of CUDA ${version:-?}, and CUDA 13 is needed"
  [ "${version%%.*}" = 13 ] || return 1
  # If it is a program that calls the nvcc of another folder, uses that folder.
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

# print_cuda LOG: prints which toolkit a configuration uses, or why it has none and how to get one.
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
  # shellcheck disable=SC2046 # one word per package
  install_packages $(packages_of ci/packages-build.txt)
  mkdir -p build
  # Runs at the same time as the build, since pip waits for the network.
  make_environment build/venv reports/requirements.txt &
  local environment=$!

  say "building"
  # Compiles all sources of a module at once, which halves the time.
  configure build/nightly-build -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=0 -DPEAKMARK_TESTS=OFF -DPEAKMARK_BENCHMARKS=OFF -DPEAKMARK_CUDA=AUTO \
    -DPEAKMARK_CUDA_ARCHITECTURES="$(gpu_architectures)" -DCMAKE_INSTALL_PREFIX="$PWD/build/prefix" || exit 2
  print_cuda build/nightly-build.log
  build build/nightly-build || exit 2
  cmake --install build/nightly-build >/dev/null || die "peakmark could not be installed into build/prefix"
  wait "$environment" || exit 2
}
