package dev.roundhouse.worker.wiring;

import dev.roundhouse.bundle.LinkRoots;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.LimitNames;
import dev.roundhouse.engine.ModelOptions;
import dev.roundhouse.engine.compile.Compilation;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.dispatch.Watchdog;
import dev.roundhouse.engine.hook.HookOptions;
import dev.roundhouse.engine.numerics.Numerics;
import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.schedule.EarliestDeadline;
import dev.roundhouse.engine.schedule.FairShare;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.schedule.TenantShare;
import dev.roundhouse.engine.schedule.VirtualTime;
import dev.roundhouse.engine.thread.PlatformThreads;
import dev.roundhouse.engine.time.NanoClock;
import dev.roundhouse.platform.actuator.SettingsEndpoint;
import dev.roundhouse.platform.config.EffectiveSettings;
import dev.roundhouse.platform.config.ServerKeys;
import dev.roundhouse.platform.lifecycle.FailStopExit;
import dev.roundhouse.platform.lifecycle.LameDuck;
import dev.roundhouse.platform.logging.Announcer;
import dev.roundhouse.platform.metrics.Series;
import dev.roundhouse.platform.page.PageEnd;
import dev.roundhouse.platform.page.PageFeed;
import dev.roundhouse.platform.recording.RecordingEndpoint;
import dev.roundhouse.platform.rest.HttpFront;
import dev.roundhouse.platform.rest.HttpServerSettings;
import dev.roundhouse.worker.actuator.CompileMeters;
import dev.roundhouse.worker.actuator.DeviceMeters;
import dev.roundhouse.worker.actuator.DrainEndpoint;
import dev.roundhouse.worker.actuator.EngineMeters;
import dev.roundhouse.worker.actuator.EngineSeries;
import dev.roundhouse.worker.actuator.ModelsEndpoint;
import dev.roundhouse.worker.actuator.ModelsHealth;
import dev.roundhouse.worker.actuator.RepositoryEndpoint;
import dev.roundhouse.worker.actuator.ResidencyEndpoint;
import dev.roundhouse.worker.actuator.SchedulerEndpoint;
import dev.roundhouse.worker.actuator.WorkerInfo;
import dev.roundhouse.worker.config.HooksProperties;
import dev.roundhouse.worker.config.ModelProperties;
import dev.roundhouse.worker.config.SchedulerProperties;
import dev.roundhouse.worker.config.WorkerKeys;
import dev.roundhouse.worker.config.WorkerProperties;
import dev.roundhouse.worker.control.ControlCalls;
import dev.roundhouse.worker.control.ControlGrpcService;
import dev.roundhouse.worker.lifecycle.CostKeeper;
import dev.roundhouse.worker.lifecycle.EngineLifecycle;
import dev.roundhouse.worker.lifecycle.LeftOut;
import dev.roundhouse.worker.lifecycle.ModelJournal;
import dev.roundhouse.worker.lifecycle.ProcessEnd;
import dev.roundhouse.worker.lifecycle.Readiness;
import dev.roundhouse.worker.page.WorkerPage;
import dev.roundhouse.worker.trace.LatestTraces;
import dev.roundhouse.worker.transport.ModelControl;
import dev.roundhouse.worker.transport.Tenants;
import dev.roundhouse.worker.transport.Transports;
import dev.roundhouse.worker.transport.tstream.StreamServer;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.function.IntConsumer;
import java.util.function.IntSupplier;
import java.util.stream.Collectors;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.Environment;

/** The engine, its lifecycle, and its actuator views. */
@Configuration(proxyBeanMethods = false)
@EnableConfigurationProperties(WorkerProperties.class)
class EngineConfiguration {
  /** A message holds 2 GiB; names and shapes need a little of that too. */
  private static final long MAX_ANSWER_BYTES = Integer.MAX_VALUE - (1L << 20);

  private static final LimitNames LIMIT_NAMES =
      new LimitNames(
          "roundhouse.worker.scheduler.max-queue-depth",
          "roundhouse.worker.scheduler.max-queued-bytes",
          EngineConfiguration::modelSetting);

  private static final String HOOKS = WorkerProperties.PREFIX + ".hooks";

  private static final String LINK_ROOTS = WorkerProperties.PREFIX + ".repository.link-roots";

  /** Runs before the first bean is made, so that a typo is the first error reported. */
  @Bean
  static BeanFactoryPostProcessor unknownKeyCheck(Environment environment) {
    return beans -> {
      WorkerKeys.check().check(environment);
      ServerKeys.check(environment, WorkerProperties.PREFIX + ".server.http");
    };
  }

  /** Closed by {@link EngineLifecycle}, after the last call. */
  @Bean(destroyMethod = "")
  Engine engine(
      WorkerProperties properties, Numerics numerics, ModelJournal journal, Tenants tenants) {
    Engine engine = Engine.open(options(properties, journal, tenants), numerics.device());
    var unused = engine.failing().thenAccept(journal::onFailing);
    return engine;
  }

  @Bean
  Tenants tenants(WorkerProperties properties) {
    return Tenants.of(properties.tenants(), properties.access(), WorkerProperties.PREFIX);
  }

  /** Beside the compiled programs; closed after the engine, so what is loaded then still counts. */
  @Bean
  ModelJournal modelJournal(WorkerProperties properties) {
    return ModelJournal.open(CacheFile.journal(properties.compile().cache(), System.getenv()));
  }

  @Bean
  Readiness readiness(Engine engine, ApplicationContext context, WorkerProperties properties) {
    return new Readiness(engine, context, properties.readiness().strict());
  }

  @Bean
  EngineLifecycle engineLifecycle(
      Engine engine,
      Device device,
      Compilation compilation,
      Readiness readiness,
      WorkerProperties properties,
      ApplicationContext context,
      IntConsumer processExit,
      ModelJournal journal) {
    return new EngineLifecycle(
        engine, device, compilation, readiness, properties, context, processExit, journal);
  }

  /** Ends the process; tests replace it. */
  @Bean
  @ConditionalOnMissingBean(name = "processExit")
  IntConsumer processExit() {
    return ProcessEnd.find();
  }

  @Bean
  FailStopExit failStopExit(
      Engine engine, Readiness readiness, ApplicationContext context, IntConsumer processExit) {
    FailStopExit exit = new FailStopExit(context, readiness::refresh, processExit);
    var unused = engine.failing().thenRun(() -> exit.begin(engine.failed()));
    return exit;
  }

  @Bean
  LameDuck lameDuck(
      ApplicationContext context,
      Readiness readiness,
      Engine engine,
      HttpServerSettings operators,
      ObjectProvider<HttpFront> front,
      ObjectProvider<HttpTransport> v1,
      WorkerProperties properties) {
    Runnable leave =
        () -> {
          readiness.stop();
          operators.leave();
          front.ifAvailable(HttpFront::leave);
          v1.ifAvailable(HttpTransport::leave);
        };
    LameDuck duck = new LameDuck(context, leave, properties.server().lameDuck());
    var unused = engine.failing().thenRun(duck::end); // then there is nothing that could be served
    return duck;
  }

  @Bean
  CostKeeper costKeeper(Engine engine) {
    return new CostKeeper(engine);
  }

  @Bean
  ModelsHealth modelsHealthIndicator(Engine engine, Readiness readiness) {
    return new ModelsHealth(engine, readiness);
  }

  @Bean
  ModelsEndpoint modelsEndpoint(Engine engine, WorkerProperties properties) {
    return new ModelsEndpoint(engine, properties.scheduler());
  }

  @Bean
  SettingsEndpoint settingsEndpoint(ConfigurableEnvironment environment) {
    return new SettingsEndpoint(
        new EffectiveSettings(WorkerProperties.PREFIX, WorkerProperties.class, environment));
  }

  @Bean
  SchedulerEndpoint schedulerEndpoint(Engine engine, WorkerProperties properties, Tenants tenants) {
    return new SchedulerEndpoint(engine, properties.scheduler(), tenants);
  }

  @Bean
  ResidencyEndpoint residencyEndpoint(Engine engine, WorkerProperties properties) {
    return new ResidencyEndpoint(engine, properties.residency());
  }

  @Bean
  RepositoryEndpoint repositoryEndpoint(EngineLifecycle lifecycle, ModelControl control) {
    return new RepositoryEndpoint(lifecycle.repository(), control);
  }

  @Bean
  DrainEndpoint drainEndpoint(Readiness readiness) {
    return new DrainEndpoint(readiness);
  }

  @Bean
  PageFeed pageFeed(Engine engine, Readiness readiness) {
    return new WorkerPage(engine, NanoClock.SYSTEM, readiness);
  }

  @Bean
  PageEnd pageEnd() {
    return new PageEnd();
  }

  @Bean
  RecordingEndpoint recordingEndpoint(PageEnd end) {
    return new RecordingEndpoint(end);
  }

  @Bean
  ControlGrpcService controlGrpcService(
      Engine engine, WorkerProperties properties, ObjectProvider<StreamServer> streams) {
    IntSupplier streamPort = () -> streams.stream().mapToInt(StreamServer::plainPort).sum();
    return new ControlGrpcService(
        new ControlCalls(engine, properties.residency().mode(), streamPort));
  }

  @Bean
  EngineMeters engineMeters(Engine engine, WorkerProperties properties) {
    return new EngineMeters(engine, properties.scheduler().maxQueuedBytes().toBytes());
  }

  @Bean
  EngineSeries engineSeries(
      Engine engine,
      WorkerProperties properties,
      LatestTraces latest,
      Tenants tenants,
      ObjectProvider<PrometheusRegistry> prometheus) {
    EngineSeries series = new EngineSeries(engine, properties.metrics(), latest, tenants);
    prometheus.ifAvailable(registry -> Series.show(registry, series));
    return series;
  }

  @Bean
  DeviceMeters deviceMeters(Device device) {
    return new DeviceMeters(device);
  }

  @Bean
  CompileMeters compileMeters(Compilation compilation) {
    return new CompileMeters(compilation);
  }

  @Bean
  WorkerInfo workerInfo(
      Device device, Compilation compilation, Numerics numerics, Transports transports) {
    return new WorkerInfo(device, compilation, numerics.summary(), transports);
  }

  @Bean
  ReadyLine readyLine(
      Engine engine,
      EngineLifecycle lifecycle,
      Readiness readiness,
      Transports transports,
      Environment environment) {
    return new ReadyLine(
        engine, lifecycle, readiness, transports, new Announcer(environment, System.out));
  }

  private static EngineOptions options(
      WorkerProperties properties, ModelJournal journal, Tenants tenants) {
    Map<String, ModelOptions> models = new HashMap<>();
    properties.models().forEach((name, model) -> models.put(name, modelOptions(model)));
    SchedulerProperties scheduler = properties.scheduler();
    EngineOptions.Builder options =
        EngineOptions.builder()
            .discipline(
                () ->
                    tenants.areSeveral()
                        ? new TenantShare(tenants.weights(), () -> discipline(scheduler))
                        : discipline(scheduler))
            .costAlpha(scheduler.costEmaAlpha())
            .maxQueueDepth(scheduler.maxQueueDepth())
            .maxQueuedBytes(scheduler.maxQueuedBytes().toBytes())
            .maxQueueDelay(scheduler.maxQueueDelay())
            .maxAnswerBytes(MAX_ANSWER_BYTES)
            .watchdog(
                new Watchdog.Limits(
                    properties.watchdog().deviceCall(), properties.watchdog().dispatchTurn()))
            .residency(ResidencySettings.residency(properties))
            .compileThreads(properties.compile().threads())
            .hostWeights(
                ResidencySettings.hostWeights(
                    properties.residency().host(),
                    CacheFile.weightDigests(properties.compile().cache(), System.getenv())))
            .userCode(new PlatformThreads("hook", 2 * properties.hooks().threads()))
            .hooks(hooks(properties.hooks()))
            .links(new LinkRoots(properties.repository().linkRoots(), LINK_ROOTS))
            .loads(new LeftOut(properties.repository().leaveOut(), journal))
            .runMark(journal)
            .limitNames(LIMIT_NAMES)
            .models(models);
    CacheFile.COSTS.of(scheduler.costFile(), System.getenv()).ifPresent(options::costFile);
    return options.build();
  }

  private static Discipline discipline(SchedulerProperties scheduler) {
    return switch (scheduler.discipline()) {
      case FAIR -> new FairShare(scheduler.emaHalfLife().toNanos(), scheduler.recencyPenaltyCap());
      case FIFO -> new Fifo();
      case EDF -> new EarliestDeadline();
      case VIRTUAL_TIME -> new VirtualTime();
    };
  }

  private static HookOptions hooks(HooksProperties hooks) {
    return new HookOptions(
        switch (hooks.mode()) {
          case ALLOW -> HookOptions.Mode.ALLOW;
          case DENY -> HookOptions.Mode.DENY;
          case JARS_SIGNED_BY -> HookOptions.Mode.JARS_SIGNED_BY;
        },
        hooks.signers().stream()
            .map(signer -> signer.replace(":", "").toLowerCase(Locale.ROOT))
            .collect(Collectors.toSet()),
        hooks.timeLimit(),
        hooks.threads(),
        hooks.metaConcurrency(),
        HOOKS);
  }

  private static ModelOptions modelOptions(ModelProperties model) {
    Double weight = model.weight();
    Integer rowCap = model.maxBatchSize();
    return new ModelOptions(
        weight == null ? OptionalDouble.empty() : OptionalDouble.of(weight),
        rowCap == null ? OptionalInt.empty() : OptionalInt.of(rowCap),
        Optional.ofNullable(model.maxQueueDelay()),
        Optional.ofNullable(model.residency()));
  }

  /** What the user wrote for an option of {@link ModelOptions}. */
  private static String modelSetting(String model, String option) {
    return ModelProperties.key(
        model,
        switch (option) {
          case "rowCap" -> "max-batch-size";
          case "maxQueueDelay" -> "max-queue-delay";
          default -> option;
        });
  }
}
