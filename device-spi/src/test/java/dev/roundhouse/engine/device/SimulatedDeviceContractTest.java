package dev.roundhouse.engine.device;

import dev.roundhouse.engine.device.SimulatedDeviceOptions.Pinning;
import dev.roundhouse.engine.time.ManualClock;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

class SimulatedDeviceContractTest extends DeviceContractTest {

  private final ManualClock clock = new ManualClock();

  @Override
  public void letRunsEnd() {
    clock.advance(1_000_000);
  }

  @Override
  protected Device openDevice() {
    return openDevice(Pinning.NONE);
  }

  final Device openDevice(Pinning pinning) {
    SimulatedDeviceOptions options =
        new SimulatedDeviceOptions(
            Long.MAX_VALUE,
            1_000_000_000,
            program -> 1_000,
            SimulatedDeviceContractTest::function,
            2,
            pinning);
    return new SimulatedDevice(options, clock);
  }

  private static ReferenceFunction function(String program) {
    return switch (program) {
      case "affine" -> SimulatedDeviceContractTest::affine;
      case "sum-and-difference" -> SimulatedDeviceContractTest::sumAndDifference;
      default -> ReferenceFunction.ZERO;
    };
  }

  private static void affine(
      DeviceProgram program, List<MemorySegment> arguments, List<MemorySegment> results) {
    ValueLayout.OfFloat f32 = ValueLayout.JAVA_FLOAT_UNALIGNED;
    for (long i = 0; i < AFFINE.shape().elementCount(); i++) {
      float x = arguments.get(0).getAtIndex(f32, i);
      float scale = arguments.get(1).getAtIndex(f32, i);
      results.get(0).setAtIndex(f32, i, x * scale + arguments.get(2).getAtIndex(f32, i));
    }
  }

  private static void sumAndDifference(
      DeviceProgram program, List<MemorySegment> arguments, List<MemorySegment> results) {
    ValueLayout.OfInt i32 = ValueLayout.JAVA_INT_UNALIGNED;
    for (long i = 0; i < INTEGERS.shape().elementCount(); i++) {
      int a = arguments.get(0).getAtIndex(i32, i);
      int b = arguments.get(1).getAtIndex(i32, i);
      results.get(0).setAtIndex(i32, i, a + b);
      results.get(1).setAtIndex(i32, i, a - b);
    }
  }
}
