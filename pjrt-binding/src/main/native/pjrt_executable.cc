#include <vector>

#include "dev_roundhouse_pjrt_PjrtExecutable.h"
#include "pjrt_call.h"

using roundhouse::Api;
using roundhouse::Args;
using roundhouse::Handle;

namespace {

// The description of a loaded executable, an object of its own in the C API.
class Description {
 public:
  Description(JNIEnv* env, const PJRT_Api* api, jlong loaded) : api_(api) {
    Args<PJRT_LoadedExecutable_GetExecutable_Args> args;
    args->loaded_executable = Handle<PJRT_LoadedExecutable>(loaded);
    if (ROUNDHOUSE_CALL(env, api, PJRT_LoadedExecutable_GetExecutable, args)) executable_ = args->executable;
  }
  ~Description() {
    if (executable_ == nullptr) return;
    Args<PJRT_Executable_Destroy_Args> args;
    args->executable = executable_;
    api_->PJRT_Executable_Destroy(args.get());
  }
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;

  // Null leaves a DeviceException pending.
  PJRT_Executable* get() const { return executable_; }

 private:
  const PJRT_Api* api_;
  PJRT_Executable* executable_ = nullptr;
};

// Reused from call to call: an execution allocates nothing here.
struct Scratch {
  std::vector<PJRT_Buffer*> arguments;
  std::vector<PJRT_Buffer*> outputs;
  std::vector<int64_t> indices;
};

thread_local Scratch scratch;

}  // namespace

extern "C" JNIEXPORT void JNICALL Java_dev_roundhouse_pjrt_PjrtExecutable_destroy(JNIEnv* env, jclass, jlong api,
                                                                                 jlong loaded) try {
  Args<PJRT_LoadedExecutable_Destroy_Args> args;
  args->executable = Handle<PJRT_LoadedExecutable>(loaded);
  ROUNDHOUSE_CALL(env, Api(api), PJRT_LoadedExecutable_Destroy, args);
} ROUNDHOUSE_CATCH(env, )

// Returns the event of the run's end and fills outputs. No argument may be donated.
extern "C" JNIEXPORT jlong JNICALL Java_dev_roundhouse_pjrt_PjrtExecutable_execute(JNIEnv* env, jclass, jlong api,
                                                                                  jlong loaded, jlongArray arguments,
                                                                                  jlongArray outputs) try {
  static_assert(sizeof(jlong) == sizeof(PJRT_Buffer*), "a handle is a jlong");
  const jsize argument_count = env->GetArrayLength(arguments);
  const jsize output_count = env->GetArrayLength(outputs);
  Scratch& space = scratch;
  space.arguments.resize(argument_count);
  space.outputs.assign(output_count, nullptr);
  while (space.indices.size() < static_cast<size_t>(argument_count)) {
    space.indices.push_back(static_cast<int64_t>(space.indices.size()));
  }
  env->GetLongArrayRegion(arguments, 0, argument_count, reinterpret_cast<jlong*>(space.arguments.data()));

  Args<PJRT_ExecuteOptions> options;
  options->non_donatable_input_indices = space.indices.data();
  options->num_non_donatable_input_indices = static_cast<size_t>(argument_count);
  PJRT_Buffer* const* argument_list = space.arguments.data();
  PJRT_Buffer** output_list = space.outputs.data();
  PJRT_Event* done = nullptr;
  Args<PJRT_LoadedExecutable_Execute_Args> args;
  args->executable = Handle<PJRT_LoadedExecutable>(loaded);
  args->options = options.get();
  args->argument_lists = &argument_list;
  args->num_devices = 1;
  args->num_args = static_cast<size_t>(argument_count);
  args->output_lists = &output_list;
  args->device_complete_events = &done;
  if (!ROUNDHOUSE_CALL(env, Api(api), PJRT_LoadedExecutable_Execute, args)) return 0;
  env->SetLongArrayRegion(outputs, 0, output_count, reinterpret_cast<const jlong*>(space.outputs.data()));
  return Handle(done);
} ROUNDHOUSE_CATCH(env, 0)

extern "C" JNIEXPORT jintArray JNICALL Java_dev_roundhouse_pjrt_PjrtExecutable_outputTypes(JNIEnv* env, jclass,
                                                                                          jlong api, jlong loaded) try {
  const Description description(env, Api(api), loaded);
  if (description.get() == nullptr) return nullptr;
  Args<PJRT_Executable_OutputElementTypes_Args> args;
  args->executable = description.get();
  if (!ROUNDHOUSE_CALL(env, Api(api), PJRT_Executable_OutputElementTypes, args)) return nullptr;
  const std::vector<jint> types(args->output_types, args->output_types + args->num_output_types);
  jintArray result = env->NewIntArray(static_cast<jsize>(types.size()));
  if (result != nullptr) env->SetIntArrayRegion(result, 0, static_cast<jsize>(types.size()), types.data());
  return result;
} ROUNDHOUSE_CATCH(env, nullptr)

// Per output its rank, then its extents.
extern "C" JNIEXPORT jlongArray JNICALL Java_dev_roundhouse_pjrt_PjrtExecutable_outputDimensions(JNIEnv* env, jclass,
                                                                                                jlong api,
                                                                                                jlong loaded) try {
  const Description description(env, Api(api), loaded);
  if (description.get() == nullptr) return nullptr;
  Args<PJRT_Executable_OutputDimensions_Args> args;
  args->executable = description.get();
  if (!ROUNDHOUSE_CALL(env, Api(api), PJRT_Executable_OutputDimensions, args)) return nullptr;
  std::vector<int64_t> flat;
  const int64_t* next = args->dims;
  for (size_t i = 0; i < args->num_outputs; i++) {
    flat.push_back(static_cast<int64_t>(args->dim_sizes[i]));
    flat.insert(flat.end(), next, next + args->dim_sizes[i]);
    next += args->dim_sizes[i];
  }
  return roundhouse::Longs(env, flat.data(), flat.size());
} ROUNDHOUSE_CATCH(env, nullptr)

// The optimised program and the name of its format.
extern "C" JNIEXPORT jobjectArray JNICALL Java_dev_roundhouse_pjrt_PjrtExecutable_optimizedProgram(JNIEnv* env, jclass,
                                                                                                  jlong api,
                                                                                                  jlong loaded) try {
  const Description description(env, Api(api), loaded);
  if (description.get() == nullptr) return nullptr;
  Args<PJRT_Program> program;
  Args<PJRT_Executable_OptimizedProgram_Args> args;
  args->executable = description.get();
  args->program = program.get();
  if (!ROUNDHOUSE_CALL(env, Api(api), PJRT_Executable_OptimizedProgram, args)) return nullptr;
  std::vector<char> code(program->code_size);
  program->code = code.data();
  if (!ROUNDHOUSE_CALL(env, Api(api), PJRT_Executable_OptimizedProgram, args)) return nullptr;
  jclass bytes = env->FindClass("[B");
  jobjectArray result = bytes == nullptr ? nullptr : env->NewObjectArray(2, bytes, nullptr);
  if (result == nullptr) return nullptr;
  jbyteArray format = roundhouse::Bytes(env, program->format, program->format_size);
  if (format == nullptr) return nullptr;
  env->SetObjectArrayElement(result, 0, format);
  jbyteArray module = roundhouse::Bytes(env, code.data(), program->code_size);
  if (module == nullptr) return nullptr;
  env->SetObjectArrayElement(result, 1, module);
  return result;
} ROUNDHOUSE_CATCH(env, nullptr)

// Arguments, outputs, scratch, code, in bytes; the scratch a host needs counts too.
extern "C" JNIEXPORT jlongArray JNICALL Java_dev_roundhouse_pjrt_PjrtExecutable_memoryStats(JNIEnv* env, jclass,
                                                                                           jlong api, jlong loaded) try {
  const Description description(env, Api(api), loaded);
  if (description.get() == nullptr) return nullptr;
  Args<PJRT_Executable_GetCompiledMemoryStats_Args> args;
  args->executable = description.get();
  if (!ROUNDHOUSE_CALL(env, Api(api), PJRT_Executable_GetCompiledMemoryStats, args)) return nullptr;
  const int64_t values[] = {args->argument_size_in_bytes, args->output_size_in_bytes,
                            args->temp_size_in_bytes + args->host_temp_size_in_bytes,
                            args->generated_code_size_in_bytes};
  return roundhouse::Longs(env, values, 4);
} ROUNDHOUSE_CATCH(env, nullptr)

extern "C" JNIEXPORT jbyteArray JNICALL Java_dev_roundhouse_pjrt_PjrtExecutable_serialize(JNIEnv* env, jclass, jlong api,
                                                                                         jlong loaded) try {
  const Description description(env, Api(api), loaded);
  if (description.get() == nullptr) return nullptr;
  Args<PJRT_Executable_Serialize_Args> args;
  args->executable = description.get();
  if (!ROUNDHOUSE_CALL(env, Api(api), PJRT_Executable_Serialize, args)) return nullptr;
  jbyteArray result = roundhouse::Bytes(env, args->serialized_bytes, args->serialized_bytes_size);
  if (args->serialized_executable_deleter != nullptr) args->serialized_executable_deleter(args->serialized_executable);
  return result;
} ROUNDHOUSE_CATCH(env, nullptr)
