package dev.roundhouse.gateway.rest;

import dev.roundhouse.gateway.fleet.WorkerLink;
import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.gateway.route.ModelRoutes.WorkerRoute;
import dev.roundhouse.grpc.CallRouter.Route;
import dev.roundhouse.grpc.LostCall;
import dev.roundhouse.grpc.LostCall.Fault;
import dev.roundhouse.grpc.LostCall.Seen;
import dev.roundhouse.grpc.Refusal;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.platform.rest.ClientConnection;
import io.grpc.Status;
import io.grpc.StatusException;
import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpResponse;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.apache.catalina.connector.ClientAbortException;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpStatus;

/**
 * One inference at the worker that was chosen for it, at another when that one cannot answer, and
 * at a second one beside it when it takes long. For the thread of the request.
 */
final class AskedWorkers implements AutoCloseable {
  private final HttpServletRequest request;
  private final BodyHead body;
  private final Workers workers;
  private final WorkerHttp http;
  private final BooleanSupplier mayRunTwice;
  private final BlockingQueue<Attempt> told = new LinkedBlockingQueue<>();
  private final long beganNanos = System.nanoTime();

  /** After how long a second worker is asked; {@link Route#NEVER} once that is settled. */
  private long hedgeAfterNanos;

  private Attempt first;
  private @Nullable Attempt second;
  private Status end = Status.CANCELLED;

  /**
   * @param route taken: told how the request ends
   * @param mayRunTwice whether a second worker may be asked as well; asked when one is to be
   */
  AskedWorkers(
      HttpServletRequest request,
      BodyHead body,
      Workers workers,
      WorkerHttp http,
      WorkerRoute route,
      BooleanSupplier mayRunTwice) {
    this.request = request;
    this.body = body;
    this.workers = workers;
    this.http = http;
    this.mayRunTwice = mayRunTwice;
    hedgeAfterNanos = body.isWhole() ? route.hedgeAfterNanos() : Route.NEVER;
    first = new Attempt(route);
  }

  /**
   * Waits for the head of an answer; its body is the caller's to close.
   *
   * @throws StatusException when no worker that may be asked has answered
   * @throws IOException when the request's own body could not be read
   * @throws ClientAbortException when the client has gone
   */
  HttpResponse<InputStream> answer(long maxBodyBytes) throws IOException, StatusException {
    first.begin();
    while (true) {
      Attempt next = await();
      HttpResponse<InputStream> answer = next.answered();
      if (answer == null) {
        body.requireWithin(maxBodyBytes);
      }
      Status status = answer == null ? next.failure() : status(answer);
      boolean mine = answer != null && answer.headers().firstValue(WireException.BEGAN).isPresent();
      if (!mine && goesOnWithout(next, status)) {
        if (answer != null) {
          answer.body().close();
        }
        continue;
      }
      win(next);
      end = status;
      if (answer == null) {
        throw status.asException();
      }
      if (answer.statusCode() == HttpStatus.OK.value()) {
        next.route.answering(System.nanoTime() - beganNanos);
      }
      return answer;
    }
  }

  private Attempt await() throws IOException {
    ClientConnection client = ClientConnection.of(request);
    boolean bodyIsRead = request.getInputStream().isFinished();
    try {
      while (true) {
        Attempt next = told.poll(waitNanos(), TimeUnit.NANOSECONDS);
        if (next != null && (next == first || next == second)) {
          return next;
        }
        if (bodyIsRead && client.isGone()) {
          throw new ClientAbortException("the client has gone");
        }
        if (System.nanoTime() - beganNanos >= hedgeAfterNanos) {
          hedge();
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    }
  }

  private long waitNanos() {
    long look = TimeUnit.MILLISECONDS.toNanos(WorkerHttp.LOOK_MILLIS);
    return hedgeAfterNanos == Route.NEVER
        ? look
        : Math.clamp(hedgeAfterNanos - (System.nanoTime() - beganNanos), 0, look);
  }

  private void hedge() {
    hedgeAfterNanos = Route.NEVER;
    WorkerRoute other = mayRunTwice.getAsBoolean() ? first.route.hedge() : null;
    if (other != null) {
      second = new Attempt(other);
      second.begin();
    }
  }

  /** True when a worker could not answer, and another has been asked or is asked now. */
  private boolean goesOnWithout(Attempt failed, Status status) {
    Attempt also = second;
    if (also != null) {
      if (status.isOk()) {
        return false;
      }
      first = failed == also ? first : also;
      second = null;
      failed.route.gaveWay(status);
      return true;
    }
    boolean follows =
        status.getCode() == Status.Code.UNAVAILABLE
            || status.getCode() == Status.Code.NOT_FOUND
            || status.getCause() == Refusal.OF_MODEL;
    WorkerRoute other = follows && body.isWhole() ? failed.route.other(status) : null;
    if (other == null) {
      return false;
    }
    hedgeAfterNanos = Route.NEVER;
    first = new Attempt(other);
    first.begin();
    return true;
  }

  private void win(Attempt winner) {
    Attempt loser = winner == first ? second : first;
    first = winner;
    second = null;
    if (loser != null) {
      loser.drop();
      loser.route.gaveWay(Status.CANCELLED);
    }
  }

  /** Who has not answered need not any more. */
  @Override
  public void close() {
    Attempt also = second;
    if (also != null) {
      also.drop();
      also.route.gaveWay(Status.CANCELLED);
    }
    first.drop();
    first.route.ended(end);
  }

  /** The answer could not be given to the client. */
  void notPassedOn() {
    end = Status.CANCELLED;
  }

  /** As far as it matters for whether another is asked. */
  private static Status status(HttpResponse<?> answer) {
    Refusal refusal = Refusal.read(answer.headers().firstValue(WireException.ABOUT).orElse(null));
    return switch (HttpStatus.resolve(answer.statusCode())) {
      case SERVICE_UNAVAILABLE -> Status.UNAVAILABLE.withCause(refusal);
      case BAD_REQUEST ->
          refusal == Refusal.OF_MODEL
              ? Status.FAILED_PRECONDITION.withCause(refusal)
              : Status.OK; // the client's fault, wherever it is asked
      case NOT_FOUND -> Status.NOT_FOUND;
      case TOO_MANY_REQUESTS -> Status.RESOURCE_EXHAUSTED;
      case null, default -> Status.OK;
    };
  }

  /** The request at one worker. */
  private final class Attempt {
    private final WorkerRoute route;
    private CompletableFuture<HttpResponse<InputStream>> answer = new CompletableFuture<>();
    private boolean taken;

    Attempt(WorkerRoute route) {
      this.route = route;
    }

    void begin() {
      answer =
          workers
              .worker(route.worker())
              .map(WorkerLink::worker)
              .map(worker -> http.infer(request, worker.http(), body.publisher(), body.caller()))
              .orElseGet(
                  () ->
                      CompletableFuture.failedFuture(
                          new LostCall("the worker is none any more", Seen.NO, Fault.NOBODYS)));
      var unused = answer.whenComplete((head, failure) -> told.add(this));
    }

    /** Null when there is none. */
    @Nullable HttpResponse<InputStream> answered() {
      taken = !answer.isCompletedExceptionally();
      return taken ? answer.join() : null;
    }

    /** Why there is no answer. */
    Status failure() {
      Throwable cause = answer.exceptionNow();
      while (cause instanceof CompletionException && cause.getCause() != null) {
        cause = cause.getCause();
      }
      String why = cause.getMessage();
      String text =
          "worker '%s' cannot be reached: %s"
              .formatted(route.worker(), why == null ? cause.getClass().getSimpleName() : why);
      return Status.UNAVAILABLE.withDescription(text).withCause(cause(cause, text));
    }

    /** What {@link WorkerRoute#other} is told. */
    private Throwable cause(Throwable cause, String text) {
      if (cause instanceof HttpConnectTimeoutException) {
        return new ConnectException(text);
      }
      boolean isOurs = body.isBroken() || !(cause instanceof IOException);
      return isOurs && !(cause instanceof LostCall)
          ? new LostCall(text, Seen.MAYBE, Fault.NOBODYS)
          : cause;
    }

    /** Its answer is not wanted, or is somebody else's to close. */
    void drop() {
      if (taken) {
        return;
      }
      answer.cancel(true);
      var unused =
          answer.whenComplete(
              (head, failure) -> {
                if (head != null) {
                  close(head.body());
                }
              });
    }

    private static void close(InputStream body) {
      try {
        body.close();
      } catch (IOException e) {
        // its connection is closed all the same
      }
    }
  }
}
