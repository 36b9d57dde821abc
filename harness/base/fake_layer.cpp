// For tests: opened like a layer of OpenCL, and like a library that the CUDA driver brings in.
extern "C" __attribute__((visibility("default"))) int clInitLayer() {
  return 0;
}
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  return 1;
}
