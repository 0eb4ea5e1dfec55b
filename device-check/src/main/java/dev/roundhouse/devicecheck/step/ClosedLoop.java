package dev.roundhouse.devicecheck.step;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Callers that send the next request as soon as the last has been answered, and check every answer.
 * Thread-safe.
 */
final class ClosedLoop {
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private final Engine engine;
  private final Supplier<WeighedModel> choice;

  // Guarded by this.
  private final List<Long> nanos = new ArrayList<>();
  private final Map<Status, Integer> refusals = new EnumMap<>(Status.class);
  private String firstRefusal = "";
  private int wrong;

  private ClosedLoop(Engine engine, Supplier<WeighedModel> choice) {
    this.engine = engine;
    this.choice = choice;
  }

  /**
   * What came of it.
   *
   * @param nanos from request to answer, ascending
   * @param wrong answers that were not what the model's weights say
   * @param refusals requests that were not answered
   * @param firstRefusal why; empty when there was none
   */
  record Result(
      long[] nanos, int wrong, Map<Status, Integer> refusals, String firstRefusal, double seconds) {
    boolean isRight() {
      return wrong == 0 && refusals.isEmpty();
    }

    /** In milliseconds. */
    double percentile(double part) {
      return nanos.length == 0 ? Double.NaN : nanos[(int) (part * (nanos.length - 1))] / 1e6;
    }

    String complaints() {
      return isRight()
          ? nanos.length + " answers, all right"
          : "%d answers, %d wrong, not answered: %s %s"
              .formatted(nanos.length, wrong, refusals, firstRefusal);
    }
  }

  /**
   * Runs callers for a while; returns when all have been told.
   *
   * @param choice model of the next request; asked by several threads
   * @throws IllegalStateException when a request has no end
   */
  static Result run(Engine engine, Supplier<WeighedModel> choice, int callers, Duration time)
      throws InterruptedException {
    return new ClosedLoop(engine, choice).run(callers, time);
  }

  /** One request. */
  static Result ask(Engine engine, WeighedModel model) throws InterruptedException {
    return run(engine, () -> model, 1, Duration.ZERO);
  }

  private Result run(int callers, Duration time) throws InterruptedException {
    long start = System.nanoTime();
    CountDownLatch ended = new CountDownLatch(callers);
    for (int i = 0; i < callers; i++) {
      new Caller(start + time.toNanos(), ended).submit();
    }
    if (!ended.await(time.plus(PATIENCE).toMillis(), TimeUnit.MILLISECONDS)) {
      throw new IllegalStateException(
          "%d of %d callers were not told within %d s"
              .formatted(ended.getCount(), callers, PATIENCE.toSeconds()));
    }
    double seconds = (System.nanoTime() - start) / 1e9;
    synchronized (this) {
      long[] sorted = nanos.stream().mapToLong(Long::longValue).toArray();
      Arrays.sort(sorted);
      return new Result(sorted, wrong, refusals, firstRefusal, seconds);
    }
  }

  private synchronized void answered(long took, boolean right) {
    nanos.add(took);
    wrong += right ? 0 : 1;
  }

  private synchronized void refused(Status status, String why) {
    refusals.merge(status, 1, Integer::sum);
    firstRefusal = firstRefusal.isEmpty() ? why : firstRefusal;
  }

  private final class Caller implements AnswerSink {
    private final long endNanos;
    private final CountDownLatch ended;
    private WeighedModel model = choice.get();
    private float number;
    private boolean right;
    private long sentNanos;

    Caller(long endNanos, CountDownLatch ended) {
      this.endNanos = endNanos;
      this.ended = ended;
    }

    void submit() {
      number = (number + 1) % 1000;
      right = false;
      sentNanos = System.nanoTime();
      engine.submit(InferenceRequest.of(model.name(), WeighedModel.input(number), this).build());
    }

    @Override
    public void onPart(Answer part) {
      try (part) {
        right = model.isRight(number, part.outputs().getFirst().data());
      }
    }

    @Override
    public void onEnd(Outcome outcome) {
      boolean goesOn =
          switch (outcome) {
            case Outcome.Completed completed -> {
              answered(System.nanoTime() - sentNanos, right);
              yield true;
            }
            case Outcome.Failed failed -> {
              refused(failed.status(), failed.message());
              yield true;
            }
            case Outcome.Shed shed -> {
              refused(shed.status(), shed.message());
              yield true;
            }
            // Told within submit: to go on would call ever deeper.
            case Outcome.Refused atTheDoor -> {
              refused(atTheDoor.status(), atTheDoor.message());
              yield false;
            }
            case Outcome.Cancelled cancelled -> {
              refused(Status.CANCELLED, cancelled.message());
              yield false;
            }
          };
      if (goesOn && System.nanoTime() < endNanos) {
        model = choice.get();
        submit();
      } else {
        ended.countDown();
      }
    }
  }
}
