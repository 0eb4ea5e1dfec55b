package dev.roundhouse.platform.grpc;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import dev.roundhouse.kserve.control.proto.ModelControlStatusResponse;
import dev.roundhouse.kserve.proto.ModelStatisticsResponse;
import dev.roundhouse.kserve.proto.RepositoryIndexResponse;
import dev.roundhouse.kserve.v1.proto.ModelRepositoryIndex;
import dev.roundhouse.kserve.v1.proto.RepositoryResponse;
import dev.roundhouse.kserve.v1.proto.StatusResponse;
import java.util.function.Predicate;

/** Names of models in messages. */
final class ModelNames {
  private static final String[] FIELDS = {"model_name", "name"};

  private ModelNames() {}

  /** The model that a request is about; empty for all, or for none. */
  static String asked(Object request) {
    if (request instanceof Message message) {
      for (String name : FIELDS) {
        FieldDescriptor field = message.getDescriptorForType().findFieldByName(name);
        if (field != null && message.getField(field) instanceof String model) {
          return model;
        }
      }
    }
    return "";
  }

  /** An answer without the models that its caller may not use. */
  @SuppressWarnings("unchecked") // it stays of its type
  static <R> R only(R answer, Predicate<String> mayUse) {
    return (R)
        switch (answer) {
          case RepositoryIndexResponse all ->
              RepositoryIndexResponse.newBuilder()
                  .addAllModels(
                      all.getModelsList().stream()
                          .filter(model -> mayUse.test(model.getName()))
                          .toList())
                  .build();
          case ModelStatisticsResponse all ->
              ModelStatisticsResponse.newBuilder()
                  .addAllModelStats(
                      all.getModelStatsList().stream()
                          .filter(model -> mayUse.test(model.getName()))
                          .toList())
                  .build();
          case ModelControlStatusResponse all ->
              all.toBuilder()
                  .clearModels()
                  .addAllModels(
                      all.getModelsList().stream()
                          .filter(model -> mayUse.test(model.getName()))
                          .toList())
                  .build();
          case StatusResponse all -> withModels(all, mayUse);
          case RepositoryResponse all when all.hasIndex() ->
              all.toBuilder()
                  .setIndex(
                      ModelRepositoryIndex.newBuilder()
                          .addAllModels(
                              all.getIndex().getModelsList().stream()
                                  .filter(model -> mayUse.test(model.getName()))
                                  .toList()))
                  .build();
          default -> answer;
        };
  }

  private static StatusResponse withModels(StatusResponse all, Predicate<String> mayUse) {
    StatusResponse.Builder some = all.toBuilder();
    for (String model : all.getServerStatus().getModelStatusMap().keySet()) {
      if (!mayUse.test(model)) {
        some.getServerStatusBuilder().removeModelStatus(model);
      }
    }
    return some.build();
  }
}
