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
   * The outputs of a request that ran, without copying them.
   *
   * @throws WireException when it did not run, or an output is larger than a message can be
   */
  public static List<WireTensor> outputs(Outcome outcome) {
    return switch (outcome) {
      case Outcome.Completed completed -> tensors(completed.outputs());
      case Outcome.Refused refused -> throw failure(refused.status(), refused.message());
      case Outcome.Failed failed -> throw failure(failed.status(), failed.message());
      case Outcome.Shed shed -> throw failure(shed.status(), shed.message());
      case Outcome.Cancelled cancelled ->
          throw new WireException(WireStatus.CANCELLED, cancelled.message());
    };
  }

  private static WireException failure(
      dev.roundhouse.engine.request.Status status, String message) {
    return new WireException(StatusTable.toWire(status), message);
  }

  private static List<WireTensor> tensors(List<OutputTensor> outputs) {
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
