package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.kserve.codec.RegionRange;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.StreamSpec;
import dev.roundhouse.kserve.tstream.StreamTensor;
import dev.roundhouse.worker.transport.Inference;
import dev.roundhouse.worker.transport.shm.Lease;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The shared memory of a stream whose messages say where in it their tensors are, and where their
 * results go. Held until the stream and every message of it is over; thread-safe.
 */
final class SharedPlaces {
  /** Of what stands in a message in place of its tensors: where they are, where the result goes. */
  static final int BYTES = 2 * Long.BYTES;

  private final Lease inputs;
  private final @Nullable Lease outputs;

  /** The stream, and messages that are not over. */
  private final AtomicInteger users = new AtomicInteger(1);

  private SharedPlaces(Lease inputs, @Nullable Lease outputs) {
    this.inputs = inputs;
    this.outputs = outputs;
  }

  /**
   * @throws WireException when the regions that it names cannot be had
   */
  static SharedPlaces open(ClientHello hello, Inference inference) {
    Lease inputs = inference.region(hello.inputRegion());
    try {
      return new SharedPlaces(
          inputs, hello.outputRegion().isEmpty() ? null : inference.region(hello.outputRegion()));
    } catch (RuntimeException | Error e) {
      inputs.close();
      throw e;
    }
  }

  /** Holds them for a message, while the stream does. */
  void use() {
    users.incrementAndGet();
  }

  /** Once for the stream and each {@link #use}. */
  void release() {
    if (users.decrementAndGet() > 0) {
      return;
    }
    inputs.close();
    if (outputs != null) {
      outputs.close();
    }
  }

  /** Where results go; null when they are sent. Held as long as the stream. */
  @Nullable Lease outputs() {
    return outputs;
  }

  /**
   * The inputs of a message.
   *
   * @param place what it says
   * @throws WireException INVALID_ARGUMENT when they, or its result, would not lie in the regions
   */
  List<InputTensor> inputs(ByteBuffer place, int at, StreamSpec spec) {
    long begin = place.getLong(at);
    require("its tensors", inputs.range(), begin, spec.requestBytes());
    if (outputs != null) {
      require("its result", outputs.range(), place.getLong(at + Long.BYTES), spec.responseBytes());
    }
    List<InputTensor> tensors = new ArrayList<>(spec.inputs().size());
    for (int i = 0; i < spec.inputs().size(); i++) {
      StreamTensor tensor = spec.inputs().get(i);
      tensors.add(
          new InputTensor(
              tensor.name(),
              tensor.dtype(),
              tensor.shape(),
              inputs.data(begin + spec.inputOffset(i), tensor.byteSize())));
    }
    return tensors;
  }

  private static void require(String what, RegionRange region, long begin, long bytes) {
    if (begin < 0 || begin > region.byteSize() - bytes) {
      throw WireException.invalidArgument(
          "the message says that %s, %d bytes, begin at %s of shared memory region '%s', which has %d bytes"
              .formatted(
                  what, bytes, Long.toUnsignedString(begin), region.region(), region.byteSize()));
    }
  }

  /**
   * Writes a result to where its message said.
   *
   * @throws WireException when the client has made the region smaller
   */
  static void write(Lease to, long begin, StreamSpec spec, List<OutputTensor> outputs) {
    for (int i = 0; i < spec.outputs().size(); i++) {
      MemorySegment data = outputs.get(i).data();
      to.write(begin + spec.outputOffset(i), data);
    }
  }
}
