package dev.roundhouse.worker.transport.grpc;

import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.kserve.codec.EncodedMessage;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * An answer that connections send in place. Its owner may release it at any time; that takes effect
 * once nothing of it is waiting to be sent. Thread-safe.
 */
final class LentAnswer implements Answer, EncodedMessage.Lender {
  private static final int FREED = 1;
  private static final int CLOSED = 2;
  private static final int BORROWER = 4;

  private final Answer answer;

  /** The number of references, and whether its owner has released it. */
  private final AtomicInteger state = new AtomicInteger();

  /**
   * @param answer owned by this
   */
  LentAnswer(Answer answer) {
    this.answer = answer;
  }

  @Override
  public String modelVersion() {
    return answer.modelVersion();
  }

  @Override
  public boolean isLast() {
    return answer.isLast();
  }

  @Override
  public List<OutputTensor> outputs() {
    return answer.outputs();
  }

  @Override
  public void lend() {
    state.addAndGet(BORROWER);
  }

  @Override
  public void returned() {
    settle(state.addAndGet(-BORROWER));
  }

  @Override
  public void free() {
    settle(state.updateAndGet(before -> before | FREED));
  }

  @Override
  public void close() {
    settle(state.updateAndGet(before -> before | FREED | CLOSED));
  }

  /** Harmless when repeated, like the answer's own methods. */
  private void settle(int now) {
    if (now >= BORROWER) {
      return;
    }
    if ((now & CLOSED) != 0) {
      answer.close();
    } else if ((now & FREED) != 0) {
      answer.free();
    }
  }
}
