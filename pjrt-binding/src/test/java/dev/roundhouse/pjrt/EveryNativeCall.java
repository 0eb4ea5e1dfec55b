package dev.roundhouse.pjrt;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.device.PartedUpload;
import dev.roundhouse.engine.device.PinnedMemory;
import dev.roundhouse.engine.device.ProgramSource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;

/** A process that makes every native call, those that fail too, for a JVM that checks them. */
final class EveryNativeCall {
  private static final TensorType LARGE = TensorType.of(DType.F32, 256, 256);

  private EveryNativeCall() {}

  public static void main(String[] args) throws InterruptedException {
    for (boolean readsInPlace : new boolean[] {true, false}) {
      try (PjrtDevice device = PjrtDevice.open(PjrtDeviceOptions.DEFAULTS, readsInPlace)) {
        device.memory();
        pin(device);
        uploadInParts(device);
        try (PjrtExecutable compiled = device.compile(source("%0"))) {
          byte[] serialized = compiled.serialize();
          try (PjrtExecutable loaded = device.load("loaded", serialized)) {
            run(device, loaded);
          }
        }
        fails(() -> device.compile(source("%nothing")));
      }
    }
    fails(() -> PjrtPlugin.load(PluginOptions.DEFAULTS.withPath(Path.of("/proc/self/cmdline"))));
    System.out.println("every native call");
  }

  private static void run(PjrtDevice device, PjrtExecutable program) throws InterruptedException {
    MemorySegment ones = MemorySegment.ofArray(new float[256 * 256]);
    CountDownLatch told = new CountDownLatch(2);
    try (DeviceBuffer x = device.upload(LARGE, ones, HostMemory.COPY);
        Execution first = device.execute(program, new DeviceBuffer[] {x});
        Execution second = device.execute(program, new DeviceBuffer[] {first.output(0)})) {
      first.onDone(told::countDown);
      second.onDone(
          () -> {
            told.countDown();
            throw new IllegalStateException("callbacks must not throw");
          });
      second.output(0).read(0, ones);
      second.output(0).read(4, ones.asSlice(0, 8));
      told.await();
    }
  }

  private static void uploadInParts(PjrtDevice device) {
    device.uploadInParts(LARGE).ifPresent(EveryNativeCall::send);
    device.uploadInParts(LARGE).ifPresent(givenUp -> givenUp.buffer().close());
  }

  private static void send(PartedUpload upload) {
    MemorySegment half = MemorySegment.ofArray(new float[128 * 256]);
    try (DeviceBuffer buffer = upload.buffer()) {
      upload.write(half).awaitReady();
      upload.write(half).awaitReady();
      buffer.awaitReady();
    }
  }

  private static void pin(PjrtDevice device) {
    try (Arena arena = Arena.ofShared()) {
      int page = PinnedMemory.PAGE_BYTES;
      device.pin(arena.allocate(page, page)).ifPresent(PinnedMemory::close);
    }
  }

  private static void fails(Runnable call) {
    try {
      call.run();
    } catch (DeviceException expected) {
      return;
    }
    throw new AssertionError("no failure");
  }

  private static ProgramSource source(String result) {
    String text =
        """
        func.func public @main(%%a: tensor<256x256xf32>) -> tensor<256x256xf32> {
          %%0 = stablehlo.dot_general %%a, %%a, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
          return %s : tensor<256x256xf32>
        }
        """;
    return new ProgramSource("product", text.formatted(result).getBytes(StandardCharsets.UTF_8));
  }
}
