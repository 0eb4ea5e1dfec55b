package dev.roundhouse.engine.device;

import dev.roundhouse.engine.time.NanoClock;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A run that is over when the clock says so and somebody looks: then its results are computed, of
 * what its arguments are by then. It fails when aliased memory has changed meanwhile. Nobody
 * watches a clock that a test moves: there the callback is called by whichever call notices the
 * end. Thread-safe.
 */
final class SimulatedExecution implements Execution {
  private final SimulatedDevice device;
  private final SimulatedProgram program;
  private final List<SimulatedBuffer> arguments;
  private final long[] checksums;
  private final List<SimulatedBuffer> outputs;
  private final boolean[] taken;
  private final long endNanos;
  private final AtomicReference<@Nullable Runnable> callback = new AtomicReference<>();
  private final AtomicBoolean hasCallback = new AtomicBoolean();
  private volatile boolean ended;
  private @Nullable Throwable failure;
  private volatile boolean closed;

  /** Takes the holds on program and arguments, and the outputs. */
  SimulatedExecution(
      SimulatedDevice device,
      SimulatedProgram program,
      List<SimulatedBuffer> arguments,
      List<SimulatedBuffer> outputs,
      long endNanos) {
    this.device = device;
    this.program = program;
    this.arguments = arguments;
    this.outputs = outputs;
    this.taken = new boolean[outputs.size()];
    this.endNanos = endNanos;
    checksums = new long[arguments.size()];
    for (int i = 0; i < checksums.length; i++) {
      checksums[i] = arguments.get(i).checksum();
    }
    for (SimulatedBuffer output : outputs) {
      output.producedBy(this);
    }
  }

  @Override
  public boolean isDone() {
    if (!ended) {
      if (!device.isPast(endNanos)) {
        return false;
      }
      end();
    }
    return true;
  }

  @Override
  public void onDone(Runnable told) {
    if (!hasCallback.compareAndSet(false, true)) {
      throw new DeviceException(
          DeviceException.Code.INVALID_ARGUMENT,
          "run of " + program.name() + " has a callback; it takes one, given once");
    }
    callback.set(told);
    if (isDone()) {
      callBack();
    } else if (device.clock() == NanoClock.SYSTEM) {
      SimulatedTimer.at(endNanos, this::isDone);
    }
  }

  @Override
  public void await() {
    device.awaitTime(endNanos);
    end();
    switch (failure) {
      case null -> {}
      case DeviceException refusal ->
          throw new DeviceException(
              refusal.code(),
              "run of " + program.name() + " failed: " + refusal.getMessage(),
              refusal);
      case RuntimeException unexpected -> throw unexpected;
      case Error error -> throw error;
      default -> throw new IllegalStateException(failure);
    }
  }

  /** Who looks at an output without waiting has noticed the end. */
  void checkEnded() {
    if (!ended) {
      throw new DeviceException(
          DeviceException.Code.INVALID_ARGUMENT,
          "the end of the run of " + program.name() + " has not been noticed; await it first");
    }
    await();
  }

  @Override
  public DeviceBuffer output(int index) {
    if (closed) {
      throw new DeviceException(
          DeviceException.Code.CLOSED, "the execution is closed and its outputs are freed");
    }
    if (index < 0 || index >= outputs.size()) {
      throw new DeviceException(
          DeviceException.Code.INVALID_ARGUMENT,
          "output " + index + " was asked for and there are " + outputs.size());
    }
    if (taken[index]) {
      throw new DeviceException(
          DeviceException.Code.CLOSED,
          "output " + index + " of the run of " + program.name() + " was taken out of it");
    }
    return outputs.get(index);
  }

  @Override
  public DeviceBuffer take(int index) {
    DeviceBuffer output = output(index);
    checkEnded();
    outputs.get(index).outlivesRun();
    taken[index] = true;
    return output;
  }

  @Override
  public void close() {
    device.awaitTime(endNanos);
    end();
    for (int i = 0; i < taken.length; i++) {
      if (!taken[i]) {
        outputs.get(i).close();
      }
    }
    closed = true;
  }

  private void end() {
    synchronized (this) {
      if (!ended) {
        try {
          compute();
        } catch (RuntimeException | Error e) {
          failure = e;
          device.onFailed(e);
        }
        arguments.forEach(SimulatedBuffer::release);
        outputs.forEach(SimulatedBuffer::release);
        program.release();
        device.onEnded();
        ended = true;
      }
    }
    callBack();
  }

  private void compute() {
    for (int i = 0; i < checksums.length; i++) {
      SimulatedBuffer argument = arguments.get(i);
      // An output of a run before this one may not have been looked at yet.
      argument.awaitData();
      if (argument.checksum() != checksums[i]) {
        throw new DeviceException(
            DeviceException.Code.INVALID_ARGUMENT,
            "argument %d (%s) aliases memory that was changed while the run read it"
                .formatted(i, argument.type()));
      }
    }
    if (program.function() == ReferenceFunction.ZERO) {
      return;
    }
    List<MemorySegment> inputs = arguments.stream().map(SimulatedBuffer::data).toList();
    List<MemorySegment> results = outputs.stream().map(SimulatedBuffer::data).toList();
    program.function().apply(program, inputs, results);
  }

  private void callBack() {
    Runnable told = callback.getAndSet(null);
    if (told != null) {
      told.run();
    }
  }
}
