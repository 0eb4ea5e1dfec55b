package dev.roundhouse.worker.wiring;

import ch.qos.logback.classic.LoggerContext;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.pjrt.CacheDirectory;
import dev.roundhouse.pjrt.MappedCopy;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.access.AccessFiles;
import dev.roundhouse.platform.access.AccessStart;
import dev.roundhouse.platform.access.Doors;
import dev.roundhouse.platform.actuator.AccessMeters;
import dev.roundhouse.platform.actuator.PeerMemoryMeters;
import dev.roundhouse.platform.actuator.SpanMeters;
import dev.roundhouse.platform.audit.AuditFile;
import dev.roundhouse.platform.grpc.AccessGate;
import dev.roundhouse.platform.grpc.GrpcHealth;
import dev.roundhouse.platform.grpc.GuardedServices;
import dev.roundhouse.platform.logging.LogSettings;
import dev.roundhouse.platform.payload.PayloadLog;
import dev.roundhouse.platform.telemetry.SpanExport;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.memory.PeerMemory;
import dev.roundhouse.worker.actuator.OpenMeters;
import dev.roundhouse.worker.actuator.TraceMeters;
import dev.roundhouse.worker.config.SharedMemoryProperties;
import dev.roundhouse.worker.config.StreamProperties;
import dev.roundhouse.worker.config.WorkerProperties;
import dev.roundhouse.worker.lifecycle.EngineLifecycle;
import dev.roundhouse.worker.lifecycle.Readiness;
import dev.roundhouse.worker.payload.PayloadTap;
import dev.roundhouse.worker.tee.Tee;
import dev.roundhouse.worker.trace.LatestTraces;
import dev.roundhouse.worker.trace.RequestSpans;
import dev.roundhouse.worker.trace.Tracing;
import dev.roundhouse.worker.transport.EngineMemory;
import dev.roundhouse.worker.transport.Inference;
import dev.roundhouse.worker.transport.ModelConfigs;
import dev.roundhouse.worker.transport.ModelControl;
import dev.roundhouse.worker.transport.ModelLookup;
import dev.roundhouse.worker.transport.ModelStatisticsAnswers;
import dev.roundhouse.worker.transport.ReceiptOrigin;
import dev.roundhouse.worker.transport.ServerIdentity;
import dev.roundhouse.worker.transport.Tenants;
import dev.roundhouse.worker.transport.grpc.InferCalls;
import dev.roundhouse.worker.transport.grpc.InferenceGrpcService;
import dev.roundhouse.worker.transport.grpc.InferenceGrpcService.Extensions;
import dev.roundhouse.worker.transport.grpc.RepositoryCalls;
import dev.roundhouse.worker.transport.shm.ClientRegions;
import dev.roundhouse.worker.transport.shm.CudaAccess;
import dev.roundhouse.worker.transport.shm.SharedObjects;
import io.grpc.BindableService;
import io.grpc.protobuf.services.HealthStatusManager;
import io.grpc.protobuf.services.ProtoReflectionService;
import java.io.File;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.autoconfigure.web.server.ManagementServerProperties;
import org.springframework.boot.grpc.server.autoconfigure.GrpcServerProperties;
import org.springframework.boot.info.BuildProperties;
import org.springframework.boot.logging.LogFile;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.grpc.server.service.GrpcServiceConfigurer;

/** What the servers share. */
@Configuration(proxyBeanMethods = false)
class TransportConfiguration {

  static final Duration LAST_ANSWERS = Duration.ofSeconds(1);

  /** Memory that the worker keeps for clients, over gRPC and HTTP. */
  @Bean
  PeerMemory peerMemory(Engine engine) {
    return new PeerMemory(new EngineMemory(engine));
  }

  @Bean
  PeerMemoryMeters peerMemoryMeters(PeerMemory memory) {
    return new PeerMemoryMeters(memory);
  }

  @Bean
  InferenceGrpcService inferenceGrpcService(
      Engine engine,
      Readiness readiness,
      InferCalls calls,
      ModelControl control,
      Extensions extensions,
      ServerIdentity server) {
    return new InferenceGrpcService(
        engine, readiness, calls, new RepositoryCalls(control), extensions, server);
  }

  @Bean
  Extensions extensions(
      ModelConfigs configs,
      ModelStatisticsAnswers statistics,
      LogSettings logs,
      Tracing tracing,
      ClientRegions regions) {
    return new Extensions(configs, statistics, logs, tracing, regions, new SharedObjects());
  }

  @Bean
  ServerIdentity serverIdentity(
      Device device,
      WorkerProperties properties,
      ClientRegions regions,
      ObjectProvider<BuildProperties> build) {
    return new ServerIdentity(
        properties.server().name(),
        version(build),
        device.description().platform(),
        ServerIdentity.extensions(properties.sharedMemory().enabled(), regions.cuda().work()));
  }

  private static String version(ObjectProvider<BuildProperties> build) {
    return build.stream().map(BuildProperties::getVersion).findFirst().orElse("unknown");
  }

  @Bean
  ModelControl modelControl(EngineLifecycle lifecycle, ClientText texts) {
    return new ModelControl(lifecycle.repository(), texts);
  }

  @Bean
  OpenMeters openMeters(InferCalls calls, ClientRegions regions) {
    return new OpenMeters(calls, regions);
  }

  @Bean
  ClientRegions clientRegions(WorkerProperties properties, CudaAccess cuda) {
    SharedMemoryProperties settings = properties.sharedMemory();
    if (settings.enabled()) {
      MappedCopy.load(); // what is wrong with it is said now, and not to the dispatch thread
    }
    return new ClientRegions(
        new ClientRegions.Settings(
            settings.enabled(), settings.keyPrefixes(), settings.maxRegions()),
        MappedCopy::copy,
        cuda);
  }

  @Bean
  Inference inference(
      Engine engine,
      ClientRegions regions,
      Tracing tracing,
      SpanExport spans,
      LatestTraces latest,
      Device device,
      Tenants tenants,
      ObjectProvider<Tee> tee,
      ObjectProvider<PayloadLog> payloads) {
    return new Inference(
        engine,
        regions,
        tracing.tracer(),
        RequestSpans.of(spans, tracing.tracer(), engine::nanoTime, latest),
        ReceiptOrigin.of(device.description()),
        tenants,
        tee.getIfAvailable(),
        payloads.stream().map(PayloadTap::new).findFirst().orElse(null));
  }

  @Bean
  InferCalls inferCalls(Inference inference, ClientText texts) {
    return new InferCalls(inference, texts);
  }

  @Bean
  ModelConfigs modelConfigs(Engine engine, EngineLifecycle lifecycle, Device device) {
    return new ModelConfigs(engine, lifecycle.repository()::versionPolicy, device.description());
  }

  @Bean
  ModelStatisticsAnswers modelStatisticsAnswers(Engine engine, Device device) {
    return new ModelStatisticsAnswers(engine, device.description());
  }

  /** Clients see the log's name and not its folder. */
  @Bean
  LogSettings logSettings(Environment environment) {
    LogFile file = LogFile.get(environment);
    return new LogSettings(
        (LoggerContext) LoggerFactory.getILoggerFactory(),
        file == null ? "" : new File(file.toString()).getName());
  }

  @Bean
  Tracing tracing(WorkerProperties properties, Engine engine, SpanExport spans) {
    return new Tracing(properties.trace(), engine, spans.contexts() != null);
  }

  @Bean
  SpanExport spanExport(WorkerProperties properties, ObjectProvider<BuildProperties> build) {
    return SpanExport.of(
        properties.telemetry(),
        WorkerProperties.PREFIX + ".telemetry",
        "roundhouse-worker",
        version(build));
  }

  @Bean
  LatestTraces latestTraces() {
    return new LatestTraces();
  }

  @Bean
  SpanMeters spanMeters(SpanExport spans) {
    return new SpanMeters(spans);
  }

  @Bean
  TraceMeters traceMeters(Tracing tracing) {
    return new TraceMeters(tracing);
  }

  @Bean
  GrpcHealth grpcHealth(HealthStatusManager statuses) {
    return new GrpcHealth(statuses);
  }

  /** Boot registers v1; stock Python tools still ask for v1alpha. */
  @Bean
  @SuppressWarnings("deprecation")
  BindableService reflectionV1Alpha() {
    return ProtoReflectionService.newInstance();
  }

  @Bean
  ClientText clientText(WorkerProperties properties) {
    List<Path> folders = new ArrayList<>(properties.repository().directories());
    folders.add(Path.of(System.getProperty("java.io.tmpdir")));
    folders.add(Path.of(System.getProperty("user.home")));
    CacheDirectory.of(System::getenv).ifPresent(folders::add);
    return new ClientText(folders);
  }

  @Bean
  GrpcServiceConfigurer grpcServiceConfigurer(
      ApplicationContext context, ClientText texts, Access access) {
    return new GuardedServices(context, texts, new AccessGate(access));
  }

  @Bean
  Access access(
      WorkerProperties properties,
      GrpcServerProperties grpc,
      org.springframework.boot.web.server.autoconfigure.ServerProperties http,
      ManagementServerProperties operators) {
    return AccessStart.open(
        properties.access(),
        WorkerProperties.PREFIX + ".access",
        true,
        TeeConfiguration.doors(
            properties.tee(), doors(properties.stream(), Doors.of(grpc, http, operators))));
  }

  private static Doors doors(StreamProperties streams, Doors others) {
    return streams.port() < 0
        ? others
        : others.and(
            new Doors.Door(
                WorkerProperties.PREFIX + ".stream.address",
                streams.address(),
                streams.ssl().isOn(),
                streams.ssl().verifiesClients()));
  }

  @Bean
  AccessMeters accessMeters(Access access) {
    return new AccessMeters(access);
  }

  @Bean
  AuditFile auditFile(WorkerProperties properties) {
    return new AuditFile(properties.audit(), WorkerProperties.PREFIX + ".audit");
  }

  @Bean
  AccessFiles accessFiles(Access access) {
    return new AccessFiles(access);
  }

  @Bean
  ModelLookup modelLookup(Engine engine) {
    return new ModelLookup(engine);
  }
}
