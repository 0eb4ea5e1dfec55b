package dev.roundhouse.worker.transport.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.time.NanoClock;
import dev.roundhouse.kserve.codec.ParameterValue;
import dev.roundhouse.kserve.codec.ReadMessage;
import dev.roundhouse.kserve.codec.TensorHeader;
import dev.roundhouse.kserve.codec.TensorSource;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.platform.rest.Body;
import dev.roundhouse.platform.rest.MemoryHold;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class InferReaderTest {
  private static final String INPUT =
      "{\"name\":\"x\",\"shape\":[2],\"datatype\":\"UINT8\",\"data\":[7,8]}";
  private static SimulatedDevice device;
  private static Engine engine;

  @BeforeAll
  static void open() {
    device =
        new SimulatedDevice(SimulatedDeviceOptions.instant(TestBundle.DOUBLE), NanoClock.SYSTEM);
    engine = Engine.open(EngineOptions.builder().build(), device);
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

  @Test
  void shouldReadEveryPartOfARequest() {
    InferDocument document =
        read(
            """
            {"id": "q", "parameters": {"a": true, "b": -1, "c": 18446744073709551615, "d": 0.5, "e": "t"},
             "inputs": [%s, {"name": "z", "datatype": "FP32", "shape": [], "parameters": {"binary_data_size": 4}}],
             "outputs": [{"name": "y", "parameters": {"binary_data": true}}, {"name": "w"}]}
            """
                .formatted(INPUT),
            "abcd");

    ReadMessage message = document.message();
    assertThat(message.modelName()).isEqualTo("m");
    assertThat(message.modelVersion()).isEqualTo("3");
    assertThat(message.id()).isEqualTo("q");
    assertThat(message.parameters())
        .isEqualTo(
            Map.of(
                "a", new ParameterValue.Flag(true),
                "b", new ParameterValue.Signed(-1),
                "c", new ParameterValue.Unsigned(-1),
                "d", new ParameterValue.Real(0.5),
                "e", new ParameterValue.Text("t")));
    assertThat(bytes(message.inputs().getFirst())).containsExactly(7, 8);
    assertThat(bytes(message.inputs().get(1))).isEqualTo("abcd".getBytes(StandardCharsets.UTF_8));
    assertThat(message.inputs().get(1).dims()).isEmpty();
    assertThat(document.sharesBody()).isTrue();
    assertThat(document.forms().isBinary("y")).isTrue();
    assertThat(document.forms().isBinary("w")).isFalse();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"data\":[7,8],\"datatype\":\"UINT8\",\"shape\":[2],\"name\":\"x\"}",
        "{\"shape\":[2],\"data\":[[7],[8]],\"datatype\":\"UINT8\",\"name\":\"x\"}",
        "{\"datatype\":\"UINT8\",\"data\":[7,8],\"shape\":[2],\"name\":\"x\",\"parameters\":{}}",
        "{\"name\":\"x\",\"datatype\":\"UINT8\",\"data\":[7,8],\"shape\":[2],\"parameters\":null}",
      })
  void shouldReadPropertiesInAnyOrder(String input) {
    String before = "{\"\u00e9\":\"\u00e9\",\"inputs\":[" + input + "," + INPUT + "]}";
    InferDocument document = read(before, "");

    assertThat(bytes(document.message().inputs().getFirst())).containsExactly(7, 8);
    assertThat(bytes(document.message().inputs().get(1))).containsExactly(7, 8);
    assertThat(document.sharesBody()).isFalse();
  }

  @Test
  void shouldTakeWhatOtherClientsSendBesides() {
    InferDocument document =
        read(
            "{\"id\":null,\"model_name\":\"m\",\"model_version\":null,\"parameters\":null,\"inputs\":["
                + INPUT
                + "],\"outputs\":null,\"more\":[{\"a\":1}]}",
            "");

    assertThat(document.message().id()).isEmpty();
    assertThat(document.message().outputs()).isEmpty();
  }

  @Test
  void shouldLeaveDataAloneWhoseTypeOrShapeIsNone() {
    for (String input :
        new String[] {
          INPUT.replace("UINT8", "UINT9"),
          INPUT.replace("[2]", "[-2]"),
          INPUT.replace("[2]", "[4611686018427387904,4]")
        }) {
      ReadMessage message = read("{\"inputs\":[" + input + "]}", "").message();
      assertThat(message.inputs().getFirst().source()).isEqualTo(TensorSource.NONE);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{\"id\":1}                                  | Unable to parse 'id': it must be a string and is 1",
        "{\"model_name\":\"other\"}                  | 'model_name' is 'other' in the body and 'm' in the path",
        "{\"model_version\":\"4\"}                   | 'model_version' is '4' in the body and '3' in the path",
        "{\"parameters\":[]}                         | Unable to parse 'parameters': it must be an object and is an array",
        "{\"parameters\":{\"a\":null}}               | Unable to parse 'parameters.a': it must be true, false, a number or a string and is null",
        "{\"parameters\":{\"a\":{}}}                 | Unable to parse 'parameters.a'",
        "{\"parameters\":{\"a\":18446744073709551616}} | Unable to parse 'parameters.a': it must be a number of 64 bits",
        "{\"parameters\":{\"binary_data_output\":1}} | invalid value type for 'binary_data_output' parameter",
        "{\"parameters\":{\"a\":1,\"a\":2}}          | failed to parse the request JSON buffer: Duplicate",
        "{\"inputs\":{}}                             | Unable to parse 'inputs': it must be an array",
        "{\"inputs\":[1]}                            | Unable to parse 'inputs': it must be an object and is 1",
        "{\"inputs\":[{\"shape\":[1],\"datatype\":\"FP32\"}]} | Unable to parse 'inputs': one of them has no 'name'",
        "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\"}]} | Unable to parse 'inputs': one of them has no 'shape'",
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[1]}]} | Unable to parse 'inputs': one of them has no 'datatype'",
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[1.5],\"datatype\":\"FP32\"}]} | Unable to parse 'shape': it must be a whole number and is 1.5",
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[99999999999999999999],\"datatype\":\"FP32\"}]} | a whole number of 64 bits",
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":1}]} | Unable to parse 'data': it must be an array and is 1",
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[1],\"parameters\":{\"binary_data_size\":4}}]} | has both 'data' and 'binary_data_size'",
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\",\"parameters\":{\"binary_data_size\":4}}]} | expecting 4 bytes but only 0 are left",
        "{\"outputs\":[{}]}                          | Unable to parse 'outputs': one of them has no 'name'",
        "{\"outputs\":[{\"name\":\"y\",\"parameters\":{\"binary_data\":\"yes\"}}]} | invalid value type for 'binary_data' parameter",
        "{} {}                                       | there is more after the JSON's end",
        "{\"a\":'b'}                                 | failed to parse the request JSON buffer",
        "{\"a\":01}                                  | failed to parse the request JSON buffer",
        "{\"a\":1,}                                  | failed to parse the request JSON buffer",
        "{\"a\":\"\\ud83\"}                          | failed to parse the request JSON buffer",
        "nul                                         | failed to parse the request JSON buffer",
        "null                                        | Unable to parse 'request': it must be an object and is null",
      })
  void shouldRefuseByName(String json, String text) {
    refused(json, text);
  }

  @Test
  void shouldRefuseMoreThanARequestMayHold() {
    refused(
        "{\"inputs\":[" + (INPUT + ",").repeat(4096) + INPUT + "]}",
        "more inputs, the limit is 4096");
    refused(
        "{\"outputs\":[" + "{\"name\":\"y\"},".repeat(4096) + "{\"name\":\"y\"}]}",
        "more outputs, the limit is 4096");
    refused(
        "{\"inputs\":[{\"shape\":[" + "1,".repeat(64) + "1]}]}",
        "more dimensions, the limit is 64");
    refused("{\"id\":\"" + "a".repeat(1025) + "\"}", "1025 characters, the limit is 1024");
    refused("{\"parameters\":{\"a\":\"" + "a".repeat(1_048_577) + "\"}}", "the limit is 1048576");
    StringBuilder parameters = new StringBuilder("{\"parameters\":{");
    for (int i = 0; i <= 16_384; i++) {
      parameters.append(i == 0 ? "" : ",").append("\"p").append(i).append("\":1");
    }
    refused(parameters + "}}", "16385 parameters, the limit is 16384");
    refused("{\"a\":" + "[".repeat(100) + "]".repeat(100) + "}", "nesting depth (101) exceeds");
    refused(
        "{\"a\":" + "1".repeat(2000) + ",\"parameters\":{\"b\":" + "1".repeat(2000) + "}}",
        "failed to parse");
  }

  @Test
  void shouldRefuseBytesThatAreNoUtf8() {
    byte[] json = "{\"id\":\"?\"}".getBytes(StandardCharsets.UTF_8);
    json[7] = (byte) 0xff;
    refused(json, "failed to parse the request JSON buffer");
    refused(
        "{\"id\":\"a\"}".getBytes(StandardCharsets.UTF_16LE), "failed to parse the request JSON");
  }

  @Test
  void shouldRefuseDamagedRequestsInOneWayOnly() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    byte[] whole =
        ("{\"id\":\"q\",\"parameters\":{\"a\":1e3},\"inputs\":["
                + INPUT
                + ",{\"data\":[\"a\"],\"datatype\":\"BYTES\",\"shape\":[1],\"name\":\"z\"}],\"outputs\":[{\"name\":\"y\"}]}")
            .getBytes(StandardCharsets.UTF_8);
    for (int round = 0; round < 20_000; round++) {
      byte[] bytes = Arrays.copyOf(whole, 1 + random.nextInt(whole.length));
      if (random.nextBoolean()) {
        bytes = whole.clone();
      }
      for (int i = random.nextInt(3); i > 0; i--) {
        bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
      }
      try (MemoryHold memory = EngineBudget.hold(engine)) {
        InferReader.read("m", "3", new Body(bytes, bytes.length), bytes.length, memory);
      } catch (WireException e) {
        continue; // what a caller is told; anything else ends the test
      }
    }
    assertThat(engine.heldBytes()).as("seed %d", seed).isZero();
  }

  @Test
  void shouldRefuseMorePropertiesThanThereMayBe() {
    StringBuilder many = new StringBuilder("{");
    for (int i = 0; i < 20_000; i++) {
      many.append("\"x").append(i).append("\":0,");
    }
    String object = many.append("\"y\":0}").toString();
    String limit = "an object has more than 20000 properties, which is the limit";
    refused(object, limit);
    refused("{\"unknown\":" + object + "}", limit);
    refused("{\"inputs\":[" + object + "]}", limit);
  }

  @Test
  void shouldRefuseMoreDifferentPropertiesThanADocumentMayHave() {
    StringBuilder many = new StringBuilder("{\"unknown\":[");
    for (int i = 0; i < 20; i++) {
      many.append('{');
      for (int j = 0; j < 10_000; j++) {
        many.append("\"").append(i).append('-').append(j).append("\":0,");
      }
      many.append("\"last\":0},");
    }
    refused(
        many + "0]}", "its objects have more than 131072 different properties, which is the limit");
  }

  @Test
  void shouldRefuseANameThatIsLong() {
    refused("{\"" + "x".repeat(2000) + "\":0}", "1024");
  }

  @Test
  void shouldTakeAsManyParametersAsOverGrpc() {
    StringBuilder many = new StringBuilder("{\"inputs\":[" + INPUT + "],\"parameters\":{");
    for (int i = 0; i < 16_384; i++) {
      many.append(i == 0 ? "" : ",").append("\"x").append(i).append("\":0");
    }
    assertThat(read(many + "}}", "").message().parameters()).hasSize(16_384);
  }

  @Test
  void shouldCountWhatIsKeptOfTheDocument() {
    String text = "x".repeat(1 << 20);
    byte[] json =
        ("{\"inputs\":[" + INPUT + "],\"parameters\":{\"a\":\"%s\",\"b\":\"%s\"}}")
            .formatted(text, text)
            .getBytes(StandardCharsets.UTF_8);
    try (MemoryHold memory = EngineBudget.hold(engine)) {
      InferReader.read("m", "3", new Body(json, json.length), json.length, memory);
      assertThat(engine.heldBytes()).isBetween(2L << 20, 5L << 20);
    }
  }

  @Test
  void shouldHaveRoomForALongTextBeforeItIsRead() {
    int length = 3 << 20;
    byte[] json =
        ("{\"inputs\":[{\"name\":\"x\",\"datatype\":\"BYTES\",\"shape\":[1],\"data\":[\""
                + "x".repeat(length)
                + "\"]}]}")
            .getBytes(StandardCharsets.UTF_8);
    long free = engine.maxHeldBytes() - engine.heldBytes();
    try (MemoryHold others = EngineBudget.hold(engine);
        MemoryHold memory = EngineBudget.hold(engine)) {
      others.take(free - 2L * length);
      WireException refusal =
          catchThrowableOfType(
              WireException.class,
              () -> InferReader.read("m", "3", new Body(json, json.length), json.length, memory));
      assertThat(refusal.status()).isEqualTo(WireStatus.RESOURCE_EXHAUSTED);
    }
  }

  private static void refused(String json, String text) {
    refused(json.getBytes(StandardCharsets.UTF_8), text);
  }

  private static void refused(byte[] json, String text) {
    WireException refusal =
        catchThrowableOfType(
            WireException.class,
            () -> {
              try (MemoryHold memory = EngineBudget.hold(engine)) {
                InferReader.read("m", "3", new Body(json, json.length), json.length, memory);
              }
            });
    assertThat(refusal).as(text).isNotNull();
    assertThat(refusal.status()).isEqualTo(WireStatus.INVALID_ARGUMENT);
    assertThat(refusal.text()).contains(text);
  }

  private static InferDocument read(String json, String binary) {
    byte[] head = json.getBytes(StandardCharsets.UTF_8);
    byte[] body = (json + binary).getBytes(StandardCharsets.UTF_8);
    try (MemoryHold memory = EngineBudget.hold(engine)) {
      return InferReader.read("m", "3", new Body(body, body.length), head.length, memory);
    }
  }

  private static byte[] bytes(TensorHeader input) {
    var raw = ((TensorSource.Raw) input.source()).data().duplicate();
    byte[] bytes = new byte[raw.remaining()];
    raw.get(bytes);
    return bytes;
  }
}
