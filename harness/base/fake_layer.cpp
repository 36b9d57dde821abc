// For tests: a library that is opened like an OpenCL layer, and like a library that the CUDA driver loads.
extern "C" __attribute__((visibility("default"))) int clInitLayer() {
  return 0;
}
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  return 1;
}
