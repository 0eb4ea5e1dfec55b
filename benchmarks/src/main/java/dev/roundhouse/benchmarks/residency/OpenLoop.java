package dev.roundhouse.benchmarks.residency;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.TensorData;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Phaser;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;

/**
 * Calls models of an engine at moments that do not depend on how fast it answers. A latency counts
 * from the moment at which a call was due, so one that was sent late, because the machine was busy,
 * is late. Used by one thread.
 */
final class OpenLoop {
  private final Engine engine;
  private final List<ServedLayers> models;
  private final InputTensor zeros;
  private final SplittableRandom random = new SplittableRandom(5);

  /** What calls came to. */
  record Load(double p99Millis, int calls, int failed) {}

  /**
   * @param models at least one; of one shape
   */
  OpenLoop(Engine engine, List<ServedLayers> models) {
    this.engine = engine;
    this.models = models;
    LayeredModel shape = models.getFirst().model();
    zeros =
        new InputTensor(
            LayeredModel.INPUT,
            DType.F32,
            shape.row(),
            TensorData.of(new byte[Math.toIntExact(shape.inputBytes())]));
  }

  /** Keeps {@code depth} calls outstanding; returns answers per second. */
  double closed(int depth, Duration length) {
    long start = System.nanoTime();
    long end = start + length.toNanos();
    Phaser open = new Phaser(1);
    AtomicInteger answers = new AtomicInteger();
    AtomicInteger failed = new AtomicInteger();
    for (int i = 0; i < depth; i++) {
      open.register();
      new Again(new SplittableRandom(i), end, answers, failed, open).submit();
    }
    open.arriveAndAwaitAdvance();
    if (failed.get() > 0) {
      throw new IllegalStateException(failed + " calls were not answered as they should be");
    }
    return answers.get() * 1e9 / (System.nanoTime() - start);
  }

  /** Calls as a Poisson process does, each of a model by chance, and waits for the last answer. */
  Load poisson(double callsPerSecond, Duration length) {
    int most = (int) (callsPerSecond * length.toNanos() / 1e9 * 1.2) + 1_000;
    Window window = new Window(most);
    long start = System.nanoTime();
    long end = start + length.toNanos();
    long due = start;
    while (true) {
      due += Math.round(-Math.log(1 - random.nextDouble()) / callsPerSecond * 1e9);
      if (due >= end || window.calls == most) {
        return window.load();
      }
      for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
        LockSupport.parkNanos(left);
      }
      window.call(due);
    }
  }

  private ServedLayers any(SplittableRandom by) {
    return models.get(by.nextInt(models.size()));
  }

  private void submit(ServedLayers model, AnswerSink sink) {
    engine.submit(InferenceRequest.of(model.name(), List.of(zeros), sink).build());
  }

  /** Notes whether the answer is the model's, and closes it. */
  private abstract static class Checking implements AnswerSink {
    private final ServedLayers model;
    private boolean isRight;

    Checking(ServedLayers model) {
      this.model = model;
    }

    @Override
    public final void onPart(Answer part) {
      isRight =
          model.isAnswer(part.outputs().getFirst().data().get(ValueLayout.JAVA_FLOAT_UNALIGNED, 0));
      part.close();
    }

    @Override
    public final void onEnd(Outcome outcome) {
      onEnd(isRight && outcome instanceof Outcome.Completed);
    }

    abstract void onEnd(boolean answered);
  }

  /** One of the calls that are kept outstanding. */
  private final class Again {
    private final SplittableRandom own;
    private final long end;
    private final AtomicInteger answers;
    private final AtomicInteger failed;
    private final Phaser open;

    Again(
        SplittableRandom own, long end, AtomicInteger answers, AtomicInteger failed, Phaser open) {
      this.own = own;
      this.end = end;
      this.answers = answers;
      this.failed = failed;
      this.open = open;
    }

    void submit() {
      ServedLayers model = any(own);
      OpenLoop.this.submit(
          model,
          new Checking(model) {
            @Override
            void onEnd(boolean answered) {
              (answered ? answers : failed).incrementAndGet();
              if (answered && System.nanoTime() < end) {
                submit();
              } else {
                open.arriveAndDeregister();
              }
            }
          });
    }
  }

  /** The calls of one stretch of time. */
  private final class Window {
    private final AtomicLongArray latencies;
    private final AtomicInteger failed = new AtomicInteger();
    private final Phaser open = new Phaser(1);
    private int calls;

    Window(int most) {
      latencies = new AtomicLongArray(most);
    }

    void call(long due) {
      ServedLayers model = any(random);
      int index = calls++;
      open.register();
      submit(
          model,
          new Checking(model) {
            @Override
            void onEnd(boolean answered) {
              latencies.setPlain(index, System.nanoTime() - due);
              if (!answered) {
                failed.incrementAndGet();
              }
              open.arriveAndDeregister();
            }
          });
    }

    Load load() {
      open.arriveAndAwaitAdvance();
      long[] sorted = new long[calls];
      Arrays.setAll(sorted, latencies::getPlain);
      Arrays.sort(sorted);
      return new Load(sorted[(int) (0.99 * (calls - 1))] / 1e6, calls, failed.get());
    }
  }
}
