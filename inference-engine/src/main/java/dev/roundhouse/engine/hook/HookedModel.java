package dev.roundhouse.engine.hook;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.engine.model.ComposedModel;
import dev.roundhouse.engine.model.ComposedRun;
import dev.roundhouse.engine.model.ProgramModel;
import dev.roundhouse.engine.observe.LogThrottle;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.hooks.HookRequest;
import dev.roundhouse.hooks.ModelContext;
import dev.roundhouse.hooks.ModelHooks;
import dev.roundhouse.hooks.Tensors;
import java.util.concurrent.Executor;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A version whose hooks stand between callers and programs of its own, which no name leads to:
 * callers see the client contract, and reports, residency and weights are those of the programs.
 */
final class HookedModel extends ComposedModel {
  private static final Logger log = LoggerFactory.getLogger(HookedModel.class);

  private final HookServer server;
  private final ProgramModel programs;
  private final ModelHooks hooks;
  private final ModelContext context;
  private final HookThreads.Share threads;
  private final Conduct conduct;
  private final boolean preprocesses;
  private final boolean postprocesses;
  private final LogThrottle failures = new LogThrottle(log);

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
    super(spec, programs.version(), programs.contract().batchSizes());
    this.server = server;
    this.programs = programs;
    this.hooks = hooks;
    this.context = context;
    threads = server.threads().share(spec.name());
    conduct = new Conduct(server.clock(), why -> quarantine(why, misbehaved));
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

  private void quarantine(String why, BiConsumer<ComposedModel, String> misbehaved) {
    misbehaved.accept(this, why);
    threads.close(
        new HookThreads.Refusal(
            Status.UNAVAILABLE, "model '%s' is in quarantine: %s".formatted(name(), why)));
  }

  @Override
  protected void run(ComposedRun run) {
    new HookRun(this, run, server.memory(name())).begin();
  }

  @Override
  protected void execute(Runnable piece, boolean begun, Executor application) {
    threads.execute(piece, begun);
  }

  @Override
  protected void close() {
    server.close(this);
  }

  @Override
  public ProgramModel inLane() {
    return programs;
  }

  @Override
  public String fingerprint() {
    return programs.fingerprint();
  }

  HookThreads.@Nullable Refusal refusal() {
    return threads.refusal();
  }

  void onStuck(Thread thread) {
    server.threads().onStuck(threads, thread);
  }

  ModelHooks hooks() {
    return hooks;
  }

  ModelContext context() {
    return context;
  }

  Conduct conduct() {
    return conduct;
  }

  /** False when its inputs go to the programs as they come. */
  boolean preprocesses() {
    return preprocesses;
  }

  /** False when the programs' outputs are the answer. */
  boolean postprocesses() {
    return postprocesses;
  }

  HookWatch.Watched watch(HookRun run, String hook, long limitNanos) {
    return server.watch().begin(run, hook, limitNanos);
  }

  long limitNanos() {
    return server.options().timeLimit().toNanos();
  }

  long nanoTime() {
    return server.clock().nanoTime();
  }

  /** Where an operator sets what hooks may take. */
  String settings() {
    return server.options().settings();
  }

  void logFailure(String message, @Nullable Throwable thrown) {
    if (thrown == null) {
      failures.warn(message);
    } else {
      failures.warn(message, thrown);
    }
  }
}
