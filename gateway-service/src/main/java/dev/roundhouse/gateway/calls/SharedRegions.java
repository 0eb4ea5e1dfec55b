package dev.roundhouse.gateway.calls;

import dev.roundhouse.gateway.calls.Replies.Reply;
import dev.roundhouse.gateway.fleet.WorkerLink;
import dev.roundhouse.gateway.fleet.WorkerLook;
import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.kserve.proto.CudaSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryRegisterResponse;
import dev.roundhouse.kserve.proto.CudaSharedMemoryUnregisterRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryRegisterResponse;
import dev.roundhouse.kserve.proto.SystemSharedMemoryStatusRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryStatusResponse;
import dev.roundhouse.kserve.proto.SystemSharedMemoryUnregisterRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryUnregisterResponse;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Memory of clients, which every worker that takes requests is told of, since each may get the
 * requests that name it. A worker that was away, or has started again, is told before it gets
 * requests. Thread-safe.
 */
public final class SharedRegions {
  private static final Logger log = LoggerFactory.getLogger(SharedRegions.class);

  private final Workers workers;
  private final Duration timeout;
  private final Map<String, SystemSharedMemoryRegisterRequest> registered =
      new ConcurrentHashMap<>();

  /**
   * @param timeout of a worker
   */
  public SharedRegions(Workers workers, Duration timeout) {
    this.workers = workers;
    this.timeout = timeout;
  }

  /** Registers with all workers that are there, or with none. */
  public CompletableFuture<SystemSharedMemoryRegisterResponse> register(
      SystemSharedMemoryRegisterRequest request) {
    return Replies.of(workers.ready(), worker -> register(worker, request))
        .thenCompose(
            replies -> {
              try {
                SystemSharedMemoryRegisterResponse answer = replies.answersOfAll().getFirst();
                registered.put(request.getName(), request);
                return CompletableFuture.completedFuture(answer);
              } catch (RuntimeException refusal) {
                return takeBack(replies, request.getName(), refusal);
              }
            });
  }

  /** Those that did register are not left with it, unless they had it before. */
  private CompletableFuture<SystemSharedMemoryRegisterResponse> takeBack(
      Replies<SystemSharedMemoryRegisterResponse> replies, String name, RuntimeException refusal) {
    List<CompletableFuture<?>> undone = new ArrayList<>();
    if (!registered.containsKey(name)) {
      for (Reply<SystemSharedMemoryRegisterResponse> reply : replies.all()) {
        if (reply.isOk()) {
          workers
              .worker(reply.worker())
              .ifPresent(worker -> undone.add(unregister(worker, name).exceptionally(e -> null)));
        }
      }
    }
    return CompletableFuture.allOf(undone.toArray(CompletableFuture<?>[]::new))
        .thenCompose(done -> CompletableFuture.failedFuture(refusal));
  }

  /** Unregisters with all workers that are there. */
  public CompletableFuture<SystemSharedMemoryUnregisterResponse> unregister(
      SystemSharedMemoryUnregisterRequest request) {
    return Replies.of(workers.ready(), worker -> unregister(worker, request.getName()))
        .thenApply(
            replies -> {
              SystemSharedMemoryUnregisterResponse answer = replies.answersOfAll().getFirst();
              if (request.getName().isEmpty()) {
                registered.clear();
              } else {
                registered.remove(request.getName());
              }
              return answer;
            });
  }

  /**
   * Registers memory on a GPU with all workers that are there, or with none: a request may come to
   * any of them, and a handle is of one GPU. A worker that starts again is not told.
   */
  public CompletableFuture<CudaSharedMemoryRegisterResponse> register(
      CudaSharedMemoryRegisterRequest request) {
    return Replies.of(
            workers.ready(),
            worker -> worker.ask(timeout, stub -> stub.cudaSharedMemoryRegister(request)))
        .thenCompose(
            replies -> {
              try {
                return CompletableFuture.completedFuture(replies.answersOfAll().getFirst());
              } catch (RuntimeException refusal) {
                return forget(replies, request.getName(), refusal);
              }
            });
  }

  private CompletableFuture<CudaSharedMemoryRegisterResponse> forget(
      Replies<CudaSharedMemoryRegisterResponse> replies, String name, RuntimeException refusal) {
    CudaSharedMemoryUnregisterRequest undo =
        CudaSharedMemoryUnregisterRequest.newBuilder().setName(name).build();
    List<CompletableFuture<?>> undone = new ArrayList<>();
    for (Reply<CudaSharedMemoryRegisterResponse> reply : replies.all()) {
      if (reply.isOk()) {
        workers
            .worker(reply.worker())
            .ifPresent(
                worker ->
                    undone.add(
                        worker
                            .ask(timeout, stub -> stub.cudaSharedMemoryUnregister(undo))
                            .exceptionally(e -> null)));
      }
    }
    return CompletableFuture.allOf(undone.toArray(CompletableFuture<?>[]::new))
        .thenCompose(done -> CompletableFuture.failedFuture(refusal));
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
        seen ->
            seen.ready() && !registered.isEmpty()
                ? complete(seen)
                : CompletableFuture.completedFuture(seen));
  }

  private CompletableFuture<WorkerLook> complete(WorkerLook seen) {
    WorkerLink worker = seen.link();
    return worker
        .ask(
            timeout,
            stub ->
                stub.systemSharedMemoryStatus(SystemSharedMemoryStatusRequest.getDefaultInstance()))
        .thenCompose(status -> registerMissing(worker, status.getRegionsMap().keySet()))
        .handle(
            (done, failure) ->
                failure == null
                    ? seen
                    : seen.notReady(
                        "its shared memory is not known: " + Status.fromThrowable(failure)));
  }

  private CompletableFuture<Void> registerMissing(WorkerLink worker, Set<String> present) {
    List<CompletableFuture<?>> told = new ArrayList<>();
    registered.forEach(
        (name, request) -> {
          if (!present.contains(name)) {
            told.add(register(worker, request).handle((done, e) -> noted(worker, name, e)));
          }
        });
    return CompletableFuture.allOf(told.toArray(CompletableFuture<?>[]::new));
  }

  private @Nullable Void noted(WorkerLink worker, String name, @Nullable Throwable failure) {
    if (failure == null) {
      log.info("worker '{}' has been told of shared memory '{}' again", worker.name(), name);
    } else if (Status.fromThrowable(failure).getCode() == Status.Code.INVALID_ARGUMENT) {
      log.warn(
          "shared memory '{}' is given up: worker '{}' cannot open it any more ({})",
          name,
          worker.name(),
          Status.fromThrowable(failure).getDescription());
      registered.remove(name);
    }
    return null;
  }

  private CompletableFuture<SystemSharedMemoryRegisterResponse> register(
      WorkerLink worker, SystemSharedMemoryRegisterRequest request) {
    return worker.ask(timeout, stub -> stub.systemSharedMemoryRegister(request));
  }

  private CompletableFuture<SystemSharedMemoryUnregisterResponse> unregister(
      WorkerLink worker, String name) {
    SystemSharedMemoryUnregisterRequest request =
        SystemSharedMemoryUnregisterRequest.newBuilder().setName(name).build();
    return worker.ask(timeout, stub -> stub.systemSharedMemoryUnregister(request));
  }
}
