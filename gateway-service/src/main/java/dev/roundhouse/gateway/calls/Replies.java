package dev.roundhouse.gateway.calls;

import dev.roundhouse.gateway.fleet.WorkerLink;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What several workers have answered to the same call.
 *
 * @param all in the order of the workers
 */
record Replies<T>(List<Reply<T>> all) {

  /**
   * @param answer null when the call failed
   */
  record Reply<T>(String worker, @Nullable T answer, Status status) {
    boolean isOk() {
      return status.isOk();
    }

    /** True when the worker was not there to answer. */
    boolean isAbsent() {
      return status.getCode() == Status.Code.UNAVAILABLE
          || status.getCode() == Status.Code.DEADLINE_EXCEEDED;
    }
  }

  /**
   * Asks every worker; the future never fails.
   *
   * @throws StatusRuntimeException UNAVAILABLE when there is no worker
   */
  static <T> CompletableFuture<Replies<T>> of(
      List<WorkerLink> workers, Function<WorkerLink, CompletableFuture<T>> call) {
    if (workers.isEmpty()) {
      throw Status.UNAVAILABLE.withDescription("no worker is ready").asRuntimeException();
    }
    List<CompletableFuture<Reply<T>>> asked = new ArrayList<>(workers.size());
    for (WorkerLink worker : workers) {
      asked.add(
          call.apply(worker).handle((answer, failure) -> reply(worker.name(), answer, failure)));
    }
    return CompletableFuture.allOf(asked.toArray(CompletableFuture<?>[]::new))
        .thenApply(done -> new Replies<>(asked.stream().map(CompletableFuture::join).toList()));
  }

  private static <T> Reply<T> reply(
      String worker, @Nullable T answer, @Nullable Throwable failure) {
    return failure == null
        ? new Reply<>(worker, answer, Status.OK)
        : new Reply<>(worker, null, Status.fromThrowable(failure));
  }

  /** The answers of those that have one. */
  List<T> answers() {
    List<T> answers = new ArrayList<>(all.size());
    for (Reply<T> reply : all) {
      if (reply.answer() != null) {
        answers.add(reply.answer());
      }
    }
    return answers;
  }

  /**
   * The answers of those that have one.
   *
   * @throws StatusRuntimeException what the first that was there refused with, when none has one
   */
  List<T> answersOrRefusal() {
    List<T> answers = answers();
    if (answers.isEmpty()) {
      throw refusal();
    }
    return answers;
  }

  /**
   * The answers of those that are there.
   *
   * @throws StatusRuntimeException what the first that was there refused with, if one did, or why
   *     none was there
   */
  List<T> answersOfAll() {
    for (Reply<T> reply : all) {
      if (!reply.isOk() && !reply.isAbsent()) {
        throw refusal();
      }
    }
    return answersOrRefusal();
  }

  private StatusRuntimeException refusal() {
    Reply<T> first =
        all.stream()
            .filter(reply -> !reply.isOk() && !reply.isAbsent())
            .findFirst()
            .orElse(all.getFirst());
    return first.status().asRuntimeException();
  }
}
