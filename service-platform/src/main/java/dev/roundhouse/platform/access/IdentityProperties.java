package dev.roundhouse.platform.access;

import jakarta.validation.constraints.DecimalMin;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * A caller that is known.
 *
 * @param tokenFiles Files with the hashes of its bearer tokens, a line for each, which
 *     `./roundhouse token` prints. They are read again when they change.
 * @param certificates Subject alternative names of its client certificates: `uri:spiffe://...` or
 *     `dns:...`; a `*` at the end stands for any rest.
 * @param subjects What its tokens of `access.jwt` have in the claim that names the caller; a `*` at
 *     the end stands for any rest.
 * @param may Categories that it may use where they need a token or a certificate.
 * @param models Models that it may use, in every category; a `*` at the end stands for any rest.
 * @param tenant Whose share of the device it has, of `roundhouse.worker.tenants`. Empty: that of
 *     callers who have no tenant.
 * @param requestsPerSecond Requests for inference that it may send; as many at once as a second
 *     allows. Unset: any number.
 * @param bytesPerSecond Of those requests. One larger request is taken, and the next ones wait for
 *     it to be made up for. Unset: any number.
 */
public record IdentityProperties(
    @DefaultValue List<Path> tokenFiles,
    @DefaultValue List<String> certificates,
    @DefaultValue List<String> subjects,
    @DefaultValue({"health", "metadata", "inference", "statistics"}) Set<ApiCategory> may,
    @DefaultValue("*") List<String> models,
    @DefaultValue("") String tenant,
    @DecimalMin("0.001") @Nullable Double requestsPerSecond,
    @Nullable DataSize bytesPerSecond) {

  public IdentityProperties {
    tokenFiles = List.copyOf(tokenFiles);
    certificates = List.copyOf(certificates);
    subjects = List.copyOf(subjects);
    may = Set.copyOf(may);
    models = List.copyOf(models);
  }
}
