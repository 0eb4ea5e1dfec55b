package dev.roundhouse.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.model.ComposedModel;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;

/** Loads composed models, which no bundle makes yet, for tests of other modules too. */
public final class ComposedLoading {
  private ComposedLoading() {}

  /** Returns when the model is ready. */
  public static void load(Engine engine, ComposedModel model) {
    ModelStatus status = engine.admin().load(model).join();
    assertThat(status.state()).as(status.reason()).isEqualTo(ModelState.READY);
  }
}
