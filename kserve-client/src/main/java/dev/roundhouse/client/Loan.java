package dev.roundhouse.client;

import dev.roundhouse.client.pool.Span;
import dev.roundhouse.client.shm.RegionPool;
import dev.roundhouse.client.tensor.Tensor;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferRequestedOutputTensor;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Slots of shared memory that an attempt uses: its inputs lie there, or its outputs will. */
final class Loan {
  static final long ALIGNMENT = 64;

  private final SharedTensors owner;
  final RegionPool pool;

  /** The registration that the attempt relies on. */
  final long registration;

  private final Span span;
  private final boolean shareInputs;
  private final Map<String, MemorySegment> inputs = new LinkedHashMap<>();
  private final Map<String, MemorySegment> outputs = new LinkedHashMap<>();
  private ModelInferRequest head = ModelInferRequest.getDefaultInstance();
  private long sharedBytes;

  Loan(SharedTensors owner, RegionPool pool, long registration, Span span, boolean shareInputs) {
    this.owner = owner;
    this.pool = pool;
    this.registration = registration;
    this.span = span;
    this.shareInputs = shareInputs;
  }

  /**
   * The request with what it shares: inputs are copied into the slots.
   *
   * @param places bytes of each output that is to be shared
   */
  OutgoingMessage message(InferRequest request, long budgetNanos, Map<String, Long> places) {
    ModelInferRequest.Builder told = RequestHead.begin(request, budgetNanos);
    List<MemorySegment> raw = new ArrayList<>();
    for (Map.Entry<String, Tensor> input : request.inputs().entrySet()) {
      InferInputTensor.Builder described = RequestHead.input(input.getKey(), input.getValue());
      MemorySegment bytes = input.getValue().sendable();
      if (shareInputs) {
        MemorySegment place = span.carve(bytes.byteSize(), ALIGNMENT);
        place.copyFrom(bytes);
        inputs.put(input.getKey(), place);
        described.putAllParameters(parameters(place));
        sharedBytes += bytes.byteSize();
      } else {
        raw.add(bytes);
      }
      told.addInputs(described);
    }
    Map<String, Integer> wanted = new LinkedHashMap<>(request.outputs());
    places.keySet().forEach(name -> wanted.putIfAbsent(name, 0));
    wanted.forEach(
        (name, classes) -> {
          InferRequestedOutputTensor.Builder output = RequestHead.output(name, classes);
          Long bytes = places.get(name);
          if (bytes != null) {
            MemorySegment place = span.carve(bytes, ALIGNMENT);
            outputs.put(name, place);
            output.putAllParameters(parameters(place));
            sharedBytes += bytes;
          }
          told.addOutputs(output);
        });
    head = told.build();
    return new OutgoingMessage(head, raw);
  }

  /** The same message once more, where all inputs are shared: the caller's are not needed. */
  OutgoingMessage again() {
    return new OutgoingMessage(head, List.of());
  }

  /** As {@link #again}, with outputs sent that the server would not write to the slots. */
  OutgoingMessage withoutPlaces() {
    ModelInferRequest.Builder told = head.toBuilder();
    for (InferRequestedOutputTensor.Builder output : told.getOutputsBuilderList()) {
      output.removeParameters(Parameters.REGION);
      output.removeParameters(Parameters.REGION_OFFSET);
      output.removeParameters(Parameters.REGION_BYTES);
    }
    for (MemorySegment place : outputs.values()) {
      sharedBytes -= place.byteSize();
    }
    outputs.clear();
    head = told.build();
    return again();
  }

  /** The request in a message, where all inputs are shared: out of the slots. */
  OutgoingMessage inline(InferRequest request, long budgetNanos) {
    ModelInferRequest.Builder told = RequestHead.begin(request, budgetNanos);
    List<MemorySegment> raw = new ArrayList<>(inputs.size());
    inputs.forEach(
        (name, place) -> {
          Tensor tensor = request.inputs().get(name);
          if (tensor == null) {
            throw new IllegalStateException("no input '" + name + "' was shared");
          }
          told.addInputs(RequestHead.input(name, Tensor.of(tensor.dtype(), tensor.shape(), place)));
          raw.add(place);
        });
    request
        .outputs()
        .forEach((name, classes) -> told.addOutputs(RequestHead.output(name, classes)));
    return new OutgoingMessage(told.build(), raw);
  }

  private Map<String, InferParameter> parameters(MemorySegment place) {
    return Map.of(
        Parameters.REGION,
        Parameters.of(pool.region().name()),
        Parameters.REGION_OFFSET,
        Parameters.of(span.offsetOf(place)),
        Parameters.REGION_BYTES,
        Parameters.of(place.byteSize()));
  }

  /** Where an output was to be written; empty when it was to be sent. */
  Map<String, MemorySegment> outputs() {
    return outputs;
  }

  long sharedBytes() {
    return sharedBytes;
  }

  /**
   * Gives the slots back.
   *
   * @param settled false when the server may still write an output: the slots are not reused
   */
  void end(boolean settled) {
    if (settled || outputs.isEmpty()) {
      pool.giveBack(span);
    } else if (pool.lose(span)) {
      owner.replace(pool);
    }
  }
}
