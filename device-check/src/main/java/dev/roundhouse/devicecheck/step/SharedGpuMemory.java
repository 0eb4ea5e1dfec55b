package dev.roundhouse.devicecheck.step;

import com.google.protobuf.ByteString;
import dev.roundhouse.cuda.CudaRuntime;
import dev.roundhouse.devicecheck.CheckContext;
import dev.roundhouse.devicecheck.Findings;
import dev.roundhouse.devicecheck.Step;
import dev.roundhouse.engine.embedded.Tensor;
import dev.roundhouse.kserve.proto.CudaSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryStatusRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryUnregisterRequest;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferRequestedOutputTensor;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Every sample with its tensors in memory on the device that this process has allocated and a
 * worker, another process, has opened by its handle.
 */
public final class SharedGpuMemory implements Step {
  private static final String WHAT = "tensors in a client's memory on the device";

  @Override
  public String name() {
    return "shared-memory";
  }

  @Override
  public String about() {
    return "every sample with its tensors in a client's memory on the device";
  }

  @Override
  public Duration limit() {
    return Duration.ofSeconds(75);
  }

  @Override
  public void run(CheckContext context, Findings findings) throws Exception {
    if (context.isCpu()) {
      findings.notMeasured(WHAT, "not run: no CUDA device");
      return;
    }
    try (StartedWorker worker =
            StartedWorker.start(context, "--roundhouse.worker.shared-memory.enabled=true");
        CudaRuntime gpu = CudaRuntime.open(0, context.loadPlugin().cudaRuntime())) {
      for (SampleCase sample : SampleCase.readAll(context.expected())) {
        try (Regions regions = new Regions(gpu, worker)) {
          Map<String, Tensor> answer = infer(sample, regions, worker);
          Difference difference = sample.compare(answer, context.platform());
          findings.check(sample.what(), difference.isRight(), difference.toString());
        } catch (StatusRuntimeException refused) {
          findings.fail(sample.what(), String.valueOf(refused.getMessage()));
        }
      }
      int left =
          worker
              .stub()
              .cudaSharedMemoryStatus(CudaSharedMemoryStatusRequest.getDefaultInstance())
              .getRegionsCount();
      findings.check("all regions are unregistered", left == 0, left + " are left");
    }
  }

  private static Map<String, Tensor> infer(SampleCase sample, Regions regions, StartedWorker worker)
      throws IOException {
    ModelInferRequest.Builder request = ModelInferRequest.newBuilder().setModelName(sample.model());
    for (SampleCase.Named input : sample.inputs()) {
      InferInputTensor.Builder tensor =
          InferInputTensor.newBuilder()
              .setName(input.name())
              .setDatatype(input.type().kserveName().orElseThrow())
              .putAllParameters(regions.place("in-" + input.name(), input.data()));
      for (long extent : input.shape()) {
        tensor.addShape(extent);
      }
      request.addInputs(tensor);
    }
    for (SampleCase.Named output : sample.outputs()) {
      request.addOutputs(
          InferRequestedOutputTensor.newBuilder()
              .setName(output.name())
              .putAllParameters(
                  regions.place("out-" + output.name(), new byte[output.data().length])));
    }
    var unused = worker.stub().modelInfer(request.build());
    Map<String, Tensor> answer = new LinkedHashMap<>();
    for (SampleCase.Named output : sample.outputs()) {
      byte[] bytes = regions.read("out-" + output.name(), output.data().length);
      answer.put(
          output.name(),
          new SampleCase.Named(output.name(), output.dtype(), output.shape(), bytes).tensor());
    }
    return answer;
  }

  /** Memory of this process that the worker has open. Unregistered before it is freed. */
  private static final class Regions implements AutoCloseable {
    private final CudaRuntime gpu;
    private final StartedWorker worker;
    private final Map<String, CudaRuntime.Exported> memory = new LinkedHashMap<>();

    Regions(CudaRuntime gpu, StartedWorker worker) {
      this.gpu = gpu;
      this.worker = worker;
    }

    /** Has a region of these bytes; what a tensor says of it. */
    Map<String, InferParameter> place(String name, byte[] bytes) {
      CudaRuntime.Exported allocated = gpu.allocate(Math.max(1, bytes.length));
      memory.put(name, allocated);
      allocated.write(0, MemorySegment.ofArray(bytes));
      var unused =
          worker
              .stub()
              .cudaSharedMemoryRegister(
                  CudaSharedMemoryRegisterRequest.newBuilder()
                      .setName(name)
                      .setRawHandle(ByteString.copyFrom(allocated.handle()))
                      .setDeviceId(gpu.device())
                      .setByteSize(Math.max(1, bytes.length))
                      .build());
      return Map.of(
          "shared_memory_region", InferParameter.newBuilder().setStringParam(name).build(),
          "shared_memory_byte_size",
              InferParameter.newBuilder().setInt64Param(bytes.length).build());
    }

    byte[] read(String name, int byteSize) throws IOException {
      CudaRuntime.Exported allocated = memory.get(name);
      if (allocated == null) {
        throw new IOException("there is no region " + name);
      }
      byte[] bytes = new byte[byteSize];
      allocated.read(0, MemorySegment.ofArray(bytes));
      return bytes;
    }

    @Override
    public void close() {
      List<CudaRuntime.Exported> all = new ArrayList<>(memory.values());
      var unused =
          worker
              .stub()
              .cudaSharedMemoryUnregister(CudaSharedMemoryUnregisterRequest.getDefaultInstance());
      all.forEach(CudaRuntime.Exported::close);
    }
  }
}
