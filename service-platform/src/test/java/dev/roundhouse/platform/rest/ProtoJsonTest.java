package dev.roundhouse.platform.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.protobuf.Message;
import dev.roundhouse.kserve.proto.CudaSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.DataType;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.ModelConfig;
import dev.roundhouse.kserve.proto.ModelDynamicBatching;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.kserve.proto.ModelInput;
import dev.roundhouse.kserve.proto.ModelInstanceGroup;
import dev.roundhouse.kserve.proto.ModelQueuePolicy;
import dev.roundhouse.kserve.proto.ModelSequenceBatching;
import dev.roundhouse.kserve.proto.StatisticDuration;
import dev.roundhouse.kserve.proto.SystemSharedMemoryStatusResponse;
import org.junit.jupiter.api.Test;

class ProtoJsonTest {

  @Test
  void shouldPrintFieldsThatHaveTheirDefaultValue() {
    assertThat(json(ModelInstanceGroup.getDefaultInstance()))
        .isEqualTo(
            """
            {"name":"","kind":"KIND_AUTO","count":0,"gpus":[],"secondary_devices":[],\
            "profile":[],"passive":false,"host_policy":""}""");
    assertThat(json(SystemSharedMemoryStatusResponse.getDefaultInstance()))
        .isEqualTo("{\"regions\":{}}");
  }

  @Test
  void shouldPrintMessagesAndMembersOfAOneofOnlyWhenTheyAreSet() {
    assertThat(ProtoJson.of(ModelConfig.getDefaultInstance()).propertyNames())
        .contains("max_batch_size", "input", "cc_model_filenames")
        .doesNotContain("version_policy", "dynamic_batching", "sequence_batching", "optimization");
    ModelConfig.Builder config = ModelConfig.newBuilder();
    config.getVersionPolicyBuilder().getAllBuilder();
    config.getDynamicBatchingBuilder();
    assertThat(ProtoJson.of(config.build()).get("version_policy")).hasToString("{\"all\":{}}");
    assertThat(ProtoJson.of(config.build()).get("dynamic_batching").propertyNames())
        .contains("preferred_batch_size", "priority_queue_policy");
    assertThat(json(InferParameter.newBuilder().setBoolParam(false).build()))
        .as("set, to its default value")
        .isEqualTo("{\"bool_param\":false}");
    assertThat(json(InferParameter.getDefaultInstance())).isEqualTo("{}");
  }

  @Test
  void shouldPrintIntegersOf64BitsAsNumbers() {
    assertThat(json(StatisticDuration.newBuilder().setCount(3).setNs(-1).build()))
        .as("unsigned")
        .isEqualTo("{\"count\":3,\"ns\":18446744073709551615}");
    assertThat(json(InferParameter.newBuilder().setInt64Param(Long.MIN_VALUE).build()))
        .isEqualTo("{\"int64_param\":-9223372036854775808}");
    var queue = ModelQueuePolicy.newBuilder().setMaxQueueSize(-1).build();
    assertThat(ProtoJson.of(queue).get("max_queue_size")).hasToString("4294967295");
  }

  @Test
  void shouldPrintEnumsByNameAndUnknownOnesAsNumbers() {
    ModelInput input =
        ModelInput.newBuilder()
            .setName("x")
            .setDataType(DataType.TYPE_BF16)
            .setFormatValue(77)
            .addDims(-1)
            .addDims(3)
            .build();

    assertThat(json(input))
        .startsWith("{\"name\":\"x\",\"data_type\":\"TYPE_BF16\",\"format\":77,\"dims\":[-1,3],");
  }

  @Test
  void shouldPrintMapsAsObjectsByTheTextOfTheirKeys() {
    ModelDynamicBatching batching =
        ModelDynamicBatching.newBuilder()
            .putPriorityQueuePolicy(2, ModelQueuePolicy.getDefaultInstance())
            .build();
    assertThat(ProtoJson.of(batching).get("priority_queue_policy").get("2").get("timeout_action"))
        .hasToString("\"REJECT\"");
    ModelConfig config = ModelConfig.newBuilder().putMetricTags("a", "b").build();
    assertThat(ProtoJson.of(config).get("metric_tags")).hasToString("{\"a\":\"b\"}");
  }

  @Test
  void shouldPrintBytesAsBase64AndRealNumbersAsNumbers() {
    var handle =
        CudaSharedMemoryRegisterRequest.newBuilder()
            .setRawHandle(ByteString.copyFrom(new byte[] {0, -1, 62}))
            .build();
    assertThat(ProtoJson.of(handle).get("raw_handle")).hasToString("\"AP8+\"");
    assertThat(json(InferParameter.newBuilder().setDoubleParam(0.5).build()))
        .isEqualTo("{\"double_param\":0.5}");
    var direct = ModelSequenceBatching.StrategyDirect.newBuilder().setMinimumSlotUtilization(0.25f);
    assertThat(json(direct.build())).contains("\"minimum_slot_utilization\":0.25");
  }

  @Test
  void shouldPrintMessagesInMessages() {
    ModelInferResponse.Builder response = ModelInferResponse.newBuilder().setModelName("m");
    response.addOutputsBuilder().setName("y").addShape(2);
    assertThat(ProtoJson.of(response.build()).get("outputs").get(0).get("shape"))
        .hasToString("[2]");
  }

  private static String json(Message message) {
    return ProtoJson.of(message).toString();
  }
}
