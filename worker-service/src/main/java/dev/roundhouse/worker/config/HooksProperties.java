package dev.roundhouse.worker.config;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import java.time.Duration;
import java.util.Set;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Hooks, a bundle's own Java before and behind its programs.
 *
 * @param mode Whose are run: `allow`, all; `deny`, none, and a bundle that has some is refused;
 *     `jars-signed-by`, those in a `model.jar` that is signed by one of the signers. They run in
 *     this process: who may put files into the repository may run code here.
 * @param signers Sha256 of the certificates of those who may sign, in hex, with or without colons,
 *     as `keytool -printcert` shows it.
 * @param threads Threads that run hooks of all models; a model has a quarter of them at most.
 * @param metaConcurrency Runs of metas that are between their first call and their end at once;
 *     those that make no calls do not count.
 * @param timeLimit How long a hook may take for one request, to be opened, and to be closed. Then
 *     its request ends with DEADLINE_EXCEEDED and its thread is interrupted.
 */
public record HooksProperties(
    @DefaultValue("allow") Mode mode,
    @DefaultValue Set<String> signers,
    @Min(1) @Max(10_000) @DefaultValue("256") int threads,
    @Min(1) @Max(10_000) @DefaultValue("1") int metaConcurrency,
    @DurationMin(millis = 10) @DurationMax(hours = 1) @DefaultValue("30s") Duration timeLimit) {

  /** Whose hooks are run. */
  public enum Mode {
    ALLOW,
    DENY,
    JARS_SIGNED_BY
  }

  public HooksProperties {
    signers = Set.copyOf(signers);
  }
}
