package dev.roundhouse.worker.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.platform.config.StartRefusedException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.env.YamlPropertySourceLoader;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;
import org.springframework.core.io.ByteArrayResource;

class UnknownKeyCheckTest {

  @ParameterizedTest
  @CsvSource({
    "roundhouse.worker.scheduler.max-queue-dept, roundhouse.worker.scheduler.max-queue-depth",
    "roundhouse.worker.server.nam, roundhouse.worker.server.name",
    "roundhouse.worker.shutdown.drian, roundhouse.worker.shutdown.drain",
    "roundhouse.worker.models.m.wieght, roundhouse.worker.models.*.weight",
    "roundhouse.woker.server.name, roundhouse.worker.server.name",
    "roundhouse.worker.device, roundhouse.worker.device.plugin",
    "roundhose.worker.server.name, roundhouse.worker.server.name",
    "srever.port, server.port",
    "server.portt, server.port",
    "management.server.adress, management.server.address",
    "managment.server.port, management.server.port",
    "spring.grpc.server.prot, spring.grpc.server.port",
    "server.ssl.bundel, server.ssl.bundle",
  })
  void shouldNameTheKeyAndTheNearestOne(String key, String nearest) {
    StartRefusedException refusal =
        catchThrowableOfType(
            StartRefusedException.class,
            () -> check(new MapPropertySource("args", Map.of(key, 1))));

    assertThat(refusal).hasMessageContaining("'" + key + "'");
    assertThat(refusal.action()).contains("Did you mean '" + nearest + "'?");
  }

  @Test
  void shouldNameFileAndLineWhenKeyIsInYaml() throws Exception {
    byte[] yaml = "roundhouse:\n  worker:\n    server:\n      nmae: x\n".getBytes("UTF-8");
    List<PropertySource<?>> sources =
        new YamlPropertySourceLoader()
            .load("application.yaml", new ByteArrayResource(yaml, "application.yaml"));

    StartRefusedException refusal =
        catchThrowableOfType(StartRefusedException.class, () -> check(sources.getFirst()));

    assertThat(refusal)
        .hasMessageContaining("'roundhouse.worker.server.nmae'")
        .hasMessageContaining("application.yaml")
        .hasMessageContaining("4:13");
  }

  @ParameterizedTest
  @CsvSource({
    "roundhouse.worker.server.name",
    "roundhouse.worker.server.maxMessageSize",
    "roundhouse.worker.repository.directories",
    "roundhouse.worker.repository.directories[0]",
    "roundhouse.worker.models.any-name.max-batch-size",
    "roundhouse.worker.models[a.b].weight",
    "roundhouse.worker.device.options.memory_fraction",
    "roundhouse.pjrt.plugin",
    "roundhouse.gateway.anything.of-its-own",
    "roundhouse.node.workers",
    "server.port",
    "server.ssl.bundle",
    "server.servlet.context-parameters.anything",
    "spring.ssl.bundle.pem.web.keystore.certificate",
    "spring.config.additional-location",
    "spring.config.import[0]",
    "management.endpoint.models.access",
    "management.endpoint.residency.access",
    "management.endpoint.scheduler.access",
    "management.endpoint.node.access",
    "management.endpoint.placement.access",
    "management.metrics.tags.region",
    "logging.level.root",
    "logging.level.dev.roundhouse",
    "logging.level[io.netty]",
    "x-server.common",
    "my-own.key",
  })
  void shouldAcceptKnownKeys(String key) {
    assertThatNoException()
        .isThrownBy(() -> check(new MapPropertySource("args", Map.of(key, "1"))));
  }

  @Test
  @ExtendWith(OutputCaptureExtension.class)
  void shouldOnlyWarnOfVariables(CapturedOutput output) {
    Map<String, Object> variables =
        Map.of(
            "ROUNDHOUSE_WORKER_SERVER_MAXMESSAGESIZE", "1MB",
            "ROUNDHOUSE_WORKER_MODELS_RESNET_WEIGHT", "2",
            "ROUNDHOUSE_WORKER_SERVER_NAMES", "x",
            "ROUNDHOUSE_CACHE", "/c");

    check(
        new SystemEnvironmentPropertySource(
            StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME, variables));

    assertThat(output)
        .contains("ROUNDHOUSE_WORKER_SERVER_NAMES is not a setting")
        .contains("the nearest is ROUNDHOUSE_WORKER_SERVER_NAME")
        .doesNotContain("MAXMESSAGESIZE")
        .doesNotContain("RESNET")
        .doesNotContain("ROUNDHOUSE_CACHE");
  }

  private static void check(PropertySource<?> source) {
    StandardEnvironment environment = new StandardEnvironment();
    environment
        .getPropertySources()
        .remove(StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME);
    environment.getPropertySources().addFirst(source);
    ConfigurationPropertySources.attach(environment);
    WorkerKeys.check().check(environment);
  }
}
