package dev.roundhouse.engine.hook;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.engine.model.CalledModels;
import dev.roundhouse.engine.model.ComposedModel;
import dev.roundhouse.engine.model.ComposedRun;
import dev.roundhouse.engine.model.ModelContract;
import dev.roundhouse.engine.model.ProgramModel;
import dev.roundhouse.engine.observe.Waiting;
import dev.roundhouse.hooks.MetaModel;
import dev.roundhouse.hooks.ModelContext;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** A meta: a version whose code answers by calling other models. */
final class CallingModel extends CodedModel {
  private final MetaModel meta;
  private final String fingerprint;
  private final Semaphore gate;
  private final ScratchLine scratchLine;
  private final CalledModels called;
  private final int gateWidth;

  /** Its runs that wait at the gate. */
  private final AtomicInteger atGate = new AtomicInteger();

  private volatile Set<String> lastCalled = Set.of();

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
        spec.batchSizes().isEmpty() ? List.of(ModelContract.MOST_ROWS) : spec.batchSizes(),
        server,
        meta,
        context,
        server.metaThreads(),
        misbehaved);
    this.meta = meta;
    this.fingerprint = fingerprint;
    gate = server.gate();
    gateWidth = server.options().metaConcurrency();
    scratchLine = server.scratchLine();
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

  @Override
  public List<ProgramModel> needs() {
    return called.needs(spec());
  }

  /** What the latest run called: the next will call the same, more often than not. */
  Set<String> lastCalled() {
    return lastCalled;
  }

  void lastCalled(Set<String> names) {
    if (!names.equals(lastCalled)) {
      lastCalled = Set.copyOf(names);
    }
  }

  MetaModel meta() {
    return meta;
  }

  Semaphore gate() {
    return gate;
  }

  /** A run of it begins to wait at the gate. */
  void beginWaitAtGate() {
    atGate.incrementAndGet();
  }

  /** A run of it has been let through, or has given up. */
  void endWaitAtGate() {
    atGate.decrementAndGet();
  }

  @Override
  public @Nullable Waiting waiting() {
    int runs = atGate.get();
    return runs > 0 ? new Waiting.AtGate(runs, gateWidth) : super.waiting();
  }

  ScratchLine scratchLine() {
    return scratchLine;
  }

  CalledModels called() {
    return called;
  }
}
