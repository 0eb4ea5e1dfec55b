package dev.roundhouse.bundle.artifact;

import dev.roundhouse.bundle.artifact.Comparator.Element;
import dev.roundhouse.bundle.bytecode.ByteCursor;
import dev.roundhouse.bundle.bytecode.BytecodeModule;
import dev.roundhouse.bundle.bytecode.OperationUse;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The attributes and types of portable artifacts that say what a hazard is. Codes are those of
 * StableHLO's {@code VhloBytecode.cpp}, which never change; the properties of an operation are its
 * attributes by the alphabet of their names.
 */
final class VhloAttributes {
  private static final String VHLO = "vhlo";

  private static final int DIRECTION_ATTRIBUTE = 3;
  private static final int COMPARISON_ATTRIBUTE = 4;
  private static final int STRING_ATTRIBUTE = 14;
  private static final int TENSOR_ATTRIBUTE = 15;

  private static final int BOOLEAN_TYPE = 0;
  private static final int BF16_TYPE = 2;
  private static final int F16_TYPE = 3;
  private static final int F32_TYPE = 4;
  private static final int F64_TYPE = 5;
  private static final int FIRST_SIGNED_TYPE = 10;
  private static final int FIRST_UNSIGNED_TYPE = 15;
  private static final int LAST_UNSIGNED_TYPE = 19;
  private static final int RANKED_TENSOR_TYPE = 20;
  private static final int TUPLE_TYPE = 23;

  private static final String[] DIRECTIONS = {"EQ", "NE", "GE", "GT", "LE", "LT"};
  private static final int TOTAL_ORDER = 2;

  private final BytecodeModule module;

  VhloAttributes(BytecodeModule module) {
    this.module = module;
  }

  /** A property that is a text, of an operation that has so many; empty when it is not as known. */
  Optional<String> text(OperationUse operation, int index, int size) {
    if (operation.properties() == OperationUse.NONE) {
      return Optional.empty();
    }
    int[] properties = module.attributesOf(operation);
    if (properties.length != size) {
      return Optional.empty();
    }
    ByteCursor cursor = module.attribute(properties[index], VHLO);
    return cursor.hasMore() && cursor.count() == STRING_ATTRIBUTE
        ? Optional.of(module.string(cursor.count()))
        : Optional.empty();
  }

  /** Direction and type of a comparison. */
  Optional<String> comparison(OperationUse operation) {
    if (operation.properties() == OperationUse.NONE) {
      return Optional.empty();
    }
    String direction = "";
    String type = "";
    for (int property : module.attributesOf(operation)) {
      ByteCursor cursor = module.attribute(property, VHLO);
      int code = cursor.hasMore() ? cursor.count() : -1;
      if (code == DIRECTION_ATTRIBUTE) {
        int which = cursor.count();
        direction = which < DIRECTIONS.length ? DIRECTIONS[which] : "";
      } else if (code == COMPARISON_ATTRIBUTE) {
        type = cursor.count() == TOTAL_ORDER ? " TOTALORDER" : "";
      }
    }
    return direction.isEmpty() ? Optional.empty() : Optional.of(direction + type);
  }

  /** The number that a constant is, when it is a scalar of a type that is known. */
  Optional<Double> scalar(OperationUse operation) {
    if (!operation.name().equals("vhlo.constant_v1")
        || operation.properties() == OperationUse.NONE) {
      return Optional.empty();
    }
    int[] properties = module.attributesOf(operation);
    if (properties.length != 1) {
      return Optional.empty();
    }
    ByteCursor cursor = module.attribute(properties[0], VHLO);
    if (!cursor.hasMore() || cursor.count() != TENSOR_ATTRIBUTE) {
      return Optional.empty();
    }
    Tensor tensor = tensor(cursor.count());
    if (tensor == null || !tensor.extents.isEmpty()) {
      return Optional.empty();
    }
    byte[] bytes = module.blob(cursor);
    ByteBuffer value = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    int element = tensor.element;
    if (element == BOOLEAN_TYPE && bytes.length == 1) {
      return Optional.of(bytes[0] == 0 ? 0.0 : 1.0);
    } else if (element == BF16_TYPE && bytes.length == 2) {
      return Optional.of((double) Float.intBitsToFloat(value.getShort() << 16));
    } else if (element == F16_TYPE && bytes.length == 2) {
      return Optional.of((double) Float.float16ToFloat(value.getShort()));
    } else if (element == F32_TYPE && bytes.length == 4) {
      return Optional.of((double) value.getFloat());
    } else if (element == F64_TYPE && bytes.length == 8) {
      return Optional.of(value.getDouble());
    } else if (element >= FIRST_SIGNED_TYPE && element < FIRST_UNSIGNED_TYPE) {
      return switch (bytes.length) {
        case 1 -> Optional.of((double) value.get());
        case 2 -> Optional.of((double) value.getShort());
        case 4 -> Optional.of((double) value.getInt());
        case 8 -> Optional.of((double) value.getLong());
        default -> Optional.empty();
      };
    }
    return Optional.empty();
  }

  /** What a tensor holds, as a comparator sees it. */
  Element element(int type) {
    Tensor tensor = tensor(type);
    int element = tensor == null ? F32_TYPE : tensor.element;
    if (element == BOOLEAN_TYPE) {
      return Element.BOOL;
    } else if (element >= FIRST_SIGNED_TYPE && element < FIRST_UNSIGNED_TYPE) {
      return Element.SIGNED;
    } else if (element >= FIRST_UNSIGNED_TYPE && element <= LAST_UNSIGNED_TYPE) {
      return Element.UNSIGNED;
    }
    return Element.FLOAT;
  }

  /** The types of a tuple's elements; of another type itself. */
  List<Integer> elements(int type) {
    ByteCursor cursor = module.type(type, VHLO);
    if (!cursor.hasMore() || cursor.count() != TUPLE_TYPE) {
      return List.of(type);
    }
    List<Integer> elements = new ArrayList<>();
    for (int left = cursor.count(); left > 0; left--) {
      elements.add(cursor.count());
    }
    return elements;
  }

  /** A tensor's last extent; -1 when absent or not fixed. */
  long lastExtent(int type) {
    Tensor tensor = tensor(type);
    return tensor == null || tensor.extents.isEmpty() ? -1 : tensor.extents.getLast();
  }

  private record Tensor(List<Long> extents, int element) {}

  private @Nullable Tensor tensor(int type) {
    ByteCursor cursor = module.type(type, VHLO);
    if (!cursor.hasMore() || cursor.count() != RANKED_TENSOR_TYPE) {
      return null;
    }
    List<Long> extents = new ArrayList<>();
    for (int left = cursor.count(); left > 0; left--) {
      long zigzag = cursor.varInt();
      extents.add(zigzag >>> 1 ^ -(zigzag & 1));
    }
    ByteCursor element = module.type(cursor.count(), VHLO);
    return new Tensor(extents, element.hasMore() ? element.count() : -1);
  }
}
