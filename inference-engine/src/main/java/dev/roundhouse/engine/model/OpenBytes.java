package dev.roundhouse.engine.model;

import dev.roundhouse.engine.queue.ByteBudget;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.queue.RefusedException;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.Status;
import java.util.List;

/** Counts what admission could not: outputs whose size is known only when they are made. */
final class OpenBytes {
  private OpenBytes() {}

  /**
   * Takes them from the budget.
   *
   * @param outputs requested, in the contract's order
   * @return how many were taken
   * @throws RefusedException when the answer is too large, or there is no room for it
   */
  static long take(
      ModelContract contract,
      QueuedRequest request,
      List<OutputTensor> outputs,
      ByteBudget bytes,
      long mostAnswerBytes)
      throws RefusedException {
    int[] indices = request.outputs();
    long open = 0;
    for (int i = 0; i < outputs.size(); i++) {
      if (contract.isOpen(indices == null ? i : indices[i])) {
        open += outputs.get(i).data().byteSize();
      }
    }
    if (open == 0) {
      return 0;
    }
    requireFits(contract, request, request.answerBytes() + open, mostAnswerBytes);
    if (request.isSubCall()) {
      bytes.takeAnyway(open); // its caller was let in and holds memory until it is done
    } else if (!bytes.take(open)) {
      throw new RefusedException(
          Status.RESOURCE_EXHAUSTED,
          "Exceeds maximum queue size: accepted requests hold %d bytes, the answer of model '%s' needs %d more and the limit is %d; retry later or raise %s"
              .formatted(
                  bytes.held(), contract.modelName(), open, bytes.limit(), bytes.limitName()));
    }
    return open;
  }

  static void requireFits(
      ModelContract contract, QueuedRequest request, long answer, long mostAnswerBytes)
      throws RefusedException {
    if (answer > mostAnswerBytes) {
      throw RefusedException.invalid(
          "the answer to %d rows of model '%s' has %d bytes and a message holds %d; send fewer rows or request fewer outputs"
              .formatted(request.rows(), contract.modelName(), answer, mostAnswerBytes));
    }
  }
}
