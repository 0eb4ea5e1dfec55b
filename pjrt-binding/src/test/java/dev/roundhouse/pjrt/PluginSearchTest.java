package dev.roundhouse.pjrt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.device.DeviceException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PluginSearchTest {
  private final Map<String, String> properties = new HashMap<>();
  private final Map<String, String> environment = new HashMap<>();
  private final PluginSearch search = new PluginSearch(properties::get, environment::get);

  @TempDir private Path folder;
  private Path cached;

  @BeforeEach
  void emptyCache() {
    environment.put("ROUNDHOUSE_CACHE", folder.toString());
    cached = folder.resolve("pjrt/xla-cpu-pjrt-0.0.1/xla_cpu_pjrt.so");
  }

  @Test
  void shouldLookInTheStatedOrder() throws IOException {
    create(cached);
    assertThat(search.find(Optional.empty())).isEqualTo(cached);

    Path byVariable = create(folder.resolve("variable.so"));
    environment.put(PluginSearch.VARIABLE, byVariable.toString());
    assertThat(search.find(Optional.empty())).isEqualTo(byVariable);

    Path byProperty = create(folder.resolve("property.so"));
    properties.put(PluginSearch.PROPERTY, byProperty.toString());
    assertThat(search.find(Optional.empty())).isEqualTo(byProperty);

    Path given = create(folder.resolve("given.so"));
    assertThat(search.find(Optional.of(given))).isEqualTo(given);
  }

  @Test
  void shouldFindTheCacheWhereTheFetchScriptPutsIt() throws IOException {
    environment.remove("ROUNDHOUSE_CACHE");
    environment.put("HOME", folder.toString());
    Path inHome =
        create(folder.resolve(".cache/roundhouse/pjrt/xla-cpu-pjrt-0.0.1/xla_cpu_pjrt.so"));
    assertThat(search.find(Optional.empty())).isEqualTo(inHome);

    environment.put("XDG_CACHE_HOME", folder.resolve("xdg").toString());
    Path inXdg = create(folder.resolve("xdg/roundhouse/pjrt/xla-cpu-pjrt-0.0.1/xla_cpu_pjrt.so"));
    assertThat(search.find(Optional.empty())).isEqualTo(inXdg);
  }

  @Test
  void shouldSayWhatToRunWhenThereIsNone() {
    assertThatThrownBy(() -> search.find(Optional.empty()))
        .isInstanceOf(DeviceException.class)
        .hasMessageContaining("tools/pjrt-plugin/fetch")
        .hasMessageContaining(cached.toString())
        .hasMessageContaining(PluginSearch.PROPERTY)
        .hasMessageContaining(PluginSearch.VARIABLE);
  }

  @Test
  void shouldSayWhatToSetWhenThereIsNoCacheAtAll() {
    environment.clear();
    assertThatThrownBy(() -> search.find(Optional.empty()))
        .isInstanceOf(DeviceException.class)
        .hasMessageContaining("set HOME, ROUNDHOUSE_CACHE or XDG_CACHE_HOME");
  }

  @Test
  void shouldNotLookFurtherWhenANamedPlaceIsEmpty() throws IOException {
    create(cached);
    properties.put(PluginSearch.PROPERTY, folder.resolve("absent.so").toString());
    assertThatThrownBy(() -> search.find(Optional.empty()))
        .isInstanceOf(DeviceException.class)
        .hasMessageContaining("absent.so")
        .hasMessageContaining(PluginSearch.PROPERTY);
  }

  private static Path create(Path file) throws IOException {
    Files.createDirectories(file.getParent());
    return Files.createFile(file);
  }
}
