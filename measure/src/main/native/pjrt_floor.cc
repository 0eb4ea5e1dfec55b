// The floor for one execution: the calls that the Java binding makes, made by C++ and nothing else.
//
//   pjrt_floor PLUGIN PLATFORM PROGRAM ARGUMENTS ELEMENTS
//
// PLATFORM is cpu or another, of whose memory the client then takes no more than it needs. Compiles the StableHLO text in the file PROGRAM, whose arguments are ARGUMENTS tensors f32[ELEMENTS], argument i
// filled with i + 1. Prints `ready SUM`, the sum of the first output. Then, per line `N` on standard input, executes N
// times and prints `WALL CPU`, in nanoseconds, CPU being that of the whole process. Ends when standard input closes.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "pjrt_c_api.h"

namespace {

// One replica, one partition, bound to device 0: CompileOptionsProto as the Java binding encodes it.
const char kCompileOptions[] =
    "\x1a\x1a"                                          // executable_build_options
    "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"      // device_ordinal -1
    "\x20\x01\x28\x01"                                  // num_replicas, num_partitions
    "\x4a\x09\x08\x01\x10\x01\x1a\x03\x0a\x01\x00";     // device_assignment
constexpr size_t kCompileOptionsSize = sizeof(kCompileOptions) - 1;

const PJRT_Api* api;

[[noreturn]] void Fail(const char* what, const std::string& why) {
  std::fprintf(stderr, "pjrt_floor: %s: %s\n", what, why.c_str());
  std::exit(1);
}

void Check(const char* what, PJRT_Error* error) {
  if (error == nullptr) return;
  PJRT_Error_Message_Args args = {};
  args.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE;
  args.error = error;
  api->PJRT_Error_Message(&args);
  Fail(what, std::string(args.message, args.message_size));
}

#define CALL(name, args) Check(#name, api->name(&args))

// With zeroed slack behind it that counts towards struct_size, as in the Java binding: a plugin newer than our header
// refuses a struct smaller than its own.
template <class T>
struct Padded : T {
  char slack[256];
};

template <class T>
Padded<T> Args() {
  Padded<T> args = {};
  args.struct_size = sizeof(args);
  return args;
}
#define ARGS(name) Args<name##_Args>()

const PJRT_Api* Load(const char* plugin) {
  void* library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) Fail("dlopen", dlerror());
  auto get_api = reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"));
  if (get_api == nullptr) Fail("dlsym", dlerror());
  return get_api();
}

PJRT_Client* CreateClient(const std::string& platform) {
  auto initialize = ARGS(PJRT_Plugin_Initialize);
  CALL(PJRT_Plugin_Initialize, initialize);
  const bool cpu = platform == "cpu";
  const std::string name = cpu ? "cpu_device_count" : "preallocate";
  PJRT_NamedValue option = {};
  option.struct_size = PJRT_NamedValue_STRUCT_SIZE;
  option.name = name.data();
  option.name_size = name.size();
  option.type = cpu ? PJRT_NamedValue_kInt64 : PJRT_NamedValue_kBool;
  if (cpu) {
    option.int64_value = 1;
  } else {
    option.bool_value = false;
  }
  option.value_size = 1;
  auto create = ARGS(PJRT_Client_Create);
  create.create_options = &option;
  create.num_options = 1;
  CALL(PJRT_Client_Create, create);
  return create.client;
}

PJRT_LoadedExecutable* Compile(PJRT_Client* client, const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) Fail("open", path);
  std::string code((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::string format = "mlir";
  auto program = Args<PJRT_Program>();
  program.code = code.data();
  program.code_size = code.size();
  program.format = format.data();
  program.format_size = format.size();
  auto compile = ARGS(PJRT_Client_Compile);
  compile.client = client;
  compile.program = &program;
  compile.compile_options = kCompileOptions;
  compile.compile_options_size = kCompileOptionsSize;
  CALL(PJRT_Client_Compile, compile);
  return compile.executable;
}

void AwaitAndDestroy(PJRT_Event* event) {
  auto await = ARGS(PJRT_Event_Await);
  await.event = event;
  CALL(PJRT_Event_Await, await);
  auto destroy = ARGS(PJRT_Event_Destroy);
  destroy.event = event;
  CALL(PJRT_Event_Destroy, destroy);
}

PJRT_Buffer* Upload(PJRT_Client* client, const std::vector<float>& values) {
  auto devices = ARGS(PJRT_Client_AddressableDevices);
  devices.client = client;
  CALL(PJRT_Client_AddressableDevices, devices);
  const int64_t extent = static_cast<int64_t>(values.size());
  auto upload = ARGS(PJRT_Client_BufferFromHostBuffer);
  upload.client = client;
  upload.device = devices.addressable_devices[0];
  upload.data = values.data();
  upload.type = PJRT_Buffer_Type_F32;
  upload.dims = &extent;
  upload.num_dims = 1;
  upload.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  CALL(PJRT_Client_BufferFromHostBuffer, upload);
  AwaitAndDestroy(upload.done_with_host_buffer);
  return upload.buffer;
}

class Program {
 public:
  Program(PJRT_Client* client, const char* path, int argument_count, size_t elements)
      : elements_(elements), executable_(Compile(client, path)) {
    for (int i = 0; i < argument_count; i++) {
      arguments_.push_back(Upload(client, std::vector<float>(elements, static_cast<float>(i + 1))));
      indices_.push_back(i);
    }
  }

  // What one call of Device.execute, Execution.await and Execution.close does; the programs have one output.
  void ExecuteAndFree() { Destroy(ExecuteAndAwait()); }

  double Sum() {
    PJRT_Buffer* output = ExecuteAndAwait();
    std::vector<float> values(elements_);
    auto copy = ARGS(PJRT_Buffer_ToHostBuffer);
    copy.src = output;
    copy.dst = values.data();
    copy.dst_size = elements_ * sizeof(float);
    CALL(PJRT_Buffer_ToHostBuffer, copy);
    AwaitAndDestroy(copy.event);
    double sum = 0;
    for (size_t i = 0; i < elements_; i++) sum += values[i];
    Destroy(output);
    return sum;
  }

 private:
  PJRT_Buffer* ExecuteAndAwait() {
    auto options = Args<PJRT_ExecuteOptions>();
    options.non_donatable_input_indices = indices_.data();
    options.num_non_donatable_input_indices = indices_.size();
    PJRT_Buffer* const* argument_list = arguments_.data();
    PJRT_Buffer* output = nullptr;
    PJRT_Buffer** output_list = &output;
    PJRT_Event* done = nullptr;
    auto execute = ARGS(PJRT_LoadedExecutable_Execute);
    execute.executable = executable_;
    execute.options = &options;
    execute.argument_lists = &argument_list;
    execute.num_devices = 1;
    execute.num_args = arguments_.size();
    execute.output_lists = &output_list;
    execute.device_complete_events = &done;
    CALL(PJRT_LoadedExecutable_Execute, execute);
    AwaitAndDestroy(done);
    return output;
  }

  static void Destroy(PJRT_Buffer* buffer) {
    auto destroy = ARGS(PJRT_Buffer_Destroy);
    destroy.buffer = buffer;
    CALL(PJRT_Buffer_Destroy, destroy);
  }

  size_t elements_;
  PJRT_LoadedExecutable* executable_;
  std::vector<PJRT_Buffer*> arguments_;
  std::vector<int64_t> indices_;
};

int64_t Nanos(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) Fail("usage", "pjrt_floor PLUGIN PLATFORM PROGRAM ARGUMENTS ELEMENTS");
  api = Load(argv[1]);
  Program program(CreateClient(argv[2]), argv[3], std::atoi(argv[4]), std::strtoul(argv[5], nullptr, 10));
  std::printf("ready %.1f\n", program.Sum());
  std::fflush(stdout);
  long count;
  while (std::scanf("%ld", &count) == 1) {
    const int64_t wall = Nanos(CLOCK_MONOTONIC);
    const int64_t cpu = Nanos(CLOCK_PROCESS_CPUTIME_ID);
    for (long i = 0; i < count; i++) program.ExecuteAndFree();
    std::printf("%lld %lld\n", static_cast<long long>(Nanos(CLOCK_MONOTONIC) - wall),
                static_cast<long long>(Nanos(CLOCK_PROCESS_CPUTIME_ID) - cpu));
    std::fflush(stdout);
  }
  std::_Exit(0);  // the plugin's threads do not like an orderly end
}
