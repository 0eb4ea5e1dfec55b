package dev.roundhouse.node.upstream;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** How one of upstream's values is converted. */
enum Conversion {
  /** Unchanged. */
  TEXT {
    @Override
    Map<String, String> apply(String ours, String value) {
      return Map.of(ours, value);
    }
  },
  /** Underscores between words become dashes. */
  WORD {
    @Override
    Map<String, String> apply(String ours, String value) {
      return Map.of(ours, value.replace('_', '-'));
    }
  },
  /** Seconds, possibly with a fraction. */
  SECONDS {
    @Override
    Map<String, String> apply(String ours, String value) {
      double seconds = number(value, "a number of seconds");
      return Map.of(ours, Math.round(seconds * 1000) + "ms");
    }
  },
  /** A number of bytes. */
  BYTES {
    @Override
    Map<String, String> apply(String ours, String value) {
      return Map.of(ours, Math.round(number(value, "a number of bytes")) + "B");
    }
  },
  /** 1, true, yes and on are true, 0, false, no and off are not. */
  FLAG {
    @Override
    Map<String, String> apply(String ours, String value) {
      return Map.of(ours, String.valueOf(flag(value)));
    }
  },
  /** A list, possibly of one element. */
  LIST {
    @Override
    Map<String, String> apply(String ours, String value) {
      return Map.of(ours, "[" + withoutBrackets(value) + "]");
    }
  },
  /** Names, separated by commas here. */
  NAMES {
    @Override
    Map<String, String> apply(String ours, String value) {
      return Map.of(ours, withoutBrackets(value));
    }
  },
  /** A list, separated by colons in variables. */
  COLONS {
    @Override
    Map<String, String> apply(String ours, String value) {
      return Map.of(
          ours,
          Arrays.stream(withoutBrackets(value).split("[:,]"))
              .map(String::trim)
              .collect(Collectors.joining(",")));
    }
  },
  /** 0 means no limit, which is an absent setting here. */
  LIMIT {
    @Override
    Map<String, String> apply(String ours, String value) {
      return number(value, "a number") == 0 ? Map.of() : Map.of(ours, value);
    }
  },
  /** Permissions, with or without the leading 0. */
  OCTAL {
    @Override
    Map<String, String> apply(String ours, String value) {
      return Map.of(ours, value.startsWith("0") ? value : "0" + value);
    }
  },
  /** An address and a port. */
  LISTEN {
    @Override
    Map<String, String> apply(String ours, String value) {
      int colon = value.lastIndexOf(':');
      String host = colon < 0 ? "" : value.substring(0, colon);
      Map<String, String> settings = new LinkedHashMap<>();
      settings.put(ours, value.substring(colon + 1));
      if (!List.of("", "0.0.0.0", "[::]").contains(host)) {
        settings.put("roundhouse.node.ports.address", host.replaceAll("[\\[\\]]", ""));
      }
      return settings;
    }
  },
  /** Upstream's one setting for which models are on the device is two here. */
  CONTROL_MODE {
    @Override
    Map<String, String> apply(String ours, String value) {
      return switch (value) {
        case "static", "dynamic" -> Map.of(ours, value);
        case "explicit" ->
            Map.of(ours, "static", "roundhouse.worker.residency.mode", "externally-managed");
        default -> throw new IllegalArgumentException("must be static, dynamic or explicit");
      };
    }
  },
  /** What workers run on is set for the node and for each worker here. */
  BACKEND {
    @Override
    Map<String, String> apply(String ours, String value) {
      if (!value.equals("cpu") && !value.equals("cuda")) {
        throw new IllegalArgumentException("must be cpu or cuda");
      }
      return Map.of(ours, value, "roundhouse.node.devices.platform", value);
    }
  },
  /** The old way to pin a model. */
  PIN {
    @Override
    Map<String, String> apply(String ours, String value) {
      return flag(value) ? Map.of(ours, "pinned-device") : Map.of();
    }
  },
  /** A setting for what is always so here. */
  ONLY_FALSE {
    @Override
    Map<String, String> apply(String ours, String value) {
      if (flag(value)) {
        throw new IllegalArgumentException("can only be false");
      }
      return Map.of();
    }
  },
  /** The path of a file; read before all else. */
  FILE {
    @Override
    Map<String, String> apply(String ours, String value) {
      return Map.of();
    }
  },
  /** Has no equivalent; the table's note says what to do. */
  REFUSED {
    @Override
    Map<String, String> apply(String ours, String value) {
      throw new IllegalArgumentException("has no equal here");
    }
  };

  /**
   * @param ours the key here, names filled in
   * @throws IllegalArgumentException saying what the value must be, without naming the key
   */
  abstract Map<String, String> apply(String ours, String value);

  private static String withoutBrackets(String value) {
    return value.startsWith("[") && value.endsWith("]")
        ? value.substring(1, value.length() - 1)
        : value;
  }

  private static double number(String value, String what) {
    try {
      double number = Double.parseDouble(value);
      if (number >= 0 && number < 1e15) {
        return number;
      }
    } catch (NumberFormatException e) {
      // said below
    }
    throw new IllegalArgumentException("must be " + what);
  }

  private static boolean flag(String value) {
    return switch (value.toLowerCase(Locale.ROOT)) {
      case "1", "true", "yes", "on" -> true;
      case "0", "false", "no", "off" -> false;
      default -> throw new IllegalArgumentException("must be true or false");
    };
  }
}
