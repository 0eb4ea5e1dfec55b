package dev.roundhouse.platform.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.env.YamlPropertySourceLoader;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.MutablePropertySources;
import org.springframework.core.env.SimpleCommandLinePropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;
import org.springframework.core.io.FileSystemResource;
import org.springframework.util.unit.DataSize;

/** Settings as an operator reads them back. */
class EffectiveSettingsTest {
  @TempDir Path folder;

  private final StandardEnvironment environment = new StandardEnvironment();

  record Server(
      @DefaultValue("60s") Duration drain,
      @DefaultValue("1GB") DataSize maxHeld,
      @Nullable DataSize programMemory,
      @DefaultValue("./models") List<Path> directories,
      @DefaultValue("") String arguments,
      @DefaultValue("") String accessToken) {}

  record Model(@DefaultValue("1") double weight) {}

  record Root(@DefaultValue Server server, @DefaultValue Map<String, Model> models) {}

  @Test
  void shouldSayWhatIsNotAtItsDefaultAndWhoSetIt() throws Exception {
    Path file = folder.resolve("application.yaml");
    Files.writeString(
        file,
        """
        roundhouse.it:
          server: {drain: 5s, max-held: 2GB}
          models: {plain: {weight: 2}, "[my.model]": {weight: 3}, usual: {weight: 1.0}}
        """);
    commandLine("--roundhouse.it.server.drain=7s");
    variables(
        Map.of(
            "ROUNDHOUSE_IT_SERVER_MAXHELD", "3GB", "ROUNDHOUSE_IT_SERVER_PROGRAM_MEMORY", "4MB"));
    document(file);
    String at = "file [" + file + "] line 3";
    assertThat(read())
        .containsExactly(
            new Setting("roundhouse.it.models.plain.weight", "2", "1", "file", at),
            new Setting("roundhouse.it.models[my.model].weight", "3", "1", "file", at),
            new Setting("roundhouse.it.server.drain", "7s", "60s", "command line", null),
            new Setting(
                "roundhouse.it.server.max-held",
                "3GB",
                "1GB",
                "environment",
                "ROUNDHOUSE_IT_SERVER_MAXHELD"),
            new Setting(
                "roundhouse.it.server.program-memory",
                "4MB",
                null,
                "environment",
                "ROUNDHOUSE_IT_SERVER_PROGRAM_MEMORY"));
  }

  @Test
  void shouldLeaveOutWhatIsTheDefaultInOtherWords() {
    commandLine("--roundhouse.it.server.drain=1m", "--roundhouse.it.server.max-held=1024MB");
    assertThat(read()).isEmpty();
  }

  @Test
  void shouldSayWhereAValueThatIsReferredToWasSet() {
    commandLine("--launcher.size=5GB");
    other("built", Map.of("roundhouse.it.server.max-held", "${launcher.size:1GB}"));
    other("unset", Map.of("roundhouse.it.server.program-memory", "${launcher.program:}"));
    assertThat(read())
        .containsExactly(
            new Setting("roundhouse.it.server.max-held", "5GB", "1GB", "command line", null));
  }

  @Test
  void shouldShowListsWhole() throws Exception {
    Path file = folder.resolve("application.yaml");
    Files.writeString(file, "roundhouse.it.server:\n  directories:\n  - a\n  - b\n");
    document(file);
    assertThat(read())
        .containsExactly(
            new Setting(
                "roundhouse.it.server.directories",
                "a,b",
                "./models",
                "file",
                "file [" + file + "] line 3"));
  }

  @Test
  void shouldShowNoSecrets() {
    commandLine(
        "--roundhouse.it.server.access-token=abc",
        "--roundhouse.it.server.arguments=--spring.ssl.key-password=abc,--url=http://me:abc@host/ x");
    assertThat(read())
        .extracting(Setting::value)
        .containsExactly("******", "--spring.ssl.key-password=******,--url=http://******@host/ x");
    other("late", Map.of("KEY_PASSWORD", "abc"));
    commandLine("--roundhouse.it.server.arguments=--x=${KEY_PASSWORD}");
    assertThat(read()).extracting(Setting::value).containsExactly("--x=${KEY_PASSWORD}");
  }

  private List<Setting> read() {
    ConfigurationPropertySources.attach(environment);
    return new EffectiveSettings("roundhouse.it", Root.class, environment).read();
  }

  private MutablePropertySources sources() {
    return environment.getPropertySources();
  }

  private void commandLine(String... arguments) {
    sources().remove("commandLineArgs");
    sources().addFirst(new SimpleCommandLinePropertySource(arguments));
  }

  private void variables(Map<String, Object> variables) {
    sources()
        .replace(
            StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME,
            new SystemEnvironmentPropertySource(
                StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME, variables));
  }

  private void other(String name, Map<String, Object> values) {
    sources().addLast(new MapPropertySource(name, values));
  }

  private void document(Path file) throws IOException {
    new YamlPropertySourceLoader()
        .load("document", new FileSystemResource(file))
        .forEach(sources()::addLast);
  }
}
