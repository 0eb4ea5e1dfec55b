package dev.roundhouse.engine.device;

import dev.roundhouse.bundle.tensor.TensorType;
import java.util.ArrayList;
import java.util.List;

/** A program of the simulated device. Thread-safe. */
final class SimulatedProgram extends SimulatedHandle implements DeviceProgram {
  private final String name;
  private final List<TensorType> parameters;
  private final List<TensorType> results;
  private final ReferenceFunction function;

  SimulatedProgram(
      String name,
      List<TensorType> parameters,
      List<TensorType> results,
      ReferenceFunction function,
      SimulatedDevice device) {
    super(device);
    this.name = name;
    this.parameters = parameters;
    this.results = results;
    this.function = function;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public List<TensorType> parameters() {
    return parameters;
  }

  @Override
  public List<TensorType> results() {
    return results;
  }

  @Override
  public ProgramMemory memory() {
    return new ProgramMemory(bytes(parameters), bytes(results), 0, 0);
  }

  @Override
  String describe() {
    return "program '" + name + "'";
  }

  ReferenceFunction function() {
    return function;
  }

  /** The arguments, once they have been found to be what this program takes. */
  List<SimulatedBuffer> checkArguments(DeviceBuffer[] arguments) {
    if (arguments.length != parameters.size()) {
      throw invalid(
          "program '%s' takes %d arguments, got %d"
              .formatted(name, parameters.size(), arguments.length));
    }
    List<SimulatedBuffer> checked = new ArrayList<>(arguments.length);
    for (int i = 0; i < arguments.length; i++) {
      checked.add(checkArgument(i, arguments[i]));
    }
    return checked;
  }

  private SimulatedBuffer checkArgument(int index, DeviceBuffer argument) {
    if (!(argument instanceof SimulatedBuffer buffer) || buffer.device() != device()) {
      throw invalid("argument %d of program '%s' is not on this device".formatted(index, name));
    }
    if (!buffer.type().equals(parameters.get(index))) {
      throw invalid(
          "argument %d of program '%s' must be %s, got %s"
              .formatted(index, name, parameters.get(index), buffer.type()));
    }
    return buffer;
  }

  private static long bytes(List<TensorType> types) {
    return types.stream().mapToLong(TensorType::byteSize).sum();
  }

  private static DeviceException invalid(String message) {
    return new DeviceException(DeviceException.Code.INVALID_ARGUMENT, message);
  }
}
