package dev.roundhouse.node.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.node.devices.Discovery.Platform;
import dev.roundhouse.platform.access.AccessRule;
import dev.roundhouse.platform.access.ApiCategory;
import dev.roundhouse.platform.access.IdentityProperties;
import dev.roundhouse.platform.access.JwtProperties;
import dev.roundhouse.platform.audit.AuditProperties;
import dev.roundhouse.platform.config.WorkersMetricsProperties;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;
import org.springframework.util.unit.DataSize;

class NodePropertiesTest {
  private final ApplicationContextRunner runner =
      new ApplicationContextRunner().withUserConfiguration(Bound.class);

  @Test
  void shouldHaveDefaults() {
    assertThat(bind())
        .isEqualTo(
            new NodeProperties(
                Role.ALL,
                new DeviceProperties(
                    "auto",
                    Platform.AUTO,
                    1,
                    "libnvidia-ml.so.1",
                    "nvidia-smi",
                    Duration.ofSeconds(2),
                    Duration.ofSeconds(30),
                    15),
                new PortProperties("", 8001, 8000, 8002, 8003, 18000),
                new WorkerProcessProperties(
                    List.of(), "", List.of(), List.of(), List.of(), Duration.ofSeconds(15)),
                new GatewayProcessProperties(
                    "",
                    List.of(),
                    List.of(),
                    List.of(),
                    List.of(
                        "--roundhouse.gateway.workers.{name}.address=127.0.0.1:{grpc}",
                        "--roundhouse.gateway.workers.{name}.http=127.0.0.1:{http}",
                        "--roundhouse.gateway.workers.{name}.metrics=127.0.0.1:{metrics}"),
                    Duration.ofSeconds(10)),
                new RestartProperties(Duration.ofSeconds(30), Duration.ofSeconds(60), 0),
                new WorkersMetricsProperties(true, Duration.ofSeconds(5)),
                new AccessProperties(null, null, JwtProperties.NONE, Map.of(), List.of()),
                new AuditProperties("", DataSize.ofMegabytes(10), 10),
                new LogProperties(DataSize.ofKilobytes(16))));
  }

  @Test
  void shouldMapEveryKey() {
    assertThat(
            bind(
                "role=workers",
                "devices.gpus=0,GPU-a",
                "devices.platform=cuda",
                "devices.cpu-workers=3",
                "devices.nvml-library=/nvml.so",
                "devices.nvidia-smi=/smi",
                "devices.poll-interval=5s",
                "devices.reclaim-timeout=0s",
                "devices.reclaim-max-used-percent=20",
                "ports.address=::1",
                "ports.grpc=1",
                "ports.http=2",
                "ports.metrics=3",
                "ports.node=4",
                "ports.worker-base=5",
                "worker.names=left,right",
                "worker.jar=/w.jar",
                "worker.jvm-options=-Xmx1g,-Xss1m",
                "worker.command=w,x",
                "worker.arguments=--a=b",
                "worker.stop-grace=20s",
                "gateway.jar=/g.jar",
                "gateway.jvm-options=-Xmx2g",
                "gateway.command=g",
                "gateway.arguments=--c=d",
                "gateway.worker-arguments=--w={grpc}",
                "gateway.stop-grace=5s",
                "restart.max-backoff=10s",
                "restart.reset-after=20s",
                "restart.max-restarts=4",
                "metrics.workers=false",
                "metrics.timeout=2s",
                "access.model-repository=token",
                "access.control=loopback,token",
                "access.identities.a.token-files=/t",
                "access.identities.a.may=control",
                "access.gateway-key-files=/k",
                "audit.file=/a",
                "audit.max-size=1KB",
                "audit.max-files=2",
                "log.max-line=1KB"))
        .isEqualTo(
            new NodeProperties(
                Role.WORKERS,
                new DeviceProperties(
                    "0,GPU-a",
                    Platform.CUDA,
                    3,
                    "/nvml.so",
                    "/smi",
                    Duration.ofSeconds(5),
                    Duration.ZERO,
                    20),
                new PortProperties("::1", 1, 2, 3, 4, 5),
                new WorkerProcessProperties(
                    List.of("left", "right"),
                    "/w.jar",
                    List.of("-Xmx1g", "-Xss1m"),
                    List.of("w", "x"),
                    List.of("--a=b"),
                    Duration.ofSeconds(20)),
                new GatewayProcessProperties(
                    "/g.jar",
                    List.of("-Xmx2g"),
                    List.of("g"),
                    List.of("--c=d"),
                    List.of("--w={grpc}"),
                    Duration.ofSeconds(5)),
                new RestartProperties(Duration.ofSeconds(10), Duration.ofSeconds(20), 4),
                new WorkersMetricsProperties(false, Duration.ofSeconds(2)),
                new AccessProperties(
                    Set.of(AccessRule.TOKEN),
                    Set.of(AccessRule.LOOPBACK, AccessRule.TOKEN),
                    JwtProperties.NONE,
                    Map.of(
                        "a",
                        new IdentityProperties(
                            List.of(Path.of("/t")),
                            List.of(),
                            List.of(),
                            Set.of(ApiCategory.CONTROL),
                            List.of("*"),
                            "",
                            null,
                            null)),
                    List.of(Path.of("/k"))),
                new AuditProperties("/a", DataSize.ofKilobytes(1), 2),
                new LogProperties(DataSize.ofKilobytes(1))));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "role=worker",
        "devices.gpus=",
        "devices.platform=gpu",
        "devices.cpu-workers=0",
        "devices.nvml-library=",
        "devices.poll-interval=0s",
        "devices.reclaim-timeout=-1s",
        "devices.reclaim-max-used-percent=101",
        "ports.grpc=65536",
        "ports.node=-1",
        "worker.stop-grace=0s",
        "worker.names=a b",
        "gateway.stop-grace=2h",
        "restart.max-backoff=0s",
        "restart.max-restarts=-1",
        "metrics.timeout=2m",
        "log.max-line=10B"
      })
  void shouldRefuseWhatIsOutOfBounds(String setting) {
    runner
        .withPropertyValues("roundhouse.node." + setting)
        .run(context -> assertThat(context).hasFailed());
  }

  private NodeProperties bind(String... settings) {
    NodeProperties[] bound = new NodeProperties[1];
    String[] keys = new String[settings.length];
    for (int i = 0; i < settings.length; i++) {
      keys[i] = "roundhouse.node." + settings[i];
    }
    runner
        .withPropertyValues(keys)
        .run(context -> bound[0] = context.getBean(NodeProperties.class));
    return bound[0];
  }

  @Configuration(proxyBeanMethods = false)
  @EnableConfigurationProperties(NodeProperties.class)
  static class Bound {}
}
