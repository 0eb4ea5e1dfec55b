package dev.roundhouse.worker.payload;

import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.ForwardingSink;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.platform.payload.PayloadBody;
import dev.roundhouse.platform.payload.PayloadEvent;
import dev.roundhouse.platform.payload.PayloadLog;
import dev.roundhouse.platform.payload.PayloadRoom;
import dev.roundhouse.platform.payload.PayloadTensor;
import java.time.Instant;
import java.util.List;
import java.util.function.Function;

/**
 * Copies what is sent to the collector: a request when it comes, by the thread that has read it,
 * and an answer when it is delivered, up to the limit of both. Thread-safe.
 */
public final class PayloadTap {
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
      asked(id, eventId, inputs);
    }
    return payloads.sendsAnswers() ? new Answered(model, id, eventId, sink) : sink;
  }

  /** Costs no request: what cannot be copied is not. */
  private void asked(String id, String eventId, List<InputTensor> inputs) {
    try {
      offer(
          PayloadEvent.Type.REQUEST,
          eventId,
          TensorSources.ofInputs(inputs, payloads.maxPayload()),
          tensors -> new PayloadBody.Document(id, null, null, true, tensors));
    } catch (RuntimeException | Error e) {
      payloads.failed(e);
    }
  }

  /** Copies what there is room for, which is asked first. */
  private void offer(
      PayloadEvent.Type type,
      String eventId,
      TensorSources sources,
      Function<List<PayloadTensor>, PayloadBody> body) {
    try (PayloadRoom room = payloads.room(sources.byteSize())) {
      if (room != null) {
        room.offer(new PayloadEvent(type, eventId, Instant.now(), body.apply(sources.copied())));
      }
    }
  }

  /** Each part of an answer is an event. */
  private final class Answered extends ForwardingSink {
    private final String model;
    private final String id;
    private final String eventId;

    Answered(String model, String id, String eventId, AnswerSink sink) {
      super(sink);
      this.model = model;
      this.id = id;
      this.eventId = eventId;
    }

    @Override
    public void onPart(Answer part) {
      try {
        offer(
            PayloadEvent.Type.RESPONSE,
            eventId,
            TensorSources.ofOutputs(part.outputs(), payloads.maxPayload()),
            tensors -> new PayloadBody.Document(id, model, part.modelVersion(), false, tensors));
      } catch (RuntimeException | Error e) {
        payloads.failed(e);
      }
      sink().onPart(part);
    }
  }
}
