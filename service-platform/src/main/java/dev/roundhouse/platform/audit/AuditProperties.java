package dev.roundhouse.platform.audit;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * Where it is written down who changed what, besides the log.
 *
 * @param file File of lines of JSON ([logs.md](logs.md#who-changed-what)). Empty: the log alone has
 *     it.
 * @param maxSize When it is this large, another is begun.
 * @param maxFiles Older files that are kept, as `FILE.1` (the latest), `FILE.2` and so on.
 */
public record AuditProperties(
    @DefaultValue("") String file,
    @DefaultValue("10MB") DataSize maxSize,
    @Min(1) @Max(1000) @DefaultValue("10") int maxFiles) {}
