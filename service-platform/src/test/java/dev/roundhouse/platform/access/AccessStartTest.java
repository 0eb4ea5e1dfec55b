package dev.roundhouse.platform.access;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.platform.access.Doors.Door;
import dev.roundhouse.platform.config.StartRefusedException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** Settings that contradict each other, or let in anybody, refuse the start. */
@ExtendWith(OutputCaptureExtension.class)
class AccessStartTest {
  private static final String KEY = "roundhouse.worker.access";
  private static final Doors INSIDE =
      new Doors(
          List.of(new Door("server.address", InetAddress.getLoopbackAddress(), false, false)));
  private static final Doors OUTSIDE =
      new Doors(List.of(new Door("spring.grpc.server.address", null, false, false)));

  @TempDir Path folder;

  private static String refusal(Map<String, String> settings, Doors doors) {
    StartRefusedException refused =
        catchThrowableOfType(
            StartRefusedException.class,
            () -> AccessStart.open(AccessTest.properties(settings), KEY, true, doors));
    assertThat(refused).describedAs("started with %s", settings).isNotNull();
    return refused.getMessage() + " " + refused.action();
  }

  @Test
  void shouldRefuseToOpenChangesToWhoeverReachesThePort() {
    for (String category :
        new String[] {"shared-memory", "model-repository", "trace", "logging", "control"}) {
      assertThat(refusal(Map.of(category, "open"), OUTSIDE))
          .contains(KEY + "." + category + "=open would let anybody")
          .contains("spring.grpc.server.address is not a loopback address")
          .contains("Write " + KEY + "." + category + "=loopback,token");
      assertThat(
              AccessStart.open(AccessTest.properties(Map.of(category, "open")), KEY, true, INSIDE))
          .isNotNull();
    }
    for (String category : new String[] {"health", "metadata", "inference", "statistics"}) {
      assertThat(
              AccessStart.open(AccessTest.properties(Map.of(category, "open")), KEY, true, OUTSIDE))
          .isNotNull();
    }
  }

  @Test
  void shouldRefuseRulesThatNobodyCouldMeet() throws Exception {
    Path tokens = Files.writeString(folder.resolve("t"), AccessTest.hash("one"));
    assertThat(refusal(Map.of("inference", "token"), OUTSIDE))
        .contains(KEY + ".inference=token, and no identity with a token may use 'inference'")
        .contains("./roundhouse token");
    assertThat(
            refusal(
                Map.of("control", "token", "identities.a.token-files", tokens.toString()), INSIDE))
        .contains("no identity with a token may use 'control'");
    assertThat(refusal(Map.of("inference", "mtls"), OUTSIDE))
        .contains("no identity with a certificate may use 'inference'");
    assertThat(refusal(Map.of("inference", "mtls", "identities.a.certificates", "dns:a"), OUTSIDE))
        .contains("no port asks its clients for certificates")
        .contains("spring.grpc.server.ssl.client-auth=optional");
    assertThat(refusal(Map.of("inference", "open,token"), INSIDE))
        .contains("inference=open,token: 'open' and 'off' stand alone");
    assertThat(refusal(Map.of("identities.a.token-files", "/none/t"), INSIDE))
        .contains("/none/t does not exist");
    assertThat(
            refusal(
                Map.of(
                    "gateway-key-files",
                    Files.writeString(folder.resolve("k"), "short").toString()),
                INSIDE))
        .contains("has 5 characters, at least 32 are needed");
  }

  @Test
  void shouldWarnOfTokensInPlainText(CapturedOutput output) throws Exception {
    Path tokens = Files.writeString(folder.resolve("t"), AccessTest.hash("one"));
    Map<String, String> settings = Map.of("identities.a.token-files", tokens.toString());
    AccessStart.open(AccessTest.properties(settings), KEY, true, INSIDE);
    assertThat(output).doesNotContain("plain text");
    AccessStart.open(AccessTest.properties(settings), KEY, true, OUTSIDE);
    assertThat(output).contains("plain text (spring.grpc.server.address)");
  }
}
