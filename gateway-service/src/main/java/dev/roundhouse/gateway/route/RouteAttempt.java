package dev.roundhouse.gateway.route;

import dev.roundhouse.gateway.fleet.WorkerView;
import dev.roundhouse.gateway.route.RequestTrace.Why;
import dev.roundhouse.platform.logging.AboutRequest;
import dev.roundhouse.platform.telemetry.SpanExport;
import dev.roundhouse.platform.telemetry.TraceContexts;
import dev.roundhouse.transport.forward.CallRouter.Route;
import dev.roundhouse.transport.forward.LostCall;
import dev.roundhouse.transport.forward.Refusal;
import io.grpc.Status;
import io.opentelemetry.api.trace.SpanContext;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.SocketAddress;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A request at one worker. Not thread-safe, as all attempts of a request. */
public final class RouteAttempt implements Route {
  private static final Logger log = LoggerFactory.getLogger(RouteAttempt.class);
  private static final long NOT_ANSWERING = -1;

  /** Workers that may have begun with one request. */
  private static final int MOST_BEGUN = 2;

  private final RouteContext context;
  private final String model;
  private final int items;
  private final List<WorkerView> serving;
  private final @Nullable ReplicaRouter router;
  private final long work;
  private final boolean bound;
  private final long hedgeAfterNanos;
  private final Reservation reservation;
  private final long began = System.nanoTime();
  private final Why why;

  /** The request's spans; null when it is not sampled. */
  private @Nullable RequestTrace trace;

  private @Nullable SpanContext caller; // invalid when it says of none
  private @Nullable SpanContext span; // this worker's
  private @Nullable String traceparent;
  private @Nullable Asked asked;
  private long answeringNanos = NOT_ANSWERING;

  /**
   * @param router of the model; null when all workers are as good
   * @param bound whether no other worker can answer
   */
  RouteAttempt(
      RouteContext context,
      String model,
      int items,
      List<WorkerView> serving,
      @Nullable ReplicaRouter router,
      long work,
      boolean bound,
      long hedgeAfterNanos,
      Reservation reservation) {
    this.context = context;
    this.model = model;
    this.items = items;
    this.serving = serving;
    this.router = router;
    this.work = work;
    this.bound = bound;
    this.hedgeAfterNanos = hedgeAfterNanos;
    this.reservation = reservation;
    why = Why.FIRST;
  }

  /** A further route of a request already sent to another worker. */
  private RouteAttempt(RouteAttempt before, Asked asked, Why why, Reservation reservation) {
    context = before.context;
    model = before.model;
    items = before.items;
    serving = before.serving;
    router = before.router;
    work = before.work;
    bound = false;
    hedgeAfterNanos = NEVER;
    this.asked = asked;
    this.why = why;
    this.reservation = reservation;
    trace = before.trace;
    caller = before.caller;
    traceparent = before.traceparent;
    if (trace != null) {
      spanBy(trace);
    }
  }

  String model() {
    return model;
  }

  private void spanBy(RequestTrace of) {
    SpanContext own = of.worker();
    span = own;
    traceparent = TraceContexts.traceparent(own);
  }

  /** Also for requests over HTTP, whose router reads the headers itself. */
  @Override
  public void calledIn(@Nullable String parent, @Nullable String state) {
    SpanExport spans = context.spans();
    TraceContexts contexts = spans == null ? null : spans.contexts();
    if (spans == null || contexts == null) {
      return;
    }
    try {
      begin(spans, contexts, contexts.caller(parent, state));
    } catch (Throwable e) { // an Error too: nobody would end what is reserved
      trace = null;
      log(() -> log.warn("a request has no spans", e));
    }
  }

  private void begin(SpanExport spans, TraceContexts contexts, SpanContext caller) {
    SpanContext own = contexts.request(caller);
    this.caller = caller;
    if (own != null) {
      RequestTrace begun = new RequestTrace(spans, contexts, caller, own, model, began);
      trace = begun;
      spanBy(begun);
    } else if (!caller.isValid()) {
      traceparent = contexts.unsampled(); // or the worker would draw again
    }
  }

  @Override
  public @Nullable String traceparent() {
    return traceparent;
  }

  @Override
  public void log(Runnable logging) {
    RequestTrace of = trace;
    new AboutRequest(null, of == null ? caller : of.own()).log(logging);
  }

  private void endSpan(Status status) {
    RequestTrace of = trace;
    SpanContext own = span;
    if (of != null && own != null) {
      of.ended(own, reservation.worker(), why, status, began);
    }
  }

  /** The worker's name. */
  public String worker() {
    return reservation.worker();
  }

  @Override
  public SocketAddress address() {
    return view().address();
  }

  /** Where the worker takes tensor streams. */
  public SocketAddress stream() {
    SocketAddress known = view().stream();
    if (known == null) {
      throw new IllegalStateException("'" + worker() + "' takes no streams");
    }
    return known;
  }

  private WorkerView view() {
    String name = reservation.worker();
    for (WorkerView worker : serving) {
      if (worker.name().equals(name)) {
        return worker;
      }
    }
    throw new IllegalStateException("no worker '" + name + "' serves " + model);
  }

  private Asked asked() {
    Asked known = asked;
    if (known == null) {
      known = new Asked();
      asked = known;
    }
    known.workers.add(reservation.worker());
    return known;
  }

  /** Records the worker's failure; true when another may be asked. */
  private boolean noteFailure(Status status) {
    context.ejection().note(reservation.worker(), status, this);
    boolean gone = status.getCode() == Status.Code.NOT_FOUND;
    boolean isOfTheWorker =
        gone
            || status.getCode() == Status.Code.UNAVAILABLE
            || status.getCause() == Refusal.OF_MODEL;
    if (status.getCause() == Refusal.OF_REQUEST) {
      return false;
    }
    if (isOfTheWorker) {
      context.refresh().run();
    }
    LostCall lost = status.getCause() instanceof LostCall why ? why : null;
    boolean unseen =
        gone
            || status.getCause() instanceof ConnectException
            || status.getCause() == Refusal.OF_MODEL
            || (lost != null && lost.isUnseen());
    boolean mayFollow = isOfTheWorker || unseen;
    if (!bound && !unseen) {
      asked().begun++;
    }
    return mayFollow;
  }

  /**
   * Another worker follows one that cannot be reached or no longer has the model. A request that
   * may have begun may be what ended the worker, so it is begun on two at most.
   */
  @Override
  public @Nullable RouteAttempt other(Status status) {
    if (!noteFailure(status) || bound || asked().begun >= MOST_BEGUN) {
      return null;
    }
    Set<String> had = asked().workers;
    Reservation next = router == null ? null : router.reserveAnother(had, items, work);
    if (next == null) {
      next =
          serving.stream()
              .map(WorkerView::name)
              .filter(name -> !had.contains(name))
              .findFirst()
              .map(name -> context.reserve(name, work))
              .orElse(null);
    }
    if (next == null) {
      return null;
    }
    reservation.close();
    endSpan(status);
    WorkerCalls calls = context.calls().apply(reservation.worker());
    calls.end(status);
    calls.follow();
    context.listener().ended(model, reservation.worker(), status, System.nanoTime() - began, true);
    return new RouteAttempt(this, asked(), Why.FOLLOW, next);
  }

  @Override
  public long hedgeAfterNanos() {
    return hedgeAfterNanos;
  }

  @Override
  public @Nullable Route hedge(InputStream message) {
    return RequestHead.mayRunTwice(message) ? hedge() : null;
  }

  /** Like {@link Route#hedge}, for a request known to be safe to run twice. */
  public @Nullable RouteAttempt hedge() {
    if (router == null || hedgeAfterNanos == NEVER || !context.hedging().take()) {
      return null;
    }
    Reservation second = router.reserveAnother(asked().workers, items, work);
    if (second == null) {
      context.hedging().giveBack();
      return null;
    }
    context.hedging().started();
    context.calls().apply(reservation.worker()).hedge();
    context.calls().apply(second.worker()).take();
    HedgeEvent.tell(model, second.worker());
    RouteAttempt attempt = new RouteAttempt(this, asked(), Why.HEDGE, second);
    attempt.asked();
    return attempt;
  }

  @Override
  public void answering(long nanos) {
    answeringNanos = nanos;
  }

  @Override
  public void superseded(Status status) {
    if (status.getCode() != Status.Code.CANCELLED) {
      noteFailure(status);
    }
    reservation.close();
    context.calls().apply(reservation.worker()).end(status);
    endSpan(status);
  }

  @Override
  public void ended(Status status) {
    context.ejection().note(reservation.worker(), status, this);
    reservation.close();
    WorkerCalls calls = context.calls().apply(reservation.worker());
    calls.end(status);
    if (status.isOk() && answeringNanos != NOT_ANSWERING) {
      context.hedging().answered(model, answeringNanos);
      if (why == Why.HEDGE) {
        context.hedging().won();
        calls.win();
      }
    }
    context.listener().ended(model, reservation.worker(), status, System.nanoTime() - began, false);
    endSpan(status);
    RequestTrace of = trace;
    if (of != null) {
      of.over(status);
    }
  }

  /** The workers that one request was sent to. Not thread-safe, like the request's routes. */
  private static final class Asked {
    final Set<String> workers = new HashSet<>();

    /** Workers that may have begun it and have not answered. */
    int begun;
  }
}
