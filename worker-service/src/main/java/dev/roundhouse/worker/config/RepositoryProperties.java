package dev.roundhouse.worker.config;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotEmpty;
import jakarta.validation.constraints.Pattern;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Where models are found.
 *
 * @param directories Folders that hold one folder for each model. Each must exist at the start.
 * @param mode `dynamic` loads every model and follows what is added, changed and removed; `static`
 *     loads every model once; `explicit` loads what `load` names and what RepositoryModelLoad asks
 *     for.
 * @param pollInterval For `dynamic`: how often the files are looked at, beside when the file system
 *     tells of a change. One counts when two looks in a row see the same.
 * @param loadAttempts For `dynamic`: how often a model that fails is loaded before its files are
 *     left alone until they change. Loads that find no thread or process do not count.
 * @param versionPolicy Which versions of a model serve: `latest`, `latest:N` for the N newest,
 *     `all`, or numbers such as `1,3`.
 * @param load For `explicit`: models to load at the start; `*` for all.
 * @param listCalled Whether RepositoryIndex lists models that a meta calls and that answer. Without
 *     it callers see the meta alone; they can call the others by name all the same.
 * @param linkRoots Folders into which links of files in a bundle may lead, such as the caches of
 *     Hugging Face and DVC or `/nix/store`. What lies elsewhere outside the bundle is refused.
 * @param leaveOut Names of models that are not loaded, whoever asks: each is listed as failed, and
 *     says why.
 */
public record RepositoryProperties(
    @NotEmpty @DefaultValue("./models") List<Path> directories,
    @DefaultValue("dynamic") Mode mode,
    @DurationMin(millis = 100) @DurationMax(hours = 24) @DefaultValue("15s") Duration pollInterval,
    @Min(1) @Max(1000) @DefaultValue("3") int loadAttempts,
    @Pattern(regexp = VERSION_POLICY) @DefaultValue("latest") String versionPolicy,
    @DefaultValue List<String> load,
    @DefaultValue("false") boolean listCalled,
    @DefaultValue List<Path> linkRoots,
    @DefaultValue List<String> leaveOut) {

  /** What may be written as a version policy. */
  public static final String VERSION_POLICY =
      "latest|latest:[1-9][0-9]{0,3}|all|[1-9][0-9]{0,17}( *, *[1-9][0-9]{0,17})*";

  public RepositoryProperties {
    directories = List.copyOf(directories);
    load = List.copyOf(load);
    linkRoots = List.copyOf(linkRoots);
    leaveOut = List.copyOf(leaveOut);
  }

  /** When models are loaded and unloaded. */
  public enum Mode {
    STATIC,
    DYNAMIC,
    EXPLICIT
  }
}
