package dev.roundhouse.engine.hook;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.engine.model.ComposedModel;
import dev.roundhouse.engine.observe.LogThrottle;
import dev.roundhouse.engine.observe.Waiting;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.hooks.ModelContext;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A version that runs a bundle's code for each request, under limits. */
abstract class CodedModel extends ComposedModel {
  private static final Logger log = LoggerFactory.getLogger(CodedModel.class);

  private final HookServer server;
  private final AutoCloseable code;
  private final ModelContext context;
  private final HookThreads pool;
  private final HookThreads.Share threads;
  private final Conduct conduct;
  private final LogThrottle failures = new LogThrottle(log);

  /**
   * @param batchSizes rows that one request may have, ascending
   * @param code opened already; closed with this
   * @param pool whose threads run it
   * @param misbehaved is told when this must not serve any more
   */
  CodedModel(
      ModelSpec spec,
      List<Integer> batchSizes,
      HookServer server,
      AutoCloseable code,
      ModelContext context,
      HookThreads pool,
      BiConsumer<ComposedModel, String> misbehaved) {
    super(spec, context.version(), batchSizes);
    this.server = server;
    this.code = code;
    this.context = context;
    this.pool = pool;
    threads = pool.share(spec.name());
    conduct = new Conduct(server.clock(), why -> quarantine(why, misbehaved));
  }

  private void quarantine(String why, BiConsumer<ComposedModel, String> misbehaved) {
    misbehaved.accept(this, why);
    threads.close(
        new HookThreads.Refusal(
            Status.UNAVAILABLE, "model '%s' is in quarantine: %s".formatted(name(), why)));
  }

  @Override
  protected final void execute(Runnable piece, boolean begun, Executor application) {
    threads.execute(piece, begun);
  }

  @Override
  public @Nullable Waiting waiting() {
    return threads.waiting();
  }

  @Override
  protected final void close() {
    server.close(this);
  }

  HookThreads.@Nullable Refusal refusal() {
    return threads.refusal();
  }

  void onStuck(Thread thread) {
    pool.onStuck(threads, thread);
  }

  /** The bundle's object. */
  AutoCloseable code() {
    return code;
  }

  ModelContext context() {
    return context;
  }

  Conduct conduct() {
    return conduct;
  }

  HookMemory memory() {
    return server.memory(name());
  }

  HookHeap.Call allocates(String hook) {
    return server.allocated().begin("%s of model '%s'".formatted(hook, name()));
  }

  HookWatch.Watched watch(CodedRun run, String hook, long limitNanos, long deadlineNanos) {
    return server.watch().begin(run, hook, limitNanos, deadlineNanos);
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
