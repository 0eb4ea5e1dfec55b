package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Options for creating a client, such as {@code memory_fraction} and {@code preallocate} of the
 * CUDA plugin. Types matter: a plugin aborts on an option of the wrong type, so that of every
 * option known here is checked. Immutable.
 */
public final class ClientOptions {
  public static final ClientOptions NONE = new ClientOptions(Map.of());

  /** How many devices a CPU client makes of the host. */
  static final String CPU_DEVICE_COUNT = "cpu_device_count";

  /** Numbers of the GPUs that a CUDA client opens, each of which it takes memory of. */
  static final String VISIBLE_DEVICES = "visible_devices";

  private static final Map<String, Kind> KNOWN =
      Map.ofEntries(
          Map.entry(CPU_DEVICE_COUNT, Kind.INT64),
          Map.entry("allocator", Kind.STRING),
          Map.entry("memory_fraction", Kind.FLOAT),
          Map.entry("preallocate", Kind.BOOL),
          Map.entry("collective_memory_size", Kind.INT64),
          Map.entry(VISIBLE_DEVICES, Kind.INT64_LIST),
          Map.entry("platform_name", Kind.STRING),
          Map.entry("node_id", Kind.INT64),
          Map.entry("num_nodes", Kind.INT64),
          Map.entry("should_stage_host_to_device_transfers", Kind.BOOL),
          Map.entry("use_tfrt_gpu_client", Kind.BOOL),
          Map.entry("max_inflight_computations", Kind.INT64));

  private final Map<String, Value> values;

  private ClientOptions(Map<String, Value> values) {
    this.values = Collections.unmodifiableMap(values);
  }

  public ClientOptions with(String name, String value) {
    return with(name, new Value(Kind.STRING, value));
  }

  public ClientOptions with(String name, long value) {
    if (name.equals(CPU_DEVICE_COUNT) && value < 1) {
      throw new DeviceException(
          Code.INVALID_ARGUMENT, "client option " + name + " is " + value + "; use 1 or more");
    }
    return with(name, new Value(Kind.INT64, "", value));
  }

  public ClientOptions with(String name, long[] values) {
    return with(name, new Value(Kind.INT64_LIST, "", values.clone()));
  }

  public ClientOptions with(String name, float value) {
    return with(name, new Value(Kind.FLOAT, "", Float.floatToRawIntBits(value)));
  }

  public ClientOptions with(String name, boolean value) {
    return with(name, new Value(Kind.BOOL, "", value ? 1 : 0));
  }

  /** True when the option has been given. */
  public boolean has(String name) {
    return values.containsKey(name);
  }

  /** Which of the platform's devices is the client's device {@code ordinal}. */
  int visibleDevice(int ordinal) {
    Value visible = values.get(VISIBLE_DEVICES);
    return visible == null || ordinal >= visible.numbers.length
        ? ordinal
        : Math.toIntExact(visible.numbers[ordinal]);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof ClientOptions options && values.equals(options.values);
  }

  @Override
  public int hashCode() {
    return values.hashCode();
  }

  @Override
  public String toString() {
    return values.toString();
  }

  /** What {@link #names}, {@link #kinds}, {@link #texts} and {@link #numbers} tell of. */
  static ClientOptions of(byte[][] names, int[] kinds, byte[][] texts, long[][] numbers) {
    ClientOptions options = NONE;
    for (int i = 0; i < names.length; i++) {
      String text = new String(texts[i], StandardCharsets.UTF_8);
      options =
          options.with(
              new String(names[i], StandardCharsets.UTF_8),
              new Value(Kind.values()[kinds[i]], text, numbers[i]));
    }
    return options;
  }

  byte[][] names() {
    return values.keySet().stream().map(ClientOptions::utf8).toArray(byte[][]::new);
  }

  int[] kinds() {
    return values.values().stream().mapToInt(value -> value.kind.ordinal()).toArray();
  }

  byte[][] texts() {
    return values.values().stream().map(value -> utf8(value.text)).toArray(byte[][]::new);
  }

  long[][] numbers() {
    List<long[]> numbers = new ArrayList<>();
    values.values().forEach(value -> numbers.add(value.numbers));
    return numbers.toArray(long[][]::new);
  }

  private ClientOptions with(String name, Value value) {
    Kind expected = KNOWN.getOrDefault(name, value.kind);
    if (expected != value.kind) {
      throw new DeviceException(
          Code.INVALID_ARGUMENT,
          "client option " + name + " is of type " + value.kind + "; it must be " + expected);
    }
    Map<String, Value> changed = new LinkedHashMap<>(values);
    changed.put(name, value);
    return new ClientOptions(changed);
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** In the order of the C API's PJRT_NamedValue_Type. */
  private enum Kind {
    STRING,
    INT64,
    INT64_LIST,
    FLOAT,
    BOOL
  }

  private static final class Value {
    private final Kind kind;
    private final String text;
    private final long[] numbers;

    Value(Kind kind, String text, long... numbers) {
      this.kind = kind;
      this.text = text;
      this.numbers = numbers;
    }

    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof Value value
          && kind == value.kind
          && text.equals(value.text)
          && Arrays.equals(numbers, value.numbers);
    }

    @Override
    public int hashCode() {
      return 31 * text.hashCode() + Arrays.hashCode(numbers);
    }

    @Override
    public String toString() {
      return switch (kind) {
        case STRING -> text;
        case FLOAT -> Float.toString(Float.intBitsToFloat((int) numbers[0]));
        case BOOL -> Boolean.toString(numbers[0] != 0);
        case INT64, INT64_LIST -> Arrays.toString(numbers);
      };
    }
  }
}
