package dev.roundhouse.worker.transport.grpc;

import dev.roundhouse.kserve.proto.TraceSettingRequest;
import dev.roundhouse.kserve.proto.TraceSettingResponse;
import dev.roundhouse.kserve.proto.TraceSettingResponse.SettingValue;
import dev.roundhouse.worker.trace.TraceSettings;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Changes trace settings by a message, and returns the current ones. */
final class TraceSettingMessages {
  private TraceSettingMessages() {}

  static TraceSettingResponse answer(TraceSettings settings, TraceSettingRequest request) {
    Map<String, List<String>> wanted = new HashMap<>();
    request
        .getSettingsMap()
        .forEach((name, value) -> wanted.put(name, List.copyOf(value.getValueList())));
    settings.change(request.getModelName(), wanted);
    TraceSettingResponse.Builder answer = TraceSettingResponse.newBuilder();
    settings
        .current(request.getModelName())
        .forEach(
            (name, values) ->
                answer.putSettings(name, SettingValue.newBuilder().addAllValue(values).build()));
    return answer.build();
  }
}
