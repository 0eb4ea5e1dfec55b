package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.worker.transport.Outcomes;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** Messages of a stream that are one request, and what becomes of them. */
final class MessageGroup implements AnswerSink {
  private final OpenStream stream;

  /** The number of the first. */
  private final long first;

  private final int count;
  private final long resultAt;

  /** Gives their memory back; called once no device reads it any more. */
  private final Runnable memory;

  private final AtomicBoolean over = new AtomicBoolean();
  private volatile @Nullable Submission submission;

  // Published by the hand-over to the stream.
  private @Nullable Answer answer;
  private @Nullable WireException failure;

  /** For the stream's event loop. */
  private boolean done;

  /**
   * @param resultAt where in shared memory its result goes; without effect elsewhere
   * @param memory gives their memory back; called once at most, by any thread: not when the engine
   *     failed with them on the device
   */
  MessageGroup(OpenStream stream, long first, int count, long resultAt, Runnable memory) {
    this.stream = stream;
    this.first = first;
    this.count = count;
    this.resultAt = resultAt;
    this.memory = memory;
  }

  long first() {
    return first;
  }

  long resultAt() {
    return resultAt;
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
    // A device that hangs may read what it was given for as long as the process lives.
    end(!(outcome instanceof Outcome.Failed failed && failed.began()));
  }

  /** It never was a request. On the event loop. */
  void fail(WireException why) {
    failure = why;
    end(true);
  }

  /** Once, whoever says it. */
  private void end(boolean isUnread) {
    if (over.compareAndSet(false, true)) {
      if (isUnread) {
        memory.run();
      }
      stream.ended(this);
    }
  }

  boolean isOver() {
    return over.get();
  }

  boolean isInBatch() {
    Submission made = submission;
    return made != null && made.isInBatch();
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
