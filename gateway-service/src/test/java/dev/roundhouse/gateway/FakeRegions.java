package dev.roundhouse.gateway;

import dev.roundhouse.kserve.proto.CudaSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryRegisterResponse;
import dev.roundhouse.kserve.proto.CudaSharedMemoryStatusRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryStatusResponse;
import dev.roundhouse.kserve.proto.CudaSharedMemoryUnregisterRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryUnregisterResponse;
import dev.roundhouse.kserve.proto.SystemSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryRegisterResponse;
import dev.roundhouse.kserve.proto.SystemSharedMemoryStatusRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryStatusResponse;
import dev.roundhouse.kserve.proto.SystemSharedMemoryStatusResponse.RegionStatus;
import dev.roundhouse.kserve.proto.SystemSharedMemoryUnregisterRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryUnregisterResponse;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Memory that a {@link FakeWorker} was told of: it knows regions, and opens none. */
final class FakeRegions {
  final Map<String, SystemSharedMemoryRegisterRequest> system = new ConcurrentHashMap<>();

  /** On the GPU. */
  final Map<String, CudaSharedMemoryRegisterRequest> cuda = new ConcurrentHashMap<>();

  /** What regions of the system are refused with; OK when they are opened. */
  volatile Status refusal = Status.OK;

  /** The one GPU whose memory can be opened. */
  volatile long gpu;

  private final FakeWorker worker;

  FakeRegions(FakeWorker worker) {
    this.worker = worker;
  }

  /** As a worker that has just started. */
  void forget() {
    system.clear();
    cuda.clear();
  }

  void reset() {
    forget();
    refusal = Status.OK;
    gpu = 0;
  }

  void status(
      SystemSharedMemoryStatusRequest request,
      StreamObserver<SystemSharedMemoryStatusResponse> call) {
    SystemSharedMemoryStatusResponse.Builder known = SystemSharedMemoryStatusResponse.newBuilder();
    system.forEach(
        (region, told) ->
            known.putRegions(
                region,
                RegionStatus.newBuilder()
                    .setName(region)
                    .setKey(told.getKey())
                    .setByteSize(told.getByteSize())
                    .build()));
    FakeWorker.reply(call, known.build());
  }

  void register(
      SystemSharedMemoryRegisterRequest request,
      StreamObserver<SystemSharedMemoryRegisterResponse> call) {
    if (!refusal.isOk() || request.getKey().isEmpty()) {
      Status told = refusal.isOk() ? Status.INVALID_ARGUMENT.withDescription("no key") : refusal;
      call.onError(told.asRuntimeException());
      return;
    }
    system.put(request.getName(), request);
    worker.answer(
        call,
        "register " + request.getName(),
        SystemSharedMemoryRegisterResponse.getDefaultInstance());
  }

  void unregister(
      SystemSharedMemoryUnregisterRequest request,
      StreamObserver<SystemSharedMemoryUnregisterResponse> call) {
    remove(system, request.getName());
    worker.answer(
        call,
        "unregister " + request.getName(),
        SystemSharedMemoryUnregisterResponse.getDefaultInstance());
  }

  void status(
      CudaSharedMemoryStatusRequest request, StreamObserver<CudaSharedMemoryStatusResponse> call) {
    CudaSharedMemoryStatusResponse.Builder known = CudaSharedMemoryStatusResponse.newBuilder();
    cuda.forEach(
        (region, told) ->
            known.putRegions(
                region,
                CudaSharedMemoryStatusResponse.RegionStatus.newBuilder()
                    .setName(region)
                    .setDeviceId(told.getDeviceId())
                    .setByteSize(told.getByteSize())
                    .build()));
    FakeWorker.reply(call, known.build());
  }

  void register(
      CudaSharedMemoryRegisterRequest request,
      StreamObserver<CudaSharedMemoryRegisterResponse> call) {
    if (request.getDeviceId() != gpu || request.getByteSize() == 0) {
      call.onError(
          Status.INVALID_ARGUMENT
              .withDescription("this worker's GPU is " + gpu)
              .asRuntimeException());
      return;
    }
    cuda.put(request.getName(), request);
    FakeWorker.reply(call, CudaSharedMemoryRegisterResponse.getDefaultInstance());
  }

  void unregister(
      CudaSharedMemoryUnregisterRequest request,
      StreamObserver<CudaSharedMemoryUnregisterResponse> call) {
    remove(cuda, request.getName());
    FakeWorker.reply(call, CudaSharedMemoryUnregisterResponse.getDefaultInstance());
  }

  /** Removes a region; all of them without a name. */
  private static void remove(Map<String, ?> regions, String name) {
    if (name.isEmpty()) {
      regions.clear();
    } else {
      regions.remove(name);
    }
  }
}
