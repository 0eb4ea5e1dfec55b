package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.tstream.StreamSpec;
import dev.roundhouse.kserve.tstream.StreamTensor;
import dev.roundhouse.worker.transport.Outcomes;
import io.netty.buffer.ByteBuf;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** Messages of a stream that are one request, and what becomes of them. */
final class MessageGroup implements AnswerSink {
  private final OpenStream stream;

  /** The number of the first. */
  private final long first;

  private final int count;

  /** Their bytes, until it is over; null for none. */
  private final @Nullable ByteBuf messages;

  private final AtomicBoolean over = new AtomicBoolean();
  private volatile @Nullable Submission submission;

  // Published by the hand-over to the stream.
  private @Nullable Answer answer;
  private @Nullable WireException failure;

  /** For the stream's event loop. */
  private boolean done;

  /**
   * @param messages taken; null for none
   */
  MessageGroup(OpenStream stream, long first, int count, @Nullable ByteBuf messages) {
    this.stream = stream;
    this.first = first;
    this.count = count;
    this.messages = messages;
  }

  /**
   * The inputs of all of them.
   *
   * @param head bytes of a message before its tensors
   * @param stride from one message to the next
   */
  static List<InputTensor> inputs(
      ByteBuf messages, StreamSpec spec, int head, int stride, int count) {
    MemorySegment bytes =
        MemorySegment.ofBuffer(
            messages.nioBuffer(messages.readerIndex(), messages.readableBytes()));
    List<InputTensor> inputs = new ArrayList<>(spec.inputs().size());
    for (int i = 0; i < spec.inputs().size(); i++) {
      StreamTensor tensor = spec.inputs().get(i);
      inputs.add(
          new InputTensor(
              tensor.name(),
              tensor.dtype(),
              StreamTarget.shape(tensor, count),
              StridedInput.of(
                  bytes, head + spec.inputOffset(i), stride, tensor.byteSize(), count)));
    }
    return inputs;
  }

  long first() {
    return first;
  }

  int count() {
    return count;
  }

  void submitted(Submission made) {
    submission = made;
  }

  void cancel() {
    Submission made = submission;
    if (made != null) {
      made.cancel();
    }
  }

  @Override
  public void onPart(Answer part) {
    answer = part;
  }

  @Override
  public void onEnd(Outcome outcome) {
    if (answer == null) {
      failure = Outcomes.failure(outcome);
    }
    end();
  }

  /** It never was a request. On the event loop. */
  void fail(WireException why) {
    failure = why;
    end();
  }

  /** Once, whoever says it. */
  private void end() {
    if (over.compareAndSet(false, true)) {
      if (messages != null) {
        messages.release();
      }
      stream.ended(this);
    }
  }

  // --- on the event loop, once it has ended

  void markDone() {
    done = true;
  }

  boolean isDone() {
    return done;
  }

  /** Null when it failed. The taker closes it. */
  @Nullable Answer answer() {
    return answer;
  }

  @Nullable WireException failure() {
    return failure;
  }

  /** Nobody is told. */
  void drop() {
    if (answer != null) {
      answer.close();
    }
  }
}
