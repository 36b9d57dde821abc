// Reconstructs one sinogram with peakmark's filtered back-projection, from host memory to host memory, for
// bench/peers/nabu_fbp.py. Uses the first OpenCL device.
//
//   fbp_host WAY N_A W MODE SINOGRAM
//
// WAY is whole, inplace or kept; MODE as in numpy.pad; SINOGRAM a file of N_A x W floats, little-endian. The
// angles are N_A equal steps of half a turn from 0, the axis is in the middle, the filter is ramlak.
//
// Prints a line of JSON about the device, then one line of JSON for each line of standard input:
//   call        reconstructs; {"ns": time of upload, reconstruction and download}
//   save FILE   writes the last slice (W x W floats); {}
#include <chrono>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "kernels/backprojection/scan_patterns.hpp"
#include "kernels/common/arrays.hpp"
#include "kernels/fbp/reconstructor.hpp"
#include "worker/opened_device.hpp"

namespace {

using namespace peakmark;

FbpMethod parse_method(const std::string& name) {
  for (const FbpMethod method : {FbpMethod::whole, FbpMethod::inplace, FbpMethod::kept})
    if (name == to_string(method)) return method;
  throw UsageError("fbp_host: unknown method '" + name + "'; write whole, inplace or kept");
}

Size parse_size(const std::string& text) {
  try {
    std::size_t used = 0;
    const Size value = std::stoll(text, &used);
    if (used == text.size()) return value;
  } catch (const std::logic_error&) {  // no digits, or out of range
  }
  throw UsageError("fbp_host: invalid size '" + text + "'");
}

std::vector<float> read_floats(const std::string& path, Size count) {
  std::ifstream file(path, std::ios::binary);
  std::vector<float> values(static_cast<std::size_t>(count));
  const auto bytes = static_cast<std::streamsize>(values.size() * sizeof(float));
  file.read(reinterpret_cast<char*>(values.data()), bytes);
  if (file.gcount() != bytes || file.peek() != std::ifstream::traits_type::eof())
    throw UsageError("fbp_host: " + path + ": not a file of " + std::to_string(count) + " floats");
  return values;
}

void write_floats(const std::string& path, const std::vector<float>& values) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(float)));
  if (!file.flush()) throw IoError("fbp_host: " + path + ": cannot be written");
}

void answer(const nlohmann::ordered_json& line) {
  std::cout << line.dump() << std::endl;
}

void serve(const std::vector<std::string>& arguments) {
  const FbpShape shape{1, parse_size(arguments[1]), parse_size(arguments[2])};
  FbpOptions options;
  options.method = parse_method(arguments[0]);
  options.mode = parse_padding_mode(arguments[3]);
  check(shape, options);
  const std::vector<float> sinogram = read_floats(arguments[4], checked_multiply(shape.n_a, shape.w));

  const OpenedDevice opened = open_for_public_api("opencl");
  Device device(opened.abi);
  Reconstructor reconstruct(device, shape, options, {.angles = angles_of_pattern("half_turn", shape.n_a)});
  reconstruct.set_up();
  DeviceArray sinograms =
      create_uninitialised(device, "sinograms", reconstruct.sinograms_shape(), DType::f32);
  DeviceArray slices = create_uninitialised(device, "slices", reconstruct.slices_shape(), DType::f32);
  std::vector<float> slice(static_cast<std::size_t>(slices.elements()));
  answer({{"device", device.name()},
          {"platform", opened.platform},
          {"driver", opened.driver},
          {"floor_bytes", floor_bytes(shape, options)}});

  for (std::string line; std::getline(std::cin, line);) {
    if (line == "call") {
      const auto begin = std::chrono::steady_clock::now();
      sinograms.write<float>(std::span<const float>(sinogram));
      reconstruct(sinograms, slices);
      slices.read_part<float>(0, std::span(slice));
      const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
      answer({{"ns", took.count()}});
    } else if (line.starts_with("save ")) {
      write_floats(line.substr(5), slice);
      answer(nlohmann::ordered_json::object());
    } else {
      throw UsageError("fbp_host: unknown request '" + line + "'; write `call` or `save FILE`");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() != 5) {
    std::cerr << "usage: fbp_host WAY N_A W MODE SINOGRAM\n";
    return static_cast<int>(ExitCode::usage);
  }
  try {
    serve(arguments);
  } catch (const std::exception& error) {
    std::cerr << final_message(error) << '\n';
    return static_cast<int>(exit_code_of(error));
  }
  return 0;
}
