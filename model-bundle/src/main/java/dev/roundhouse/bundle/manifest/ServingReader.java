package dev.roundhouse.bundle.manifest;

import dev.roundhouse.bundle.model.Priorities;
import dev.roundhouse.bundle.model.QueuePolicy;
import dev.roundhouse.bundle.model.QueuePolicy.TimeoutAction;
import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.bundle.model.ServingDefaults.Residency;
import dev.roundhouse.bundle.model.TensorSpec;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The {@code serving} section: how the author would have the model served. */
final class ServingReader {
  private static final Pattern DURATION = Pattern.compile("([0-9]{1,9})(us|ms|s|m|h)");

  private ServingReader() {}

  static ServingDefaults read(Fields serving, List<TensorSpec> inputs, List<TensorSpec> outputs) {
    serving.allowOnly("weight", "residency", "max_queue_delay", "queue", "priorities", "sequence");
    Optional<Fields> queue = serving.object("queue");
    queue.ifPresent(
        section ->
            section.allowOnly(
                "max_size", "default_timeout", "timeout_action", "allow_timeout_override"));
    return new ServingDefaults(
        weight(serving),
        residency(serving),
        delay(serving),
        queue.map(ServingReader::maxSize).orElse(OptionalInt.empty()),
        queue.map(ServingReader::queue).orElse(QueuePolicy.DEFAULT),
        serving.object("priorities").map(ServingReader::priorities).orElse(Priorities.NONE),
        serving
            .object("sequence")
            .map(section -> new SequenceReader(section, inputs, outputs).read()));
  }

  private static double weight(Fields serving) {
    double weight = serving.number("weight").orElse(ServingDefaults.DEFAULT.weight());
    if (weight < ServingDefaults.LEAST_WEIGHT || weight > ServingDefaults.MOST_WEIGHT) {
      serving.problem(
          "weight",
          "is %s, outside %s to %.0f"
              .formatted(weight, ServingDefaults.LEAST_WEIGHT, ServingDefaults.MOST_WEIGHT));
    }
    return weight;
  }

  private static Optional<Duration> delay(Fields serving) {
    if (!serving.has("max_queue_delay")) {
      return Optional.empty();
    }
    Duration delay = duration(serving, "max_queue_delay", Duration.ZERO);
    if (delay.compareTo(ServingDefaults.MOST_QUEUE_DELAY) > 0) {
      serving.problem(
          "max_queue_delay",
          "is %d s; at most %d s are held for"
              .formatted(delay.toSeconds(), ServingDefaults.MOST_QUEUE_DELAY.toSeconds()));
    }
    return Optional.of(delay);
  }

  private static OptionalInt maxSize(Fields queue) {
    OptionalLong size = queue.integer("max_size", 0, Integer.MAX_VALUE);
    return size.isPresent() ? OptionalInt.of((int) size.getAsLong()) : OptionalInt.empty();
  }

  /** A whole number with a unit, such as {@code 20ms}. */
  static Duration duration(Fields fields, String key, Duration absent) {
    Optional<String> text = fields.text(key);
    if (text.isEmpty()) {
      return absent;
    }
    Matcher matcher = DURATION.matcher(text.get());
    if (!matcher.matches()) {
      fields.problem(
          key, "is '" + text.get() + "', not a duration such as 20ms (units us, ms, s, m, h)");
      return absent;
    }
    ChronoUnit unit =
        switch (matcher.group(2)) {
          case "us" -> ChronoUnit.MICROS;
          case "ms" -> ChronoUnit.MILLIS;
          case "s" -> ChronoUnit.SECONDS;
          case "m" -> ChronoUnit.MINUTES;
          default -> ChronoUnit.HOURS;
        };
    return Duration.of(Long.parseLong(matcher.group(1)), unit);
  }

  private static int integer(Fields fields, String key, int min, int absent) {
    return (int) fields.integer(key, min, Integer.MAX_VALUE).orElse(absent);
  }

  private static Optional<Residency> residency(Fields serving) {
    return serving
        .text("residency")
        .flatMap(
            text ->
                switch (text) {
                  case "unpinned" -> Optional.of(Residency.UNPINNED);
                  case "pinned_system" -> Optional.of(Residency.PINNED_SYSTEM);
                  case "pinned_device" -> Optional.of(Residency.PINNED_DEVICE);
                  default -> {
                    serving.problem(
                        "residency",
                        "is '" + text + "'; served are unpinned, pinned_system, pinned_device");
                    yield Optional.empty();
                  }
                });
  }

  private static QueuePolicy queue(Fields queue) {
    Duration timeout = duration(queue, "default_timeout", Duration.ZERO);
    TimeoutAction action =
        switch (queue.text("timeout_action").orElse("reject")) {
          case "reject" -> TimeoutAction.REJECT;
          case "delay" -> TimeoutAction.DELAY;
          case String other -> {
            queue.problem("timeout_action", "is '" + other + "'; actions are reject and delay");
            yield TimeoutAction.REJECT;
          }
        };
    return new QueuePolicy(timeout, action, queue.flag("allow_timeout_override", true));
  }

  private static Priorities priorities(Fields priorities) {
    priorities.allowOnly("levels", "default");
    priorities.require("levels", "default");
    int levels = integer(priorities, "levels", 1, 1);
    int level = integer(priorities, "default", 1, 1);
    if (level > levels) {
      priorities.problem("default", "is " + level + ", above the " + levels + " levels");
      return Priorities.NONE;
    }
    return new Priorities(levels, level);
  }
}
