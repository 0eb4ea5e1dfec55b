package dev.roundhouse.worker.wiring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.pjrt.PluginOptions;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.worker.config.WorkerProperties;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

/** What stops a start, with the CPU plugin or none. */
class DeviceConfigurationTest {
  @TempDir private Path folder;

  @Test
  void shouldOpenTheDeviceWithTheCompilersOptions() {
    runner("compile.options.xla_cpu_enable_fast_min_max=true")
        .run(
            context -> {
              try (Device device = context.getBean(Device.class)) {
                assertThat(device.description().platform()).isEqualTo(PluginOptions.CPU);
              }
            });
  }

  @Test
  void shouldRefuseACompilersOptionThatItDoesNotKnow() {
    refused(
        "compile.options.xla_no_such_option",
        runner("compile.options.xla_no_such_option=1"),
        "xla_no_such_option");
    refused(
        "compile.options.autotune_level",
        runner("compile.options.autotune_level=1"),
        "begin with xla_");
  }

  @Test
  void shouldRefuseAMalformedFlag() {
    refused("xla-flags", runner("device.xla-flags[0]=xla_dump_to=/d"), "'xla_dump_to=/d'");
  }

  @Test
  void shouldRefuseSettingsOfAnotherPlatform() {
    refused(
        "memory-fraction",
        runner("device.cuda.memory-fraction=0.5"),
        "roundhouse.worker.device.cuda.memory-fraction",
        "platform is 'cpu'");
  }

  @Test
  void shouldSayWhereItLookedForCudaAndWhatToInstall() throws Exception {
    Path packages = Files.createDirectories(folder.resolve("lib/python3.12/site-packages"));
    refused(
        "cuda",
        runner("device.platform=cuda", "device.cuda.python-environment=" + folder),
        packages.toString(),
        "jax_plugins/xla_cuda13/xla_cuda_plugin.so",
        "pip install \"jax-cuda13-pjrt\"");
  }

  /** Whichever this machine lacks first: a driver, or the libraries of an empty environment. */
  @Test
  void shouldNameWhatACudaPackageLacksInsteadOfLoadingIt() throws Exception {
    Path plugin =
        folder.resolve("lib/python3.12/site-packages/jax_plugins/xla_cuda13/xla_cuda_plugin.so");
    Files.createDirectories(plugin.getParent());
    Files.writeString(plugin, "never loaded");
    runner("device.platform=cuda", "device.cuda.python-environment=" + folder)
        .run(
            context ->
                assertThat(context)
                    .getFailure()
                    .rootCause()
                    .hasMessageContaining(plugin.toString())
                    .hasMessageMatching("(?s).*(libcuda.so.1|libcudart.so.13).*"));
  }

  @Test
  void shouldForbidTf32ToNvidiasLibrariesUnderF32Only() {
    Map<String, Boolean> forbids = Map.of("f32", true, "auto", false, "tf32", false);
    forbids.forEach(
        (policy, expected) ->
            new ApplicationContextRunner()
                .withUserConfiguration(Bound.class)
                .withPropertyValues(WorkerProperties.PREFIX + ".runtime.numerics=" + policy)
                .run(
                    context ->
                        assertThat(
                                DeviceConfiguration.options(context.getBean(WorkerProperties.class))
                                    .plugin()
                                    .forbidsTf32())
                            .as(policy)
                            .isEqualTo(expected)));
  }

  private static void refused(String what, ApplicationContextRunner runner, String... texts) {
    runner.run(
        context -> {
          assertThat(context).as(what).hasFailed();
          assertThat(context.getStartupFailure())
              .hasStackTraceContaining(StartRefusedException.class.getName());
          for (String text : texts) {
            assertThat(context.getStartupFailure()).hasStackTraceContaining(text);
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
  static class Bound {}

  @Configuration(proxyBeanMethods = false)
  @EnableConfigurationProperties(WorkerProperties.class)
  @Import(DeviceConfiguration.class)
  static class Opened {}
}
