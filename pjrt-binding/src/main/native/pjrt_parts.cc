#include <vector>

#include "dev_roundhouse_pjrt_PjrtParts.h"
#include "pjrt_call.h"

using roundhouse::Api;
using roundhouse::Args;
using roundhouse::Handle;

// A transfer manager of one tensor, which is its buffer 0.
static constexpr int kTensor = 0;

// In the layout of the device's choice, which is row-major on those that we know. Puts manager and buffer into made.
extern "C" JNIEXPORT void JNICALL Java_dev_roundhouse_pjrt_PjrtParts_begin(JNIEnv* env, jclass, jlong api, jlong client,
                                                                          jlong device, jint type, jlongArray dims,
                                                                          jlongArray made) try {
  std::vector<int64_t> extents(env->GetArrayLength(dims));
  env->GetLongArrayRegion(dims, 0, static_cast<jsize>(extents.size()), reinterpret_cast<jlong*>(extents.data()));
  Args<PJRT_Device_DefaultMemory_Args> memory;
  memory->device = Handle<PJRT_Device>(device);
  if (!ROUNDHOUSE_CALL(env, Api(api), PJRT_Device_DefaultMemory, memory)) return;
  Args<PJRT_ShapeSpec> shape;
  shape->dims = extents.data();
  shape->num_dims = extents.size();
  shape->element_type = static_cast<PJRT_Buffer_Type>(type);
  Args<PJRT_Client_CreateBuffersForAsyncHostToDevice_Args> args;
  args->client = Handle<PJRT_Client>(client);
  args->shape_specs = shape.get();
  args->num_shape_specs = 1;
  args->memory = memory->memory;
  if (!ROUNDHOUSE_CALL(env, Api(api), PJRT_Client_CreateBuffersForAsyncHostToDevice, args)) return;
  Args<PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args> retrieve;
  retrieve->transfer_manager = args->transfer_manager;
  retrieve->buffer_index = kTensor;
  if (!ROUNDHOUSE_CALL(env, Api(api), PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, retrieve)) {
    Args<PJRT_AsyncHostToDeviceTransferManager_Destroy_Args> destroy;
    destroy->transfer_manager = args->transfer_manager;
    Api(api)->PJRT_AsyncHostToDeviceTransferManager_Destroy(destroy.get());
    return;
  }
  const jlong handles[] = {Handle(args->transfer_manager), Handle(retrieve->buffer_out)};
  env->SetLongArrayRegion(made, 0, 2, handles);
} ROUNDHOUSE_CATCH(env, )

// Returns the event of when the plugin is done with the host's memory.
extern "C" JNIEXPORT jlong JNICALL Java_dev_roundhouse_pjrt_PjrtParts_transfer(JNIEnv* env, jclass, jlong api,
                                                                              jlong manager, jlong address,
                                                                              jlong offset, jlong size,
                                                                              jboolean last) try {
  Args<PJRT_AsyncHostToDeviceTransferManager_TransferData_Args> args;
  args->transfer_manager = Handle<PJRT_AsyncHostToDeviceTransferManager>(manager);
  args->buffer_index = kTensor;
  args->data = Handle<void>(address);
  args->offset = offset;
  args->transfer_size = size;
  args->is_last_transfer = last;
  ROUNDHOUSE_CALL(env, Api(api), PJRT_AsyncHostToDeviceTransferManager_TransferData, args);
  return Handle(args->done_with_h2d_transfer);
} ROUNDHOUSE_CATCH(env, 0)

// XLA ends the process when the last part has been handed over, or the tensor has failed already.
extern "C" JNIEXPORT void JNICALL Java_dev_roundhouse_pjrt_PjrtParts_giveUp(JNIEnv* env, jclass, jlong api,
                                                                           jlong manager) try {
  static const char kMessage[] = "the upload was given up";
  Args<PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args> args;
  args->transfer_manager = Handle<PJRT_AsyncHostToDeviceTransferManager>(manager);
  args->buffer_index = kTensor;
  args->error_code = PJRT_Error_Code_CANCELLED;
  args->error_message = kMessage;
  args->error_message_size = sizeof(kMessage) - 1;
  ROUNDHOUSE_CALL(env, Api(api), PJRT_AsyncHostToDeviceTransferManager_SetBufferError, args);
} ROUNDHOUSE_CATCH(env, )

extern "C" JNIEXPORT void JNICALL Java_dev_roundhouse_pjrt_PjrtParts_destroy(JNIEnv* env, jclass, jlong api,
                                                                            jlong manager) try {
  Args<PJRT_AsyncHostToDeviceTransferManager_Destroy_Args> args;
  args->transfer_manager = Handle<PJRT_AsyncHostToDeviceTransferManager>(manager);
  ROUNDHOUSE_CALL(env, Api(api), PJRT_AsyncHostToDeviceTransferManager_Destroy, args);
} ROUNDHOUSE_CATCH(env, )
