package dev.roundhouse.platform.rest;

import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import java.math.BigInteger;
import java.util.Base64;
import java.util.List;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * Makes JSON of protobuf messages as Triton does. Fields have the names that they have in the
 * message and are there with their default values too; messages within a message and members of a
 * oneof only when they are set. Integers of 64 bits are numbers, enums are names, bytes are base64,
 * maps are objects.
 */
public final class ProtoJson {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  private ProtoJson() {}

  /** A new tree, the caller's to change. */
  public static ObjectNode of(Message message) {
    ObjectNode object = JSON.objectNode();
    for (FieldDescriptor field : message.getDescriptorForType().getFields()) {
      if (!field.hasPresence() || message.hasField(field)) {
        object.set(field.getName(), field(field, message.getField(field)));
      }
    }
    return object;
  }

  private static JsonNode field(FieldDescriptor field, Object value) {
    if (field.isMapField()) {
      FieldDescriptor key = field.getMessageType().findFieldByNumber(1);
      FieldDescriptor mapped = field.getMessageType().findFieldByNumber(2);
      ObjectNode object = JSON.objectNode();
      for (Object entry : (List<?>) value) {
        Message pair = (Message) entry;
        object.set(key(key, pair.getField(key)), single(mapped, pair.getField(mapped)));
      }
      return object;
    }
    if (field.isRepeated()) {
      var array = JSON.arrayNode();
      for (Object element : (List<?>) value) {
        array.add(single(field, element));
      }
      return array;
    }
    return single(field, value);
  }

  private static String key(FieldDescriptor field, Object value) {
    return single(field, value).asString();
  }

  private static JsonNode single(FieldDescriptor field, Object value) {
    return switch (field.getJavaType()) {
      case BOOLEAN -> JSON.booleanNode((Boolean) value);
      case INT -> JSON.numberNode(isUnsigned(field) ? unsigned((Integer) value) : (Integer) value);
      case LONG ->
          isUnsigned(field) && (Long) value < 0
              ? JSON.numberNode(new BigInteger(Long.toUnsignedString((Long) value)))
              : JSON.numberNode((Long) value);
      case FLOAT -> JSON.numberNode((Float) value);
      case DOUBLE -> JSON.numberNode((Double) value);
      case STRING -> JSON.stringNode((String) value);
      case BYTE_STRING ->
          JSON.stringNode(Base64.getEncoder().encodeToString(((ByteString) value).toByteArray()));
      case ENUM -> enumeration((EnumValueDescriptor) value);
      case MESSAGE -> of((Message) value);
    };
  }

  /** A number that this protocol gives no name stays a number. */
  private static JsonNode enumeration(EnumValueDescriptor value) {
    return value.getIndex() < 0
        ? JSON.numberNode(value.getNumber())
        : JSON.stringNode(value.getName());
  }

  private static long unsigned(int value) {
    return Integer.toUnsignedLong(value);
  }

  private static boolean isUnsigned(FieldDescriptor field) {
    return switch (field.getType()) {
      case UINT32, UINT64, FIXED32, FIXED64 -> true;
      default -> false;
    };
  }
}
