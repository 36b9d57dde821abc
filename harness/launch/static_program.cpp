// For tests: linked without a dynamic loader.
int main() {
  return 0;
}
