package dev.roundhouse.pjrt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.device.DeviceException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class XlaFlagsTest {
  private static final Optional<Path> DATA = Optional.of(Path.of("/env/nvidia/cu13"));

  @Test
  void shouldLeaveTheVariableAloneWhenThereIsNothingToAdd() {
    assertThat(XlaFlags.of(Optional.empty(), List.of()).value()).isEmpty();
    assertThat(XlaFlags.of(Optional.of("--xla_a=1"), List.of()).value()).isEmpty();
  }

  @Test
  void shouldKeepWhatTheOperatorHasPutThere() {
    assertThat(
            XlaFlags.of(Optional.of(" --xla_a=1  --xla_b "), List.of("--xla_c=x,y", "--xla_d"))
                .withDataDirectory(DATA)
                .value())
        .contains(
            "--xla_a=1  --xla_b --xla_c=x,y --xla_d --xla_gpu_cuda_data_dir=/env/nvidia/cu13");
  }

  @Test
  void shouldAddTheDataDirectoryUnlessTheOperatorNamesOne() {
    XlaFlags none = XlaFlags.of(Optional.empty(), List.of());
    assertThat(none.hasDataDirectory()).isFalse();
    assertThat(none.withDataDirectory(Optional.empty()).value()).isEmpty();
    assertThat(none.withDataDirectory(DATA).hasDataDirectory()).isTrue();
    assertThat(none.value()).contains("--xla_gpu_cuda_data_dir=/env/nvidia/cu13");
    String own = "--xla_gpu_cuda_data_dir=/own";
    XlaFlags inherited = XlaFlags.of(Optional.of(own), List.of());
    assertThat(inherited.hasDataDirectory()).isTrue();
    assertThat(inherited.withDataDirectory(DATA).value()).isEmpty();
    assertThat(XlaFlags.of(Optional.empty(), List.of(own)).withDataDirectory(DATA).value())
        .contains(own);
  }

  /** XLA takes a value without dashes for the name of a file with flags. */
  @Test
  void shouldAddNothingToTheNameOfAFile() {
    Optional<String> file = Optional.of("/etc/xla_flags");
    assertThat(XlaFlags.of(file, List.of()).withDataDirectory(DATA).value()).isEmpty();
    assertThatThrownBy(() -> XlaFlags.of(file, List.of("--xla_a=1")))
        .isInstanceOf(DeviceException.class)
        .hasMessageContainingAll("--xla_a=1", "/etc/xla_flags");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "xla_a=1",
        "-xla_a",
        "--xla_a = 1",
        "--xla_a=1 --xla_b=2",
        "--XLA_a",
        "--tf_xla=1",
        "--xla_a=",
        "CUBLAS"
      })
  void shouldRefuseWhatIsNoFlag(String flag) {
    assertThatThrownBy(() -> XlaFlags.of(Optional.empty(), List.of(flag)))
        .isInstanceOf(DeviceException.class)
        .hasMessageContainingAll("'" + flag + "'", "--xla_NAME=VALUE");
  }

  @Test
  void shouldRefuseAFlagThatIsGivenTwice() {
    assertThatThrownBy(() -> XlaFlags.of(Optional.empty(), List.of("--xla_a=1", "--xla_a=2")))
        .hasMessageContainingAll("--xla_a=2", "twice");
    assertThatThrownBy(() -> XlaFlags.of(Optional.of("--xla_a"), List.of("--xla_a=2")))
        .hasMessageContainingAll("--xla_a=2", "twice", "XLA_FLAGS");
  }

  @Test
  void shouldRefuseAFlagThatThePluginDoesNotHold() {
    Path plugin = PjrtPlugin.load(PluginOptions.DEFAULTS).path();
    assertThatNoException()
        .isThrownBy(
            () ->
                XlaFlags.of(
                        Optional.empty(),
                        List.of("--xla_cpu_use_fusion_emitters=true", "--xla_dump_to=/d"))
                    .checkKnownTo(plugin));
    assertThatThrownBy(
            () ->
                XlaFlags.of(Optional.empty(), List.of("--xla_dump_to=/d", "--xla_gpu_no_such=1"))
                    .checkKnownTo(plugin))
        .isInstanceOf(DeviceException.class)
        .hasMessageContainingAll("--xla_gpu_no_such", plugin.toString());
  }

  @Test
  void shouldFindANameWhereverItLies(@TempDir Path folder) throws IOException {
    byte[] name = "xla_needle\0".getBytes(StandardCharsets.US_ASCII);
    int window = 1 << 20;
    for (int at : new int[] {0, window - 3, window, window + 5, 2 * window + 7}) {
      byte[] bytes = new byte[at + name.length];
      Arrays.fill(bytes, (byte) 'x');
      System.arraycopy(name, 0, bytes, at, name.length);
      Path file = Files.write(folder.resolve("at" + at), bytes);
      XlaFlags flags = XlaFlags.of(Optional.empty(), List.of("--xla_needle"));
      assertThatNoException().as("at %d", at).isThrownBy(() -> flags.checkKnownTo(file));
      bytes[bytes.length - 1] = 's';
      Files.write(file, bytes);
      assertThatThrownBy(() -> flags.checkKnownTo(file))
          .as("the beginning of a longer name")
          .isInstanceOf(DeviceException.class);
    }
  }
}
