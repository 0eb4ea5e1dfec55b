package dev.roundhouse.worker.transport.grpc;

import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.kserve.codec.EncodedMessage;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * An answer that connections send from where it is. Its owner may give it back at any time; that is
 * done when nothing of it is waiting to be sent any more. Thread-safe.
 */
final class LentAnswer implements Answer, EncodedMessage.Lender {
  private static final int FREED = 1;
  private static final int CLOSED = 2;
  private static final int BORROWER = 4;

  private final Answer answer;

  /** How many refer to it, and what its owner has said. */
  private final AtomicInteger state = new AtomicInteger();

  /**
   * @param answer taken
   */
  LentAnswer(Answer answer) {
    this.answer = answer;
  }

  @Override
  public String modelVersion() {
    return answer.modelVersion();
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

  /** Repeated harmlessly, as the answer's own methods are. */
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
