package dev.roundhouse.worker.wiring;

import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.device.DeviceException;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The binding refuses a known option of the wrong type, so acceptance shows the type. */
class PluginClientOptionsTest {

  @Test
  void shouldGiveOptionsTheTypeTheyLookLike() {
    assertThatNoException()
        .isThrownBy(
            () ->
                PluginClientOptions.parse(
                    Map.of(
                        "memory_fraction", "0.9",
                        "preallocate", "false",
                        "node_id", "3",
                        "visible_devices", "[0,1]",
                        "allocator", "bfc")));
  }

  @Test
  void shouldGiveKnownOptionsTheirTypeWhateverTheyLookLike() {
    assertThatNoException()
        .isThrownBy(
            () ->
                PluginClientOptions.parse(
                    Map.of(
                        "memory_fraction", "1",
                        "visible_devices", "[ 0, 1 ]",
                        "allocator", "1")));
    assertThatNoException()
        .isThrownBy(() -> PluginClientOptions.parse(Map.of("visible_devices", "3")));
  }

  @Test
  void shouldRefuseAnotherType() {
    assertThatThrownBy(() -> PluginClientOptions.parse(Map.of("preallocate", "yes")))
        .isInstanceOf(DeviceException.class)
        .hasMessageContaining("preallocate");
  }
}
