package dev.roundhouse.pjrt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.device.DeviceException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PluginSearchTest {
  private static final PluginOptions CUDA = PluginOptions.DEFAULTS.withPlatform(PluginOptions.CUDA);
  private static final String CUDA_12 = "jax_plugins/xla_cuda12/xla_cuda_plugin.so";

  private final Map<String, String> properties = new HashMap<>();
  private final Map<String, String> environment = new HashMap<>();

  @TempDir private Path folder;
  private PluginSearch search;
  private Path cached;

  @BeforeEach
  void emptyCache() {
    search = new PluginSearch(properties::get, environment::get, folder.resolve("root"));
    environment.put("ROUNDHOUSE_CACHE", folder.toString());
    cached = folder.resolve("pjrt/xla-cpu-pjrt-0.0.1/xla_cpu_pjrt.so");
  }

  @Test
  void shouldLookInTheStatedOrder() throws IOException {
    create(cached);
    assertThat(search.find(PluginOptions.DEFAULTS)).isEqualTo(cached);

    Path byVariable = create(folder.resolve("variable.so"));
    environment.put(PluginSearch.VARIABLE, byVariable.toString());
    assertThat(search.find(PluginOptions.DEFAULTS)).isEqualTo(byVariable);

    Path byProperty = create(folder.resolve("property.so"));
    properties.put(PluginSearch.PROPERTY, byProperty.toString());
    assertThat(search.find(PluginOptions.DEFAULTS)).isEqualTo(byProperty);

    Path given = create(folder.resolve("given.so"));
    assertThat(search.find(PluginOptions.DEFAULTS.withPath(given))).isEqualTo(given);
  }

  @Test
  void shouldFindTheCacheWhereTheFetchScriptPutsIt() throws IOException {
    environment.remove("ROUNDHOUSE_CACHE");
    environment.put("HOME", folder.toString());
    Path inHome =
        create(folder.resolve(".cache/roundhouse/pjrt/xla-cpu-pjrt-0.0.1/xla_cpu_pjrt.so"));
    assertThat(search.find(PluginOptions.DEFAULTS)).isEqualTo(inHome);

    environment.put("XDG_CACHE_HOME", folder.resolve("xdg").toString());
    Path inXdg = create(folder.resolve("xdg/roundhouse/pjrt/xla-cpu-pjrt-0.0.1/xla_cpu_pjrt.so"));
    assertThat(search.find(PluginOptions.DEFAULTS)).isEqualTo(inXdg);
  }

  @Test
  void shouldSayWhatToRunWhenThereIsNone() {
    assertThatThrownBy(() -> search.find(PluginOptions.DEFAULTS))
        .isInstanceOf(DeviceException.class)
        .hasMessageContaining("tools/pjrt-plugin/fetch")
        .hasMessageContaining(cached.toString())
        .hasMessageContaining(PluginSearch.PROPERTY)
        .hasMessageContaining(PluginSearch.VARIABLE);
  }

  @Test
  void shouldSayWhatToSetWhenThereIsNoCacheAtAll() {
    environment.clear();
    assertThatThrownBy(() -> search.find(PluginOptions.DEFAULTS))
        .isInstanceOf(DeviceException.class)
        .hasMessageContaining("set HOME, ROUNDHOUSE_CACHE or XDG_CACHE_HOME");
  }

  @Test
  void shouldNotLookFurtherWhenANamedPlaceIsEmpty() throws IOException {
    create(cached);
    properties.put(PluginSearch.PROPERTY, folder.resolve("absent.so").toString());
    assertThatThrownBy(() -> search.find(PluginOptions.DEFAULTS))
        .isInstanceOf(DeviceException.class)
        .hasMessageContaining("absent.so")
        .hasMessageContaining(PluginSearch.PROPERTY);
  }

  @Test
  void shouldFindTheCudaPackageInTheStatedOrder() throws IOException {
    create(cached);
    List<String> places =
        List.of(
            "root/usr/lib/python3/dist-packages/",
            "root/usr/local/lib/python3.9/dist-packages/",
            "root/usr/local/lib/python3.12/dist-packages/",
            "home/.local/lib/python3.12/site-packages/",
            "conda/lib/python3.12/site-packages/",
            "venv/lib64/python3.12/site-packages/",
            "venv/lib/python3.12/site-packages/");
    environment.put("HOME", folder.resolve("home").toString());
    environment.put("CONDA_PREFIX", folder.resolve("conda").toString());
    environment.put("VIRTUAL_ENV", folder.resolve("venv").toString());
    for (String place : places) {
      // The one to prefer comes last, and wins at once.
      for (String file : CudaPackage.FILES.reversed()) {
        Path plugin = create(folder.resolve(place + file));
        assertThat(search.find(CUDA)).isEqualTo(plugin);
      }
    }
    Path given = folder.resolve("given");
    Path configured = create(given.resolve("lib/python3.10/site-packages/" + CUDA_12));
    assertThat(search.find(CUDA.withPythonEnvironment(given))).isEqualTo(configured);
    Path variable = create(folder.resolve("variable.so"));
    environment.put(PluginSearch.VARIABLE, variable.toString());
    assertThat(search.find(CUDA.withPythonEnvironment(given))).isEqualTo(variable);
    assertThat(search.find(CUDA.withPath(given.resolve("lib/python3.10/site-packages/" + CUDA_12))))
        .isEqualTo(configured);
  }

  @Test
  void shouldFindAPackageThatWasInstalledIntoAFolderOfItsOwn() throws IOException {
    Path plugin = create(folder.resolve("target/" + CUDA_12));
    assertThat(search.find(CUDA.withPythonEnvironment(folder.resolve("target")))).isEqualTo(plugin);
  }

  @Test
  void shouldNotFindTheOtherPlatformsPlugin() throws IOException {
    create(cached);
    assertThatThrownBy(() -> search.find(CUDA)).isInstanceOf(DeviceException.class);
    Files.delete(cached);
    environment.put("VIRTUAL_ENV", folder.resolve("venv").toString());
    create(folder.resolve("venv/lib/python3.12/site-packages/" + CUDA_12));
    assertThatThrownBy(() -> search.find(PluginOptions.DEFAULTS))
        .isInstanceOf(DeviceException.class);
    assertThatThrownBy(() -> search.find(CUDA.withPlatform("tpu")))
        .isInstanceOf(DeviceException.class)
        .hasMessageContainingAll(PluginSearch.PROPERTY, PluginSearch.VARIABLE);
  }

  @Test
  void shouldSayWhereItLookedForCudaAndHowToInstallIt() throws IOException {
    Path packages = folder.resolve("venv/lib/python3.12/site-packages");
    create(packages.resolve("numpy.py"));
    environment.put("VIRTUAL_ENV", folder.resolve("venv").toString());
    assertThatThrownBy(() -> search.find(CUDA))
        .isInstanceOf(DeviceException.class)
        .hasMessageContainingAll(
            PluginSearch.PROPERTY,
            PluginSearch.VARIABLE,
            packages.toString(),
            CUDA_12,
            "pip install \"jax-cuda13-pjrt\"");
  }

  @Test
  void shouldNotLookFurtherWhenTheNamedEnvironmentHasNone() throws IOException {
    environment.put("VIRTUAL_ENV", folder.resolve("venv").toString());
    create(folder.resolve("venv/lib/python3.12/site-packages/" + CUDA_12));
    Path empty = folder.resolve("empty");
    assertThatThrownBy(() -> search.find(CUDA.withPythonEnvironment(empty)))
        .isInstanceOf(DeviceException.class)
        .hasMessageContaining(empty.toString())
        .hasMessageContaining("pip install");
  }

  private static Path create(Path file) throws IOException {
    Files.createDirectories(file.getParent());
    return Files.createFile(file);
  }
}
