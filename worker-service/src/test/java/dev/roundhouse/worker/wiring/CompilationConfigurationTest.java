package dev.roundhouse.worker.wiring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.compile.Compilation;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.worker.config.WorkerProperties;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

/** Where programs are compiled and kept, with the CPU plugin. */
class CompilationConfigurationTest {
  @TempDir private Path folder;

  @Test
  void shouldCompileInAProcessOfItsOwnAndKeepProgramsByDefault() {
    runner("compile.cache=" + folder.resolve("programs"), "compile.timeout=10s")
        .run(
            context -> {
              try (Device device = context.getBean(Device.class);
                  Compilation compilation = context.getBean(Compilation.class)) {
                assertThat(compilation.isIsolated()).isTrue();
                assertThat(compilation.cache()).isPresent();
                assertThat(device.compileTarget()).isPresent();
                assertThat(folder.resolve("programs")).isDirectory();
              }
            });
  }

  @Test
  void shouldCompileHereAndKeepNothingWhenToldSo() {
    runner("compile.cache=none", "compile.isolation=in-process")
        .run(
            context -> {
              try (Device device = context.getBean(Device.class);
                  Compilation compilation = context.getBean(Compilation.class)) {
                assertThat(compilation.isIsolated()).isFalse();
                assertThat(compilation.cache()).isEmpty();
                assertThat(device.description().platform()).isEqualTo("cpu");
              }
            });
  }

  @Test
  void shouldRefuseLimitsThatNothingWouldKeep() {
    for (String limit : new String[] {"timeout=10s", "memory=1GB"}) {
      runner("compile.cache=none", "compile.isolation=in-process", "compile." + limit)
          .run(
              context ->
                  assertThat(context)
                      .getFailure()
                      .rootCause()
                      .isInstanceOf(StartRefusedException.class)
                      .hasMessageContaining(
                          "roundhouse.worker.compile." + limit.replaceAll("=.*", "") + " is set"));
    }
  }

  @Test
  void shouldRefuseToConfineWhatIsInThisProcess() {
    runner("compile.cache=none", "compile.isolation=in-process", "compile.confinement=required")
        .run(
            context ->
                assertThat(context)
                    .getFailure()
                    .rootCause()
                    .isInstanceOf(StartRefusedException.class)
                    .hasMessageContaining("roundhouse.worker.compile.confinement is 'required'"));
  }

  @Test
  void shouldConfineNothingWhenToldSo() {
    runner("compile.cache=none", "compile.confinement=none")
        .run(
            context -> {
              try (Device device = context.getBean(Device.class);
                  Compilation compilation = context.getBean(Compilation.class)) {
                assertThat(compilation.isIsolated()).isTrue();
                assertThat(compilation.confinement()).isEmpty();
                assertThat(device.description().platform()).isEqualTo("cpu");
              }
            });
  }

  private static ApplicationContextRunner runner(String... values) {
    String[] prefixed = new String[values.length];
    for (int i = 0; i < values.length; i++) {
      prefixed[i] = WorkerProperties.PREFIX + "." + values[i];
    }
    return new ApplicationContextRunner()
        .withUserConfiguration(Opened.class)
        .withPropertyValues(prefixed);
  }

  @Configuration(proxyBeanMethods = false)
  @EnableConfigurationProperties(WorkerProperties.class)
  @Import({DeviceConfiguration.class, CompilationConfiguration.class})
  static class Opened {}
}
