package dev.roundhouse.engine.hook;

import dev.roundhouse.bundle.Bundle;
import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.engine.model.CalledModels;
import dev.roundhouse.engine.model.ComposedModel;
import dev.roundhouse.engine.model.ModelCode;
import dev.roundhouse.engine.model.ProgramModel;
import dev.roundhouse.engine.queue.ByteBudget;
import dev.roundhouse.engine.thread.PlatformThreads;
import dev.roundhouse.engine.time.NanoClock;
import dev.roundhouse.hooks.MetaModel;
import dev.roundhouse.hooks.ModelContext;
import dev.roundhouse.hooks.ModelHooks;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes hooked models, and has what they share: threads, the watch, memory. Thread-safe. */
public final class HookServer implements ModelCode {
  private static final Logger log = LoggerFactory.getLogger(HookServer.class);

  /** Of the heap, what hooks may make tensors of. */
  private static final int HEAP_PART = 4;

  private final HookOptions options;
  private final NanoClock clock;
  private final ByteBudget requests;
  private final ByteBudget heap;
  private final Executor application;
  private final HookThreads threads;
  private final HookThreads metaThreads;
  private final Semaphore gate;
  private final ScratchLine scratchLine;
  private final CalledModels called;
  private final AwaitedCode awaited;
  private final HookWatch watch;
  private final HookHeap allocated = new HookHeap(Runtime.getRuntime().maxMemory());
  private final BiConsumer<String, BooleanSupplier> watcher;
  private final AtomicBoolean watched = new AtomicBoolean();
  private final Set<CodedModel> models = ConcurrentHashMap.newKeySet();

  /**
   * @param requests what all requests need
   * @param mostWaiting requests of one model that may wait for a thread
   * @param application runs hooks of requests; borrowed
   * @param awaited runs hooks that a load waits for; borrowed
   * @param called the models that metas call
   * @param watcher has something done every few milliseconds on a thread of that name
   */
  public HookServer(
      HookOptions options,
      NanoClock clock,
      ByteBudget requests,
      int mostWaiting,
      Executor application,
      Executor awaited,
      CalledModels called,
      BiConsumer<String, BooleanSupplier> watcher) {
    this.options = options;
    this.clock = clock;
    this.requests = requests;
    this.application = application;
    this.watcher = watcher;
    heap =
        new ByteBudget(
            Runtime.getRuntime().maxMemory() / HEAP_PART,
            "the heap (-Xmx), a quarter of which hooks may have");
    threads =
        new HookThreads(application, clock, options.threads(), options.perModel(), mostWaiting);
    metaThreads =
        new HookThreads(
            application,
            clock,
            options.metaThreads(),
            Math.min(options.metaThreads(), options.perModel()),
            mostWaiting);
    gate = new Semaphore(options.metaConcurrency(), true);
    scratchLine = new ScratchLine(clock);
    this.called = called;
    this.awaited = new AwaitedCode(awaited, options, allocated);
    watch = new HookWatch(clock);
  }

  @Override
  public Read read(Bundle bundle, String version) {
    refuseUnserved(bundle);
    String loaderName = HookFailure.LOADER + bundle.name() + "/" + version;
    HookClass<ModelHooks> found = HookClass.read(bundle, loaderName, options, ModelHooks.class);
    ModelContext context = new BundleContext(bundle, version);
    return (spec, programs, misbehaved) ->
        attach(found.where(), found::make, context, spec, programs, misbehaved);
  }

  @Override
  public ComposedModel meta(
      Bundle bundle,
      String version,
      String fingerprint,
      BiConsumer<ComposedModel, String> misbehaved) {
    refuseUnserved(bundle);
    String loaderName = HookFailure.LOADER + bundle.name() + "/" + version;
    HookClass<MetaModel> found = HookClass.read(bundle, loaderName, options, MetaModel.class);
    ModelContext context = new BundleContext(bundle, version);
    MetaModel meta = open(found.where(), found::make, made -> made.open(context));
    return served(new CallingModel(bundle.spec(), fingerprint, this, meta, context, misbehaved));
  }

  /** Hooks that are an object already. */
  public Read of(ModelHooks hooks) {
    return (spec, programs, misbehaved) ->
        attach(
            spec.name(),
            () -> hooks,
            new BareContext(spec, programs.version()),
            spec,
            programs,
            misbehaved);
  }

  private HookedModel attach(
      String where,
      Callable<ModelHooks> maker,
      ModelContext context,
      ModelSpec spec,
      ProgramModel programs,
      BiConsumer<ComposedModel, String> misbehaved) {
    ModelHooks hooks = open(where, maker, made -> made.open(context));
    return served(new HookedModel(spec, programs, this, hooks, context, misbehaved));
  }

  /** What opens a bundle's object. */
  private interface Opening<T> {
    void open(T made) throws Exception;
  }

  private <T> T open(String where, Callable<T> maker, Opening<T> opening) {
    return awaited.run(
        where,
        "open",
        () -> {
          T made = maker.call();
          Thread.currentThread().setContextClassLoader(made.getClass().getClassLoader());
          opening.open(made);
          return made;
        });
  }

  private <T extends CodedModel> T served(T model) {
    models.add(model);
    if (watched.compareAndSet(false, true)) {
      watcher.accept("hook-watch", this::look);
    }
    return model;
  }

  private boolean look() {
    threads.look();
    metaThreads.look();
    return watch.look();
  }

  /** Closes a model's hooks, and ends what threads they have left. */
  void close(CodedModel model) {
    if (!models.remove(model)) {
      return;
    }
    AutoCloseable code = model.code();
    try {
      awaited.run(
          model.name(),
          "close",
          () -> {
            Thread.currentThread().setContextClassLoader(code.getClass().getClassLoader());
            code.close();
            return code;
          });
    } catch (BundleException e) {
      log.warn("{}", e.getMessage());
    }
    if (code.getClass().getClassLoader() instanceof BundleClassLoader loader) {
      LeftThreads.end(loader, model.name(), watch.threads());
      if (application instanceof PlatformThreads pool) {
        pool.renew(); // its thread-locals would keep the bundle's classes
      }
    }
  }

  /** Closes what is left, as when the engine is closed. */
  public void close() {
    models.forEach(this::close);
  }

  private static void refuseUnserved(Bundle bundle) {
    if (bundle.spec().decoupled() && bundle.spec().serving().sequence().isPresent()) {
      throw new BundleException(
          bundle.directory().toString(),
          "says decoupled: true and has serving.sequence; a step of a sequence is answered once, so leave one of them out");
    }
    if (bundle.spec().serving().sequence().isPresent()) {
      throw new BundleException(
          bundle.directory().toString(),
          "has hooks and serving.sequence; this server keeps no state for models with hooks, so leave one of them out");
    }
  }

  HookOptions options() {
    return options;
  }

  NanoClock clock() {
    return clock;
  }

  HookThreads threads() {
    return threads;
  }

  HookThreads metaThreads() {
    return metaThreads;
  }

  /**
   * Lets so many runs of metas make calls at once, first come, first served: what a run holds
   * between its calls is freed soonest by letting it finish before another begins.
   */
  Semaphore gate() {
    return gate;
  }

  CalledModels called() {
    return called;
  }

  HookWatch watch() {
    return watch;
  }

  ScratchLine scratchLine() {
    return scratchLine;
  }

  HookHeap allocated() {
    return allocated;
  }

  HookMemory memory(String model) {
    return new HookMemory(model, requests, heap);
  }
}
