// Loads the Triton core, whose path is the first argument, and then runs triton_floor.cc on it. A library that the core
// needs and this machine lacks is named on standard output as `absent WHY`; no build needs the core.
#include <dlfcn.h>

#include <cstdio>
#include <string>

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: triton_floor CORE ...\n");
    return 2;
  }
  // Global, so that the backend and the peer find its functions.
  if (dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    std::printf("absent %s\n", dlerror());
    return 0;
  }
  void* peer = dlopen("libtriton_floor.so", RTLD_NOW);
  auto run = peer == nullptr ? nullptr : reinterpret_cast<int (*)(int, char**)>(dlsym(peer, "TritonFloor"));
  if (run == nullptr) {
    std::printf("absent %s\n", dlerror());
    return 0;
  }
  if (argc == 2) {
    std::printf("present\n");
    return 0;
  }
  return run(argc, argv);
}
