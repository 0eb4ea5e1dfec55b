package dev.roundhouse.engine.hook;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.engine.model.CalledModels;
import dev.roundhouse.engine.model.ComposedModel;
import dev.roundhouse.engine.model.ComposedRun;
import dev.roundhouse.hooks.MetaModel;
import dev.roundhouse.hooks.ModelContext;
import java.util.List;
import java.util.function.BiConsumer;

/** A meta: a version whose code answers by calling other models. */
final class CallingModel extends CodedModel {
  /** Rows of a request to a meta that names no batch sizes: as many as a manifest may name. */
  private static final int MOST_ROWS = 1 << 20;

  private final MetaModel meta;
  private final String fingerprint;
  private final MetaGate gate;
  private final CalledModels called;

  /**
   * @param meta opened already; closed with this
   * @param misbehaved is told when this must not serve any more
   */
  CallingModel(
      ModelSpec spec,
      String fingerprint,
      HookServer server,
      MetaModel meta,
      ModelContext context,
      BiConsumer<ComposedModel, String> misbehaved) {
    super(
        spec,
        spec.batchSizes().isEmpty() ? List.of(MOST_ROWS) : spec.batchSizes(),
        server,
        meta,
        context,
        server.metaThreads(),
        misbehaved);
    this.meta = meta;
    this.fingerprint = fingerprint;
    gate = server.gate();
    called = server.called();
  }

  @Override
  protected void run(ComposedRun run) {
    new CallingRun(this, run).begin();
  }

  @Override
  public String fingerprint() {
    return fingerprint;
  }

  MetaModel meta() {
    return meta;
  }

  MetaGate gate() {
    return gate;
  }

  CalledModels called() {
    return called;
  }
}
