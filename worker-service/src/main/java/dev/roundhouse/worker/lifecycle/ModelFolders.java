package dev.roundhouse.worker.lifecycle;

import dev.roundhouse.bundle.Repository;
import dev.roundhouse.worker.config.StartRefusedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Finds the models of all directories; their folders' names are the models'. */
final class ModelFolders {
  private static final Logger log = LoggerFactory.getLogger(ModelFolders.class);

  private ModelFolders() {}

  /**
   * @return folders in the order of the directories, sorted within each; a name is taken from the
   *     first directory that has it
   * @throws StartRefusedException when a directory is not there
   */
  static List<Path> in(List<Path> directories) {
    Map<String, Path> byName = new LinkedHashMap<>();
    for (int i = 0; i < directories.size(); i++) {
      for (Path folder : folders(directories.get(i), i)) {
        Path other = byName.putIfAbsent(folder.getFileName().toString(), folder);
        if (other != null) {
          log.error("model folder {} is ignored: {} has the same name", folder, other);
        }
      }
    }
    return new ArrayList<>(byName.values());
  }

  private static List<Path> folders(Path directory, int index) {
    if (!Files.isDirectory(directory)) {
      throw new StartRefusedException(
          "roundhouse.worker.repository.directories[%d] is '%s', and %s is not a directory."
              .formatted(index, directory, directory.toAbsolutePath().normalize()),
          "Create it, or point roundhouse.worker.repository.directories to the folder that holds"
              + " your models.");
    }
    return Repository.list(directory);
  }
}
