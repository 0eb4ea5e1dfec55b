package dev.roundhouse.worker.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.numerics.Numerics;
import dev.roundhouse.engine.numerics.NumericsPolicy;
import dev.roundhouse.platform.access.AccessProperties;
import dev.roundhouse.platform.access.AccessRule;
import dev.roundhouse.platform.access.ApiCategory;
import dev.roundhouse.platform.access.IdentityProperties;
import dev.roundhouse.platform.access.JwtProperties;
import dev.roundhouse.platform.audit.AuditProperties;
import dev.roundhouse.platform.config.HttpProperties;
import dev.roundhouse.platform.config.TelemetryProperties;
import dev.roundhouse.platform.payload.PayloadLogProperties;
import dev.roundhouse.worker.config.CudaProperties.Allocator;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;
import org.springframework.util.unit.DataSize;

/** Two tests for each record: all defaults, all keys mapped; and the bounds. */
class WorkerPropertiesTest {
  private final ApplicationContextRunner runner =
      new ApplicationContextRunner().withUserConfiguration(Bound.class);

  @Test
  void shouldHaveDefaultsForRepository() {
    assertThat(bind().repository())
        .isEqualTo(
            new RepositoryProperties(
                List.of(Path.of("models")),
                RepositoryProperties.Mode.DYNAMIC,
                Duration.ofSeconds(15),
                3,
                "latest",
                List.of(),
                false,
                List.of(),
                List.of()));
  }

  @Test
  void shouldMapEveryKeyOfRepository() {
    assertThat(
            bind(
                    "repository.directories=/a,/b",
                    "repository.mode=explicit",
                    "repository.poll-interval=2s",
                    "repository.load-attempts=5",
                    "repository.version-policy=latest:2",
                    "repository.load=a,b",
                    "repository.list-called=true",
                    "repository.link-roots=/nix/store,/cache",
                    "repository.leave-out=c,d")
                .repository())
        .isEqualTo(
            new RepositoryProperties(
                List.of(Path.of("/a"), Path.of("/b")),
                RepositoryProperties.Mode.EXPLICIT,
                Duration.ofSeconds(2),
                5,
                "latest:2",
                List.of("a", "b"),
                true,
                List.of(Path.of("/nix/store"), Path.of("/cache")),
                List.of("c", "d")));
  }

  @Test
  void shouldHaveDefaultsForV1() {
    assertThat(bind().v1()).isEqualTo(new V1Properties(false, -1, -1));
  }

  @Test
  void shouldMapEveryKeyOfV1() {
    assertThat(bind("v1.enabled=true", "v1.grpc-port=8011", "v1.http-port=8010").v1())
        .isEqualTo(new V1Properties(true, 8011, 8010));
  }

  @Test
  void shouldHaveDefaultsForReadiness() {
    assertThat(bind().readiness()).isEqualTo(new ReadinessProperties(false));
  }

  @Test
  void shouldMapEveryKeyOfReadiness() {
    assertThat(bind("readiness.strict=true").readiness()).isEqualTo(new ReadinessProperties(true));
  }

  @Test
  void shouldHaveDefaultsForHooks() {
    assertThat(bind().hooks())
        .isEqualTo(
            new HooksProperties(
                HooksProperties.Mode.ALLOW, Set.of(), 256, 1, Duration.ofSeconds(30)));
  }

  @Test
  void shouldMapEveryKeyOfHooks() {
    assertThat(
            bind(
                    "hooks.mode=jars-signed-by",
                    "hooks.signers=0a,1b",
                    "hooks.threads=16",
                    "hooks.meta-concurrency=3",
                    "hooks.time-limit=2s")
                .hooks())
        .isEqualTo(
            new HooksProperties(
                HooksProperties.Mode.JARS_SIGNED_BY,
                Set.of("0a", "1b"),
                16,
                3,
                Duration.ofSeconds(2)));
  }

  @Test
  void shouldHaveDefaultsForDevice() {
    assertThat(bind().device())
        .isEqualTo(
            new DeviceProperties(
                "cpu",
                "",
                0,
                new DeviceProperties.Cpu(DeviceProperties.Weights.ALIAS, null),
                new CudaProperties("", null, null, null, List.of(), null),
                Map.of(),
                List.of()));
    assertThat(bind().device().cuda().set()).isEmpty();
  }

  @Test
  void shouldMapEveryKeyOfDevice() {
    assertThat(
            bind(
                    "device.platform=cuda",
                    "device.plugin=/p.so",
                    "device.ordinal=1",
                    "device.cpu.weights=copy",
                    "device.cpu.threads=3",
                    "device.cuda.python-environment=/env",
                    "device.cuda.memory-fraction=0.9",
                    "device.cuda.preallocate=false",
                    "device.cuda.allocator=cuda_async",
                    "device.cuda.visible-devices=2,3",
                    "device.cuda.stage-transfers=false",
                    "device.xla-flags[0]=--xla_gpu_enable_command_buffer=FUSION,CUBLAS",
                    "device.xla-flags[1]=--xla_dump_to=/d",
                    "device.options.memory_fraction=0.5")
                .device())
        .isEqualTo(
            new DeviceProperties(
                "cuda",
                "/p.so",
                1,
                new DeviceProperties.Cpu(DeviceProperties.Weights.COPY, 3),
                new CudaProperties(
                    "/env", 0.9, false, CudaProperties.Allocator.CUDA_ASYNC, List.of(2, 3), false),
                Map.of("memory_fraction", "0.5"),
                List.of("--xla_gpu_enable_command_buffer=FUSION,CUBLAS", "--xla_dump_to=/d")));
  }

  @Test
  void shouldNameEveryKeyOfCudaThatIsSet() {
    CudaProperties all = new CudaProperties("/e", 0.5, true, Allocator.VMM, List.of(0), true);
    assertThat(all.set()).hasSameSizeAs(CudaProperties.class.getRecordComponents());
    assertThat(bind("device.cuda.preallocate=false").device().cuda().set())
        .containsExactly("preallocate");
  }

  @Test
  void shouldReadAListOfTheDevicesOptionsInEveryForm() {
    for (String[] form :
        List.of(
            new String[] {"device.options.visible_devices=[0,1]"},
            new String[] {
              "device.options.visible_devices[1]=1", "device.options.visible_devices[0]=0"
            },
            // as an environment variable comes
            new String[] {
              "device.options.visible.devices.0=0", "device.options.visible.devices.1=1"
            })) {
      assertThat(bind(form).device().options()).isEqualTo(Map.of("visible_devices", "[0,1]"));
    }
  }

  @Test
  void shouldHaveDefaultsForMetrics() {
    assertThat(bind().metrics())
        .isEqualTo(new MetricsProperties(MetricsProperties.PerModel.ALL, true, true));
  }

  @Test
  void shouldMapEveryKeyOfMetrics() {
    assertThat(
            bind(
                    "metrics.per-model=used",
                    "metrics.triton-names=false",
                    "metrics.upstream-names=false")
                .metrics())
        .isEqualTo(new MetricsProperties(MetricsProperties.PerModel.USED, false, false));
  }

  @Test
  void shouldHaveDefaultsForTelemetry() {
    assertThat(bind().telemetry())
        .isEqualTo(
            new TelemetryProperties(
                "", TelemetryProperties.Protocol.GRPC, 0.01, Duration.ofSeconds(10), 4096, ""));
  }

  @Test
  void shouldMapEveryKeyOfTelemetry() {
    assertThat(
            bind(
                    "telemetry.endpoint=http://c:4318",
                    "telemetry.protocol=http",
                    "telemetry.sample-ratio=0.5",
                    "telemetry.timeout=3s",
                    "telemetry.max-waiting=7",
                    "telemetry.service-name=digits")
                .telemetry())
        .isEqualTo(
            new TelemetryProperties(
                "http://c:4318",
                TelemetryProperties.Protocol.HTTP,
                0.5,
                Duration.ofSeconds(3),
                7,
                "digits"));
  }

  @Test
  void shouldHaveDefaultsForTrace() {
    assertThat(bind().trace())
        .isEqualTo(
            new TraceProperties(
                "",
                List.of(TraceProperties.Level.OFF),
                1000,
                -1,
                0,
                100,
                DataSize.ofGigabytes(1),
                DataSize.ofKilobytes(64)));
  }

  @Test
  void shouldMapEveryKeyOfTrace() {
    assertThat(
            bind(
                    "trace.file=/t.json",
                    "trace.level=timestamps,tensors",
                    "trace.max-tensor-bytes=9KB",
                    "trace.rate=7",
                    "trace.count=8",
                    "trace.log-frequency=9",
                    "trace.max-files=10",
                    "trace.max-bytes=11MB")
                .trace())
        .isEqualTo(
            new TraceProperties(
                "/t.json",
                List.of(TraceProperties.Level.TIMESTAMPS, TraceProperties.Level.TENSORS),
                7,
                8,
                9,
                10,
                DataSize.ofMegabytes(11),
                DataSize.ofKilobytes(9)));
  }

  @Test
  void shouldHaveDefaultsForRuntime() {
    assertThat(bind().runtime())
        .isEqualTo(
            new RuntimeProperties(
                NumericsPolicy.AUTO, Numerics.ProbeWhen.AUTO, Numerics.PROBE_LIMIT));
  }

  @Test
  void shouldMapEveryKeyOfRuntime() {
    assertThat(
            bind(
                    "runtime.numerics=tf32",
                    "runtime.numerics-probe=always",
                    "runtime.numerics-probe-limit=30s")
                .runtime())
        .isEqualTo(
            new RuntimeProperties(
                NumericsPolicy.TF32, Numerics.ProbeWhen.ALWAYS, Duration.ofSeconds(30)));
  }

  @Test
  void shouldHaveDefaultsForScheduler() {
    assertThat(bind().scheduler())
        .isEqualTo(
            new SchedulerProperties(
                SchedulerProperties.Discipline.FAIR,
                Duration.ofSeconds(30),
                0.25,
                0.2,
                1024,
                DataSize.ofGigabytes(1),
                Duration.ZERO,
                "auto"));
  }

  @Test
  void shouldMapEveryKeyOfScheduler() {
    assertThat(
            bind(
                    "scheduler.discipline=virtual-time",
                    "scheduler.ema-half-life=5s",
                    "scheduler.recency-penalty-cap=0.5",
                    "scheduler.cost-ema-alpha=1",
                    "scheduler.max-queue-depth=7",
                    "scheduler.max-queued-bytes=2MB",
                    "scheduler.max-queue-delay=5ms",
                    "scheduler.cost-file=/c/costs.json")
                .scheduler())
        .isEqualTo(
            new SchedulerProperties(
                SchedulerProperties.Discipline.VIRTUAL_TIME,
                Duration.ofSeconds(5),
                0.5,
                1,
                7,
                DataSize.ofMegabytes(2),
                Duration.ofMillis(5),
                "/c/costs.json"));
  }

  @Test
  void shouldHaveDefaultsForResidency() {
    assertThat(bind().residency())
        .isEqualTo(
            new ResidencyProperties(
                ResidencyProperties.Mode.SELF_MANAGED,
                null,
                1,
                0.1,
                ResidencyProperties.Policy.FREQUENCY,
                new ResidencyProperties.Host(
                    ResidencyProperties.Weights.KEEP, null, true, false, "0660")));
  }

  @Test
  void shouldMapEveryKeyOfResidency() {
    assertThat(
            bind(
                    "residency.mode=externally-managed",
                    "residency.device-memory=40GB",
                    "residency.fraction=0.8",
                    "residency.wiggle=0.05",
                    "residency.policy=lru",
                    "residency.host.weights=re-read",
                    "residency.host.budget=8GB",
                    "residency.host.huge-pages=false",
                    "residency.host.shared=true",
                    "residency.host.shared-mode=0600")
                .residency())
        .isEqualTo(
            new ResidencyProperties(
                ResidencyProperties.Mode.EXTERNALLY_MANAGED,
                DataSize.ofGigabytes(40),
                0.8,
                0.05,
                ResidencyProperties.Policy.LRU,
                new ResidencyProperties.Host(
                    ResidencyProperties.Weights.RE_READ,
                    DataSize.ofGigabytes(8),
                    false,
                    true,
                    "0600")));
  }

  @Test
  void shouldHaveDefaultsForCompile() {
    assertThat(bind().compile())
        .isEqualTo(
            new CompileProperties(
                null,
                CompileProperties.Confinement.AUTO,
                2,
                null,
                null,
                "auto",
                DataSize.ofGigabytes(8),
                null,
                Map.of()));
  }

  @Test
  void shouldMapEveryKeyOfCompile() {
    assertThat(
            bind(
                    "compile.isolation=in-process",
                    "compile.confinement=none",
                    "compile.threads=3",
                    "compile.timeout=10s",
                    "compile.memory=1GB",
                    "compile.cache=/c/programs",
                    "compile.cache-size=5GB",
                    "compile.max-program-memory=2GB",
                    "compile.options.xla_gpu_autotune_level=0",
                    // as an environment variable comes
                    "compile.options.xla.dump.to=/d")
                .compile())
        .isEqualTo(
            new CompileProperties(
                CompileProperties.Isolation.IN_PROCESS,
                CompileProperties.Confinement.NONE,
                3,
                Duration.ofSeconds(10),
                DataSize.ofGigabytes(1),
                "/c/programs",
                DataSize.ofGigabytes(5),
                DataSize.ofGigabytes(2),
                Map.of("xla_gpu_autotune_level", "0", "xla_dump_to", "/d")));
  }

  @Test
  void shouldHaveDefaultsForServer() {
    assertThat(bind().server())
        .isEqualTo(
            new ServerProperties(
                "roundhouse",
                DataSize.ofMegabytes(512),
                DataSize.ofMegabytes(256),
                4096,
                0,
                10_000,
                Duration.ofSeconds(60),
                Duration.ofMinutes(5),
                new HttpProperties(8192, 100, Duration.ofSeconds(60), null, -1),
                List.of(),
                null,
                Duration.ZERO));
  }

  @Test
  void shouldMapEveryKeyOfServer() {
    assertThat(
            bind(
                    "server.name=triton",
                    "server.max-message-size=1MB",
                    "server.max-unread=4MB",
                    "server.max-concurrent-streams=7",
                    "server.max-calls=6",
                    "server.max-connections=8",
                    "server.stalled-message-timeout=9s",
                    "server.unread-answer-timeout=11s",
                    "server.http.max-connections=12",
                    "server.http.accept-count=13",
                    "server.http.connection-timeout=14s",
                    "server.http.keep-alive-timeout=15s",
                    "server.http.max-keep-alive-requests=16",
                    "server.allowed-hosts=a.test,b.test",
                    "server.transports-directory=/t",
                    "server.lame-duck=10s")
                .server())
        .isEqualTo(
            new ServerProperties(
                "triton",
                DataSize.ofMegabytes(1),
                DataSize.ofMegabytes(4),
                7,
                6,
                8,
                Duration.ofSeconds(9),
                Duration.ofSeconds(11),
                new HttpProperties(12, 13, Duration.ofSeconds(14), Duration.ofSeconds(15), 16),
                List.of("a.test", "b.test"),
                Path.of("/t"),
                Duration.ofSeconds(10)));
  }

  @Test
  void shouldHaveDefaultsForAccess() {
    assertThat(bind().access())
        .isEqualTo(
            new AccessProperties(
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                JwtProperties.NONE,
                Map.of(),
                List.of()));
    assertThat(bind("access.identities.a.certificates=dns:a").access().identities())
        .isEqualTo(
            Map.of(
                "a",
                new IdentityProperties(
                    List.of(),
                    List.of("dns:a"),
                    List.of(),
                    Set.of(
                        ApiCategory.HEALTH,
                        ApiCategory.METADATA,
                        ApiCategory.INFERENCE,
                        ApiCategory.STATISTICS),
                    List.of("*"),
                    "",
                    null,
                    null)));
  }

  @Test
  void shouldMapEveryKeyOfAccess() {
    assertThat(
            bind(
                    "access.health=open",
                    "access.metadata=loopback",
                    "access.inference=token,mtls",
                    "access.statistics=mtls",
                    "access.shared-memory=off",
                    "access.model-repository=loopback,token",
                    "access.trace=token",
                    "access.logging=loopback,mtls",
                    "access.control=loopback,token,mtls",
                    "access.gateway-key-files=/k/a,/k/b",
                    "access.identities.a.token-files=/t/a,/t/b",
                    "access.identities.a.certificates=uri:spiffe://a/b,dns:c",
                    "access.identities.a.subjects=s*",
                    "access.jwt.issuer=https://i",
                    "access.jwt.keys=https://k",
                    "access.jwt.audiences=x,y",
                    "access.jwt.claim=email",
                    "access.jwt.clock-skew=1s",
                    "access.jwt.refresh=1h",
                    "access.identities.a.may=shared-memory,trace",
                    "access.identities.a.models=a*,b",
                    "access.identities.a.tenant=red",
                    "access.identities.a.requests-per-second=2.5",
                    "access.identities.a.bytes-per-second=3MB")
                .access())
        .isEqualTo(
            new AccessProperties(
                Set.of(AccessRule.OPEN),
                Set.of(AccessRule.LOOPBACK),
                Set.of(AccessRule.TOKEN, AccessRule.MTLS),
                Set.of(AccessRule.MTLS),
                Set.of(AccessRule.OFF),
                Set.of(AccessRule.LOOPBACK, AccessRule.TOKEN),
                Set.of(AccessRule.TOKEN),
                Set.of(AccessRule.LOOPBACK, AccessRule.MTLS),
                Set.of(AccessRule.LOOPBACK, AccessRule.TOKEN, AccessRule.MTLS),
                new JwtProperties(
                    "https://i",
                    "https://k",
                    List.of("x", "y"),
                    "email",
                    Duration.ofSeconds(1),
                    Duration.ofHours(1)),
                Map.of(
                    "a",
                    new IdentityProperties(
                        List.of(Path.of("/t/a"), Path.of("/t/b")),
                        List.of("uri:spiffe://a/b", "dns:c"),
                        List.of("s*"),
                        Set.of(ApiCategory.SHARED_MEMORY, ApiCategory.TRACE),
                        List.of("a*", "b"),
                        "red",
                        2.5,
                        DataSize.ofMegabytes(3))),
                List.of(Path.of("/k/a"), Path.of("/k/b"))));
  }

  @Test
  void shouldMapEveryKeyOfAudit() {
    assertThat(bind().audit()).isEqualTo(new AuditProperties("", DataSize.ofMegabytes(10), 10));
    assertThat(bind("audit.file=/a", "audit.max-size=1KB", "audit.max-files=2").audit())
        .isEqualTo(new AuditProperties("/a", DataSize.ofKilobytes(1), 2));
  }

  @Test
  void shouldMapEveryKeyOfTenants() {
    assertThat(bind().tenants()).isEmpty();
    assertThat(bind("tenants.a.weight=2.5", "tenants.b.weight=1").tenants())
        .isEqualTo(Map.of("a", new TenantProperties(2.5), "b", new TenantProperties(1)));
  }

  @Test
  void shouldMapEveryKeyOfTransports() {
    assertThat(bind().transports()).isEmpty();
    assertThat(bind("transports.a.settings.max-line=7").transports())
        .isEqualTo(Map.of("a", new TransportProperties(false, Map.of("max-line", "7"))));
    assertThat(bind("transports.a.enabled=true").transports())
        .isEqualTo(Map.of("a", new TransportProperties(true, Map.of())));
  }

  @Test
  void shouldHaveDefaultsForWatchdog() {
    assertThat(bind().watchdog())
        .isEqualTo(new WatchdogProperties(Duration.ofMinutes(2), Duration.ofSeconds(30)));
  }

  @Test
  void shouldMapEveryKeyOfWatchdog() {
    assertThat(bind("watchdog.device-call=5s", "watchdog.dispatch-turn=6s").watchdog())
        .isEqualTo(new WatchdogProperties(Duration.ofSeconds(5), Duration.ofSeconds(6)));
  }

  @Test
  void shouldHaveDefaultsForStream() {
    assertThat(bind().stream())
        .isEqualTo(
            new StreamProperties(
                -1,
                null,
                null,
                new StreamSslProperties(null, StreamSslProperties.ClientAuth.NONE),
                10_000,
                4096,
                DataSize.ofMegabytes(64),
                Duration.ofSeconds(5)));
  }

  @Test
  void shouldMapEveryKeyOfStream() throws Exception {
    assertThat(
            bind(
                "stream.port=8003",
                "stream.address=127.0.0.1",
                "stream.socket=/run/roundhouse/stream",
                "stream.ssl.bundle=public",
                "stream.ssl.client-auth=require",
                "stream.max-connections=7",
                "stream.max-window=8",
                "stream.window-size=9MB",
                "stream.handshake-timeout=10s")
                .stream())
        .isEqualTo(
            new StreamProperties(
                8003,
                InetAddress.getByName("127.0.0.1"),
                Path.of("/run/roundhouse/stream"),
                new StreamSslProperties("public", StreamSslProperties.ClientAuth.REQUIRE),
                7,
                8,
                DataSize.ofMegabytes(9),
                Duration.ofSeconds(10)));
  }

  @Test
  void shouldHaveDefaultsForPayloadLog() {
    assertThat(bind().payloadLog())
        .isEqualTo(
            new PayloadLogProperties(
                "",
                PayloadLogProperties.Mode.ALL,
                List.of("*"),
                1,
                "",
                "",
                "",
                "",
                "",
                DataSize.ofKilobytes(64),
                DataSize.ofMegabytes(32),
                Duration.ofSeconds(10),
                3,
                1,
                ""));
    assertThat(bind().payloadLog().isOn()).isFalse();
  }

  @Test
  void shouldMapEveryKeyOfPayloadLog() {
    assertThat(
            bind(
                    "payload-log.url=https://collector/events",
                    "payload-log.mode=response",
                    "payload-log.models=a,b*",
                    "payload-log.sample-ratio=0.5",
                    "payload-log.source=here",
                    "payload-log.inference-service=iris",
                    "payload-log.namespace=ml",
                    "payload-log.component=predictor",
                    "payload-log.endpoint=default",
                    "payload-log.max-payload=1KB",
                    "payload-log.max-waiting=2MB",
                    "payload-log.timeout=3s",
                    "payload-log.attempts=4",
                    "payload-log.threads=5",
                    "payload-log.ssl-bundle=six")
                .payloadLog())
        .isEqualTo(
            new PayloadLogProperties(
                "https://collector/events",
                PayloadLogProperties.Mode.RESPONSE,
                List.of("a", "b*"),
                0.5,
                "here",
                "iris",
                "ml",
                "predictor",
                "default",
                DataSize.ofKilobytes(1),
                DataSize.ofMegabytes(2),
                Duration.ofSeconds(3),
                4,
                5,
                "six"));
  }

  @Test
  void shouldHaveDefaultsForTee() throws Exception {
    assertThat(bind().tee())
        .isEqualTo(
            new TeeProperties(
                List.of(),
                1,
                256,
                3,
                DataSize.ofGigabytes(1),
                DataSize.ofMegabytes(16),
                null,
                DataSize.ofGigabytes(10),
                -1,
                InetAddress.getByName("127.0.0.1"),
                null,
                Duration.ofSeconds(5),
                Duration.ofMinutes(5)));
    assertThat(bind().tee().isOn()).isFalse();
  }

  @Test
  void shouldMapEveryKeyOfTee() throws Exception {
    assertThat(
            bind(
                    "tee.models=a,b*",
                    "tee.sample-ratio=0.5",
                    "tee.batch-size=7",
                    "tee.num-buffers=4",
                    "tee.max-memory=2MB",
                    "tee.max-waiting=3MB",
                    "tee.folder=/data/tee",
                    "tee.folder-size=4MB",
                    "tee.port=8005",
                    "tee.address=127.0.0.2",
                    "tee.socket=/run/roundhouse/tee",
                    "tee.handshake-timeout=6s",
                    "tee.acknowledge-timeout=7s")
                .tee())
        .isEqualTo(
            new TeeProperties(
                List.of("a", "b*"),
                0.5,
                7,
                4,
                DataSize.ofMegabytes(2),
                DataSize.ofMegabytes(3),
                Path.of("/data/tee"),
                DataSize.ofMegabytes(4),
                8005,
                InetAddress.getByName("127.0.0.2"),
                Path.of("/run/roundhouse/tee"),
                Duration.ofSeconds(6),
                Duration.ofSeconds(7)));
  }

  @Test
  void shouldHaveDefaultsForShutdown() {
    assertThat(bind().shutdown()).isEqualTo(new ShutdownProperties(Duration.ofSeconds(30)));
  }

  @Test
  void shouldMapEveryKeyOfShutdown() {
    assertThat(bind("shutdown.drain=2m").shutdown())
        .isEqualTo(new ShutdownProperties(Duration.ofMinutes(2)));
  }

  @Test
  void shouldHaveNoModelsByDefault() {
    assertThat(bind().models()).isEmpty();
  }

  @Test
  void shouldMapEveryKeyOfModels() {
    assertThat(
            bind(
                    "models.resnet.weight=2.5",
                    "models.resnet.max-batch-size=8",
                    "models.resnet.max-queue-delay=2ms",
                    "models.resnet.version-policy=1,3",
                    "models[a.b].weight=1")
                .models())
        .isEqualTo(
            Map.of(
                "resnet",
                new ModelProperties(2.5, 8, Duration.ofMillis(2), "1,3", null),
                "a.b",
                new ModelProperties(1.0, null, null, null, null)));
  }

  @Test
  void shouldRefuseValuesOutOfBounds() {
    for (String value :
        List.of(
            "repository.directories=",
            "repository.mode=poll",
            "repository.poll-interval=0s",
            "repository.load-attempts=0",
            "repository.version-policy=newest",
            "repository.version-policy=latest:0",
            "models.m.version-policy=1;2",
            "device.platform=",
            "device.ordinal=-1",
            "device.cpu.threads=0",
            "runtime.numerics=f16",
            "runtime.numerics-probe=never",
            "runtime.numerics-probe-limit=9ms",
            "runtime.numerics-probe-limit=25h",
            "device.cuda.memory-fraction=0",
            "device.cuda.memory-fraction=1.01",
            "device.cuda.memory-fraction=NaN",
            "device.cuda.allocator=buddy",
            "device.cuda.preallocate=maybe",
            "device.cuda.visible-devices=0,-1",
            "device.cuda.visible-devices=gpu0",
            "residency.host.weights=mmap",
            "residency.host.budget=-1B",
            "residency.host.budget=1025TB",
            "residency.host.shared-mode=0440",
            "residency.host.shared-mode=0777",
            "residency.host.shared-mode=432", // what YAML makes of 0660 without quotes
            "scheduler.max-queue-depth=0",
            "scheduler.max-queued-bytes=1023",
            "scheduler.max-queued-bytes=17TB",
            "scheduler.max-queue-delay=-1ms",
            "scheduler.max-queue-delay=61s",
            "scheduler.cost-file=",
            "scheduler.discipline=random",
            "scheduler.ema-half-life=0s",
            "scheduler.recency-penalty-cap=0",
            "scheduler.cost-ema-alpha=1.5",
            "compile.max-program-memory=1KB",
            "server.name=",
            "server.max-message-size=2GB",
            "server.lame-duck=-1s",
            "server.lame-duck=11m",
            "shutdown.drain=-1s",
            "shutdown.drain=2h",
            "models.m.weight=0",
            "models.m.weight=1e-4",
            "models.m.weight=1e7",
            "models.m.weight=NaN",
            "models.m.max-batch-size=0",
            "models.m.max-queue-delay=-1ms",
            "models.m.max-queue-delay=61s")) {
      runner
          .withPropertyValues(prefixed(value))
          .run(context -> assertThat(context).as(value).hasFailed());
    }
  }

  private WorkerProperties bind(String... values) {
    WorkerProperties[] bound = new WorkerProperties[1];
    runner
        .withPropertyValues(prefixed(values))
        .run(context -> bound[0] = context.getBean(WorkerProperties.class));
    return bound[0];
  }

  private static String[] prefixed(String... values) {
    String[] prefixed = new String[values.length];
    for (int i = 0; i < values.length; i++) {
      prefixed[i] = WorkerProperties.PREFIX + "." + values[i];
    }
    return prefixed;
  }

  @Configuration(proxyBeanMethods = false)
  @EnableConfigurationProperties(WorkerProperties.class)
  static class Bound {}
}
