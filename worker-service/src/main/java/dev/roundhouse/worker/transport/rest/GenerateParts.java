package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.worker.transport.Outcomes;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The parts of an answer, for one thread that waits for them. The engine makes no more than a few
 * ahead of those that are closed.
 */
final class GenerateParts implements AnswerSink {
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  // Guarded by lock.
  private final Queue<Answer> parts = new ArrayDeque<>();
  private @Nullable Outcome end;

  @Override
  public @Nullable String onManyParts() {
    return null;
  }

  @Override
  public void onPart(Answer part) {
    lock.lock();
    try {
      parts.add(part);
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void onEnd(Outcome outcome) {
    lock.lock();
    try {
      end = outcome;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Waits for the next part; null at the end. */
  @Nullable Answer next() {
    lock.lock();
    try {
      while (parts.isEmpty() && end == null) {
        changed.awaitUninterruptibly();
      }
      return parts.poll();
    } finally {
      lock.unlock();
    }
  }

  /** How the request ended of which this is the last part, which comes with it; else null. */
  @Nullable Outcome outcomeOf(Answer part) {
    return part.isLast() ? end() : null;
  }

  /** Waits for the end; null when that is well. */
  @Nullable WireException failure() {
    Outcome outcome = end();
    return outcome instanceof Outcome.Completed ? null : Outcomes.failure(outcome);
  }

  /** How the request ended; waits for it. */
  Outcome end() {
    lock.lock();
    try {
      Outcome outcome = end;
      while (outcome == null) {
        changed.awaitUninterruptibly();
        outcome = end;
      }
      return outcome;
    } finally {
      lock.unlock();
    }
  }
}
