package dev.roundhouse.gateway.calls;

import dev.roundhouse.gateway.fleet.WorkerLink;
import dev.roundhouse.gateway.fleet.WorkerLook;
import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.kserve.proto.CudaSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryRegisterResponse;
import dev.roundhouse.kserve.proto.CudaSharedMemoryStatusRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryUnregisterRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryUnregisterResponse;
import dev.roundhouse.kserve.proto.SystemSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryRegisterResponse;
import dev.roundhouse.kserve.proto.SystemSharedMemoryStatusRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryStatusResponse;
import dev.roundhouse.kserve.proto.SystemSharedMemoryUnregisterRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryUnregisterResponse;
import io.grpc.Status;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * Clients' shared memory, which every worker that takes requests is told of, since each may get
 * requests that name it. A worker that was away, or has restarted, is told before it gets requests.
 * Thread-safe.
 */
public final class SharedRegions {
  private final Workers workers;
  private final Duration timeout;
  private final KnownRegions<
          SystemSharedMemoryRegisterRequest,
          SystemSharedMemoryRegisterResponse,
          SystemSharedMemoryUnregisterResponse>
      system;

  /** On GPUs; a handle is of one of them, so that workers of others refuse it. */
  private final KnownRegions<
          CudaSharedMemoryRegisterRequest,
          CudaSharedMemoryRegisterResponse,
          CudaSharedMemoryUnregisterResponse>
      cuda;

  /**
   * @param timeout of a worker
   */
  public SharedRegions(Workers workers, Duration timeout) {
    this.workers = workers;
    this.timeout = timeout;
    system = new KnownRegions<>("shared memory", workers, new SystemCalls(timeout));
    cuda = new KnownRegions<>("CUDA shared memory", workers, new CudaCalls(timeout));
  }

  /** Registers with all workers that are there, or with none. */
  public CompletableFuture<SystemSharedMemoryRegisterResponse> register(
      SystemSharedMemoryRegisterRequest request) {
    return system.register(request.getName(), request);
  }

  /** Unregisters with all workers that are there. */
  public CompletableFuture<SystemSharedMemoryUnregisterResponse> unregister(
      SystemSharedMemoryUnregisterRequest request) {
    return system.unregister(request.getName());
  }

  /** Registers with all workers that are there, or with none. */
  public CompletableFuture<CudaSharedMemoryRegisterResponse> register(
      CudaSharedMemoryRegisterRequest request) {
    return cuda.register(request.getName(), request);
  }

  /** Unregisters with all workers that are there. */
  public CompletableFuture<CudaSharedMemoryUnregisterResponse> unregister(
      CudaSharedMemoryUnregisterRequest request) {
    return cuda.unregister(request.getName());
  }

  /** What the first worker that answers has of them: all have the same. */
  public CompletableFuture<SystemSharedMemoryStatusResponse> status(
      SystemSharedMemoryStatusRequest request) {
    return Replies.of(
            workers.ready(),
            worker -> worker.ask(timeout, stub -> stub.systemSharedMemoryStatus(request)))
        .thenApply(replies -> replies.answersOrRefusal().getFirst());
  }

  /** Tells a worker that was looked at of the regions that it does not know. */
  public CompletableFuture<WorkerLook> complete(CompletableFuture<WorkerLook> look) {
    return look.thenCompose(
        seen -> seen.ready() ? complete(seen) : CompletableFuture.completedFuture(seen));
  }

  private CompletableFuture<WorkerLook> complete(WorkerLook seen) {
    return CompletableFuture.allOf(system.complete(seen.link()), cuda.complete(seen.link()))
        .handle(
            (done, failure) ->
                failure == null || isThere(failure)
                    ? seen
                    : seen.notReady(
                        "its shared memory is not known: " + Status.fromThrowable(failure)));
  }

  /** It has too little memory for this call, or too many regions for one answer; it serves. */
  private static boolean isThere(Throwable failure) {
    return Status.fromThrowable(failure).getCode() == Status.Code.RESOURCE_EXHAUSTED;
  }

  private record SystemCalls(Duration timeout)
      implements KnownRegions.Calls<
          SystemSharedMemoryRegisterRequest,
          SystemSharedMemoryRegisterResponse,
          SystemSharedMemoryUnregisterResponse> {
    @Override
    public CompletableFuture<SystemSharedMemoryRegisterResponse> register(
        WorkerLink worker, SystemSharedMemoryRegisterRequest request) {
      return worker.ask(timeout, stub -> stub.systemSharedMemoryRegister(request));
    }

    @Override
    public CompletableFuture<SystemSharedMemoryUnregisterResponse> unregister(
        WorkerLink worker, String name) {
      SystemSharedMemoryUnregisterRequest request =
          SystemSharedMemoryUnregisterRequest.newBuilder().setName(name).build();
      return worker.ask(timeout, stub -> stub.systemSharedMemoryUnregister(request));
    }

    @Override
    public CompletableFuture<Set<String>> names(WorkerLink worker) {
      SystemSharedMemoryStatusRequest all = SystemSharedMemoryStatusRequest.getDefaultInstance();
      return worker
          .ask(timeout, stub -> stub.systemSharedMemoryStatus(all))
          .thenApply(known -> known.getRegionsMap().keySet());
    }
  }

  private record CudaCalls(Duration timeout)
      implements KnownRegions.Calls<
          CudaSharedMemoryRegisterRequest,
          CudaSharedMemoryRegisterResponse,
          CudaSharedMemoryUnregisterResponse> {
    @Override
    public CompletableFuture<CudaSharedMemoryRegisterResponse> register(
        WorkerLink worker, CudaSharedMemoryRegisterRequest request) {
      return worker.ask(timeout, stub -> stub.cudaSharedMemoryRegister(request));
    }

    @Override
    public CompletableFuture<CudaSharedMemoryUnregisterResponse> unregister(
        WorkerLink worker, String name) {
      CudaSharedMemoryUnregisterRequest request =
          CudaSharedMemoryUnregisterRequest.newBuilder().setName(name).build();
      return worker.ask(timeout, stub -> stub.cudaSharedMemoryUnregister(request));
    }

    @Override
    public CompletableFuture<Set<String>> names(WorkerLink worker) {
      CudaSharedMemoryStatusRequest all = CudaSharedMemoryStatusRequest.getDefaultInstance();
      return worker
          .ask(timeout, stub -> stub.cudaSharedMemoryStatus(all))
          .thenApply(known -> known.getRegionsMap().keySet());
    }
  }
}
