#include <vector>

#include "dev_roundhouse_pjrt_PjrtBuffer.h"
#include "pjrt_call.h"

using roundhouse::Api;
using roundhouse::Args;
using roundhouse::Handle;

extern "C" JNIEXPORT void JNICALL Java_dev_roundhouse_pjrt_PjrtBuffer_destroy(JNIEnv* env, jclass, jlong api,
                                                                             jlong buffer) try {
  Args<PJRT_Buffer_Destroy_Args> args;
  args->buffer = Handle<PJRT_Buffer>(buffer);
  ROUNDHOUSE_CALL(env, Api(api), PJRT_Buffer_Destroy, args);
} ROUNDHOUSE_CATCH(env, )

// When the bytes are on the device; null leaves an exception pending.
static PJRT_Event* ReadyEvent(JNIEnv* env, jlong api, jlong buffer) {
  Args<PJRT_Buffer_ReadyEvent_Args> args;
  args->buffer = Handle<PJRT_Buffer>(buffer);
  return ROUNDHOUSE_CALL(env, Api(api), PJRT_Buffer_ReadyEvent, args) ? args->event : nullptr;
}

extern "C" JNIEXPORT jboolean JNICALL Java_dev_roundhouse_pjrt_PjrtBuffer_isReady(JNIEnv* env, jclass, jlong api,
                                                                                 jlong buffer) try {
  PJRT_Event* event = ReadyEvent(env, api, buffer);
  if (event == nullptr) return JNI_FALSE;
  Args<PJRT_Event_IsReady_Args> args;
  args->event = event;
  const bool ready = ROUNDHOUSE_CALL(env, Api(api), PJRT_Event_IsReady, args) && args->is_ready;
  roundhouse::Destroy(Api(api), event);
  return ready;
} ROUNDHOUSE_CATCH(env, JNI_FALSE)

extern "C" JNIEXPORT void JNICALL Java_dev_roundhouse_pjrt_PjrtBuffer_awaitReady(JNIEnv* env, jclass, jlong api,
                                                                                jlong buffer) try {
  PJRT_Event* event = ReadyEvent(env, api, buffer);
  if (event != nullptr) roundhouse::AwaitAndDestroy(env, Api(api), event);
} ROUNDHOUSE_CATCH(env, )

extern "C" JNIEXPORT jlong JNICALL Java_dev_roundhouse_pjrt_PjrtBuffer_unsafePointer(JNIEnv* env, jclass, jlong api,
                                                                                    jlong buffer) try {
  Args<PJRT_Buffer_UnsafePointer_Args> args;
  args->buffer = Handle<PJRT_Buffer>(buffer);
  ROUNDHOUSE_CALL(env, Api(api), PJRT_Buffer_UnsafePointer, args);
  return static_cast<jlong>(args->buffer_pointer);
} ROUNDHOUSE_CATCH(env, 0)

// The whole tensor, row-major. Not to transpose by: the CPU plugin 0.0.1 ignores the layout (others tile by it).
extern "C" JNIEXPORT void JNICALL Java_dev_roundhouse_pjrt_PjrtBuffer_copyToHost(JNIEnv* env, jclass, jlong api,
                                                                                jlong buffer, jint rank, jlong address,
                                                                                jlong size) try {
  std::vector<int64_t> minor_to_major(rank);
  for (jint i = 0; i < rank; i++) minor_to_major[i] = rank - 1 - i;
  Args<PJRT_Buffer_MemoryLayout> layout;
  layout->type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout->tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
  layout->tiled.minor_to_major = minor_to_major.data();
  layout->tiled.minor_to_major_size = minor_to_major.size();
  Args<PJRT_Buffer_ToHostBuffer_Args> args;
  args->src = Handle<PJRT_Buffer>(buffer);
  args->host_layout = layout.get();
  args->dst = Handle<void>(address);
  args->dst_size = static_cast<size_t>(size);
  if (!ROUNDHOUSE_CALL(env, Api(api), PJRT_Buffer_ToHostBuffer, args)) return;
  roundhouse::AwaitAndDestroy(env, Api(api), args->event);
} ROUNDHOUSE_CATCH(env, )

extern "C" JNIEXPORT void JNICALL Java_dev_roundhouse_pjrt_PjrtBuffer_copyRawToHost(JNIEnv* env, jclass, jlong api,
                                                                                   jlong buffer, jlong offset,
                                                                                   jlong address, jlong size) try {
  Args<PJRT_Buffer_CopyRawToHost_Args> args;
  args->buffer = Handle<PJRT_Buffer>(buffer);
  args->dst = Handle<void>(address);
  args->offset = offset;
  args->transfer_size = size;
  if (!ROUNDHOUSE_CALL(env, Api(api), PJRT_Buffer_CopyRawToHost, args)) return;
  roundhouse::AwaitAndDestroy(env, Api(api), args->event);
} ROUNDHOUSE_CATCH(env, )
