package dev.roundhouse.worker.transport;

import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.kserve.codec.WireTensor;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import java.util.ArrayList;
import java.util.List;

/** Turns how a request ended into what is answered. */
public final class Outcomes {
  private Outcomes() {}

  /**
   * Why a request has no answer.
   *
   * @throws IllegalArgumentException when it has one
   */
  public static WireException failure(Outcome outcome) {
    return switch (outcome) {
      case Outcome.Refused refused -> failure(refused.status(), refused.message());
      case Outcome.Failed failed -> failure(failed.status(), failed.message());
      case Outcome.Shed shed -> failure(shed.status(), shed.message());
      case Outcome.Cancelled cancelled ->
          new WireException(WireStatus.CANCELLED, cancelled.message());
      case Outcome.Completed completed ->
          throw new IllegalArgumentException("a request that was answered has no failure");
    };
  }

  private static WireException failure(
      dev.roundhouse.engine.request.Status status, String message) {
    return new WireException(StatusTable.toWire(status), message);
  }

  /**
   * The outputs of an answer, without copying them.
   *
   * @throws WireException when one is larger than a message can be
   */
  public static List<WireTensor> tensors(List<OutputTensor> outputs) {
    List<WireTensor> tensors = new ArrayList<>(outputs.size());
    for (int i = 0; i < outputs.size(); i++) {
      OutputTensor output = outputs.get(i);
      long byteSize = output.data().byteSize();
      if (byteSize > Integer.MAX_VALUE) {
        throw WireException.invalidArgument(
            "output '%s' has %d bytes, a message holds %d; request fewer rows"
                .formatted(output.name(), byteSize, Integer.MAX_VALUE));
      }
      tensors.add(
          new WireTensor(
              output.name(), output.dtype(), output.shape(), output.data().asByteBuffer()));
    }
    return tensors;
  }
}
