package dev.roundhouse.platform.rest;

import com.google.protobuf.ByteString;
import dev.roundhouse.kserve.proto.CudaSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryStatusRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryUnregisterRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryStatusRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryUnregisterRequest;
import dev.roundhouse.kserve.status.WireException;
import java.util.Base64;
import tools.jackson.core.JsonParser;

/** Shared memory regions of clients. An unknown property is refused by its name. */
final class RegionForms {
  private static final String REGION = "region";
  private static final String HANDLE = "raw_handle";

  private RegionForms() {}

  static SystemSharedMemoryStatusRequest systemStatus(ControlRequest request) {
    return SystemSharedMemoryStatusRequest.newBuilder().setName(request.part(REGION)).build();
  }

  static SystemSharedMemoryUnregisterRequest systemUnregister(ControlRequest request) {
    return SystemSharedMemoryUnregisterRequest.newBuilder().setName(request.part(REGION)).build();
  }

  static SystemSharedMemoryRegisterRequest systemRegister(ControlRequest request) {
    SystemSharedMemoryRegisterRequest.Builder region =
        SystemSharedMemoryRegisterRequest.newBuilder().setName(request.part(REGION));
    request.read(
        (property, json, fields) -> {
          switch (property) {
            case "key" -> region.setKey(fields.name(property));
            case "offset" -> region.setOffset(fields.integer(property));
            case "byte_size" -> region.setByteSize(fields.integer(property));
            default ->
                throw WireException.invalidArgument(
                    "unrecognized property '%s'; a region has 'key', 'offset' and 'byte_size'"
                        .formatted(property));
          }
        });
    return region.build();
  }

  static CudaSharedMemoryStatusRequest cudaStatus(ControlRequest request) {
    return CudaSharedMemoryStatusRequest.newBuilder().setName(request.part(REGION)).build();
  }

  static CudaSharedMemoryUnregisterRequest cudaUnregister(ControlRequest request) {
    return CudaSharedMemoryUnregisterRequest.newBuilder().setName(request.part(REGION)).build();
  }

  static CudaSharedMemoryRegisterRequest cudaRegister(ControlRequest request) {
    CudaSharedMemoryRegisterRequest.Builder region =
        CudaSharedMemoryRegisterRequest.newBuilder().setName(request.part(REGION));
    request.read(
        (property, json, fields) -> {
          switch (property) {
            case HANDLE -> region.setRawHandle(handle(json, fields));
            case "device_id" -> region.setDeviceId(fields.integer(property));
            case "byte_size" -> region.setByteSize(fields.integer(property));
            default ->
                throw WireException.invalidArgument(
                    "unrecognized property '%s'; a region of CUDA's memory has 'raw_handle', 'device_id' and 'byte_size'"
                        .formatted(property));
          }
        });
    return region.build();
  }

  private static ByteString handle(JsonParser json, JsonFields fields) {
    fields.requireObject(HANDLE);
    ByteString handle = ByteString.EMPTY;
    while (fields.nextProperty()) {
      String property = json.currentName();
      json.nextToken();
      if (!property.equals("b64")) {
        throw WireException.invalidArgument(
            "unrecognized property '%s' of 'raw_handle'; it has 'b64'".formatted(property));
      }
      handle = decoded(fields.name("raw_handle.b64"));
    }
    return handle;
  }

  private static ByteString decoded(String text) {
    try {
      return ByteString.copyFrom(Base64.getDecoder().decode(text));
    } catch (IllegalArgumentException e) {
      throw WireException.invalidArgument(
          "'raw_handle' must be a valid base64 encoded cudaIpcMemHandle_t: " + e.getMessage());
    }
  }
}
