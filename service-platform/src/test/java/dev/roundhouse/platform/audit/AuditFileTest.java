package dev.roundhouse.platform.audit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.platform.config.StartRefusedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.util.unit.DataSize;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** What is written down besides the log. */
class AuditFileTest {
  private static final Caller CALLER =
      new Caller("10.0.0.7:1", "ops", "POST /actuator/models/m", null);

  @TempDir Path folder;

  private AuditProperties settings(Path file, int bytes) {
    return new AuditProperties(file.toString(), DataSize.ofBytes(bytes), 2);
  }

  @Test
  void shouldWriteALineOfJsonForEachChangeAndEnd() throws Exception {
    Path file = folder.resolve("made/audit.json");
    try (AuditFile written = new AuditFile(settings(file, 1 << 20), "k.audit")) {
      Audit.changed(CALLER, "weight of model 'm'", 1.0, 2.5);
      Audit.ended(new Caller("unknown:0", "a.B/C"), "{name=m}", "OK");
      Audit.record(CALLER, "recording of 3 s has begun");
    }
    Audit.record(CALLER, "after it was closed");
    List<JsonNode> lines = new ArrayList<>();
    for (String line : Files.readAllLines(file)) {
      lines.add(new JsonMapper().readTree(line));
    }
    assertThat(lines).hasSize(3);
    assertThat(lines.get(0).at("/at").asString()).matches("20\\d\\d-\\d\\d-\\d\\dT[0-9:.]+Z");
    assertThat(lines.get(0).toString())
        .endsWith(
            "\"address\":\"10.0.0.7:1\",\"identity\":\"ops\",\"route\":\"POST /actuator/models/m\","
                + "\"what\":\"weight of model 'm'\",\"before\":\"1.0\",\"after\":\"2.5\"}");
    assertThat(lines.get(1).toString())
        .endsWith(
            "\"address\":\"unknown:0\",\"identity\":\"\",\"route\":\"a.B/C\",\"what\":\"{name=m}\","
                + "\"outcome\":\"OK\"}");
    assertThat(lines.get(2).at("/what").asString()).isEqualTo("recording of 3 s has begun");
  }

  @Test
  void shouldEscapeWhatCallersSent() throws Exception {
    Path file = folder.resolve("audit");
    String hostile = "a\n{\"at\":\"x\"}\r\u0000\u202e\u2028\u001b[31m\"\\é";
    try (AuditFile written = new AuditFile(settings(file, 1 << 20), "k.audit")) {
      Audit.ended(new Caller("1.2.3.4:5", hostile), hostile, hostile);
      Audit.changed(new Caller("1.2.3.4:5", "x".repeat(10_000)), "w", "b".repeat(600), "a");
    }
    List<String> lines = Files.readAllLines(file);
    assertThat(lines).hasSize(2);
    assertThat(lines.getFirst().chars()).allMatch(c -> c >= ' ' && c < 127);
    assertThat(new JsonMapper().readTree(lines.getFirst()).at("/what").asString())
        .isEqualTo(hostile);
    assertThat(lines.get(1)).hasSizeLessThan(2_000).contains("... (10000 characters)");
  }

  @Test
  void shouldBeginAnotherFileWhenOneIsFullAndKeepSome() throws Exception {
    Path file = folder.resolve("audit");
    try (AuditFile written = new AuditFile(settings(file, 1_000), "k.audit")) {
      for (int i = 0; i < 100; i++) {
        Audit.record(CALLER, "change " + i);
      }
    }
    try (var all = Files.list(folder)) {
      assertThat(all.map(each -> each.getFileName().toString()))
          .containsExactlyInAnyOrder("audit", "audit.1", "audit.2");
    }
    assertThat(Files.size(folder.resolve("audit.1"))).isBetween(800L, 1_500L);
    assertThat(Files.readString(file)).contains("change 99");
  }

  @Test
  void shouldRefuseAFileThatCannotBeWritten() throws Exception {
    Path blocked = Files.writeString(folder.resolve("file"), "");
    assertThatThrownBy(() -> new AuditFile(settings(blocked.resolve("audit"), 1_000), "k.audit"))
        .isInstanceOf(StartRefusedException.class)
        .hasMessageContaining("k.audit.file is '" + blocked + "/audit', which cannot be written");
    assertThatThrownBy(() -> new AuditFile(settings(folder, 1_000), "k.audit"))
        .isInstanceOf(StartRefusedException.class);
    new AuditFile(new AuditProperties("", DataSize.ofBytes(1), 1), "k.audit").close();
  }
}
