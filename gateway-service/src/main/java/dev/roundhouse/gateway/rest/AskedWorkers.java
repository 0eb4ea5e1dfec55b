package dev.roundhouse.gateway.rest;

import dev.roundhouse.gateway.fleet.WorkerLink;
import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.gateway.route.ModelRoutes.WorkerRoute;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.transport.forward.Attempts;
import dev.roundhouse.transport.forward.CallRouter.Route;
import dev.roundhouse.transport.forward.LostCall;
import dev.roundhouse.transport.forward.LostCall.Fault;
import dev.roundhouse.transport.forward.LostCall.Seen;
import dev.roundhouse.transport.forward.Refusal;
import io.grpc.Status;
import io.grpc.StatusException;
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
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpStatus;

/** One inference at the workers that {@link Attempts} says. For the thread of the request. */
final class AskedWorkers implements Attempts.Sender<AskedWorkers.Attempt>, AutoCloseable {
  private final ProxiedRequest request;
  private final WholeBody body;
  private final Workers workers;
  private final WorkerHttp http;
  private final BooleanSupplier mayRunTwice;
  private final BlockingQueue<Attempt> told = new LinkedBlockingQueue<>();
  private final WorkerRoute firstRoute;
  private final Attempts<Attempt> attempts = new Attempts<>(this, System::nanoTime);

  /** When a second worker is asked; {@link Route#NEVER} once that is settled. */
  private long hedgeAtNanos = Route.NEVER;

  private Status end = Status.CANCELLED;

  /**
   * @param route taken: told how the request ends
   * @param mayRunTwice whether a second worker may be asked as well; asked when one is to be
   */
  AskedWorkers(
      ProxiedRequest request,
      WholeBody body,
      Workers workers,
      WorkerHttp http,
      WorkerRoute route,
      BooleanSupplier mayRunTwice) {
    this.request = request;
    this.body = body;
    this.workers = workers;
    this.http = http;
    this.mayRunTwice = mayRunTwice;
    firstRoute = route;
  }

  /**
   * Waits for the head of an answer; its body is the caller's to close.
   *
   * @throws StatusException when no worker that may be asked has answered
   * @throws IOException when the client has gone
   */
  HttpResponse<InputStream> answer() throws IOException, StatusException {
    if (body.canBeSentAgain()) {
      attempts.whole();
    }
    attempts.begin(firstRoute);
    while (true) {
      Attempt next = await();
      HttpResponse<InputStream> answer = next.answered();
      Status status = answer == null ? next.failure() : status(answer);
      boolean keeps =
          answer != null && answer.headers().firstValue(WireException.BEGAN).isPresent();
      boolean isEnd =
          answer == null ? attempts.lost(next, status) : attempts.said(next, status, keeps);
      if (!isEnd) {
        if (answer != null) {
          answer.body().close();
        }
        continue;
      }
      end = status;
      if (answer == null) {
        throw status.asException();
      }
      if (answer.statusCode() == HttpStatus.OK.value()) {
        attempts.answering();
      }
      return answer;
    }
  }

  private Attempt await() throws IOException {
    try {
      while (true) {
        Attempt next = told.poll(waitNanos(), TimeUnit.NANOSECONDS);
        if (next != null && attempts.isAsked(next)) {
          return next;
        }
        if (request.isGone()) {
          throw new IOException("the client has gone");
        }
        if (hedgeAtNanos != Route.NEVER && System.nanoTime() - hedgeAtNanos >= 0) {
          hedgeNoMore();
          attempts.hedgeIsDue();
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    }
  }

  private long waitNanos() {
    long look = TimeUnit.MILLISECONDS.toNanos(WorkerHttp.LOOK_MILLIS);
    return hedgeAtNanos == Route.NEVER
        ? look
        : Math.clamp(hedgeAtNanos - System.nanoTime(), 0, look);
  }

  @Override
  public Attempt attempt(Route route, boolean isAgain) {
    return new Attempt((WorkerRoute) route, isAgain);
  }

  @Override
  public void send(Attempt attempt) {
    attempt.begin(attempts.spentNanos());
  }

  @Override
  public boolean canBeSentAgain() {
    return body.canBeSentAgain();
  }

  @Override
  public @Nullable Route second(Attempt first) {
    return mayRunTwice.getAsBoolean() ? first.route.hedge() : null;
  }

  @Override
  public void hedgeAfter(long nanos) {
    hedgeAtNanos = System.nanoTime() + nanos;
  }

  @Override
  public void hedgeNoMore() {
    hedgeAtNanos = Route.NEVER;
  }

  /** Who has not answered need not any more. */
  @Override
  public void close() {
    attempts.ended(end);
    attempts.leave();
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
  final class Attempt implements Attempts.Attempt {
    private final WorkerRoute route;
    private final boolean isAgain;
    private CompletableFuture<HttpResponse<InputStream>> answer = new CompletableFuture<>();
    private boolean taken;

    Attempt(WorkerRoute route, boolean isAgain) {
      this.route = route;
      this.isAgain = isAgain;
    }

    @Override
    public Route route() {
      return route;
    }

    @Override
    public boolean isAgain() {
      return isAgain;
    }

    /**
     * @param spentNanos of the request's budget; 0 when no other was asked before
     */
    void begin(long spentNanos) {
      answer =
          workers
              .worker(route.worker())
              .map(WorkerLink::worker)
              .map(worker -> http.infer(request, worker.http(), body.publisher(), spentNanos))
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
      return !(cause instanceof IOException) && !(cause instanceof LostCall)
          ? new LostCall(text, Seen.MAYBE, Fault.NOBODYS)
          : cause;
    }

    /** Its answer is not wanted, or is somebody else's to close. */
    @Override
    public void leave() {
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
