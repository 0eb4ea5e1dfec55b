package dev.roundhouse.bundle.manifest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.error.BundleException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HostileManifestTest {
  private static final String GOOD =
      """
      format_version: "3"
      inputs:
        - {name: x, dtype: f32, shape: [n, 8]}
      outputs:
        - name: y
          dtype: f32
          shape: [n, 8]
      batch_sizes: [1, 4]
      serving: {weight: 1.5, max_queue_delay: 1ms}
      files: {model.b1.mlir: "%s"}
      """
          .formatted("0".repeat(64));

  private static Manifest read(byte[] yaml) {
    return ManifestReader.read(yaml, "manifest.yaml", "tiny");
  }

  private static void assertRefused(String yaml, String reason) {
    assertThatThrownBy(() -> read(yaml.getBytes(StandardCharsets.UTF_8)))
        .isInstanceOf(BundleException.class)
        .hasMessageStartingWith("manifest.yaml: ")
        .hasMessageContaining(reason);
  }

  @Test
  void shouldRefuseWhenYamlIsABombOrNotPlain() {
    StringBuilder bomb = new StringBuilder("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 20; i++) {
      bomb.append("a%d: &a%d [%s]%n".formatted(i, i, "*a%d, ".formatted(i - 1).repeat(9)));
    }
    assertRefused(bomb.toString(), "line 1: YAML anchors, aliases and tags are not read");
    assertRefused("a: 1\nb: *a\n", "line 2: YAML anchors, aliases");
    assertRefused("a: !!java.net.URL [x]\n", "anchors, aliases and tags are not read");
    assertRefused("a: 1\na: 2\n", "Duplicate");
    assertRefused(GOOD + "kind: model\nkind: model\n", "Duplicate");
    assertRefused(GOOD + "---\na: 1\n", "more than one YAML document");
    assertRefused("[".repeat(40), "is not valid YAML");
    assertRefused("[".repeat(100_000), "is not valid YAML");
    assertRefused("- a\n", "is not a YAML mapping");
    assertRefused("", "is not a YAML mapping");
    assertRefused("just text", "is not a YAML mapping");
    assertRefused("a: [1\n", "is not valid YAML");
    assertRefused("a: \u0007", "is not valid YAML");
    assertRefused("x".repeat((1 << 20) + 1), "is larger than 1048576 bytes");
    assertThatThrownBy(() -> read(new byte[] {'a', ':', ' ', (byte) 0xC3}))
        .isInstanceOf(BundleException.class)
        .hasMessageContaining("is not UTF-8 text");
  }

  @Test
  void shouldRefuseWhenFileCannotBeRead(@TempDir Path folder) {
    assertThatThrownBy(() -> ManifestReader.read(folder.resolve("none.yaml"), "tiny"))
        .isInstanceOf(BundleException.class)
        .hasMessageContaining("none.yaml: cannot be read");
    assertThatThrownBy(() -> ManifestReader.read(folder, "tiny"))
        .isInstanceOf(BundleException.class);
  }

  @Test
  void shouldThrowNothingElseWhenTextIsMutated() {
    long seed = 20261123L;
    System.out.println("HostileManifestTest seed " + seed);
    Random random = new Random(seed);
    byte[] original = GOOD.getBytes(StandardCharsets.UTF_8);
    assertThat(read(original).spec().batchSizes()).containsExactly(1, 4);
    int refused = 0;
    int rounds = 3000;
    for (int round = 0; round < rounds; round++) {
      byte[] yaml = original.clone();
      for (int edit = random.nextInt(4); edit >= 0; edit--) {
        yaml[random.nextInt(yaml.length)] =
            (byte)
                (random.nextInt(4) > 0
                    ? "0123n[]{},:\"'-&*!?|>%@#\n \te.".charAt(random.nextInt(28))
                    : random.nextInt(256));
      }
      if (random.nextInt(6) == 0) {
        yaml = Arrays.copyOf(yaml, random.nextInt(yaml.length));
      }
      try {
        read(yaml);
      } catch (BundleException _) {
        refused++;
      }
    }
    assertThat(refused).isBetween(rounds / 2, rounds - 1);
  }
}
