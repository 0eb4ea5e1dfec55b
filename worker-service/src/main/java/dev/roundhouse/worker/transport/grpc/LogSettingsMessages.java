package dev.roundhouse.worker.transport.grpc;

import dev.roundhouse.kserve.proto.LogSettingsRequest;
import dev.roundhouse.kserve.proto.LogSettingsResponse;
import dev.roundhouse.platform.logging.LogSettings;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Changes log settings by a message, and returns the current ones. */
final class LogSettingsMessages {
  private LogSettingsMessages() {}

  static LogSettingsResponse answer(LogSettings settings, LogSettingsRequest request) {
    Map<String, @Nullable Object> wanted = new HashMap<>();
    request.getSettingsMap().forEach((name, value) -> wanted.put(name, value(value)));
    settings.change(wanted);
    LogSettingsResponse.Builder answer = LogSettingsResponse.newBuilder();
    settings.current().forEach((name, value) -> answer.putSettings(name, message(value)));
    return answer.build();
  }

  private static @Nullable Object value(LogSettingsRequest.SettingValue value) {
    return switch (value.getParameterChoiceCase()) {
      case BOOL_PARAM -> value.getBoolParam();
      case UINT32_PARAM -> Integer.toUnsignedLong(value.getUint32Param());
      case STRING_PARAM -> value.getStringParam();
      case PARAMETERCHOICE_NOT_SET -> null;
    };
  }

  private static LogSettingsResponse.SettingValue message(Object value) {
    LogSettingsResponse.SettingValue.Builder message =
        LogSettingsResponse.SettingValue.newBuilder();
    return switch (value) {
      case Boolean flag -> message.setBoolParam(flag).build();
      case Long number -> message.setUint32Param(number.intValue()).build();
      default -> message.setStringParam(value.toString()).build();
    };
  }
}
