package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import dev.roundhouse.engine.device.Execution;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One run: holds its program and arguments until its end is noticed, owns its outputs until closed.
 */
final class PjrtExecution implements Execution {
  private static final Logger log = LoggerFactory.getLogger(PjrtExecution.class);

  private final PjrtExecutable program;
  private final PjrtBuffer[] arguments;
  private final PjrtEvent end;

  /** An output that was taken is null. */
  private final @Nullable PjrtBuffer[] outputs;

  private final AtomicReference<State> state = new AtomicReference<>(State.RUNNING);
  private volatile boolean failureTold;
  private boolean hasCallback;

  /** A run that has not started; {@code arguments} may be filled until it does. */
  PjrtExecution(PjrtClient client, PjrtExecutable program, PjrtBuffer[] arguments) {
    this.program = program;
    this.arguments = arguments;
    this.end = new PjrtEvent(client, "run of " + program.name());
    this.outputs = new @Nullable PjrtBuffer[program.results().size()];
    for (int i = 0; i < outputs.length; i++) {
      outputs[i] = PjrtBuffer.output(client, program.result(i), this);
    }
  }

  /** Takes the holds on program and arguments, the event and the output buffers; cannot fail. */
  void started(long event, long[] outputAddresses) {
    end.own(event);
    for (int i = 0; i < outputs.length; i++) {
      PjrtBuffer output = outputs[i];
      if (output != null) {
        output.own(outputAddresses[i]);
      }
    }
  }

  @Override
  public boolean isDone() {
    if (state.get() != State.RUNNING) {
      return true;
    }
    if (!end.isReady()) {
      return false;
    }
    settle();
    return true;
  }

  @Override
  public void onDone(Runnable callback) {
    takeOnlyCallback();
    if (isDone()) {
      PjrtEvent.ready(callback);
    } else {
      end.onReady(callback);
    }
  }

  private synchronized void takeOnlyCallback() {
    if (hasCallback) {
      throw new DeviceException(
          Code.INVALID_ARGUMENT,
          "run of " + program.name() + " has a callback; it takes one, given once");
    }
    hasCallback = true;
  }

  @Override
  public void await() {
    DeviceException failure = settle().failure;
    if (failure != null) {
      failureTold = true;
      throw new DeviceException(
          failure.code(), "run of " + program.name() + " failed: " + failure.getMessage(), failure);
    }
  }

  /** A run whose end was not noticed may not be read without waiting. */
  void checkEnded() {
    if (state.get() == State.RUNNING) {
      throw new DeviceException(
          Code.INVALID_ARGUMENT,
          "the end of the run of " + program.name() + " has not been noticed; await it first");
    }
    await();
  }

  /**
   * True when bytes of an output are memory that an argument was read from. XLA copies an argument
   * that it returns; memory that the caller writes to again must not be handed out even so.
   */
  boolean borrows(MemorySegment bytes) {
    for (PjrtBuffer argument : arguments) {
      if (argument.aliases(bytes)) {
        return true;
      }
    }
    return false;
  }

  @Override
  public DeviceBuffer output(int index) {
    return own(index);
  }

  @Override
  public DeviceBuffer take(int index) {
    PjrtBuffer output = own(index);
    checkEnded();
    output.outlivesRun();
    outputs[index] = null;
    return output;
  }

  private PjrtBuffer own(int index) {
    if (index < 0 || index >= outputs.length) {
      throw new DeviceException(
          Code.INVALID_ARGUMENT,
          "%s has outputs 0 to %d; there is no %d"
              .formatted(program.name(), outputs.length - 1, index));
    }
    PjrtBuffer output = outputs[index];
    if (output == null) {
      throw new DeviceException(
          Code.CLOSED,
          "output " + index + " of the run of " + program.name() + " was taken out of it");
    }
    return output;
  }

  @Override
  public void close() {
    DeviceException failure = settle().failure;
    for (PjrtBuffer output : outputs) {
      if (output != null) {
        output.close();
      }
    }
    if (failure != null && !failureTold) {
      log.warn(
          "run of {} failed and nobody waited for it: {}", program.name(), failure.getMessage());
      failureTold = true;
    }
    end.close();
  }

  /** Waits for the end and gives back what the run borrowed. */
  private State settle() {
    State seen = state.get();
    if (seen != State.RUNNING) {
      return seen;
    }
    State ended = State.SUCCEEDED;
    try {
      end.await();
    } catch (DeviceException failure) {
      ended = new State(failure);
    }
    if (!state.compareAndSet(State.RUNNING, ended)) {
      return state.get();
    }
    for (PjrtBuffer argument : arguments) {
      argument.release();
    }
    program.release();
    return ended;
  }

  private static final class State {
    static final State RUNNING = new State(null);
    static final State SUCCEEDED = new State(null);

    final @Nullable DeviceException failure;

    State(@Nullable DeviceException failure) {
      this.failure = failure;
    }
  }
}
