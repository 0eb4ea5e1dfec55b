package dev.roundhouse.engine.hook;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.engine.model.ComposedModel;
import dev.roundhouse.engine.model.ComposedRun;
import dev.roundhouse.engine.model.ProgramModel;
import dev.roundhouse.hooks.HookRequest;
import dev.roundhouse.hooks.ModelContext;
import dev.roundhouse.hooks.ModelHooks;
import dev.roundhouse.hooks.Tensors;
import java.util.function.BiConsumer;

/**
 * A version whose hooks stand between callers and programs of its own, which no name leads to:
 * callers see the client contract, and reports, residency and weights are those of the programs.
 */
final class HookedModel extends CodedModel {
  private final ProgramModel programs;
  private final ModelHooks hooks;
  private final boolean preprocesses;
  private final boolean postprocesses;

  /**
   * @param hooks opened already; closed with this
   * @param misbehaved is told when this must not serve any more
   */
  HookedModel(
      ModelSpec spec,
      ProgramModel programs,
      HookServer server,
      ModelHooks hooks,
      ModelContext context,
      BiConsumer<ComposedModel, String> misbehaved) {
    super(
        spec,
        programs.contract().batchSizes(),
        server,
        hooks,
        context,
        server.threads(),
        misbehaved);
    this.programs = programs;
    this.hooks = hooks;
    preprocesses = overrides(hooks, "preprocess", HookRequest.class);
    postprocesses = overrides(hooks, "postprocess", HookRequest.class, Tensors.class);
  }

  private static boolean overrides(ModelHooks hooks, String method, Class<?>... parameters) {
    try {
      return hooks.getClass().getMethod(method, parameters).getDeclaringClass() != ModelHooks.class;
    } catch (NoSuchMethodException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  protected void run(ComposedRun run) {
    new HookRun(this, run).begin();
  }

  @Override
  public ProgramModel inLane() {
    return programs;
  }

  @Override
  public String fingerprint() {
    return programs.fingerprint();
  }

  ModelHooks hooks() {
    return hooks;
  }

  /** False when its inputs go to the programs as they come. */
  boolean preprocesses() {
    return preprocesses;
  }

  /** False when the programs' outputs are the answer. */
  boolean postprocesses() {
    return postprocesses;
  }
}
