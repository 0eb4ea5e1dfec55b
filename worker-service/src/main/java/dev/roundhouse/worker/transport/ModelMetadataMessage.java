package dev.roundhouse.worker.transport;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.kserve.proto.ModelMetadataResponse;
import dev.roundhouse.kserve.proto.ModelMetadataResponse.TensorMetadata;
import java.util.List;

/** Writes a model's contract as clients see it: row-major, -1 for batch and variable axes. */
public final class ModelMetadataMessage {
  private ModelMetadataMessage() {}

  public static ModelMetadataResponse of(
      ModelStatus model, List<String> versions, String platform) {
    ModelSpec spec = model.spec().orElseThrow();
    ModelMetadataResponse.Builder message =
        ModelMetadataResponse.newBuilder()
            .setName(model.name())
            .addAllVersions(versions)
            .setPlatform(spec.kind() == ModelSpec.Kind.ENSEMBLE ? "ensemble" : platform);
    spec.clientInputs().forEach(input -> message.addInputs(tensor(input)));
    spec.clientOutputs().forEach(output -> message.addOutputs(tensor(output)));
    return message.build();
  }

  private static TensorMetadata tensor(TensorSpec spec) {
    TensorMetadata.Builder tensor =
        TensorMetadata.newBuilder().setName(spec.name()).setDatatype(spec.dtype().wireName());
    for (long extent : spec.wireShape().dims()) {
      tensor.addShape(extent);
    }
    return tensor.build();
  }
}
