package dev.roundhouse.worker.wiring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.worker.config.WorkerProperties;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;

class StreamConfigurationTest {
  private static int share(String... settings) {
    MapConfigurationPropertySource source = new MapConfigurationPropertySource();
    for (String setting : settings) {
      String[] parts = setting.split("=", 2);
      source.put(WorkerProperties.PREFIX + "." + parts[0], parts[1]);
    }
    WorkerProperties properties =
        new Binder(source)
            .bindOrCreate(WorkerProperties.PREFIX, Bindable.of(WorkerProperties.class));
    return StreamConfiguration.ofGrpcShare(properties, Integer.MAX_VALUE);
  }

  /** As many files as the process may have open, whatever that is here. */
  @Test
  void shouldShareTheDescriptorsOfGrpcAmongAllThatHaveConnections() {
    int alone = share();

    assertThat(share("transports.line.enabled=false")).isEqualTo(alone);
    assertThat(share("transports.line.enabled=true")).isEqualTo(alone / 2);
    assertThat(
            share(
                "transports.line.enabled=true",
                "transports.other.enabled=true",
                "v1.grpc-port=0",
                "stream.port=0"))
        .isEqualTo(alone / 5);
  }
}
