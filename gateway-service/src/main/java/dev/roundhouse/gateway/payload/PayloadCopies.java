package dev.roundhouse.gateway.payload;

import dev.roundhouse.platform.payload.PayloadLog;
import dev.roundhouse.transport.forward.PassingCopy;
import io.netty.handler.codec.http.HttpHeaders;
import org.jspecify.annotations.Nullable;

/** Chooses which requests are copied. Thread-safe. */
public final class PayloadCopies {
  private final PayloadLog payloads;

  public PayloadCopies(PayloadLog payloads) {
    this.payloads = payloads;
  }

  /** For a ModelInfer of gRPC; null when it is not copied. */
  public @Nullable PassingCopy call(String model) {
    return payloads.takes(model) ? new CallCopy(payloads) : null;
  }

  /** For an inference over HTTP; null when it is not copied. */
  public @Nullable PassingCopy request(String model, HttpHeaders headers) {
    return payloads.takes(model) ? new HttpCopy(payloads, headers) : null;
  }
}
