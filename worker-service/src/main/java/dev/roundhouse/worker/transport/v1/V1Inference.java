package dev.roundhouse.worker.transport.v1;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.kserve.codec.MessageLimits;
import dev.roundhouse.kserve.codec.ReadMessage;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.worker.transport.Inference;
import dev.roundhouse.worker.transport.ModelLookup;
import org.jspecify.annotations.Nullable;

/** Begins requests of v1 as those of v2, whatever transport they came by. Thread-safe. */
final class V1Inference {
  private final Inference inference;
  private final ModelLookup models;

  V1Inference(Inference inference, ModelLookup models) {
    this.inference = inference;
    this.models = models;
  }

  Inference inference() {
    return inference;
  }

  /**
   * Holds a request against what its caller may do, and begins it.
   *
   * @param rights of the caller; null when nothing is checked
   * @return to be closed when the answer has been written or given up
   * @throws WireException when it is refused
   */
  V1Exchange begin(AskedModel asked, RawInputs raw, @Nullable CallerRights rights) {
    MessageLimits.requireName("model_name", asked.name());
    if (asked.name().isEmpty()) {
      throw WireException.invalidArgument("model_name is empty; name the model to ask");
    }
    Inference.admit(rights, asked.name(), 0);
    ModelSpec model = models.ready(asked.name(), asked.versionText()).spec().orElseThrow();
    V1Exchange exchange =
        new V1Exchange(
            inference.begin(message(asked, model, raw)), new AnswerMapper(asked.header(), model));
    if (rights != null) {
      rights.arrived(exchange.v2().inlineBytes());
    }
    return exchange;
  }

  private ReadMessage message(AskedModel asked, ModelSpec model, RawInputs raw) {
    try {
      return RequestMapper.map(asked, model, raw);
    } catch (WireException e) {
      inference.countRefused(asked.name(), e);
      throw e;
    }
  }
}
