package dev.roundhouse.worker.config;

import jakarta.validation.constraints.NotEmpty;
import java.nio.file.Path;
import java.util.List;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Where models are found.
 *
 * @param directories Folders that hold one folder for each model. Each must exist.
 */
public record RepositoryProperties(@NotEmpty @DefaultValue("./models") List<Path> directories) {
  public RepositoryProperties {
    directories = List.copyOf(directories);
  }
}
