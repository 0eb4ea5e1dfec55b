package dev.roundhouse.worker.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.roundhouse.platform.config.StartRefusedException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.env.YamlPropertySourceLoader;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;
import org.springframework.core.io.ByteArrayResource;

/** A model's settings reach the model of that very name, or the start is refused. */
class ModelNameCheckTest {

  @ParameterizedTest
  @CsvSource({
    "resnet, resnet",
    "my_model, my_model",
    "my-model, my-model",
    "MyModel, MyModel",
    "'\"[my.model]\"', my.model",
    "'\"[my_model]\"', my_model",
    "'\"[My Model 2.0]\"', My Model 2.0",
  })
  void shouldBindTheNameThatADocumentWrites(String written, String name) throws Exception {
    assertThat(bind(yaml(written)).models())
        .isEqualTo(Map.of(name, new ModelProperties(2.0, null, null, null, null)));
  }

  @ParameterizedTest
  @CsvSource({
    "my_model.weight, my_model",
    "MyModel.weight, MyModel",
    "[my.model].weight, my.model",
    "[my model].weight, my model",
  })
  void shouldBindTheNameThatTheCommandLineWrites(String written, String name) {
    String key = "roundhouse.worker.models" + (written.startsWith("[") ? "" : ".") + written;

    assertThat(bind(new MapPropertySource("args", Map.of(key, "2"))).models())
        .isEqualTo(Map.of(name, new ModelProperties(2.0, null, null, null, null)));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "RESNET_WEIGHT",
        "RESNET50_MAXBATCHSIZE",
        "RESNET_MAX_BATCH_SIZE",
        "A_SERVICE_HOST"
      })
  void shouldLeaveVariablesOfOneWordAlone(String variable) {
    check(variables(variable));
  }

  static Stream<Arguments> refused() throws Exception {
    return Stream.of(
        arguments(yaml("my.model"), "models: {\"[my.model]\": {weight: ...}}"),
        arguments(yaml("'my model'"), "models: {\"[my model]\": {weight: ...}}"),
        arguments(yaml("[my.model]"), "models: {\"[my.model]\": {weight: ...}}"),
        arguments(
            new MapPropertySource("args", Map.of("roundhouse.worker.models.a.b.weight", "2")),
            "'--roundhouse.worker.models[a.b].weight=...'"),
        arguments(
            variables("MY_MODEL_WEIGHT"),
            "SPRING_APPLICATION_JSON='{\"roundhouse.worker.models[my_model].weight\": ...}'"),
        arguments(variables("MY_MODEL_MAX_QUEUE_DELAY"), "models[my_model].max_queue_delay"));
  }

  @ParameterizedTest
  @MethodSource("refused")
  void shouldRefuseAndSayHowToWriteIt(PropertySource<?> source, String way) {
    StartRefusedException refusal =
        catchThrowableOfType(StartRefusedException.class, () -> check(source));

    assertThat(refusal).isNotNull();
    assertThat(refusal.action()).contains(way);
  }

  @Test
  void shouldBindADocumentOfJsonInTheEnvironment() {
    // what SPRING_APPLICATION_JSON becomes
    var json =
        new MapPropertySource(
            "spring.application.json", Map.of("roundhouse.worker.models[my.model].weight", 2));

    assertThat(bind(json).models()).containsOnlyKeys("my.model");
  }

  private static PropertySource<?> yaml(String name) throws Exception {
    String document = "roundhouse.worker.models:\n  " + name + ":\n    weight: 2\n";
    return new YamlPropertySourceLoader()
        .load("yaml", new ByteArrayResource(document.getBytes(StandardCharsets.UTF_8)))
        .getFirst();
  }

  private static PropertySource<?> variables(String variable) {
    return new SystemEnvironmentPropertySource(
        StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME,
        Map.of("ROUNDHOUSE_WORKER_MODELS_" + variable, "2"));
  }

  private static WorkerProperties bind(PropertySource<?> source) {
    return Binder.get(check(source)).bindOrCreate(WorkerProperties.PREFIX, WorkerProperties.class);
  }

  private static StandardEnvironment check(PropertySource<?> source) {
    StandardEnvironment environment = new StandardEnvironment();
    environment
        .getPropertySources()
        .remove(StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME);
    environment.getPropertySources().addFirst(source);
    ConfigurationPropertySources.attach(environment);
    WorkerKeys.check().check(environment);
    return environment;
  }
}
