#include <cstring>
#include <string>
#include <vector>

#include "dev_roundhouse_pjrt_PjrtClient.h"
#include "pjrt_call.h"

using roundhouse::Api;
using roundhouse::Args;
using roundhouse::BorrowedBytes;
using roundhouse::Handle;

namespace {

std::string Copy(JNIEnv* env, jobjectArray array, jsize index) {
  auto element = static_cast<jbyteArray>(env->GetObjectArrayElement(array, index));
  if (element == nullptr) return "";
  std::string text(env->GetArrayLength(element), '\0');
  env->GetByteArrayRegion(element, 0, static_cast<jsize>(text.size()), reinterpret_cast<jbyte*>(text.data()));
  env->DeleteLocalRef(element);
  return text;
}

std::vector<int64_t> Copy(JNIEnv* env, jlongArray array) {
  std::vector<int64_t> values(env->GetArrayLength(array));
  env->GetLongArrayRegion(array, 0, static_cast<jsize>(values.size()), reinterpret_cast<jlong*>(values.data()));
  return values;
}

}  // namespace

// Option i has names[i], a PJRT_NamedValue_Type, and its value in texts[i] or numbers[i]; a float comes as its bits.
extern "C" JNIEXPORT jlong JNICALL Java_dev_roundhouse_pjrt_PjrtClient_create(JNIEnv* env, jclass, jlong api,
                                                                             jobjectArray names, jintArray types,
                                                                             jobjectArray texts, jobjectArray numbers) try {
  const jsize count = env->GetArrayLength(names);
  std::vector<jint> kinds(count);
  env->GetIntArrayRegion(types, 0, count, kinds.data());
  std::vector<std::string> name_bytes(count), text_bytes(count);
  std::vector<std::vector<int64_t>> number_values(count);
  std::vector<PJRT_NamedValue> options(count);
  for (jsize i = 0; i < count; i++) {
    name_bytes[i] = Copy(env, names, i);
    text_bytes[i] = Copy(env, texts, i);
    auto list = static_cast<jlongArray>(env->GetObjectArrayElement(numbers, i));
    number_values[i] = Copy(env, list);
    env->DeleteLocalRef(list);
    PJRT_NamedValue& option = options[i];
    option.struct_size = PJRT_NamedValue_STRUCT_SIZE;
    option.name = name_bytes[i].data();
    option.name_size = name_bytes[i].size();
    option.type = static_cast<PJRT_NamedValue_Type>(kinds[i]);
    option.value_size = 1;
    switch (option.type) {
      case PJRT_NamedValue_kString:
        option.string_value = text_bytes[i].data();
        option.value_size = text_bytes[i].size();
        break;
      case PJRT_NamedValue_kInt64:
        option.int64_value = number_values[i][0];
        break;
      case PJRT_NamedValue_kInt64List:
        option.int64_array_value = number_values[i].data();
        option.value_size = number_values[i].size();
        break;
      case PJRT_NamedValue_kFloat: {
        const auto bits = static_cast<int32_t>(number_values[i][0]);
        std::memcpy(&option.float_value, &bits, sizeof(bits));
        break;
      }
      case PJRT_NamedValue_kBool:
        option.bool_value = number_values[i][0] != 0;
        break;
    }
  }
  Args<PJRT_Client_Create_Args> args;
  args->create_options = options.data();
  args->num_options = options.size();
  ROUNDHOUSE_CALL(env, Api(api), PJRT_Client_Create, args);
  return Handle(args->client);
} ROUNDHOUSE_CATCH(env, 0)

extern "C" JNIEXPORT void JNICALL Java_dev_roundhouse_pjrt_PjrtClient_destroy(JNIEnv* env, jclass, jlong api,
                                                                             jlong client) try {
  Args<PJRT_Client_Destroy_Args> args;
  args->client = Handle<PJRT_Client>(client);
  ROUNDHOUSE_CALL(env, Api(api), PJRT_Client_Destroy, args);
} ROUNDHOUSE_CATCH(env, )

extern "C" JNIEXPORT jbyteArray JNICALL Java_dev_roundhouse_pjrt_PjrtClient_platformName(JNIEnv* env, jclass, jlong api,
                                                                                        jlong client) try {
  Args<PJRT_Client_PlatformName_Args> args;
  args->client = Handle<PJRT_Client>(client);
  if (!ROUNDHOUSE_CALL(env, Api(api), PJRT_Client_PlatformName, args)) return nullptr;
  return roundhouse::Bytes(env, args->platform_name, args->platform_name_size);
} ROUNDHOUSE_CATCH(env, nullptr)

extern "C" JNIEXPORT jbyteArray JNICALL Java_dev_roundhouse_pjrt_PjrtClient_platformVersion(JNIEnv* env, jclass,
                                                                                           jlong api, jlong client) try {
  Args<PJRT_Client_PlatformVersion_Args> args;
  args->client = Handle<PJRT_Client>(client);
  if (!ROUNDHOUSE_CALL(env, Api(api), PJRT_Client_PlatformVersion, args)) return nullptr;
  return roundhouse::Bytes(env, args->platform_version, args->platform_version_size);
} ROUNDHOUSE_CATCH(env, nullptr)

extern "C" JNIEXPORT jlongArray JNICALL Java_dev_roundhouse_pjrt_PjrtClient_addressableDevices(JNIEnv* env, jclass,
                                                                                              jlong api, jlong client) try {
  Args<PJRT_Client_AddressableDevices_Args> args;
  args->client = Handle<PJRT_Client>(client);
  if (!ROUNDHOUSE_CALL(env, Api(api), PJRT_Client_AddressableDevices, args)) return nullptr;
  std::vector<int64_t> devices;
  for (size_t i = 0; i < args->num_addressable_devices; i++) devices.push_back(Handle(args->addressable_devices[i]));
  return roundhouse::Longs(env, devices.data(), devices.size());
} ROUNDHOUSE_CATCH(env, nullptr)

// The number that a device assignment uses.
extern "C" JNIEXPORT jint JNICALL Java_dev_roundhouse_pjrt_PjrtClient_deviceId(JNIEnv* env, jclass, jlong api,
                                                                              jlong device) try {
  Args<PJRT_Device_GetDescription_Args> description;
  description->device = Handle<PJRT_Device>(device);
  if (!ROUNDHOUSE_CALL(env, Api(api), PJRT_Device_GetDescription, description)) return 0;
  Args<PJRT_DeviceDescription_Id_Args> args;
  args->device_description = description->device_description;
  ROUNDHOUSE_CALL(env, Api(api), PJRT_DeviceDescription_Id, args);
  return args->id;
} ROUNDHOUSE_CATCH(env, 0)

extern "C" JNIEXPORT jbyteArray JNICALL Java_dev_roundhouse_pjrt_PjrtClient_deviceKind(JNIEnv* env, jclass, jlong api,
                                                                                      jlong device) try {
  Args<PJRT_Device_GetDescription_Args> description;
  description->device = Handle<PJRT_Device>(device);
  if (!ROUNDHOUSE_CALL(env, Api(api), PJRT_Device_GetDescription, description)) return nullptr;
  Args<PJRT_DeviceDescription_Kind_Args> args;
  args->device_description = description->device_description;
  if (!ROUNDHOUSE_CALL(env, Api(api), PJRT_DeviceDescription_Kind, args)) return nullptr;
  return roundhouse::Bytes(env, args->device_kind, args->device_kind_size);
} ROUNDHOUSE_CATCH(env, nullptr)

// Names and values in turn.
extern "C" JNIEXPORT jobjectArray JNICALL Java_dev_roundhouse_pjrt_PjrtClient_deviceAttributes(JNIEnv* env, jclass,
                                                                                              jlong api, jlong device) try {
  Args<PJRT_Device_GetDescription_Args> description;
  description->device = Handle<PJRT_Device>(device);
  if (!ROUNDHOUSE_CALL(env, Api(api), PJRT_Device_GetDescription, description)) return nullptr;
  Args<PJRT_DeviceDescription_Attributes_Args> args;
  args->device_description = description->device_description;
  if (!ROUNDHOUSE_CALL(env, Api(api), PJRT_DeviceDescription_Attributes, args)) return nullptr;
  return roundhouse::Pairs(env, args->attributes, args->num_attributes);
} ROUNDHOUSE_CATCH(env, nullptr)

// In use, limit, peak, largest free block; -1 for what the device does not count.
extern "C" JNIEXPORT jlongArray JNICALL Java_dev_roundhouse_pjrt_PjrtClient_memoryStats(JNIEnv* env, jclass, jlong api,
                                                                                       jlong device) try {
  Args<PJRT_Device_MemoryStats_Args> args;
  args->device = Handle<PJRT_Device>(device);
  if (!ROUNDHOUSE_CALL(env, Api(api), PJRT_Device_MemoryStats, args)) return nullptr;
  const int64_t values[] = {args->bytes_in_use, args->bytes_limit_is_set ? args->bytes_limit : -1,
                            args->peak_bytes_in_use_is_set ? args->peak_bytes_in_use : -1,
                            args->largest_free_block_bytes_is_set ? args->largest_free_block_bytes : -1};
  return roundhouse::Longs(env, values, 4);
} ROUNDHOUSE_CATCH(env, nullptr)

extern "C" JNIEXPORT void JNICALL Java_dev_roundhouse_pjrt_PjrtClient_dmaMap(JNIEnv* env, jclass, jlong api,
                                                                            jlong client, jlong address, jlong size) try {
  Args<PJRT_Client_DmaMap_Args> args;
  args->client = Handle<PJRT_Client>(client);
  args->data = Handle<void>(address);
  args->size = static_cast<size_t>(size);
  ROUNDHOUSE_CALL(env, Api(api), PJRT_Client_DmaMap, args);
} ROUNDHOUSE_CATCH(env, )

extern "C" JNIEXPORT void JNICALL Java_dev_roundhouse_pjrt_PjrtClient_dmaUnmap(JNIEnv* env, jclass, jlong api,
                                                                              jlong client, jlong address) try {
  Args<PJRT_Client_DmaUnmap_Args> args;
  args->client = Handle<PJRT_Client>(client);
  args->data = Handle<void>(address);
  ROUNDHOUSE_CALL(env, Api(api), PJRT_Client_DmaUnmap, args);
} ROUNDHOUSE_CATCH(env, )

extern "C" JNIEXPORT jlong JNICALL Java_dev_roundhouse_pjrt_PjrtClient_compile(JNIEnv* env, jclass, jlong api,
                                                                              jlong client, jbyteArray code,
                                                                              jbyteArray options) try {
  const BorrowedBytes code_bytes(env, code);
  if (code_bytes.data() == nullptr) return 0;
  const BorrowedBytes option_bytes(env, options);
  if (option_bytes.data() == nullptr) return 0;
  static const char kFormat[] = "mlir";  // text and bytecode alike: the plugin looks
  Args<PJRT_Program> program;
  program->code = code_bytes.data();
  program->code_size = code_bytes.size();
  program->format = kFormat;
  program->format_size = sizeof(kFormat) - 1;
  Args<PJRT_Client_Compile_Args> args;
  args->client = Handle<PJRT_Client>(client);
  args->program = program.get();
  args->compile_options = option_bytes.data();
  args->compile_options_size = option_bytes.size();
  ROUNDHOUSE_CALL(env, Api(api), PJRT_Client_Compile, args);
  return Handle(args->executable);
} ROUNDHOUSE_CATCH(env, 0)

extern "C" JNIEXPORT jlong JNICALL Java_dev_roundhouse_pjrt_PjrtClient_deserialize(JNIEnv* env, jclass, jlong api,
                                                                                  jlong client, jbyteArray payload,
                                                                                  jbyteArray options) try {
  const BorrowedBytes bytes(env, payload);
  if (bytes.data() == nullptr) return 0;
  const BorrowedBytes option_bytes(env, options);
  if (option_bytes.data() == nullptr) return 0;
  Args<PJRT_Executable_DeserializeAndLoad_Args> args;
  args->client = Handle<PJRT_Client>(client);
  args->serialized_executable = bytes.data();
  args->serialized_executable_size = bytes.size();
  args->overridden_serialized_compile_options = option_bytes.data();
  args->overridden_serialized_compile_options_size = option_bytes.size();
  ROUNDHOUSE_CALL(env, Api(api), PJRT_Executable_DeserializeAndLoad, args);
  return Handle(args->loaded_executable);
} ROUNDHOUSE_CATCH(env, 0)

extern "C" JNIEXPORT jlong JNICALL Java_dev_roundhouse_pjrt_PjrtClient_bufferFromHost(JNIEnv* env, jclass, jlong api,
                                                                                     jlong client, jlong device,
                                                                                     jlong address, jint type,
                                                                                     jlongArray dims, jint semantics,
                                                                                     jlongArray transfer) try {
  const std::vector<int64_t> extents = Copy(env, dims);
  std::vector<int64_t> minor_to_major(extents.size());
  for (size_t i = 0; i < extents.size(); i++) minor_to_major[i] = static_cast<int64_t>(extents.size() - 1 - i);
  Args<PJRT_Buffer_MemoryLayout> layout;
  layout->type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout->tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
  layout->tiled.minor_to_major = minor_to_major.data();
  layout->tiled.minor_to_major_size = minor_to_major.size();
  Args<PJRT_Client_BufferFromHostBuffer_Args> args;
  args->client = Handle<PJRT_Client>(client);
  args->data = Handle<void>(address);
  args->type = static_cast<PJRT_Buffer_Type>(type);
  args->dims = extents.data();
  args->num_dims = extents.size();
  args->host_buffer_semantics = static_cast<PJRT_HostBufferSemantics>(semantics);
  args->device = Handle<PJRT_Device>(device);
  args->device_layout = layout.get();
  if (!ROUNDHOUSE_CALL(env, Api(api), PJRT_Client_BufferFromHostBuffer, args)) return 0;
  if (semantics == PJRT_HostBufferSemantics_kImmutableZeroCopy) {
    // Ready only when the buffer is gone: Java keeps the memory alive until then.
    roundhouse::Destroy(Api(api), args->done_with_host_buffer);
  } else if (semantics == PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes) {
    const jlong event = Handle(args->done_with_host_buffer);
    env->SetLongArrayRegion(transfer, 0, 1, &event);
  } else if (!roundhouse::AwaitAndDestroy(env, Api(api), args->done_with_host_buffer)) {
    Args<PJRT_Buffer_Destroy_Args> destroy;
    destroy->buffer = args->buffer;
    Api(api)->PJRT_Buffer_Destroy(destroy.get());
    return 0;
  }
  return Handle(args->buffer);
} ROUNDHOUSE_CATCH(env, 0)
