package dev.roundhouse.worker.transport;

import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.ForwardingSink;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Has the outputs that a client wants in memory on the device written there, by the thread that may
 * wait for it, before anybody is told of the answer: whoever has made it, or sends it, may not.
 */
final class DeviceWrites extends ForwardingSink {
  private static final Logger log = LoggerFactory.getLogger(DeviceWrites.class);

  private final InferExchange exchange;
  private final Executor thread;
  private @Nullable Answer answer; // of whoever answers

  DeviceWrites(InferExchange exchange, Executor thread, AnswerSink sink) {
    super(sink);
    this.exchange = exchange;
    this.thread = thread;
  }

  @Override
  public void onPart(Answer part) {
    answer = part;
    sink().onPart(part);
  }

  @Override
  public void onEnd(Outcome outcome) {
    Answer part = answer;
    if (part == null) {
      sink().onEnd(outcome);
      return;
    }
    try {
      thread.execute(() -> write(part, outcome));
    } catch (RejectedExecutionException stopping) {
      exchange.failOnDevice(new WireException(WireStatus.UNAVAILABLE, "Server exiting"));
      sink().onEnd(outcome);
    }
  }

  private void write(Answer part, Outcome outcome) {
    try {
      exchange.writeToDevice(part);
    } catch (WireException e) {
      exchange.failOnDevice(e);
    } catch (RuntimeException | Error e) {
      log.error("an output could not be written to memory on the device", e);
      exchange.failOnDevice(
          new WireException(WireStatus.INTERNAL, "Internal server error; see the server's log"));
    }
    try {
      sink().onEnd(outcome);
    } catch (RuntimeException | Error e) {
      log.error("the receiver of an answer threw", e);
    }
  }
}
