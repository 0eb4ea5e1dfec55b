package dev.roundhouse.platform.grpc;

import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What a request to change something asks for, in few words for the audit log. */
final class AskedText {
  /** Characters of one value, and of all. */
  private static final int MOST_OF_VALUE = 100;

  private static final int MOST = 400;

  /** Of settings; a request without them only asks what holds. */
  private static final String SETTINGS = "settings";

  private AskedText() {}

  /** Null when nothing is to change. */
  static @Nullable String of(Object request) {
    if (!(request instanceof Message message)) {
      return "";
    }
    FieldDescriptor settings = message.getDescriptorForType().findFieldByName(SETTINGS);
    if (settings != null && message.getRepeatedFieldCount(settings) == 0) {
      return null;
    }
    StringBuilder text = new StringBuilder();
    add(text, message);
    return text.toString();
  }

  private static void add(StringBuilder text, Message message) {
    text.append('{');
    String between = "";
    for (Map.Entry<FieldDescriptor, Object> field : message.getAllFields().entrySet()) {
      text.append(between).append(field.getKey().getName()).append('=');
      add(text, field.getValue());
      between = ", ";
      if (text.length() > MOST) {
        text.append(", ...");
        break;
      }
    }
    text.append('}');
  }

  private static void add(StringBuilder text, Object value) {
    switch (value) {
      case Message part -> add(text, part);
      case ByteString bytes -> text.append(bytes.size()).append(" bytes");
      case List<?> parts -> {
        for (Object part : parts) {
          if (text.length() > MOST) {
            text.append("...");
            break;
          }
          add(text, part);
        }
      }
      default -> {
        String all = value.toString();
        text.append(all, 0, Math.min(all.length(), MOST_OF_VALUE));
      }
    }
  }
}
