package dev.roundhouse.engine.deliver;

import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.layout.ProgramLayout;
import dev.roundhouse.engine.layout.RowLayout;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.state.DeviceStates;
import dev.roundhouse.engine.state.HandedTensor;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Takes outputs out of a run that the next call of the same run wants where they are. */
final class HandedOutputs {
  /**
   * Smaller ones go through the host, where the next call's rows can join others' in a batch: as
   * state of sequences does.
   */
  private static final long FROM_BYTES = 256 << 10;

  private HandedOutputs() {}

  /**
   * Takes what the one request of a run hands on, and is large enough, from the outputs that it is
   * answered with. The run has its rows and no padding.
   */
  static void take(
      QueuedRequest request, ProgramLayout program, Execution run, DeviceStates store) {
    List<String> names = request.request().handedOn();
    if (names.isEmpty() || names.stream().noneMatch(name -> isLarge(program, name))) {
      return;
    }
    List<InputTensor> handed = new ArrayList<>(names.size());
    List<Integer> left = new ArrayList<>();
    boolean done = false;
    try {
      for (int output = 0; output < program.outputCount(); output++) {
        if (!request.asksFor(output)) {
          continue;
        }
        RowLayout layout = program.output(output);
        HandedTensor tensor =
            names.contains(layout.spec().name()) ? take(layout, output, run, store) : null;
        if (tensor == null) {
          left.add(output);
        } else {
          handed.add(
              new InputTensor(
                  layout.spec().name(),
                  layout.spec().dtype(),
                  layout.shapeOf(request.rows()),
                  tensor));
        }
      }
      done = true;
    } finally {
      if (!done) {
        HandedTensor.release(handed);
      }
    }
    if (!handed.isEmpty()) {
      request.handOn(handed, left.stream().mapToInt(Integer::intValue).toArray());
    }
  }

  private static boolean isLarge(ProgramLayout program, String name) {
    for (int output = 0; output < program.outputCount(); output++) {
      if (program.output(output).spec().name().equals(name)) {
        return isLarge(program.output(output));
      }
    }
    return false;
  }

  private static boolean isLarge(RowLayout layout) {
    return layout.type().byteSize() >= FROM_BYTES && layout.partial() == null;
  }

  private static @Nullable HandedTensor take(
      RowLayout layout, int output, Execution run, DeviceStates store) {
    if (!isLarge(layout) || !store.hasRoom(layout.type().byteSize())) {
      return null;
    }
    DeviceBuffer buffer;
    try {
      buffer = run.take(output);
    } catch (DeviceException e) {
      if (e.code() == DeviceException.Code.UNSUPPORTED) {
        return null;
      }
      throw e;
    }
    return HandedTensor.of(store, buffer);
  }
}
