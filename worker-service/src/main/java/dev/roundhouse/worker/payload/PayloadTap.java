package dev.roundhouse.worker.payload;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.CallReport;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.platform.payload.PayloadBody;
import dev.roundhouse.platform.payload.PayloadEvent;
import dev.roundhouse.platform.payload.PayloadLog;
import dev.roundhouse.platform.payload.PayloadTensor;
import java.lang.foreign.MemorySegment;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Copies what is sent to the collector: a request when it comes, by the thread that has read it,
 * and an answer when it is delivered, up to the limit of both. Thread-safe.
 */
public final class PayloadTap {
  private static final Logger log = LoggerFactory.getLogger(PayloadTap.class);

  private final PayloadLog payloads;

  public PayloadTap(PayloadLog payloads) {
    this.payloads = payloads;
  }

  /**
   * The sink for the answer of a request that has just been read: its own, or one that copies what
   * it is told.
   *
   * @param id of the request; empty for none
   * @param inputs borrowed
   */
  public AnswerSink tapped(String model, String id, List<InputTensor> inputs, AnswerSink sink) {
    if (!payloads.takes(model)) {
      return sink;
    }
    String eventId = PayloadLog.idOr(id);
    if (payloads.sendsRequests()) {
      offer(
          PayloadEvent.Type.REQUEST,
          eventId,
          () -> new PayloadBody.Document(id, null, null, true, ofInputs(inputs)));
    }
    return payloads.sendsAnswers() ? new Answered(model, id, eventId, sink) : sink;
  }

  private interface Body {
    PayloadBody of();
  }

  /** Costs no request: what cannot be copied is not. */
  private void offer(PayloadEvent.Type type, String eventId, Body body) {
    try {
      payloads.offer(new PayloadEvent(type, eventId, Instant.now(), body.of()));
    } catch (RuntimeException | Error e) {
      payloads.drop(PayloadLog.Drop.FAILED);
      log.error("a payload could not be copied", e);
    }
  }

  private List<PayloadTensor> ofInputs(List<InputTensor> inputs) {
    List<PayloadTensor> copies = new ArrayList<>(inputs.size());
    long room = payloads.maxPayload();
    for (InputTensor input : inputs) {
      PayloadTensor copy = copy(input.name(), input.dtype(), input.shape(), input.data(), room);
      room -= copy.data() == null ? 0 : copy.data().length;
      copies.add(copy);
    }
    return copies;
  }

  private List<PayloadTensor> ofOutputs(List<OutputTensor> outputs) {
    List<PayloadTensor> copies = new ArrayList<>(outputs.size());
    long room = payloads.maxPayload();
    for (OutputTensor output : outputs) {
      TensorData data = TensorData.of(output.data());
      PayloadTensor copy = copy(output.name(), output.dtype(), output.shape(), data, room);
      room -= copy.data() == null ? 0 : copy.data().length;
      copies.add(copy);
    }
    return copies;
  }

  /** Left out when there is no room, or it cannot be read. */
  private static PayloadTensor copy(
      String name, DType dtype, Shape shape, TensorData data, long room) {
    byte @Nullable [] bytes = null;
    if (data.byteSize() <= room && data.isReadable() && !data.waitsForDevice()) {
      byte[] copied = new byte[(int) data.byteSize()];
      try {
        data.copyTo(0, MemorySegment.ofArray(copied), 0, copied.length);
        bytes = copied;
      } catch (RuntimeException unreadable) { // the request will say why, if it minds
        bytes = null;
      }
    }
    return new PayloadTensor(name, dtype, shape, bytes);
  }

  /** Each part of an answer is an event. */
  private final class Answered implements AnswerSink {
    private final String model;
    private final String id;
    private final String eventId;
    private final AnswerSink sink;

    Answered(String model, String id, String eventId, AnswerSink sink) {
      this.model = model;
      this.id = id;
      this.eventId = eventId;
      this.sink = sink;
    }

    @Override
    public @Nullable String onManyParts() {
      return sink.onManyParts();
    }

    @Override
    public void onCall(CallReport call) {
      sink.onCall(call);
    }

    @Override
    public void onPart(Answer part) {
      offer(
          PayloadEvent.Type.RESPONSE,
          eventId,
          () ->
              new PayloadBody.Document(
                  id, model, part.modelVersion(), false, ofOutputs(part.outputs())));
      sink.onPart(part);
    }

    @Override
    public void onEnd(Outcome outcome) {
      sink.onEnd(outcome);
    }
  }
}
