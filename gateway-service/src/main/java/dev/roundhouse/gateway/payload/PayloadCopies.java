package dev.roundhouse.gateway.payload;

import dev.roundhouse.gateway.payload.BufferedCopy.MessageForm;
import dev.roundhouse.platform.payload.PayloadLog;
import dev.roundhouse.transport.forward.PassingCopy;
import io.netty.handler.codec.http.HttpHeaders;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Chooses which requests are copied. Thread-safe. */
public final class PayloadCopies {
  private final PayloadLog payloads;

  public PayloadCopies(PayloadLog payloads) {
    this.payloads = payloads;
  }

  /** For a ModelInfer of gRPC; null when it is not copied. */
  public @Nullable PassingCopy call(String model) {
    return payloads.takes(model) ? copy("", () -> CallForm.INSTANCE) : null;
  }

  /** For an inference over HTTP; null when it is not copied. */
  public @Nullable PassingCopy request(String model, HttpHeaders headers) {
    return payloads.takes(model)
        ? copy(headers.get("ce-id", ""), () -> new HttpForm(headers))
        : null;
  }

  /** Costs no call: what cannot be copied is counted, and passes. */
  private @Nullable PassingCopy copy(String id, Supplier<MessageForm> form) {
    try {
      return new BufferedCopy(payloads, id, form.get());
    } catch (RuntimeException | Error e) {
      payloads.failed(e);
      return null;
    }
  }
}
