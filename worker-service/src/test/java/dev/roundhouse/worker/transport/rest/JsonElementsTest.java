package dev.roundhouse.worker.transport.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.time.NanoClock;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.platform.rest.Json;
import dev.roundhouse.platform.rest.MemoryHold;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Random;
import java.util.StringJoiner;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;

class JsonElementsTest {
  private static final long BUDGET = 4 << 20;
  private static SimulatedDevice device;
  private static Engine engine;

  @BeforeAll
  static void open() {
    device =
        new SimulatedDevice(SimulatedDeviceOptions.instant(TestBundle.DOUBLE), NanoClock.SYSTEM);
    engine = Engine.open(EngineOptions.builder().maxQueuedBytes(BUDGET).build(), device);
  }

  @AfterAll
  static void close() {
    engine.close();
    device.close();
  }

  @AfterEach
  void shouldHoldNothing() {
    assertThat(engine.heldBytes()).isZero();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "BOOL   | [true,false]                        | 0100",
        "INT8   | [-128,127]                          | 807f",
        "INT16  | [-32768,32767]                      | 0080ff7f",
        "INT32  | [-2147483648,2147483647]            | 00000080ffffff7f",
        "INT64  | [-9223372036854775808,9223372036854775807] | 0000000000000080ffffffffffffff7f",
        "UINT8  | [0,255]                             | 00ff",
        "UINT16 | [0,65535]                           | 0000ffff",
        "UINT32 | [0,4294967295]                      | 00000000ffffffff",
        "UINT64 | [0,18446744073709551615]            | 0000000000000000ffffffffffffffff",
        "FP32   | [1,-1.5]                            | 0000803f0000c0bf",
        "FP32   | [0.1,3.4028235e38]                  | cdcccc3dffff7f7f",
        "FP32   | [1e-45,1e-60]                       | 0100000000000000",
        "FP32   | [16777217,123456789012345678901234] | 0000804bd924d165",
        "FP32   | [NaN,-Infinity]                     | 0000c07f000080ff",
        "FP64   | [0.1,1e308]                         | 9a9999999999b93fa0c8eb85f3cce17f",
        "FP64   | [Infinity,-0.0]                     | 000000000000f07f0000000000000080",
        "BYTES  | [\"a\",\"\"]                        | 010000006100000000",
        "BYTES  | [\"\u00e9\\u00e9\",\"\\ud83d\\ude00\\u0000\"] | 04000000c3a9c3a905000000f09f988000",
      })
  void shouldReadEveryDatatypeToItsLimits(String datatype, String json, String hex) {
    assertThat(hex(read(datatype, json, 2))).isEqualTo(hex);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "[1,2,3,4]",
        "[[1,2],[3,4]]",
        "[[[1],[2]],[[3],[4]]]",
        "[1,[2,[3]],[],4]",
        " [ 1 , 2\n,3,4 ] ",
      })
  void shouldReadNestedAndFlatAlike(String json) {
    assertThat(hex(read("UINT8", json, 4))).isEqualTo("01020304");
  }

  @Test
  void shouldReadNothingWhereNothingIsExpected() {
    assertThat(read("FP32", "[]", 0).remaining()).isZero();
    assertThat(read("BYTES", "[[],[]]", 0).remaining()).isZero();
    refused("FP32", "[1]", 0, "has 0 elements and there are more");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "INT8   | [128]                  | element 0 of input 'x' for model 'm' is 128, but INT8 holds -128 to 127",
        "INT8   | [-129]                 | is -129, but INT8 holds",
        "INT16  | [32768]                | INT16 holds -32768 to 32767",
        "INT32  | [2147483648]           | INT32 holds -2147483648 to 2147483647",
        "INT64  | [9223372036854775808]  | INT64 holds -9223372036854775808 to 9223372036854775807",
        "UINT8  | [-1]                   | UINT8 holds 0 to 255",
        "UINT8  | [256]                  | UINT8 holds 0 to 255",
        "UINT16 | [65536]                | UINT16 holds 0 to 65535",
        "UINT32 | [4294967296]           | UINT32 holds 0 to 4294967295",
        "UINT64 | [-1]                   | UINT64 holds 0 to 18446744073709551615",
        "UINT64 | [18446744073709551616] | UINT64 holds 0 to 18446744073709551615",
        "UINT64 | [-99999999999999999999] | UINT64 holds 0 to",
        "FP32   | [3.5e38]               | is 3.5e38, but FP32 holds",
        "FP32   | [-1e39]                | is -1e39, but FP32 holds",
        "FP64   | [1e309]                | is 1e309, but FP64 holds",
        "INT32  | [1.0]                  | is 1.0; INT32 takes a whole number",
        "INT32  | [1e2]                  | is 1e2; INT32 takes a whole number",
        "INT32  | [true]                 | is true; INT32 takes a whole number",
        "INT32  | [NaN]                  | is NaN; INT32 takes a whole number",
        "INT32  | [\"1\"]                | is a string; INT32 takes a whole number",
        "BOOL   | [1]                    | is 1; BOOL takes true or false",
        "FP32   | [null]                 | is null; FP32 takes a number",
        "FP32   | [{}]                   | is an object; FP32 takes a number",
        "BYTES  | [1]                    | is 1; BYTES takes a string",
        "BYTES  | [\"\\ud83d\"]          | element 0 of input 'x' for model 'm' has half of a surrogate pair",
        "FP16   | [1]                    | is FP16, which JSON has no form for",
        "BF16   | [1]                    | is BF16, which JSON has no form for",
      })
  void shouldRefuseWhatTheTypeDoesNotHold(String datatype, String json, String text) {
    refused(datatype, json, 1, text);
  }

  @Test
  void shouldRefuseAnotherNumberOfElementsThanTheShapeHas() {
    refused("INT32", "[1,2]", 3, "has 3 elements and there are 2");
    refused("INT32", "[[1,2],[3,4]]", 3, "has 3 elements and there are more");
    refused("BYTES", "[\"a\"]", 2, "has 2 elements and there are 1");
    refused("FP64", "[1]", Long.MAX_VALUE, "has 9223372036854775807 elements and there are fewer");
    refused("FP64", "[1]", 1 << 30, "there are fewer");
  }

  @Test
  void shouldRefuseWhatThereIsNoRoomFor() {
    String many = "[" + "1,".repeat(1 << 20) + "1]";
    WireException refusal =
        catchThrowableOfType(WireException.class, () -> read("FP64", many, (1 << 20) + 1));
    assertThat(refusal.status()).isEqualTo(WireStatus.RESOURCE_EXHAUSTED);
    assertThat(refusal.text()).contains("needs 8388616 more", "the limit is " + BUDGET);
  }

  @Test
  void shouldReadLongStrings() {
    String text = "\u20ac".repeat(200_000);
    ByteBuffer raw = read("BYTES", "[\"\",\"" + text + "\"]", 2);
    assertThat(raw.order(ByteOrder.LITTLE_ENDIAN).getInt(4)).isEqualTo(600_000);
    assertThat(raw.remaining()).isEqualTo(600_008);
  }

  @Test
  void shouldReadBackWhatWasWrittenByChance() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int round = 0; round < 500; round++) {
      int count = random.nextInt(20);
      StringJoiner json = new StringJoiner(",", "[", "]");
      ByteBuffer expected = ByteBuffer.allocate(8 * count).order(ByteOrder.LITTLE_ENDIAN);
      boolean whole = random.nextBoolean();
      for (int i = 0; i < count; i++) {
        long bits = random.nextLong() >> random.nextInt(Long.SIZE);
        double real = Double.longBitsToDouble(bits);
        if (whole || !Double.isFinite(real)) {
          whole = true;
        }
        expected.putLong(bits);
      }
      for (int i = 0; i < count; i++) {
        long bits = expected.getLong(8 * i);
        json.add(whole ? Long.toString(bits) : Double.toString(Double.longBitsToDouble(bits)));
      }
      assertThat(hex(read(whole ? "INT64" : "FP64", json.toString(), count)))
          .as("seed %d, round %d", seed, round)
          .isEqualTo(HexFormat.of().formatHex(expected.array()));
    }
  }

  @Test
  void shouldRefuseDamagedArraysInOneOfTwoWays() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    String whole = "[[1,-2.5e3,\"a\\u00e9\",true],[null,{\"a\":[1]},NaN,12345678901234567890]]";
    for (int round = 0; round < 20_000; round++) {
      byte[] bytes = whole.getBytes(StandardCharsets.UTF_8);
      for (int i = random.nextInt(4); i >= 0; i--) {
        bytes[1 + random.nextInt(bytes.length - 1)] = (byte) random.nextInt();
      }
      DType dtype = DType.values()[random.nextInt(DType.values().length)];
      if (dtype.kserveName().isEmpty()) {
        continue;
      }
      try {
        read(dtype, bytes, random.nextInt(9));
      } catch (WireException | JacksonException e) {
        continue; // what a caller is told; anything else ends the test
      }
    }
    assertThat(engine.heldBytes()).as("seed %d", seed).isZero();
  }

  private static void refused(String datatype, String json, long count, String text) {
    WireException refusal =
        catchThrowableOfType(WireException.class, () -> read(datatype, json, count));
    assertThat(refusal).as(json).isNotNull();
    assertThat(refusal.status()).isEqualTo(WireStatus.INVALID_ARGUMENT);
    assertThat(refusal.text()).contains(text);
  }

  private static ByteBuffer read(String datatype, String json, long count) {
    return read(
        DType.fromKserveName(datatype).orElseThrow(), json.getBytes(StandardCharsets.UTF_8), count);
  }

  private static ByteBuffer read(DType dtype, byte[] json, long count) {
    try (MemoryHold memory = EngineBudget.hold(engine);
        JsonParser parser = Json.parser(json, 0, json.length)) {
      parser.nextToken();
      return JsonElements.read(
          parser, memory, dtype, count, json.length, "data", "input 'x' for model 'm'");
    }
  }

  private static String hex(ByteBuffer raw) {
    byte[] bytes = new byte[raw.remaining()];
    raw.get(bytes);
    return HexFormat.of().formatHex(bytes);
  }
}
