package dev.roundhouse.node.wiring;

import dev.roundhouse.node.process.LineForm;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import org.springframework.boot.json.JsonWriter;

/**
 * Writes every line of a process as a record of the Elastic Common Schema. The process's own
 * records name it already and are not changed; other lines, such as the JVM's, become the message
 * of a record.
 */
final class EcsLines implements LineForm {
  private final JsonWriter<String> record;

  EcsLines(String process) {
    record =
        JsonWriter.<String>of(
                members -> {
                  members.add("@timestamp", message -> Instant.now().toString());
                  members.add("log").usingMembers(log -> log.add("level", "INFO"));
                  members
                      .add("service")
                      .usingMembers(
                          service ->
                              service.add("node").usingMembers(node -> node.add("name", process)));
                  members.add("message", message -> message);
                  members.add("ecs").usingMembers(ecs -> ecs.add("version", "8.11"));
                })
            .withNewLineAtEnd();
  }

  @Override
  public byte[] written(byte[] line, int length) {
    if (length > 2 && line[0] == '{' && line[1] == '"' && line[length - 1] == '}') {
      return ByteBuffer.allocate(length + 1).put(line, 0, length).put((byte) '\n').array();
    }
    return record
        .writeToString(new String(line, 0, length, StandardCharsets.UTF_8))
        .getBytes(StandardCharsets.UTF_8);
  }
}
