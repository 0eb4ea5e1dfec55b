package dev.roundhouse.worker.transport;

import dev.roundhouse.bundle.request.RequestOptions;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerForm;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.kserve.codec.InferMessage;
import dev.roundhouse.kserve.codec.MessageMemory;
import dev.roundhouse.kserve.codec.ParameterValue;
import dev.roundhouse.kserve.codec.RegionRange;
import dev.roundhouse.kserve.codec.RequestCheck;
import dev.roundhouse.kserve.codec.RequestedOutput;
import dev.roundhouse.kserve.codec.ResponseMessage;
import dev.roundhouse.kserve.codec.ResponseTensor;
import dev.roundhouse.kserve.codec.WireInput;
import dev.roundhouse.kserve.codec.WireRequest;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.platform.logging.AboutRequest;
import dev.roundhouse.worker.tee.Tee;
import dev.roundhouse.worker.transport.shm.ClientRegions;
import dev.roundhouse.worker.transport.shm.Lease;
import io.opentelemetry.api.trace.SpanContext;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * One inference request while it is under way, whatever transport it came by: what was asked, the
 * shared memory that it uses, and how its answer is told. Used by one thread at a time; closed when
 * the answer has been written or given up.
 */
public final class InferExchange implements AutoCloseable {
  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0).asReadOnlyBuffer();

  private final WireRequest request;
  private final ReceiptOrigin origin;
  private final List<InputTensor> inputs;

  /** Leases of inputs and outputs; of outputs by name. */
  private final List<Lease> leases;

  private final Map<String, Lease> places;

  /** What writes outputs to memory on the device; null when none goes there. */
  private final @Nullable Executor deviceThread;

  /** Why an output could not be written to memory on the device; published by the answer's end. */
  private @Nullable WireException notOnDevice;

  /** Of inputs that came in the message; held until they are let go or the exchange is closed. */
  private final MessageMemory memory;

  /** Of outputs that are wanted as classes; null when none is. */
  private final @Nullable Classification classification;

  private final AtomicBoolean inputsGone = new AtomicBoolean();
  private final AtomicBoolean closed = new AtomicBoolean();

  private long spentNanos;
  private @Nullable SpanContext calledIn;
  private @Nullable SpanContext span;

  private InferExchange(
      WireRequest request,
      ReceiptOrigin origin,
      List<InputTensor> inputs,
      List<Lease> leases,
      Map<String, Lease> places,
      @Nullable Executor deviceThread,
      MessageMemory memory) {
    this.request = request;
    this.origin = origin;
    this.inputs = inputs;
    this.leases = leases;
    this.places = places;
    this.deviceThread = deviceThread;
    this.memory = memory;
    classification = Classification.of(request.requestedOutputs());
    memory.hold();
  }

  /**
   * Checks a request in itself, and holds its memory and the shared memory that it names. Payloads
   * are not copied.
   *
   * @param origin of the answer, as its receipt says it
   * @throws WireException when it makes no sense, or its memory cannot be had
   */
  static InferExchange begin(InferMessage message, ClientRegions regions, ReceiptOrigin origin) {
    WireRequest request = RequestCheck.check(message);
    List<Lease> leases = new ArrayList<>(0);
    try {
      List<InputTensor> inputs = inputs(request, regions, leases);
      Map<String, Lease> places = places(request, regions, leases);
      Executor writer = anyOnDevice(places) ? regions.cuda().thread() : null;
      return new InferExchange(request, origin, inputs, leases, places, writer, message.memory());
    } catch (RuntimeException e) {
      leases.forEach(Lease::close);
      throw e;
    }
  }

  private static List<InputTensor> inputs(
      WireRequest request, ClientRegions regions, List<Lease> leases) {
    List<InputTensor> inputs = new ArrayList<>(request.inputs().size());
    for (int i = 0; i < request.inputs().size(); i++) {
      WireInput input = request.inputs().get(i);
      TensorData data =
          switch (input.data()) {
            case WireInput.Inline(ByteBuffer bytes) -> TensorData.of(MemorySegment.ofBuffer(bytes));
            case WireInput.Shared(RegionRange range) -> lease(range, regions, leases).data();
          };
      inputs.add(new InputTensor(input.name(), input.dtype(), input.shape(), data));
    }
    return inputs;
  }

  private static Map<String, Lease> places(
      WireRequest request, ClientRegions regions, List<Lease> leases) {
    Map<String, Lease> places = Map.of();
    for (RequestedOutput output : request.requestedOutputs()) {
      RegionRange place = output.place();
      if (place != null) {
        places = places.isEmpty() ? new HashMap<>() : places;
        places.put(output.name(), lease(place, regions, leases));
      }
    }
    return places;
  }

  private static boolean anyOnDevice(Map<String, Lease> places) {
    for (Lease place : places.values()) {
      if (place.waitsForDevice()) {
        return true;
      }
    }
    return false;
  }

  private static Lease lease(RegionRange range, ClientRegions regions, List<Lease> leases) {
    Lease lease = regions.lease(range);
    leases.add(lease);
    return lease;
  }

  /**
   * The engine's request.
   *
   * @param nowNanos on the engine's clock
   * @param callNanos what is left to the call by its transport, or {@link
   *     RequestOptions#NO_TIMEOUT}; negative when it is over
   * @param isTraced whether {@code sink} traces it: its calls are told, and whether weights came
   * @param tee copies what the model answers, before it is made what was asked for; null for none
   */
  InferenceRequest.Builder toEngine(
      long nowNanos,
      long callNanos,
      int caller,
      boolean isTraced,
      AnswerSink sink,
      @Nullable Tee tee) {
    AnswerSink told = deviceThread == null ? sink : new DeviceWrites(this, deviceThread, sink);
    AnswerSink classified = classification == null ? told : classification.before(told);
    AnswerSink tapped =
        tee == null ? classified : tee.tapped(request.modelName(), inputs, classified);
    return InferenceRequest.of(request.modelName(), inputs, tapped)
        .version(request.modelVersion())
        .id(request.id())
        .outputs(outputNames())
        .deadlineNanos(deadline(nowNanos, Math.min(callNanos, budgetNanos())))
        .options(isTraced ? request.options().withTrace().withReceipt() : request.options())
        .caller(caller)
        .answerForm(classification == null ? AnswerForm.AS_IS : classification);
  }

  /** Part of the budget is gone already, as {@code SpentHeader} says. */
  public void spent(long nanos) {
    spentNanos = nanos;
  }

  /** The span of the caller that the request is part of; null or invalid for none. */
  public void calledIn(@Nullable SpanContext span) {
    calledIn = span;
  }

  /** That span; invalid for none. */
  SpanContext calledIn() {
    SpanContext said = calledIn;
    return said == null ? SpanContext.getInvalid() : said;
  }

  /** The request's own span; null when it has none. */
  void span(@Nullable SpanContext own) {
    span = own;
  }

  /** What the log says of it. */
  public AboutRequest about() {
    return new AboutRequest(request.id(), span == null ? calledIn : span);
  }

  private long budgetNanos() {
    long budget = request.options().timeoutNanos();
    return budget == RequestOptions.NO_TIMEOUT ? budget : budget - spentNanos;
  }

  String modelName() {
    return request.modelName();
  }

  public String id() {
    return request.id();
  }

  List<InputTensor> inputs() {
    return inputs;
  }

  /** Of the inputs that came in the request. */
  public long inlineBytes() {
    long bytes = 0;
    for (InputTensor input : inputs) {
      bytes += input.data().heldBytes();
    }
    return bytes;
  }

  /** True when outputs go to memory that the client shares. */
  public boolean writesShared() {
    return !places.isEmpty();
  }

  /**
   * Whether the end of a decoupled model's answer is told where no last part tells it: a receipt is
   * there.
   */
  public boolean wantsEmptyEnd() {
    return request.wantsEmptyEnd() || wantsReceipt();
  }

  /** Whether the end is to tell how the answer came about. */
  public boolean wantsReceipt() {
    return request.options().wantsReceipt();
  }

  private List<String> outputNames() {
    List<RequestedOutput> outputs = request.requestedOutputs();
    if (outputs.isEmpty()) {
      return List.of();
    }
    List<String> names = new ArrayList<>(outputs.size());
    for (RequestedOutput output : outputs) {
      names.add(output.name());
    }
    return names;
  }

  static long deadline(long nowNanos, long leftNanos) {
    if (leftNanos == RequestOptions.NO_TIMEOUT) {
      return InferenceRequest.NO_DEADLINE;
    }
    long deadline = nowNanos + leftNanos;
    boolean overflow = leftNanos > 0 && deadline < nowNanos;
    return overflow ? InferenceRequest.NO_DEADLINE : deadline;
  }

  /** Writes the outputs that go to memory on the device; before {@link #response}. */
  void writeToDevice(Answer part) {
    for (OutputTensor output : part.outputs()) {
      Lease place = places.get(output.name());
      if (place != null && place.waitsForDevice()) {
        requireRoom(output, place);
        place.write(output.data());
      }
    }
  }

  /** Has {@link #response} refuse: what goes to memory on the device is not there. */
  void failOnDevice(WireException failure) {
    notOnDevice = failure;
  }

  /**
   * What is answered. Outputs that were asked for in shared memory of the system are written there,
   * those in memory on the device have been.
   *
   * @param part borrowed until the answer is written
   * @param outcome how the request ended; null for a part before its end
   * @param parameters that the transport tells besides
   * @throws WireException when an output does not fit where it is to go
   */
  public ResponseMessage response(
      Answer part, @Nullable Outcome outcome, Map<String, ParameterValue> parameters) {
    if (notOnDevice != null) {
      throw notOnDevice;
    }
    List<OutputTensor> outputs = part.outputs();
    List<ResponseTensor> tensors = new ArrayList<>(outputs.size());
    for (int i = 0; i < outputs.size(); i++) {
      OutputTensor output = outputs.get(i);
      Lease place = places.get(output.name());
      tensors.add(place == null ? inline(output) : written(output, place));
    }
    return new ResponseMessage(
        request.modelName(), part.modelVersion(), request.id(), told(parameters, outcome), tensors);
  }

  /** The end of an answer in parts, of which the last has been told as one of many. */
  public ResponseMessage end(Outcome.Completed outcome, Map<String, ParameterValue> parameters) {
    return new ResponseMessage(
        request.modelName(),
        outcome.modelVersion(),
        request.id(),
        told(parameters, outcome),
        List.of());
  }

  /** With what the request wants to be told of how it went. */
  private Map<String, ParameterValue> told(
      Map<String, ParameterValue> parameters, @Nullable Outcome outcome) {
    RequestOptions options = request.options();
    if (!(options.wantsTimings() || options.wantsReceipt())
        || !(outcome instanceof Outcome.Completed completed)) {
      return parameters;
    }
    Map<String, ParameterValue> all = new LinkedHashMap<>(parameters);
    if (options.wantsTimings()) {
      putTimings(all, completed.timings());
    }
    if (options.wantsReceipt()) {
      ReceiptParameters.put(all, completed, origin);
    }
    return all;
  }

  private static void putTimings(Map<String, ParameterValue> all, Outcome.Timings took) {
    put(all, "roundhouse_total_ns", took.answeredNanos() - took.acceptedNanos());
    put(all, "roundhouse_queue_ns", took.queueNanos());
    put(all, "roundhouse_compute_input_ns", took.computeInputNanos());
    put(all, "roundhouse_compute_infer_ns", took.computeNanos());
    put(all, "roundhouse_compute_output_ns", took.computeOutputNanos());
    put(all, "roundhouse_batch_rows", took.batchRows());
    put(all, "roundhouse_padding_rows", took.paddingRows());
  }

  private static void put(Map<String, ParameterValue> all, String name, long value) {
    all.put(name, new ParameterValue.Signed(value));
  }

  /** What is answered when there is no answer: whose it would have been. */
  public ResponseMessage failure(Map<String, ParameterValue> parameters) {
    return new ResponseMessage(request.modelName(), "", request.id(), parameters, List.of());
  }

  private static ResponseTensor inline(OutputTensor output) {
    long byteSize = output.data().byteSize();
    if (byteSize > Integer.MAX_VALUE) {
      throw WireException.invalidArgument(
          "output '%s' has %d bytes, a message holds %d; request fewer rows, or have it written to shared memory"
              .formatted(output.name(), byteSize, Integer.MAX_VALUE));
    }
    return new ResponseTensor(
        output.name(), output.dtype(), output.shape(), Map.of(), output.data().asByteBuffer());
  }

  private static void requireRoom(OutputTensor output, Lease place) {
    RegionRange range = place.range();
    long byteSize = output.data().byteSize();
    if (byteSize > range.byteSize()) {
      throw new WireException(
          WireStatus.INTERNAL,
          "shared memory size specified with the request for output '%s' (%d bytes) should be at least %d bytes to hold the results"
              .formatted(output.name(), range.byteSize(), byteSize));
    }
  }

  private static ResponseTensor written(OutputTensor output, Lease place) {
    if (!place.waitsForDevice()) {
      requireRoom(output, place);
      place.write(output.data());
    }
    RegionRange range = place.range();
    Map<String, ParameterValue> where = LinkedHashMap.newLinkedHashMap(3);
    where.put("shared_memory_region", new ParameterValue.Text(range.region()));
    where.put("shared_memory_offset", new ParameterValue.Signed(range.offset()));
    where.put("shared_memory_byte_size", new ParameterValue.Signed(output.data().byteSize()));
    return new ResponseTensor(output.name(), output.dtype(), output.shape(), where, NOTHING);
  }

  /**
   * Lets go of the message that the inputs came in: the request has ended, though its answer may
   * have to wait until its client reads. Harmless when repeated.
   */
  public void releaseInputs() {
    if (inputsGone.compareAndSet(false, true)) {
      memory.release();
    }
  }

  /** Lets go of memory. Harmless when repeated. */
  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    for (int i = 0; i < leases.size(); i++) {
      leases.get(i).close();
    }
    releaseInputs();
  }
}
