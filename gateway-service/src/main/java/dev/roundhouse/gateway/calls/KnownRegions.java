package dev.roundhouse.gateway.calls;

import static java.util.stream.Collectors.toUnmodifiableMap;

import dev.roundhouse.gateway.calls.Replies.Reply;
import dev.roundhouse.gateway.fleet.WorkerLink;
import dev.roundhouse.gateway.fleet.Workers;
import io.grpc.Status;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Regions of one kind that clients have registered, for workers to be told. Several gateways may
 * stand before the same workers: a region that a worker had, and has not any more though it has not
 * started again, was unregistered through another of them, and is forgotten here too. Thread-safe.
 *
 * @param <Q> registers a region
 * @param <R> a worker's answer to that
 * @param <U> a worker's answer to unregistering one
 */
final class KnownRegions<Q, R, U> {
  private static final Logger log = LoggerFactory.getLogger(KnownRegions.class);

  private final String kind;
  private final Workers workers;
  private final Calls<Q, R, U> calls;
  private final Map<String, Region<Q>> registered = new ConcurrentHashMap<>();

  /**
   * @param instances which start of a worker has it, see {@link WorkerLink#instance}, by the
   *     worker's name
   */
  private record Region<Q>(Q request, Map<String, String> instances) {
    Region<Q> with(WorkerLink worker) {
      Map<String, String> more = new HashMap<>(instances);
      more.put(worker.name(), worker.instance());
      return new Region<>(request, Map.copyOf(more));
    }

    boolean isAt(WorkerLink worker) {
      String instance = worker.instance();
      return !instance.isEmpty() && instance.equals(instances.get(worker.name()));
    }
  }

  /** The calls to a worker. */
  interface Calls<Q, R, U> {
    CompletableFuture<R> register(WorkerLink worker, Q request);

    /**
     * @param name empty for all regions
     */
    CompletableFuture<U> unregister(WorkerLink worker, String name);

    /** Which it knows. */
    CompletableFuture<Set<String>> names(WorkerLink worker);
  }

  /**
   * @param kind of memory, in log records
   */
  KnownRegions(String kind, Workers workers, Calls<Q, R, U> calls) {
    this.kind = kind;
    this.workers = workers;
    this.calls = calls;
  }

  /** Registers with all workers that are there, or with none. */
  CompletableFuture<R> register(String name, Q request) {
    List<WorkerLink> asked = workers.ready();
    Map<String, String> instances =
        asked.stream().collect(toUnmodifiableMap(WorkerLink::name, WorkerLink::instance));
    return Replies.of(asked, worker -> calls.register(worker, request))
        .thenCompose(
            replies -> {
              try {
                R answer = replies.answersOfAll().getFirst();
                registered.put(name, new Region<>(request, instances));
                return CompletableFuture.completedFuture(answer);
              } catch (RuntimeException refusal) {
                return takeBack(replies, name, refusal);
              }
            });
  }

  /** Those that did register are not left with it, unless they had it before. */
  private CompletableFuture<R> takeBack(Replies<R> replies, String name, RuntimeException refusal) {
    List<CompletableFuture<?>> undone = new ArrayList<>();
    if (!registered.containsKey(name)) {
      for (Reply<R> reply : replies.all()) {
        if (reply.isOk()) {
          workers
              .worker(reply.worker())
              .ifPresent(worker -> undone.add(calls.unregister(worker, name).handle((u, e) -> u)));
        }
      }
    }
    return CompletableFuture.allOf(undone.toArray(CompletableFuture<?>[]::new))
        .thenCompose(done -> CompletableFuture.failedFuture(refusal));
  }

  /**
   * Unregisters with all current workers.
   *
   * @param name empty for all regions
   */
  CompletableFuture<U> unregister(String name) {
    return Replies.of(workers.ready(), worker -> calls.unregister(worker, name))
        .thenApply(
            replies -> {
              U answer = replies.answersOfAll().getFirst();
              if (name.isEmpty()) {
                registered.clear();
              } else {
                registered.remove(name);
              }
              return answer;
            });
  }

  /**
   * Tells a worker of the regions that it does not know. One that it refuses is given up.
   *
   * @return fails when it cannot be asked which it knows
   */
  CompletableFuture<Void> complete(WorkerLink worker) {
    if (registered.isEmpty()) {
      return CompletableFuture.completedFuture(null);
    }
    Map<String, Region<Q>> before = Map.copyOf(registered);
    return calls.names(worker).thenCompose(present -> complete(worker, before, present));
  }

  /**
   * @param before what was registered when the worker was asked what it has
   */
  private CompletableFuture<Void> complete(
      WorkerLink worker, Map<String, Region<Q>> before, Set<String> present) {
    List<CompletableFuture<?>> told = new ArrayList<>();
    before.forEach(
        (name, region) -> {
          if (present.contains(name)) {
            noteAt(worker, name, region);
          } else if (region.isAt(worker)) {
            forget(worker, name, region);
          } else {
            told.add(
                calls
                    .register(worker, region.request)
                    .handle((done, failure) -> noted(worker, name, region, failure))
                    .thenCompose(done -> withdrawn(worker, name)));
          }
        });
    return CompletableFuture.allOf(told.toArray(CompletableFuture<?>[]::new));
  }

  private void noteAt(WorkerLink worker, String name, Region<Q> region) {
    if (!region.isAt(worker)) {
      registered.computeIfPresent(
          name, (same, now) -> now.request == region.request ? now.with(worker) : now);
    }
  }

  private void forget(WorkerLink worker, String name, Region<Q> region) {
    if (isDropped(name, region)) {
      log.info(
          "{} '{}' has been unregistered at worker '{}', and not through this gateway",
          kind,
          name,
          worker.name());
    }
  }

  /** False when it has been registered again meanwhile, or is gone. */
  private boolean isDropped(String name, Region<Q> region) {
    Region<Q> now = registered.get(name);
    return now != null && now.request == region.request && registered.remove(name, now);
  }

  private @Nullable Void noted(
      WorkerLink worker, String name, Region<Q> region, @Nullable Throwable failure) {
    if (failure == null) {
      noteAt(worker, name, region);
      log.info("worker '{}' has been told of {} '{}' again", worker.name(), kind, name);
    } else if (isRefusal(Status.fromThrowable(failure)) && isDropped(name, region)) {
      log.warn(
          "{} '{}' is given up: worker '{}' cannot open it any more ({})",
          kind,
          name,
          worker.name(),
          Status.fromThrowable(failure).getDescription());
    }
    return null;
  }

  /** Unregisters what was unregistered while the worker was told of it. */
  private CompletableFuture<?> withdrawn(WorkerLink worker, String name) {
    return registered.containsKey(name)
        ? CompletableFuture.completedFuture(null)
        : calls.unregister(worker, name).handle((done, failure) -> null);
  }

  /** What the worker would say again; anything else is tried at the next look. */
  private static boolean isRefusal(Status status) {
    return status.getCode() == Status.Code.INVALID_ARGUMENT
        || status.getCode() == Status.Code.UNIMPLEMENTED;
  }
}
